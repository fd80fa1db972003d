"""What an attempt without a driver left in its directory.

Knows the files that the supervisor protocol names. Must not decide what they mean for a run.
"""

import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO

import msgspec

from budwood.errors import LeaseLost
from budwood.executors.local.outcome import Result

INLINE_LOG_BYTES = 64 * 1024
STORED_LOG_BYTES = 8 * 1024 * 1024
"""A log up to this size moves into the store; a larger one stays in the attempt's directory."""
USAGE = "usage.json"
_USAGE_BYTES = 64 * 1024
_RESULT = msgspec.json.Decoder(Result)


def read_result(directory: Path) -> Result | None:
    """Read an attempt's result; one that is missing or torn (a power cut can do that) is none."""
    try:
        return _RESULT.decode((directory / "result.json").read_bytes())
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def has_begun(directory: Path) -> bool:
    """Say whether a supervisor ever started a step of it."""
    return (directory / "begun").exists()


def read_log(directory: Path) -> bytes | None:
    """Read what it printed; None when that is more than can be carried about."""
    try:
        with (directory / "log").open("rb") as file:
            data = file.read(STORED_LOG_BYTES + 1)
    except FileNotFoundError:
        return b""
    return data if len(data) <= STORED_LOG_BYTES else None


def read_ends(file: BinaryIO, *, head_bytes: int, tail_bytes: int) -> tuple[bytes, int, int]:
    """Read head and tail of a log that is not cut itself: what is kept, all of it in bytes, and what was dropped."""
    size = file.seek(0, 2)
    dropped = max(0, size - head_bytes - tail_bytes)
    file.seek(0)
    if not dropped:
        return file.read(size), size, 0
    head = file.read(head_bytes)
    file.seek(size - tail_bytes)
    tail = file.read(tail_bytes)
    end = b"\n" if head and not head.endswith(b"\n") else b""
    return head + end + b"[budwood: %d bytes dropped here]\n" % dropped + tail, size, dropped


def read_usage_report(directory: Path, *, name: str = USAGE) -> str | None:
    """Read what it said of its cost, if it said anything that is not far too long."""
    try:
        fd = os.open(directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:
        # A FIFO in its place would be waited for without end.
        data = file.read(_USAGE_BYTES + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    return data.decode(errors="replace") if data is not None and len(data) <= _USAGE_BYTES else None


def log_size(directory: Path) -> int:
    """Return how large its own log is; 0 if it has none, or only a link to that of its worker."""
    try:
        status = (directory / "log").lstat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def raise_fence(path: Path, fence: int) -> None:
    """Write the fencing number, by rename; a driver that comes after a newer one is refused."""
    try:
        before = int(path.read_text())
    except (FileNotFoundError, ValueError):
        before = 0
    if before > fence:
        raise LeaseLost(f"a newer driver (fence {before}) has taken the supervisors over; this one has {fence}")
    draft = path.with_suffix(".new")
    draft.write_text(str(fence))
    draft.rename(path)


def last_words(slot_dir: Path) -> str:
    """Return the last line that a slot's supervisor complained about."""
    try:
        lines = (slot_dir / "stderr").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    return lines[-1] if lines else "it says nothing"


def is_alive(slot_dir: Path) -> bool:
    """Say whether a slot's supervisor lives: it holds its lock until the kernel ends it."""
    try:
        fd = os.open(slot_dir / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def supervisor_pid(slot_dir: Path) -> int | None:
    """Read the pid of the supervisor that last served a slot."""
    try:
        pid = msgspec.json.decode((slot_dir / "info.json").read_bytes())["pid"]
    except (FileNotFoundError, msgspec.MsgspecError, KeyError, TypeError):
        return None
    return pid if isinstance(pid, int) else None
