"""What a driver and a worker say to each other (docs/reference/functions.md), a line of JSON each.

Knows the shapes only; `main.py`, the other end, knows them by heart, for it may import nothing.
"""

import msgspec
from msgspec import Raw, Struct

from budwood.executors.local.workers.worker import OpenCall


class Asked(Struct, frozen=True, gc=False):
    """A call, from the driver."""

    id: str
    function: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    env: dict[str, str]
    ahead: bool = False
    """Whether the worker may take the next call from the bag when this one has simply succeeded."""


class _Named(Struct, frozen=True, gc=False):
    id: str


class Trouble(Struct, frozen=True):
    """Why a call has no result."""

    type: str
    message: str
    traceback: str = ""


class Told(Struct, frozen=True, gc=False):
    """What a worker says: first its own id alone, then of each call what became of it."""

    id: str
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_bytes: int = 0
    error: Trouble | None = None
    output_bytes: int = 0
    dropped_bytes: int = 0
    log: str | None = ""
    """What the call printed; None where that is in a file `log` in the attempt's directory."""
    usage: str | None = None
    leaves: bool = False
    """The worker ends after this: processes of the call live, which its supervisor ends, or its outputs are spoiled."""
    memory_bytes: int = 0
    """How large the worker is; told now and then."""
    next: str | None = None
    """The call that it took from the bag and makes now, without being asked."""
    result: Raw = Raw(b"null")


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Told)
_ID_DECODER = msgspec.json.Decoder(_Named)


def ask(call: OpenCall, *, ahead: bool) -> bytes:
    """Write a call as one line."""
    work = call.work
    assert work.call is not None
    made = Asked(work.id, work.call.function, work.call.args, work.call.kwargs, call.env, ahead)
    return _ENCODER.encode(made) + b"\n"


def read_id(line: bytes) -> str:
    """Read which call was written."""
    return _ID_DECODER.decode(line).id


def decode(line: bytes) -> Told | None:
    """Read what a worker said; None if it is no message of one."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the last of what is nested without measure
        return None
