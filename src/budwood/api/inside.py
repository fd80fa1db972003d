"""What a run is to this process: how it is read, and, if it is driven here, by what.

Knows driving and looking. What a program sees of it is `run`'s.
"""

from collections.abc import Callable, Sequence

from budwood._core.events import Recorded
from budwood._core.state import RunState
from budwood.api.driving import Driving, Glance
from budwood.api.hearing import Hearing, OnEvent
from budwood.api.look import Look


class Inside:
    """One run; drives come and go."""

    def __init__(self, look: Look, *, on_event: OnEvent | None = None) -> None:
        self.look = look
        self.on_event = on_event
        self.driving: Driving | None = None
        """The newest drive of this process."""

    @property
    def at_work(self) -> Driving | None:
        """The drive, while its driver has not left."""
        self.look.refuse_fork()
        return None if self.driving is None or self.driving.over.is_set else self.driving

    @property
    def glance(self) -> Glance | None:
        """Where the run stands, while it is driven here."""
        return None if self.at_work is None else self.at_work.glance

    @property
    def hearing(self) -> Hearing | None:
        """How the newest drive's events are heard."""
        return None if self.driving is None else self.driving.hearing

    def rests(self) -> bool:
        """Say whether nothing more happens until somebody drives it."""
        if self.at_work is not None:
            return False
        with self.look.open() as store:
            return self.look.rests(store)

    def listen(self, ring: Callable[[], object]) -> Callable[[], None]:
        """Ring after every commit of this process's driver, from its thread; return what ends it."""
        if self.driving is None:
            return lambda: None

        def listener(events: Sequence[Recorded], state: RunState) -> None:
            ring()

        return self.driving.attach(listener)
