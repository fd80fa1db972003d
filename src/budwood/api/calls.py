"""Tasks made in Python: one call of a function, or a command.

Whoever decorates a function is imported by workers as well, so that little is loaded here before a task is made.
Knows what a task may say; must not know runs.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

if TYPE_CHECKING:
    from budwood._core.model import TaskId, TaskSpec
    from budwood.api.keys import TaskKeys
    from budwood.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Calls(Generic[P]):
    """Makes tasks of calls of one function; what else they say is fixed."""

    def __init__(
        self,
        function: Callable[P, object],
        keys: "TaskKeys",
        *,
        id: "TaskId | None" = None,
        after: "Iterable[TaskId | TaskSpec]" = (),
    ) -> None:
        self._function = function
        self._keys = keys
        self._id = id
        self._after = after

    def task(self, *args: P.args, **kwargs: P.kwargs) -> "TaskSpec":
        """Make the task that calls the function with these arguments."""
        return call(self._function, args=args, kwargs=kwargs, id=self._id, after=self._after, **self._keys)

    def options(
        self,
        *,
        id: "TaskId | None" = None,
        after: "Iterable[TaskId | TaskSpec]" = (),
        **keys: "Unpack[TaskKeys]",
    ) -> "Calls[P]":
        """Say more of the tasks that are made next: an id, what they come after, any key of a task."""
        refuse_unknown_keys(keys)
        return Calls(self._function, cast("TaskKeys", {**self._keys, **keys}), id=id, after=after)


class TaskFunction(Protocol[P, R_co]):
    """A function that is as it was, and makes tasks of its calls."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call it here and now."""

    def task(self, *args: P.args, **kwargs: P.kwargs) -> "TaskSpec":
        """Make the task that calls it with these arguments, which must be JSON."""

    def options(
        self,
        *,
        id: "TaskId | None" = None,
        after: "Iterable[TaskId | TaskSpec]" = (),
        **keys: "Unpack[TaskKeys]",
    ) -> Calls[P]:
        """Say more of the task that is made next: an id, what it comes after, any key of a task."""


@overload
def task(function: Callable[P, R], /) -> TaskFunction[P, R]: ...
@overload
def task(**keys: "Unpack[TaskKeys]") -> Callable[[Callable[P, R]], TaskFunction[P, R]]: ...
def task(
    function: Callable[P, R] | None = None, /, **keys: "Unpack[TaskKeys]"
) -> TaskFunction[P, R] | Callable[[Callable[P, R]], TaskFunction[P, R]]:
    """Let a function make tasks: `@budwood.task`, or `@budwood.task(retries=2)` with keys for all of its tasks."""
    if keys:
        refuse_unknown_keys(keys)

    def decorate(function: Callable[P, R]) -> TaskFunction[P, R]:
        if not inspect.isfunction(function):
            raise _undecorated(function)
        calls = Calls(function, keys)
        # The function itself, not a wrapper: it can be pickled, inspected and imported as if nothing had happened.
        vars(function).update(task=calls.task, options=calls.options)
        return cast("TaskFunction[P, R]", function)

    return decorate if function is None else decorate(function)


def call(
    function: Callable[..., object] | str,
    *,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    id: "TaskId | None" = None,
    after: "Iterable[TaskId | TaskSpec]" = (),
    **keys: "Unpack[TaskKeys]",
) -> "TaskSpec":
    """Make a task that calls a function, given as it is or as "module:name"; arguments must be JSON."""
    from budwood.api.making import make_call

    return make_call(function, args, {} if kwargs is None else dict(kwargs), id=id, after=after, keys=keys)


def command(
    run: str | Sequence[str],
    *,
    id: "TaskId | None" = None,
    after: "Iterable[TaskId | TaskSpec]" = (),
    **keys: "Unpack[TaskKeys]",
) -> "TaskSpec":
    """Make a task that runs a command: text for the shell, or a list of words that is run as it is."""
    from budwood.api import making

    written = run if isinstance(run, str) else list(run)
    made_up = making.command_id(run) if id is None else id
    return making.make_task({"id": made_up, "run": written}, after, keys)


def prompt(
    text: str,
    *,
    id: "TaskId | None" = None,
    after: "Iterable[TaskId | TaskSpec]" = (),
    **keys: "Unpack[TaskKeys]",
) -> "TaskSpec":
    """Make a task that asks an agent, in a workspace of its own: the one that `agent` names here or for the run."""
    from budwood.api import making
    from budwood.errors import UsageError

    if "prompt" in keys:
        raise UsageError("budwood.prompt() has its prompt already", hint="leave prompt=… out")
    made_up = making.command_id(text) if id is None else id
    return making.make_task({"id": made_up, "prompt": text}, after, keys)


def refuse_unknown_keys(keys: Mapping[str, object]) -> None:
    """Refuse a key that no task has."""
    from budwood.api.keys import TaskKeys
    from budwood.api.making import unknown_key

    for name in keys:
        if name not in TaskKeys.__annotations__:
            raise unknown_key(name, TaskKeys.__annotations__, of="a task")


def _undecorated(given: object) -> "UsageError":
    from budwood.errors import UsageError

    return UsageError(
        f"@budwood.task is for functions, not for {given!r}",
        hint="put it right above def; budwood.call(…) makes tasks of whatever else can be called and imported",
    )
