"""The table of tools: names, what they are for, what they take, who may call them.

Knows the tools' functions. Must not know the SDK's messages.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec import Struct

from budwood.errors import UsageError
from budwood.mcp import arguments as a
from budwood.mcp import asking, looking
from budwood.mcp.asking import GoesOn, Reports
from budwood.mcp.desk import Desk
from budwood.mcp.looking import Told

_NULL = {"type": "null"}
Arguments = TypeVar("Arguments", bound=Struct)


class Counter:
    """One client: its desk, and what it has been told."""

    def __init__(self, desk: Desk, *, wait_s: float) -> None:
        self.desk = desk
        self.wait_s = wait_s
        """How long a call waits for a person at most."""
        self.reports = Reports()


Call = Callable[[Counter, dict[str, object], GoesOn], Awaitable[Told]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    doc: str
    takes: type[Struct]
    call: Call
    writes: bool = False
    of_attempts: bool = False
    """Whether only an attempt can call it."""

    @property
    def schema(self) -> dict[str, object]:
        """Write what it takes as a JSON schema without references, which not every client follows."""
        (whole,), parts = msgspec.json.schema_components((self.takes,), ref_template="#/$defs/{name}")
        found = _plain(parts[str(whole["$ref"]).rpartition("/")[2]], parts)
        assert isinstance(found, dict)
        found.pop("title", None)
        found.pop("description", None)
        return found


def _plain(value: object, parts: dict[str, dict[str, object]]) -> object:
    if isinstance(value, dict):
        if "$ref" in value:
            rest = {key: each for key, each in value.items() if key != "$ref"}
            return _plain({**parts[str(value["$ref"]).rpartition("/")[2]], **rest}, parts)
        options = [each for each in value.get("anyOf", ()) if each != _NULL]
        if len(options) < len(value.get("anyOf", ())):  # what may be left out may also be null, and nobody need know
            rest = {key: each for key, each in value.items() if key not in ("anyOf", "default")}
            return _plain({**rest, **(options[0] if len(options) == 1 else {"anyOf": options})}, parts)
        return {key: _plain(each, parts) for key, each in value.items()}
    return [_plain(each, parts) for each in value] if isinstance(value, list) else value


def _reading(takes: type[Arguments], call: Callable[[Counter, Arguments, GoesOn], Awaitable[Told]]) -> Call:
    def checked(counter: Counter, given: dict[str, object], goes_on: GoesOn) -> Awaitable[Told]:
        try:
            return call(counter, msgspec.convert(given, takes), goes_on)
        except msgspec.ValidationError as error:
            raise UsageError(f"{error}; the tool takes {', '.join(takes.__struct_fields__) or 'nothing'}") from None

    return checked


def _tool(
    name: str,
    takes: type[Arguments],
    call: Callable[[Counter, Arguments, GoesOn], Awaitable[Told]],
    *,
    doc: str,
    writes: bool = False,
    of_attempts: bool = False,
) -> Tool:
    return Tool(name=name, doc=doc, takes=takes, call=_reading(takes, call), writes=writes, of_attempts=of_attempts)


_ALL = (
    _tool(
        "create_task",
        a.CreateTask,
        lambda at, given, _: asking.create_task(at.desk, given),
        writes=True,
        doc="Let a further task join the run; it starts by itself when what it depends on is done. It begins with the "
        "files of the run's base and of what it depends on: to build on your own changes, name your own task in "
        "depends_on. Returns its id. The same asked for twice is one task; a cycle is refused.",
    ),
    _tool(
        "update_task",
        a.UpdateTask,
        lambda at, given, _: asking.update_task(at.desk, given),
        writes=True,
        doc="Change a task that was created with create_task and has not begun. What is left out stays as it is.",
    ),
    _tool(
        "list_tasks",
        a.ListTasks,
        lambda at, given, _: at.desk.do(lambda view: looking.list_tasks(view, given)),
        doc="List the tasks of the run with their states, in task order.",
    ),
    _tool(
        "get_context",
        a.GetContext,
        lambda at, given, _: at.desk.do(lambda view: looking.get_context(view, given)),
        doc="Tell what is known of a task: what it is for, what it depends on and what became of that, how earlier "
        "attempts ended, what it has created, how much time is left.",
    ),
    _tool(
        "report_progress",
        a.ReportProgress,
        lambda at, given, _: at.reports.report_progress(at.desk, given),
        writes=True,
        of_attempts=True,
        doc="Say where you are, for the people who watch the run. The last word counts, and at most one in a second.",
    ),
    _tool(
        "ask_human",
        a.AskHuman,
        lambda at, given, goes_on: asking.ask_human(at.desk, given, goes_on, wait_s=at.wait_s),
        writes=True,
        of_attempts=True,
        doc="Ask a person something that only a person can decide, and wait for the answer. Your time limit goes on "
        "meanwhile. If nobody has answered, the question stays open, and a call without one goes on waiting.",
    ),
    _tool(
        "get_budget",
        a.GetBudget,
        lambda at, _given, _: at.desk.do(looking.get_budget),
        doc="Tell how much money, tokens, attempts and time the run has left, and how many tasks you may create.",
    ),
    _tool(
        "cancel_task",
        a.CancelTask,
        lambda at, given, _: asking.cancel_task(at.desk, given),
        writes=True,
        doc="Give a task up, and end it if it runs; what depends on it is skipped. An attempt can cancel only what "
        "its own task has created.",
    ),
)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in _ALL}
"""Every tool, in the order in which they are listed."""
