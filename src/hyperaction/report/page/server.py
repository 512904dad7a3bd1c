"""The page, live: served to this machine alone, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hyperaction.report.page.html import as_script, html

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
"""Names by which this machine may be asked: a page from elsewhere that points here has another."""

Look = Callable[[], tuple[dict[str, Any], list[tuple[str, Path]]]]
"""Reads the runs anew: what the page shows, and films by their names."""


def server(port: int, look: Look) -> ThreadingHTTPServer:
    """A server of the page on the loopback address; port 0 is any that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            path = self.path.split("?")[0]
            if host not in HOSTS:
                self.send_error(HTTPStatus.FORBIDDEN)
                return
            try:
                self._answer(path, *look())
            except (ConnectionError, BrokenPipeError):  # Whoever asked has gone.
                self.close_connection = True
            except (OSError, ValueError) as error:
                self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=str(error))

        def _answer(self, path: str, data: dict[str, Any], films: list[tuple[str, Path]]) -> None:
            if path == "/":
                self._send("text/html; charset=utf-8", html(data, _addresses(films), live=True))
            elif path == "/data.json":
                shown = {**data, "videos": _addresses(films), "live": True}
                self._send("application/json", as_script(shown))
            else:
                # A film by its number: no path is ever taken from an address.
                numbered = {f"/film/{k}": file for k, (_, file) in enumerate(films)}
                if path in numbered:
                    self._send_film(numbered[path])
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)

        def _send_film(self, file: Path) -> None:
            """A film, or the piece of it that a player asks for."""
            body = file.read_bytes()
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
            first = int(asked[1]) if asked else 0
            last = min(int(asked[2]), len(body) - 1) if asked and asked[2] else len(body) - 1
            if asked and first >= len(body):
                self.send_error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
                return
            self.send_response(HTTPStatus.PARTIAL_CONTENT if asked else HTTPStatus.OK)
            self.send_header("Content-Type", "video/mp4")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(last + 1 - first))
            if asked:
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
            """Nothing: the terminal is for the address."""

    return ThreadingHTTPServer((LOOPBACK, port), Handler)


def _addresses(films: list[tuple[str, Path]]) -> list[dict[str, str]]:
    return [{"name": name, "src": f"film/{k}"} for k, (name, _) in enumerate(films)]
