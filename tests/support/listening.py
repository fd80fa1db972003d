"""A real HTTP server on loopback, for as long as a `with` lasts."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class Listening(ThreadingHTTPServer):
    """Serves from a thread of its own; who holds an answer back waits for `over`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, handler: type[BaseHTTPRequestHandler], *, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.over = threading.Event()
        self._thread = threading.Thread(target=lambda: self.serve_forever(0.01), name=type(self).__name__.lower())

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away, or that do not trust us."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.over.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
