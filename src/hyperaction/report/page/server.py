"""Serves the page, and nothing else, on the loopback address."""

from __future__ import annotations

import io
import os
import re
import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

from hyperaction.report.page.html import as_script, html
from hyperaction.report.page.videos import Video, poster

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
"""Accepted Host headers; others mean DNS rebinding by a page from elsewhere."""

Load = Callable[[], tuple[dict[str, Any], list[Video]]]
"""Reads the runs: the data of the page, and the videos."""


MAX_CONNECTIONS = 32
"""Connections at once, each in a thread; more are closed."""

REQUEST_TIMEOUT_S, SEND_TIMEOUT_S = 10.0, 30.0
"""Seconds that a client has to send its request, and to take each piece of the answer."""

PIECE_BYTES = 2**20


class PageServer(ThreadingHTTPServer):
    """A server of the page.

    Args:
        port: The port; 0 takes any free one.
        load: Reads the runs, for each request.
    """

    daemon_threads = True

    def __init__(self, port: int, load: Load) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self._load, self._loading = load, Lock()
        self._slots = BoundedSemaphore(MAX_CONNECTIONS)

    def load(self) -> tuple[dict[str, Any], list[Video]]:
        """Reads the runs, for one request at a time."""
        with self._loading:
            return self._load()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread, if there are not too many."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing: a client that fails concerns nobody else."""


class _Request(socket.SocketIO):
    """What a client sends, all of which must come in time."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection, "r")
        self._connection, self._end = connection, time.monotonic() + REQUEST_TIMEOUT_S

    def readinto(self, buffer: Any) -> int | None:
        """Reads what is there, or waits for it until the time is over."""
        self._connection.settimeout(max(0.001, self._end - time.monotonic()))
        return super().readinto(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def setup(self) -> None:
        """Reads the request within its time."""
        super().setup()
        self.rfile = io.BufferedReader(_Request(self.connection))

    def do_GET(self) -> None:
        """Answers with the page, its data or a video."""
        self.connection.settimeout(SEND_TIMEOUT_S)
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        path = self.path.split("?")[0]
        if host not in HOSTS:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        try:
            self._answer(path, *self.server.load())
        except (ConnectionError, TimeoutError):  # The client has disconnected, or takes nothing.
            self.close_connection = True
        except (OSError, ValueError) as error:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=str(error))

    def _answer(self, path: str, data: dict[str, Any], videos: list[Video]) -> None:
        if path == "/":
            self._send("text/html; charset=utf-8", html(data, _addresses(videos), live=True))
        elif path == "/data.json":
            shown = {**data, "videos": _addresses(videos), "live": True}
            self._send("application/json", as_script(shown))
        else:
            # Videos have numbers: no path is ever taken from a request.
            numbered = {f"/video/{k}": file for k, (_, file) in enumerate(videos)}
            if path in numbered:
                self._send_video(numbered[path])
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

    def _send_video(self, path: Path) -> None:
        """Sends a video, or the range of it that a player requests."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            requested = byte_range(self.headers.get("Range") or "", size)
            if requested is not None and requested.start >= size:
                self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            part = range(size) if requested is None else requested
            self.send_response(HTTPStatus.OK if requested is None else HTTPStatus.PARTIAL_CONTENT)
            self.send_header("Content-Type", "video/mp4")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(part)))
            if requested is not None:
                self.send_header("Content-Range", f"bytes {part.start}-{part.stop - 1}/{size}")
            self.end_headers()
            file.seek(part.start)
            for first in range(part.start, part.stop, PIECE_BYTES):
                self.wfile.write(file.read(min(PIECE_BYTES, part.stop - first)))

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Logs nothing, so that the terminal shows the address."""


def _addresses(videos: list[Video]) -> list[dict[str, str]]:
    return [
        {"name": name, "src": f"video/{k}", "poster": poster(file)}
        for k, (name, file) in enumerate(videos)
    ]


def byte_range(header: str, size: int) -> range | None:
    """The bytes that a Range header asks for; none if it is not one that can be understood.

    A range that begins after the end is empty, as is every range of an empty file.
    """
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", header.strip())
    if found is None or not any(found.groups()):
        return None
    first, last = found.groups()
    if not first:  # The last so many bytes.
        return range(max(0, size - int(last)), size) if int(last) else range(size, size)
    if last and int(last) < int(first):
        return None
    stop = min(int(last) + 1, size) if last else size
    return range(int(first), max(int(first), stop))
