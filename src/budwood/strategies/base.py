"""What every strategy promises. `budwood.testing.strategies` proves it of an implementation.

Rules
- `ask` answers from what the strategy was made with, from what it was told and from the random numbers that it is
  handed. It changes nothing: asked twice, it answers the same.
- `asked` and `tell` alone change it, and only in ways that follow from what they are given. The same calls in the same
  order bring another object to the same place: that is how a run that was killed goes on.
- Answer number k is recorded before any of its tasks starts, and never asked for again. Before it, `tell` was called
  for every task of answers 0 to k - window, in task order, and for no other task; with `order = "completion"`, for
  every task that has ended, in the order in which they did.
- An answer without tasks is the last one.
- A strategy reads no clock, file, environment or randomness of its own.

It can be driven by hand as well: ask, do the work, tell. Knows `_core` only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from inspect import Parameter, signature
from random import Random
from typing import Self

from msgspec import Struct

from budwood._core.model import LaneSpec, TaskPhase, TaskSpec
from budwood._core.plain import is_plain
from budwood._core.scores import Judgement, Score
from budwood._core.seeds import derive


class Told(Struct, frozen=True, kw_only=True):
    """What became of one task: each is told once, when it has ended."""

    task: TaskSpec
    number: int
    """Its place in task order, from 0."""
    ask: int
    """Which answer it was in."""
    state: TaskPhase
    result: object = None
    """What its function returned; of an attempt in a workspace, its notes: text by name. None of one that failed."""
    score: Score | None = None
    """Of what it made; None where nothing was to be scored, or could be."""
    tree: str = ""
    """What it made, by content."""
    files: tuple[str, ...] = ()
    """The first of the files that it changed, by name; also of one that failed."""
    error: str = ""
    cost_usd: float = 0.0

    @property
    def done(self) -> bool:
        """Whether it succeeded."""
        return self.state is TaskPhase.DONE


class Strategy(ABC):
    """Decides which tasks to add."""

    window: int = 1
    """Answer number k waits for the tasks of answers 0 to k - window; so many answers can be under way at once.

    1 is a barrier between an answer and the next. A run keeps the window that it began with.
    """
    barrier: bool = False
    """Whether it must know all ends of an answer before the next: it can have no other window than 1, or order."""
    _made_with: Mapping[str, object] | None
    """The arguments that it was made with, by name; None if it cannot be made again from names and JSON."""

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Note what it is made with, as it is given: what a class does with that is its own affair."""
        made = super().__new__(cls)
        if cls.__init__ is object.__init__ and (args or kwargs):
            raise TypeError(f"{cls.__name__}() takes no arguments")
        # A class with a __new__ of its own may hand on anything. Reading __init__ of an object is what mypy minds.
        noted = _by_name(made.__init__, args, kwargs) if cls.__new__ is Strategy.__new__ else None  # type: ignore[misc]
        object.__setattr__(made, "_made_with", noted)
        return made

    @property
    def lanes(self) -> Sequence[LaneSpec]:
        """The lanes that its tasks may be in; known before the first answer."""
        return ()

    @property
    def groups(self) -> Mapping[str, int]:
        """How many tasks of its groups may run at once, where the run's settings do not say."""
        return {}

    @abstractmethod
    def ask(self, number: int, random: Random) -> Iterable[TaskSpec]:
        """Say which tasks come next; none at all if the search is over. Changes nothing."""

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:  # noqa: B027  # to be overridden by who wants it
        """Hear that this answer was recorded; also on resume, where `ask` is not called again."""

    def judged(self, number: int) -> Sequence[Judgement]:
        """Say what becomes of candidates by answer `number`; recorded with that answer, in one event. Changes nothing.

        Called right after `ask`.
        """
        return ()

    def reason(self, number: int) -> str:
        """Say why answer `number` is the last. Changes nothing."""
        return ""

    def pauses(self, number: int) -> str:
        """Say why the run is to be paused once before the tasks of answer `number`; empty: it goes on.

        What was judged with that answer is on record by then. Changes nothing.
        """
        return ""

    def foreseen(self) -> Sequence[TaskSpec]:
        """Say which tasks it will ask for first, as far as that is known before anything has ended. Changes nothing."""
        return ()

    @abstractmethod
    def tell(self, told: Told) -> None:
        """Hear what became of a task."""


def made_with(strategy: Strategy) -> Mapping[str, object] | None:
    """Say with which arguments, by name, an equal object can be made; None if there is no telling."""
    return strategy._made_with


def _by_name(
    init: Callable[..., None], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object] | None:
    """Give arguments their names; those that were left to their defaults stay out."""
    declared = signature(init)
    try:
        bound = declared.bind(*args, **kwargs)
    except TypeError:  # making the object fails as well, or its class takes what it does not declare
        return None
    named: dict[str, object] = {}
    for name, value in bound.arguments.items():
        kind = declared.parameters[name].kind
        if kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            return None
        named |= value if kind is Parameter.VAR_KEYWORD else {name: value}
    # A copy: the class may go on to change what it was handed.
    return deepcopy(named) if is_plain(named) else None


def random_of(run_seed: int, number: int) -> Random:
    """Return the random numbers of one answer: the same ones whenever and wherever it is asked for."""
    return Random(derive(run_seed, f"ask {number}", purpose="strategy"))
