"""What attempts printed: from the store once they have ended, from their directory while they run.

Knows the layout of an attempt's log (docs/reference/supervisor-protocol.md, "The log"). Must not print.
"""

from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import msgspec

from budwood._core.ids import attempt_id
from budwood._core.rows import AttemptRow
from budwood.stores import Store


class _Limits(msgspec.Struct):
    head_bytes: int
    tail_bytes: int


def attempt_dir(run_dir: Path, attempt: AttemptRow) -> Path:
    """Return the directory that an attempt has while it runs, and keeps if its log is too large for the store."""
    return run_dir / "attempts" / attempt_id(attempt.task, attempt.number)


def open_log(store: Store, run: str, run_dir: Path, attempt: AttemptRow) -> BinaryIO | None:
    """Open what an attempt has printed so far; None if its log is on another machine or was never there."""
    kept = store.log(run, attempt.task, attempt.number)
    if kept is not None:
        return BytesIO(kept)
    try:
        return _open_file(attempt_dir(run_dir, attempt))
    except FileNotFoundError:
        # It may have ended and moved into the store between the two looks.
        kept = store.log(run, attempt.task, attempt.number)
        return BytesIO(kept or b"") if kept is not None or not attempt.output_bytes else None


def _open_file(directory: Path) -> BinaryIO:
    """Open the log in an attempt's directory; a running call's is a link to a file that may be huge and hollow."""
    from budwood.executors.local.leftovers import read_ends

    is_link = (directory / "log").is_symlink()
    log = (directory / "log").open("rb")
    limits = _read_limits(directory) if is_link else None
    if limits is None:
        return log
    with log:
        return BytesIO(read_ends(log, head_bytes=limits.head_bytes, tail_bytes=limits.tail_bytes)[0])


def read_log(store: Store, run: str, run_dir: Path, attempt: AttemptRow) -> bytes | None:
    """Return what `open_log` opens."""
    log = open_log(store, run, run_dir, attempt)
    if log is None:
        return None
    with log:
        return log.read()


def is_unordered(directory: Path) -> bool:
    """Say whether the log of a running attempt has more behind its head than its ring holds; a call's has no ring."""
    if (directory / "log").is_symlink():
        return False
    tail = LogTail(directory)
    tail.read()
    return tail.is_full


class LogTail:
    """Reads what is added to the log of a running attempt.

    Behind its head the file is a ring: once that is full, what lies in it is in no known order before the attempt's
    end. Only bytes that are certainly in order are handed out; `rest` gives what is left when the log is in order.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._given = 0
        self._limits: _Limits | None = None

    @property
    def is_full(self) -> bool:
        """Whether more was printed than is kept, so that the rest comes at the end."""
        limits = self._limits
        return limits is not None and self._size() >= limits.head_bytes + limits.tail_bytes

    def read(self) -> bytes:
        """Return what was added since the last call."""
        if self._limits is None:
            self._limits = _read_limits(self._directory)
        most = -1 if self._limits is None else self._limits.head_bytes + self._limits.tail_bytes - self._given
        try:
            with (self._directory / "log").open("rb") as file:
                file.seek(self._given)
                added = file.read(most) if self._limits is None or most > 0 else b""
        except FileNotFoundError:
            return b""
        if self.is_full:
            assert self._limits is not None
            added = added[: max(0, self._limits.head_bytes - self._given)]
        self._given += len(added)
        return added

    def rest(self, whole: bytes, *, dropped_bytes: int) -> bytes:
        """Return what of an ended attempt's whole log was not handed out yet."""
        if not dropped_bytes:
            return whole[self._given :]
        marker = f"[budwood: {dropped_bytes} bytes dropped here]\n".encode()
        before, found, tail = whole.partition(marker)
        head_bytes = self._limits.head_bytes if self._limits is not None else len(before)
        if not found or self._given <= head_bytes:
            return whole[self._given :]
        missing = dropped_bytes - (self._given - head_bytes)
        if missing > 0:
            return f"[budwood: {missing} bytes dropped here]\n".encode() + tail
        return tail[-missing:]

    def _size(self) -> int:
        try:
            return (self._directory / "log").stat().st_size
        except FileNotFoundError:
            return 0


def _read_limits(directory: Path) -> _Limits | None:
    try:
        return msgspec.json.decode((directory / "spec.json").read_bytes(), type=_Limits)
    except (OSError, msgspec.MsgspecError):
        return None  # it has not begun, or is being removed; then there is nothing to read either
