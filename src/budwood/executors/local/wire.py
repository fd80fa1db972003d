"""The supervisor protocol's messages (docs/reference/supervisor-protocol.md) as structs.

Knows the shapes only. Must not know sockets.
"""

import msgspec
from msgspec import Struct

from budwood.executors.base import Step
from budwood.executors.local.outcome import Result


class Hello(Struct, frozen=True, tag="hello"):
    """Sent first by the driver."""

    fence: int


class Start(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="start"):
    """Run an attempt."""

    fence: int
    attempt: str
    dir: str
    cwd: str
    env: dict[str, str]
    steps: tuple[Step, ...]
    timeout_s: float | None
    grace_s: float
    memory_bytes: int | None
    head_bytes: int
    tail_bytes: int
    contain: str
    forget: tuple[str, ...]
    inline_log_bytes: int
    with_driver: bool = False
    own_log: str | None = None
    mask: tuple[str, ...] = ()


class Cancel(Struct, frozen=True, tag="cancel"):
    """End an attempt."""

    fence: int
    attempt: str


class Deadline(Struct, frozen=True, tag="deadline"):
    """Limit the time that an attempt has left; None no longer limits it."""

    fence: int
    attempt: str
    in_s: float | None


class Forget(Struct, frozen=True, tag="forget"):
    """Remove directories of ended attempts."""

    fence: int
    dirs: tuple[str, ...]


class Exit(Struct, frozen=True, tag="exit"):
    """Leave when idle."""

    fence: int


class HelloReply(Struct, frozen=True, tag="hello"):
    """What the supervisor is busy with."""

    fence: int
    pid: int
    version: str
    attempt: str | None = None
    pid_of_step: int | None = None
    begun_at_ms: int | None = None


class Begun(Struct, frozen=True, tag="begun"):
    """The first step runs."""

    attempt: str
    pid: int
    at_ms: int


class Ended(Struct, frozen=True, tag="ended"):
    """The attempt is over."""

    attempt: str
    result: Result
    log: str | None = None


class Refused(Struct, frozen=True, tag="refused"):
    """Nothing was done."""

    reason: str
    attempt: str | None = None
    fence: int = 0
    message: str = ""


ToSupervisor = Hello | Start | Cancel | Deadline | Forget | Exit
FromSupervisor = HelloReply | Begun | Ended | Refused

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[FromSupervisor] = msgspec.json.Decoder(FromSupervisor)


def encode(message: ToSupervisor) -> bytes:
    """Write a message as one line."""
    return _ENCODER.encode(message) + b"\n"


def decode(line: bytes) -> FromSupervisor:
    """Read one line."""
    return _DECODER.decode(line)
