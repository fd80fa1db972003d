"""Ends what a dead supervisor left running.

The native `sweep` finds processes by the mark in their environment and waits until they are gone; this starts it and
reads its answer. Must not block the loop, but for `sweep_now`, which is for the time before the loop runs.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.executors.base import Loop


class Process(Struct, frozen=True):
    """A process by its number and name."""

    pid: int
    command: str


class Swept(Struct, frozen=True):
    """What a sweep ended, and what it could not end."""

    ended: tuple[Process, ...] = ()
    left: tuple[Process, ...] = ()

    @property
    def left_running(self) -> str:
        """Say what is left, if anything is, in a text for `lost_outcome`."""
        if not self.left:
            return ""
        return "; still running: " + ", ".join(f"{process.pid} ({process.command})" for process in self.left)


class Sweeper:
    """Runs sweeps."""

    def __init__(self, binary: Path, *, loop: Loop) -> None:
        self._binary = binary
        self._loop = loop

    def sweep_now(self, marks: Sequence[str]) -> list[Swept]:
        """End everything under these marks, all at once, and wait for it."""
        running = [self._begin(mark) for mark in marks]
        return [_read(process.communicate()[0]) for process in running]

    def sweep(self, mark: str, done: Callable[[Swept], None]) -> None:
        """End everything under a mark; call back when that is over."""
        process = self._begin(mark)
        assert process.stdout is not None
        stdout = process.stdout

        def readable() -> None:
            text = stdout.read()  # one short line, written at the end
            self._loop.forget(stdout.fileno())
            stdout.close()
            process.wait()
            done(_read(text))

        self._loop.watch(stdout.fileno(), readable)

    def _begin(self, mark: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(self._binary), "sweep", "--mark", mark],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
        )


def _read(text: bytes) -> Swept:
    return msgspec.json.decode(text, type=Swept)
