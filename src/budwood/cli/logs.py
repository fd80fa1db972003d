"""What attempts printed: from the store once they have ended, from their directory while they run.

Knows the layout of an attempt's log (docs/reference/supervisor-protocol.md, "The log"). Must not print.
"""

from pathlib import Path

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


def read_log(store: Store, run: str, run_dir: Path, attempt: AttemptRow) -> bytes | None:
    """Return what an attempt has printed so far; None if its log is on another machine or was never there."""
    kept = store.log(run, attempt.task, attempt.number)
    if kept is not None:
        return kept
    try:
        return (attempt_dir(run_dir, attempt) / "log").read_bytes()
    except FileNotFoundError:
        # It may have ended and moved into the store between the two looks.
        kept = store.log(run, attempt.task, attempt.number)
        return kept if kept is not None else b"" if not attempt.output_bytes else None


def is_unordered(directory: Path) -> bool:
    """Say whether the log of a running attempt has more behind its head than its ring holds."""
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
            self._limits = self._read_limits()
        try:
            with (self._directory / "log").open("rb") as file:
                file.seek(self._given)
                added = file.read()
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

    def _read_limits(self) -> _Limits | None:
        try:
            return msgspec.json.decode((self._directory / "spec.json").read_bytes(), type=_Limits)
        except (OSError, msgspec.MsgspecError):
            return None  # it has not begun, or is being removed; then there is nothing to read either
