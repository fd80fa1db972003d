"""The prompt of an attempt: what is wanted, what there is already, what went wrong before, and what done means.

A function of what it is given: the same briefing gives the same bytes. Each part has a bound; what is longer loses its
middle, and the prompt says so. Output of programs is set in, so that it is not taken for instructions' headings.
Knows briefings; must not know stores, workspaces or any agent.
"""

from collections.abc import Mapping

from msgspec import Struct

from budwood.agents.base import Ability, Agent
from budwood.agents.records import plain
from budwood.agents.template import check_template, fill
from budwood.errors import SettingsError

TASK_BYTES = 256 * 1024
TEXT_BYTES = 16 * 1024
"""Of the goal, of a revision and of the check command."""
NOTE_BYTES = 4 * 1024
"""Of what is told of one earlier attempt, and of one dependency's description."""
NOTES = 5
DEPENDENCIES = 50
FILES = 50

OTHERS_BYTES = 128 * 1024
"""Of what others changed, all of them together."""

NAMES = ("task", "goal", "results", "others", "notes", "revision", "check", "tools")
"""What a template can name."""
DEFAULT_TEMPLATE = """\
{{task}}

{{#goal}}
# What it is part of

{{goal}}

{{/goal}}
{{#results}}
# What was done before, and is in the working directory

{{results}}

{{/results}}
{{#others}}
# What others have changed, which is not in the working directory

{{others}}

{{/others}}
{{#notes}}
# Earlier attempts at this task, which failed

The working directory may hold nothing of them.

{{notes}}

{{/notes}}
{{#revision}}
# What a person wants changed

{{revision}}

{{/revision}}
# When it is done

- Everything that the task asks for is in files of the working directory. Leave your changes there; whether they are
  committed does not matter.
{{#check}}
- This command, run in the working directory after you have ended, ends with exit code 0:

{{check}}

{{/check}}
- Do not push, and change nothing outside the working directory.
- Nobody answers questions. Decide what is left open, and end when you are done.
{{#tools}}
- {{tools}}
{{/tools}}
"""
_TOOLS = (
    "The MCP server `budwood` has tools for this run: report_progress says where you are, create_task adds further "
    "tasks, and ask_human asks a person, who does answer there; ask only what you cannot decide."
)


class Result(Struct, frozen=True, kw_only=True):
    """What a dependency left."""

    task: str
    description: str = ""
    files: tuple[str, ...] = ()
    """What it changed."""


class Note(Struct, frozen=True, kw_only=True):
    """How an earlier attempt at the task ended."""

    attempt: int
    ended: str
    output: str = ""
    """The last lines of what the check printed."""


class Briefing(Struct, frozen=True, kw_only=True):
    """What an attempt is about."""

    task: str
    """The task's own text."""
    goal: str = ""
    results: tuple[Result, ...] = ()
    others: Mapping[str, str] = {}
    """By task, what it changed that is to be read, as a patch."""
    notes: tuple[Note, ...] = ()
    """In order; the last is the newest."""
    revision: str = ""
    """What a person asked to be changed."""
    check: str = ""
    """The command that judges the attempt."""


def prompt_for(agent: Agent, briefing: Briefing, *, template: str | None = None) -> str:
    """Write the prompt of an attempt, by a template that was checked; an agent may want the task's text alone."""
    if agent.raw_prompt:
        return briefing.task
    values = {
        "task": cut(briefing.task.strip("\n"), TASK_BYTES),
        "goal": cut(briefing.goal.strip(), TEXT_BYTES),
        "results": _results(briefing.results),
        "others": _others(briefing.others),
        "notes": _notes(briefing.notes),
        "revision": cut(briefing.revision.strip(), TEXT_BYTES),
        "check": set_in(cut(briefing.check.strip(), TEXT_BYTES)),
        "tools": _TOOLS if agent.overrides.mcp and Ability.MCP in agent.abilities else "",
    }
    return fill(DEFAULT_TEMPLATE if template is None else template, values).strip("\n") + "\n"


def check_prompt_template(text: str, *, where: str) -> None:
    """Refuse a template that no prompt could be written by."""
    if len(text.encode()) > TASK_BYTES:
        raise SettingsError(f"{where} is larger than {TASK_BYTES // 1024} KiB", hint="a template holds no task")
    check_template(text, NAMES, where=where, needs="task")


def cut(text: str, most_bytes: int) -> str:
    """Take the middle out of a text that is too long, and say how much; its end is worth more than its beginning."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most_bytes:
        return text
    head = raw[: most_bytes // 4].decode("utf-8", "ignore")
    tail = raw[len(raw) - most_bytes * 3 // 4 :].decode("utf-8", "ignore")
    dropped = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[{dropped} bytes are left out here]\n{tail}"


def _results(results: tuple[Result, ...]) -> str:
    lines = []
    for result in results[:DEPENDENCIES]:
        about = f": {cut(' '.join(result.description.split()), NOTE_BYTES)}" if result.description.strip() else ""
        lines.append(f"- {result.task}{about}")
        lines += [f"  - {file}" for file in result.files[:FILES]]
        lines += _more(len(result.files) - FILES, "  - and {} more files")
    return "\n".join([*lines, *_more(len(results) - DEPENDENCIES, "- and {} more tasks")])


def _others(others: Mapping[str, str]) -> str:
    share = OTHERS_BYTES // max(1, len(others))
    parts = (f"{task}:\n\n{set_in(cut(patch.rstrip(), share)) or '    nothing'}" for task, patch in others.items())
    return "\n\n".join(parts)


def _notes(notes: tuple[Note, ...]) -> str:
    parts = _more(len(notes) - NOTES, "({} attempts before these are left out.)")
    for note in notes[-NOTES:]:
        parts.append(f"Attempt {note.attempt}: {cut(' '.join(note.ended.split()), NOTE_BYTES)}")
        if note.output.strip():
            printed = "\n".join(plain_line.rstrip() for plain_line in map(_plain, note.output.strip("\n").split("\n")))
            parts.append(set_in(cut(printed, NOTE_BYTES)))
    return "\n\n".join(parts)


def _plain(line: str) -> str:
    """Take colours and progress bars off a line, and leave its indentation."""
    line = line.rstrip("\r").rpartition("\r")[2]
    indent = line[: len(line) - len(line.lstrip())]
    return indent + plain(line)


def set_in(text: str) -> str:
    """Set a text in, so that no line of it is taken for a heading or an instruction."""
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n")) if text else ""


def _more(count: int, words: str) -> list[str]:
    return [words.format(count)] if count > 0 else []
