"""A receiver of webhooks: a real HTTP server on loopback that notes what it gets and answers as a test wants.

Its certificate is made anew for each process, and nobody trusts it who is not told to.
"""

import hashlib
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import trustme
from tests.support.listening import Listening

NO_PROXY = {"no_proxy": "127.0.0.1,localhost", "NO_PROXY": "127.0.0.1,localhost"}


@cache
def authority() -> trustme.CA:
    """Make the one who vouches for secure receivers."""
    return trustme.CA()


def trusted(folder: Path) -> str:
    """Write down whom to trust; return the file's name, for SSL_CERT_FILE."""
    path = folder / "authority.pem"
    authority().cert_pem.write_to_path(str(path))
    return str(path)


@dataclass(frozen=True, slots=True)
class Got:
    """One request."""

    index: int
    target: str
    headers: dict[str, str]
    body: bytes
    at_s: float = field(default_factory=monotonic)

    @property
    def json(self) -> dict[str, Any]:
        """What it says."""
        return msgspec.json.decode(self.body, type=dict[str, Any])

    @property
    def numbers(self) -> list[int]:
        """The numbers of its events."""
        return [event["number"] for event in self.json["events"]]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; without a status the connection is cut. `drip` goes on with a header that never ends."""

    status: int | None = 200
    headers: dict[str, str] = field(default_factory=dict)
    drip: bool = False


class Receiver(Listening):
    """Answers 200 to everything, unless `reply` says otherwise."""

    def __init__(
        self, reply: Callable[[Got], Reply] = lambda got: Reply(), *, port: int = 0, secure: bool = False
    ) -> None:
        super().__init__(_Handler, port=port)
        self.reply = reply
        self.got: list[Got] = []
        self.accepted: list[Got] = []
        self.most_at_once = 0
        self._open = 0
        self._lock = threading.Lock()
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority().issue_cert("127.0.0.1", "localhost").configure_cert(context)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        scheme = "https" if secure else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server_port}/hook"

    @property
    def numbers(self) -> list[int]:
        """The numbers of all events that were accepted, as they came."""
        with self._lock:
            return [number for got in self.accepted for number in got.numbers]

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events that were accepted, as they came."""
        with self._lock:
            return [event for got in self.accepted for event in got.json["events"]]

    def take(self, target: str, headers: dict[str, str], body: bytes) -> Reply:
        """Note a request and decide on the answer."""
        with self._lock:
            got = Got(len(self.got), target, headers, body)
            self.got.append(got)
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
        try:
            reply = self.reply(got)
        finally:
            with self._lock:
                self._open -= 1
        if reply.status == 200:
            with self._lock:
                self.accepted.append(got)
        return reply


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.server.take(self.path, dict(self.headers), body)
        if reply.status is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        with suppress(OSError):
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.drip:
                self._drip()
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _drip(self) -> None:
        self.flush_headers()
        while not self.server.over.wait(0.02):
            self.wfile.write(b"X")

    def log_message(self, format: str, *args: object) -> None:
        return


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_signed(got: Got, secret: str) -> bool:
    """Check a signature by the definition of HMAC (RFC 2104), with nothing that budwood uses."""
    parts = dict(part.split("=", 1) for part in got.headers["Budwood-Signature"].split(","))
    key = secret.encode()
    key = hashlib.sha256(key).digest() if len(key) > 64 else key
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + parts["t"].encode() + b"." + got.body).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in padded) + inner).hexdigest() == parts["v1"]
