"""Serves the page, and nothing else, on the loopback address."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hyperaction.report.page.html import as_script, html
from hyperaction.report.page.videos import Video

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
"""Accepted Host headers; others mean DNS rebinding by a page from elsewhere."""

Load = Callable[[], tuple[dict[str, Any], list[Video]]]
"""Reads the runs: the data of the page, and the videos."""


class PageServer(ThreadingHTTPServer):
    """A server of the page.

    Args:
        port: The port; 0 takes any free one.
        load: Reads the runs, for each request.
    """

    def __init__(self, port: int, load: Load) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.load = load


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        path = self.path.split("?")[0]
        if host not in HOSTS:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        try:
            self._answer(path, *self.server.load())
        except (ConnectionError, BrokenPipeError):  # The client has disconnected.
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

    def _send_video(self, file: Path) -> None:
        """Sends a video, or the range of it that a player requests."""
        body = file.read_bytes()
        requested = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        first = int(requested[1]) if requested else 0
        last = (
            min(int(requested[2]), len(body) - 1) if requested and requested[2] else len(body) - 1
        )
        if requested and first >= len(body):
            self.send_error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            return
        self.send_response(HTTPStatus.PARTIAL_CONTENT if requested else HTTPStatus.OK)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last + 1 - first))
        if requested:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.end_headers()
        self.wfile.write(body[first : last + 1])

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
    return [{"name": name, "src": f"video/{k}"} for k, (name, _) in enumerate(videos)]
