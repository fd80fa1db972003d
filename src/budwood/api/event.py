"""One event, as callbacks and iterators hand it out.

Knows events and which run they are of. What an event means is in the reference; its shape is that of every stream.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from budwood._core.events import Recorded, as_json, kind_of

if TYPE_CHECKING:
    from budwood.api.run import Run

_HEAD = ("number", "at_ms", "event", "version")


class Event:
    """A fact about a run; numbers are dense and start at 1."""

    __slots__ = ("_recorded", "_run")

    def __init__(self, run: "Run", recorded: Recorded) -> None:
        self._run = run
        self._recorded = recorded

    @property
    def run(self) -> "Run":
        """The run that it is of, of which something may be asked."""
        return self._run

    @property
    def number(self) -> int:
        """Its place in the run."""
        return self._recorded.number

    @property
    def kind(self) -> str:
        """Its kind, such as "attempt_ended"."""
        return kind_of(self._recorded.event)

    @property
    def at(self) -> datetime:
        """When it was recorded, in UTC."""
        return datetime.fromtimestamp(self._recorded.at_ms / 1000, UTC)

    @property
    def body(self) -> dict[str, object]:
        """What else it says; fields that have their default are left out."""
        return {name: value for name, value in as_json(self._recorded).items() if name not in _HEAD}

    def as_dict(self) -> dict[str, object]:
        """Give it the public JSON shape: number, at_ms, event, version, and what else it says."""
        return as_json(self._recorded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and (self._run.id, self._recorded) == (other._run.id, other._recorded)

    def __hash__(self) -> int:
        return hash((self._run.id, self.number))

    def __repr__(self) -> str:
        told = " ".join(f"{name}={value!r}" for name, value in self.body.items())
        return f"<event {self.number} of {self._run.name}: {self.kind} {told}>"[:200]
