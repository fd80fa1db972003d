"""A run's strategy, made from its name and options: `plan`, or a class of the user's own.

A user's module is looked for in the project's directory first, as a script there would find it. Must not ask it
anything.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from random import Random

from budwood._core.events import RunCreated
from budwood._core.model import PLAN, LaneSpec, TaskSpec
from budwood._core.scores import Judgement
from budwood._core.suggest import did_you_mean
from budwood.errors import BudwoodError, UsageError
from budwood.stores import Store
from budwood.strategies import BUILT_IN, PlanStrategy, Strategy, Told

_OBJECT = "an object of "
"""So begins the name of a strategy that only its program can make: better refused than made with other options."""

_OPTIONS = "options in [run] are the arguments of its class, by name"


class Completing(Strategy):
    """A strategy whose tasks are completed on their way into the run, one by one: an answer may be endless."""

    def __init__(self, inner: Strategy, complete: Callable[[TaskSpec], TaskSpec]) -> None:
        self._inner = inner
        self._complete = complete
        self.window = inner.window
        self.barrier = inner.barrier

    @property
    def lanes(self) -> Sequence[LaneSpec]:
        return self._inner.lanes

    @property
    def groups(self) -> Mapping[str, int]:
        return self._inner.groups

    def ask(self, number: int, random: Random) -> Iterable[TaskSpec]:
        answer = self._inner.ask(number, random)
        if not isinstance(answer, Iterable):  # a user's class may return anything
            return answer  # type: ignore[unreachable]  # which the engine refuses
        return map(self._completed, answer)

    def _completed(self, given: object) -> TaskSpec:
        if not isinstance(given, TaskSpec):
            raise UsageError(f"an answer has {type(given).__name__}s in it, not tasks")
        return self._complete(given)

    def judged(self, number: int) -> Sequence[Judgement]:
        return self._inner.judged(number)

    def reason(self, number: int) -> str:
        return self._inner.reason(number)

    def pauses(self, number: int) -> str:
        return self._inner.pauses(number)

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:
        self._inner.asked(number, tasks)

    def tell(self, told: Told) -> None:
        self._inner.tell(told)


def make_strategy(name: str, options: Mapping[str, object], *, root: Path) -> Strategy:
    """Import a class and make an object of it; whatever is wrong with it is the user's to mend."""
    kind = _find(BUILT_IN.get(name, name), root=root)
    _refuse_unfit(name, kind, options)
    try:
        return kind(**options)
    except BudwoodError as error:
        hint = error.hint or (None if name in BUILT_IN else _OPTIONS)  # what ours refuse, they refuse by name
        raise UsageError(f"the strategy {name} cannot be made: {error.message}", hint=hint) from error
    except Exception as error:  # the class is the user's code, and may fail in any way
        raise UsageError(
            f"the strategy {name} cannot be made: {type(error).__name__}: {error}",
            hint=_OPTIONS,
        ) from error


def _refuse_unfit(name: str, kind: type[Strategy], options: Mapping[str, object]) -> None:
    """Name an option that its class cannot do without, does not have, or, in ours, that is neither true nor false."""
    parameters = signature(kind).parameters.values()
    for each in parameters:
        if each.kind is Parameter.KEYWORD_ONLY and each.default is Parameter.empty and each.name not in options:
            raise UsageError(
                f"the strategy {name} needs the option {each.name}", hint=f"{each.name} = … in [run.options]"
            )
        given = options.get(each.name, each.default)
        if name in BUILT_IN and isinstance(each.default, bool) and not isinstance(given, bool):
            raise UsageError(f"the strategy {name} cannot be made: {each.name} is {given!r}; it takes true or false")
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters]
    for option in options:
        if option not in known:
            raise UsageError(
                f"the strategy {name} has no option {option!r}",
                hint=did_you_mean(option, known) or f"it has {', '.join(known) or 'none'}",
            )


def object_name(kind: str) -> str:
    """Name a strategy that cannot be made again from its class, `module:Class`."""
    return f"{_OBJECT}{kind}"


def created_of(store: Store, run: str) -> RunCreated | None:
    """Read how a run began; None if it has only been claimed."""
    first = next(iter(store.read(run)), None)
    return first.event if first is not None and isinstance(first.event, RunCreated) else None


def strategy_of(store: Store, run: str, *, root: Path) -> Strategy:
    """Make the strategy of a run that has begun, as it was made when the run began."""
    created = created_of(store, run)
    if created is None or created.strategy == PLAN:
        return PlanStrategy(())
    if created.strategy.startswith(_OBJECT):
        raise UsageError(
            f"the strategy of run {created.name} is {created.strategy} that only its program can make",
            hint=f'in Python: budwood.resume("{created.name}", strategy=<a new object, made like the first>)',
        )
    return make_strategy(created.strategy, created.options, root=root)


def _find(name: str, *, root: Path) -> type[Strategy]:
    module, _, attribute = name.partition(":")
    if not attribute:
        raise UsageError(
            f"there is no strategy {name!r}",
            hint=did_you_mean(name, (PLAN, *BUILT_IN))
            or f"{', '.join((PLAN, *BUILT_IN))}; your own is named module:Class, like climb:HillClimb",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        found: object = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # importing runs the user's code, too
        raise UsageError(
            f"the strategy {name} cannot be imported: {type(error).__name__}: {error}",
            hint=f"{module} is looked for in {root} and in the Python that budwood runs in, {sys.prefix}",
        ) from error
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise UsageError(f"{name} is no strategy", hint="a strategy is a class that inherits from budwood.Strategy")
    return found
