"""The three standard streams, whatever state they were left in: closed, or on a full disk.

Knows descriptors. Must not know what is written.
"""

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

OUTPUT = "standard output"
"""What errors call it where others have a file's name."""


class _Output(io.FileIO):
    """Standard output; what it refuses can be told from what any other file does."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = OUTPUT
            if isinstance(error, BrokenPipeError):
                error.errno = 0  # click would know it by its number, and leave with exit code 1 before we can
            raise


def keep_streams() -> None:
    """Put something where a standard stream was closed, so that no file of ours gets its number.

    What takes the place of an output cannot be written to: whoever writes learns that nobody hears.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest free number, which is this one
            os.set_inheritable(fd, True)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False, errors="backslashreplace")
    given = sys.stdout
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "w", closefd=False)),
        encoding=given.encoding if given else "utf-8",
        errors=given.errors if given else None,
        line_buffering=given is not None and given.isatty(),
    )


def leave_streams() -> None:
    """Flush what can be, so that Python need not do it at exit: where it fails then, it changes the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            give_up(stream.fileno())


def give_up(fd: int) -> None:
    """Let what is still buffered for an output go nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)
