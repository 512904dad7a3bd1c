"""The page, live: served to this machine alone, and nothing else is."""

from __future__ import annotations

import shutil
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
            elif path == "/":
                data, films = look()
                self._send("text/html; charset=utf-8", html(data, _addresses(films), live=True))
            elif path == "/data.json":
                data, films = look()
                shown = {**data, "videos": _addresses(films), "live": True}
                self._send("application/json", as_script(shown))
            else:
                self._send_film(path)

        def _send_film(self, path: str) -> None:
            """A film by its number: no path is ever taken from an address."""
            films = {f"/film/{k}": file for k, (_, file) in enumerate(look()[1])}
            if path not in films:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            with films[path].open("rb") as film:
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", "video/mp4")
                self.send_header("Content-Length", str(films[path].stat().st_size))
                self.end_headers()
                shutil.copyfileobj(film, self.wfile)

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
