"""The server of the page: requests of any kind, and runs of any kind behind it."""

import contextlib
import json
import re
import socket
import threading
from io import StringIO

from hyperaction.cli.report import PageData
from hyperaction.report.page.server import LOOPBACK, PageServer
from tests.chaos import documents
from tests.chaos.commands import ViolationError, time_limit

PATHS = (
    "/",
    "/data.json",
    "/video/0",
    "/video/1",
    "/video/-1",
    "/../../etc/passwd",
    "/%00",
    "*",
    "",
)
HEADERS = (
    "Range: bytes=5-2", "Range: bytes=0-", "Range: bytes=-1", "Range: bytes=99999999999999999999-",
    "Range: bytes=0-99999999999999999999", "Range: x", "Content-Length: -1", "Expect: 100-continue",
    "Host: elsewhere.example", "Connection: keep-alive", "X: " + "x" * 70_000, "\x00", ":",
)  # fmt: skip
METHODS = ("GET", "GET", "GET", "POST", "HEAD", "", "\x16\x03\x01")


def requests(trial):
    """Whatever is requested and whatever the runs hold, the page is served to the next one."""
    trial.begin("whole")
    (trial.run / "film.mp4").write_bytes(bytes(100))
    if trial.rng.random() < 0.5:
        file = trial.run / "metrics.jsonl"
        lines = file.read_text().splitlines()
        lines.insert(1, documents.hostile(trial, json.loads(lines[0])))
        file.write_bytes("\n".join([*lines, ""]).encode(errors="surrogatepass"))
    errors = StringIO()
    with contextlib.redirect_stderr(errors), time_limit(60):
        server = PageServer(0, PageData((trial.runs,), 10))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            for _ in range(4):
                _ask(server.server_port, _any_request(trial))
            answer = _ask(server.server_port, b"GET /data.json HTTP/1.0\r\nHost: localhost\r\n\r\n")
        finally:
            server.shutdown()
            server.server_close()
    if "Traceback" in errors.getvalue():
        raise ViolationError(f"traceback: {errors.getvalue().splitlines()[-2]}")
    _check_page(answer)


def _any_request(trial):
    rng = trial.rng
    line = f"{rng.choice(METHODS)} {rng.choice(PATHS)} HTTP/1.{rng.choice('01x')}"
    headers = rng.sample(HEADERS, rng.randrange(3))
    host = [] if rng.random() < 0.2 else ["Host: localhost"]
    trial.note(f"{line} {' '.join(headers)[:60]}")
    return "\r\n".join([line, *host, *headers, "Connection: close", "", ""]).encode()


def _ask(port, request):
    """What the server answers until it closes."""
    with socket.create_connection((LOOPBACK, port), timeout=20) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (.*)", head)
    if length and not request.startswith(b"HEAD") and int(length[1]) != len(body):
        raise ViolationError(f"{len(body)} bytes are called {length[1].decode().strip()}")
    return answer


def _check_page(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.splitlines()[0]:
        raise ViolationError(f"the page is not served: {head.splitlines()[0]!r}")

    def refuse(constant):
        raise ViolationError(f"{constant} breaks the page in a browser")

    data = json.loads(body, parse_constant=refuse)
    if not any("good" in run["name"] for run in data["runs"]):
        raise ViolationError("a bad run hides a good one from the page")
