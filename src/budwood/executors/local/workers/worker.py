"""A worker and a call as the driver sees them: what is known of each, and since when.

Knows moments and connections; must not decide anything.
"""

from dataclasses import dataclass

from budwood._core.model import Outcome
from budwood.executors.base import Work
from budwood.executors.local.line import Line
from budwood.executors.local.workers.bag import Bag
from budwood.executors.local.workers.door import Door
from budwood.executors.local.workers.identity import Identity


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call that has not ended; each is equal to itself alone."""

    work: Work
    identity: Identity
    env: dict[str, str]
    sent_at: float | None = None
    told: bool = False
    """Whether the driver knows that it has begun."""
    shown: bool = False
    """Whether readers can look at what it prints."""
    cancelled: bool = False
    token: int | None = None
    answer: tuple[Outcome, bytes | None, bool] | None = None
    """Its end, as `on_end` takes it, which waits for that of the processes that it left."""


@dataclass(slots=True)
class Worker:
    """A worker process, from the moment it is asked for."""

    id: str
    identity: Identity
    hired_at: float
    door: Door | None = None
    line: Line | None = None
    bag: Bag | None = None
    """What it takes calls from, as far as it was told."""
    came: bool = False
    pid: int = 0
    began_at_ms: int = 0
    began: float = 0.0
    deadline: bool = False
    """Whether the supervisor limits its time."""
    leaving_at: float | None = None
    """Since when it is to end, or has hung up; it gets no more calls."""
    dismissed: bool = False
    """Whether we hung up on it."""
    pressed: bool = False
    """Whether its supervisor was told to end it."""

    @property
    def is_ready(self) -> bool:
        """Say whether it can be given a call."""
        return self.came and self.pid != 0 and self.leaving_at is None

    def hang_up(self) -> None:
        """Hear no more of it."""
        if self.door is not None:
            self.door.close()
        if self.line is not None:
            self.line.close()
            self.line = None

    def at_ms(self, moment: float) -> int:
        """Return the time of day at a moment, by the clock that told when it began."""
        return self.began_at_ms + round((moment - self.began) * 1000)
