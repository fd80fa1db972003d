"""Calls that wait for whichever worker is free first: a queue that all workers of one kind share.

A pair of datagram sockets, one call in each datagram. The driver keeps both ends, so that it can take back what no
worker has taken: the kernel gives each call to one of them only, and in the order in which they came. Knows sockets
and bytes; must not know what a call is.
"""

import socket

from budwood.executors.local.workers.identity import Identity

MOST_BYTES = 16 * 1024
"""A longer call does not wait here: the kernel lends us some 200 KB."""


class Bag:
    """One queue, for workers of one identity."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ours.setblocking(False)
        self._theirs.setblocking(False)

    @property
    def fd(self) -> int:
        """The end that workers get."""
        return self._theirs.fileno()

    def put(self, call: bytes) -> bool:
        """Let a call wait; say whether there was room."""
        try:
            return len(call) <= MOST_BYTES and self._ours.send(call) == len(call)
        except OSError:  # full
            return False

    def take(self) -> bytes | None:
        """Take back the first that nobody took."""
        try:
            return self._theirs.recv(MOST_BYTES)
        except BlockingIOError:
            return None

    def empty(self) -> list[bytes]:
        """Take back what nobody took."""
        return list(iter(self.take, None))

    def close(self) -> None:
        """Drop it; a worker that still has its end finds nothing there."""
        self._ours.close()
        self._theirs.close()
