"""One POST: by way of proxies, and to nobody whose certificate is not trusted."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import ClassVar

import pytest
from tests.support.receiver import Receiver, free_port, trusted

from budwood import __version__
from budwood.project.post import Answer, Post


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy of the developer's stand between."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name == "SSL_CERT_FILE":
            monkeypatch.delenv(name)


def send(url: str) -> Answer:
    return Post(url).send(b'{"a":1}', within_s=10.0)


def test_the_answer_is_told() -> None:
    with Receiver() as receiver:
        assert send(receiver.url + "?token=x&y=%20z") == Answer(status=200, said="200 OK")
    [got] = receiver.got
    assert (got.body, got.target) == (b'{"a":1}', "/hook?token=x&y=%20z")
    assert got.headers["User-Agent"] == f"budwood/{__version__}"


def test_that_nobody_is_there_is_told() -> None:
    answer = send(f"http://127.0.0.1:{free_port()}/")
    assert (answer.status, answer.said, answer.can_be_tried_again) == (0, "connection refused", True)


def test_that_a_host_has_no_address_is_told() -> None:
    answer = send("http://nobody.invalid/")
    assert answer.status == 0
    assert answer.said


def test_something_that_is_not_http_is_no_answer() -> None:
    with Receiver(secure=True) as receiver:
        answer = send(receiver.url.replace("https:", "http:"))
    assert (answer.status, answer.can_be_tried_again) == (0, True)
    assert receiver.got == []


def test_a_certificate_that_is_not_trusted_is_refused() -> None:
    with Receiver(secure=True) as receiver:
        answer = send(receiver.url)
    assert answer.status == 0
    assert answer.said.startswith("its certificate is not trusted: ")
    assert receiver.got == []


def test_a_certificate_that_the_environment_trusts_is_accepted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", trusted(tmp_path))
    with Receiver(secure=True) as receiver:
        assert send(receiver.url).is_accepted
        assert send(receiver.url.replace("127.0.0.1", "localhost")).is_accepted


def test_a_certificate_of_another_host_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", trusted(tmp_path))
    with Receiver(secure=True) as receiver:
        answer = send(receiver.url.replace("127.0.0.1", "127.0.0.2"))
    assert receiver.got == []
    assert answer.status == 0


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert send("http://receiver.example:8080/hook").is_accepted
    [got] = proxy.got
    assert (got.target, got.headers["Host"]) == ("http://receiver.example:8080/hook", "receiver.example:8080")


def test_what_needs_no_proxy_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as proxy, Receiver() as receiver:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert send(receiver.url).is_accepted
    assert (len(proxy.got), len(receiver.got)) == (0, 1)


def test_a_proxy_of_an_unknown_kind_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://127.0.0.1:1")
    answer = send("http://receiver.example/")
    assert answer.status == 0
    assert "gopher" in answer.said


class _Tunnel(StreamRequestHandler):
    """A proxy that connects its client to whom it asks for, and reads nothing of what they say."""

    asked: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.asked.append(self.rfile.readline().decode().strip())
        while self.rfile.readline().strip():
            pass
        host, _, port = self.asked[-1].split()[1].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as there:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(there, self.connection))
            back.start()
            _pump(self.connection, there)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_what_is_secret_goes_through_a_proxy_unread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", trusted(tmp_path))
    with ThreadingTCPServer(("127.0.0.1", 0), _Tunnel) as proxy, Receiver(secure=True) as receiver:
        serving = threading.Thread(target=lambda: proxy.serve_forever(0.01))
        serving.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.server_address[1]}")
        try:
            assert send(receiver.url).is_accepted
        finally:
            proxy.shutdown()
            serving.join()
    assert [line.split()[:2] for line in _Tunnel.asked] == [["CONNECT", f"127.0.0.1:{receiver.server_port}"]]
    assert receiver.got[0].body == b'{"a":1}'


class _Hostile(StreamRequestHandler):
    """Answers with what a terminal would obey."""

    def handle(self) -> None:
        self.connection.recv(65536)
        self.wfile.write(b"\x1b]0;pwned\x07\0\x9b2J\r\n\r\n")


def test_what_is_not_http_can_do_nothing_to_a_terminal() -> None:
    with ThreadingTCPServer(("127.0.0.1", 0), _Hostile) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            answer = send(f"http://127.0.0.1:{server.server_address[1]}/")
        finally:
            server.shutdown()
            thread.join()
    assert answer.status == 0
    assert "pwned" in answer.said
    assert answer.said.isprintable()
