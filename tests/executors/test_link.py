"""The line to a supervisor: nothing is lost when the other end is slow, not even what travels along."""

import os
import socket
from pathlib import Path

import pytest

from budwood.engine.loop import SelectorLoop
from budwood.executors.local.link import Link
from budwood.executors.local.wire import Forget, Hello, encode


def test_what_does_not_fit_at_once_arrives_in_order_with_its_descriptors(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    loop = SelectorLoop()
    link = Link(ours)
    link.attach(loop, on_message=lambda message: None, on_gone=lambda: None)
    long = Forget(1, tuple(f"/some/directory/{number}" for number in range(40_000)))
    link.send(long)
    link.send(Hello(2))
    fd = os.open(tmp_path / "token", os.O_RDWR | os.O_CREAT)
    link.send(Hello(3), fds=[fd])
    os.close(fd)
    wanted = encode(long) + encode(Hello(2)) + encode(Hello(3))
    heard, held = b"", []
    theirs.settimeout(5)
    while len(heard) < len(wanted):
        data, fds, _, _ = socket.recv_fds(theirs, 65536, 4)
        heard += data
        held += fds
        loop.later(0.0, lambda: None)  # a turn that does not wait when there is nothing left to send
        loop.turn()
    assert heard == wanted
    assert [os.readlink(f"/proc/self/fd/{fd}") for fd in held] == [str(tmp_path / "token")]
    for fd in held:
        os.close(fd)
    link.close()
    theirs.close()
    loop.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_line_that_was_cut_is_no_error_of_the_sender(when: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    loop, gone = SelectorLoop(), []
    link = Link(ours)
    link.attach(loop, on_message=lambda message: None, on_gone=lambda: gone.append(True))
    if when == "after":
        link.send(Hello(1))
    theirs.close()
    link.send(Hello(2))
    loop.turn()
    assert gone == [True]
    loop.close()
