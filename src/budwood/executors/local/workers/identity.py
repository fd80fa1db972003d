"""What a worker is made for: calls that agree in all of this can share one, one after the other.

Knows which part of an attempt belongs to its process and which to the call. Must not know slots.
"""

import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.executors.base import Step, Work
from budwood.executors.local.ground import Place
from budwood.executors.local.leftovers import INLINE_LOG_BYTES
from budwood.executors.local.wire import Start

SCRIPT = Path(__file__).with_name("main.py")
CALL_LOG = "call.log"
"""The file in a worker's directory that its calls print to; its supervisor keeps it small."""
_OF_THE_RUN = frozenset({"BUDWOOD_RUN", "BUDWOOD_WORKSPACE"})


class Identity(Struct, frozen=True, gc=False):
    """The process that a call needs."""

    python: str
    cwd: str
    env: dict[str, str]
    env_pass: tuple[str, ...]
    contain: str
    grace_s: float
    memory_bytes: int | None
    worker_memory_bytes: int
    output_bytes: int

    @property
    def replaced_above_bytes(self) -> int:
        """How large a worker may become; well below the limit of a call, which what leaked would count against."""
        if self.memory_bytes is None:
            return self.worker_memory_bytes
        return min(self.worker_memory_bytes, self.memory_bytes * 3 // 4)

    @property
    def head_bytes(self) -> int:
        """How much of a call's output is kept from its beginning."""
        return self.output_bytes // 2

    @property
    def tail_bytes(self) -> int:
        """How much of a call's output is kept from its end."""
        return self.output_bytes - self.head_bytes


def split(work: Work) -> tuple[Identity, dict[str, str]]:
    """Say which process a call needs, and which variables are the call's own."""
    assert work.call is not None
    env: dict[str, str] = {}
    own: dict[str, str] = {}
    for name, value in work.env.items():
        if name.startswith("BUDWOOD_") and name not in _OF_THE_RUN:
            own[name] = value
        else:
            env[name] = value
    identity = Identity(
        work.call.python or sys.executable,
        work.cwd,
        env,
        work.env_pass,
        work.contain,
        work.grace_s,
        work.memory_bytes,
        work.call.worker_memory_bytes,
        work.output_bytes,
    )
    return identity, own


def start_message(identity: Identity, place: Place, *, worker: str, door: Path, fence: int) -> Start:
    """Describe a worker as an attempt that lasts as long as its driver."""
    directory = place.paths.attempt(worker)
    told = {
        "id": worker,
        "socket": str(door),
        "directory": str(directory),
        "head_bytes": identity.head_bytes,
        "tail_bytes": identity.tail_bytes,
        "replaced_above_bytes": identity.replaced_above_bytes,
    }
    env = place.environment(identity.env_pass, identity.env)
    env["BUDWOOD_MARK"] = place.mark(worker)
    argv = (identity.python, str(SCRIPT), msgspec.json.encode(told).decode())
    return Start(
        fence=fence,
        attempt=worker,
        dir=str(directory),
        cwd=identity.cwd,
        env=env,
        steps=(Step(name="worker", argv=argv),),
        timeout_s=None,
        grace_s=identity.grace_s,
        memory_bytes=identity.memory_bytes,
        head_bytes=identity.head_bytes,
        tail_bytes=identity.tail_bytes,
        contain=identity.contain,
        forget=(),
        inline_log_bytes=INLINE_LOG_BYTES,
        with_driver=True,
        own_log=CALL_LOG,
    )
