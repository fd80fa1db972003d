"""The three standard streams, whatever state they were left in: closed, or on a full disk.

Knows descriptors. Must not know what is written.
"""

import os
import sys


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
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False, errors="backslashreplace")


def is_deaf() -> bool:
    """Say whether standard output refuses what it was given."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def give_up_output(fd: int) -> None:
    """Let what is still buffered go nowhere, so that flushing it at exit changes no exit code."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)
