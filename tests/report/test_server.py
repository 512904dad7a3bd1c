"""The server of the page, and clients that are slow, idle, odd or many."""

import contextlib
import http.client
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.report.page import server as pages
from hyperaction.report.page.server import PageServer, byte_range
from hyperaction.report.page.videos import find_videos


@given(
    st.tuples(st.integers(0, 12) | st.just(""), st.integers(0, 12) | st.just("")),
    st.integers(0, 10),
)
def test_a_range_is_the_bytes_that_it_names(ends, size):
    first, last = ends
    found = byte_range(f"bytes={first}-{last}", size)
    if (first == last == "") or ("" not in ends and last < first):
        assert found is None  # Not a range: all is sent.
    elif first == "":
        assert list(found) == list(range(size))[max(0, size - last) :]
    else:
        stop = size if last == "" else last + 1
        assert list(found) == [byte for byte in range(size) if first <= byte < stop]


@pytest.mark.parametrize(
    "header",
    ["bytes=5-3", "bytes=1-2,4-5", "bytes=a-", "x", "", "bytes=--1", f"bytes={'9' * 400}-"],
)
def test_odd_ranges_are_ignored(header):
    assert byte_range(header, 10) is None


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of a video of ten bytes, with short times."""
    monkeypatch.setattr(pages, "REQUEST_TIMEOUT_S", 0.3)
    monkeypatch.setattr(pages, "MAX_CONNECTIONS", 4)
    video = tmp_path / "video.mp4"
    video.write_bytes(b"0123456789")
    with PageServer(0, lambda: ({"runs": []}, [("video", video)])) as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.02,))
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def get(server, path, **headers):
    connection = http.client.HTTPConnection(pages.LOOPBACK, server.server_port, timeout=5)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def test_players_get_the_bytes_that_they_ask_for(server):
    assert get(server, "/video/0")[:2] == (200, b"0123456789")
    assert get(server, "/video/0", Range="bytes=3-5")[:2] == (206, b"345")
    assert get(server, "/video/0", Range="bytes=-3")[:2] == (206, b"789")
    assert get(server, "/video/0", Range="bytes=5-3")[:2] == (200, b"0123456789")
    status, body, headers = get(server, "/video/0", Range="bytes=10-")
    assert (status, body, headers["Content-Range"]) == (416, b"", "bytes */10")


def test_idle_and_slow_clients_are_disconnected_and_never_more_than_a_few(server):
    before = threading.active_count()
    address = (pages.LOOPBACK, server.server_port)
    clients = [socket.create_connection(address, timeout=5) for _ in range(12)]
    try:
        for client in clients[:2]:
            client.sendall(b"GET /data.json HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert threading.active_count() <= before + 4
        for client in clients:  # None of them gets an answer, and none waits for ever.
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(100) == b""
        assert get(server, "/data.json")[0] == 200
    finally:
        for client in clients:
            client.close()


def test_directories_links_and_hidden_files_are_no_videos(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"video")
    (tmp_path / "b.mp4").mkdir()
    (tmp_path / "c.mp4").symlink_to("a.mp4")
    (tmp_path / ".d.mp4").write_bytes(b"video")
    assert find_videos([("run", tmp_path)]) == [("run: a.mp4", tmp_path / "a.mp4")]
