"""Ideas: what may be tried at a candidate, each a text with a name, known by its content.

They come from files that were read before the run began, or from the notes of an agent that was asked for some. Must
not read files.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from budwood.errors import UsageError

FOLDER = "ideas/"
"""Where an agent that is asked for ideas leaves them, below its notes."""
_TITLE = 80


class Idea(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to try."""

    path: str
    """Of the file that it is from; of an agent's, the task that it asked for it and the file's name."""
    text: str
    sha256: str
    """Of the text."""

    @property
    def title(self) -> str:
        """Return its first line, without marks."""
        return title_of(self.text)


def idea(path: str, text: str) -> Idea:
    """Make an idea of a text."""
    return Idea(path=path, text=text, sha256=sha256(text.encode()).hexdigest())


def title_of(text: str) -> str:
    """Return the first line of a text that says something, cut to a length that fits into a table."""
    lines = (line.strip().lstrip("#").strip() for line in text.splitlines())
    first = next((line for line in lines if line), "")
    return first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"


def given_ideas(ideas: object) -> tuple[Idea, ...]:
    """Take the ideas that a strategy was made with, in the order of their paths; refused if one says nothing."""
    taken = msgspec.convert(ideas, tuple[Idea, ...])
    for one in taken:
        if not one.text.strip():
            raise UsageError(f"the idea {one.path} is empty")
        if sha256(one.text.encode()).hexdigest() != one.sha256:
            raise UsageError(f"the idea {one.path} is not the text that its sha256 is of")
    paths = [one.path for one in taken]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"there are two ideas {twice}")
    return tuple(sorted(taken, key=lambda one: one.path))


def ideas_in_notes(notes: object, *, task: str) -> tuple[Idea, ...]:
    """Pick an agent's ideas out of its notes, in the order of their names; whatever else it left is none."""
    if not isinstance(notes, Mapping):
        return ()
    found = {
        name: text
        for name, text in notes.items()
        if isinstance(name, str) and isinstance(text, str) and name.startswith(FOLDER) and text.strip()
    }
    return tuple(idea(f"{task}/{name.removeprefix(FOLDER)}", found[name]) for name in sorted(found))


def fresh(ideas: Iterable[Idea], *tried: Container[str], most: int, twice: bool) -> Sequence[Idea]:
    """Return the first ideas whose content was not tried; `twice`: equal content is tried as often as it comes."""
    seen: set[str] = set()
    taken: list[Idea] = []
    for one in ideas:
        if len(taken) == most:
            break
        if twice or not (one.sha256 in seen or any(one.sha256 in each for each in tried)):
            seen.add(one.sha256)
            taken.append(one)
    return taken


class Trace(Struct, frozen=True, kw_only=True):
    """What came of an idea that was tried, in words."""

    title: str
    came_to: str


def ask_for_ideas(*, branch: Sequence[Trace], beside: Sequence[Trace], have: Sequence[str], most: int, aim: str) -> str:
    """Write the prompt of an agent that is asked for ideas: it sees the branch's history."""
    number = "one idea" if most == 1 else f"up to {most} ideas"
    parts = [
        f"Think of {number} that could make what is in this directory better: {aim}. Read what is there first.",
        "How it came to be what it is:\n" + _listed(branch),
    ]
    if beside:
        parts.append("What was tried on the way, and is not in it:\n" + _listed(beside))
    if have:
        parts.append("These will be tried anyway:\n" + "\n".join(f"- {title}" for title in have))
    parts.append(
        "Write each idea into a file of its own, $BUDWOOD_NOTES/ideas/NAME.md: its first line is a title, the rest "
        "tells somebody who knows nothing but this directory what to change. They are tried one by one, in the order "
        "of their names, each on its own. Do not repeat what was tried. Change nothing in this directory."
    )
    return "\n\n".join(parts)


def _listed(traces: Sequence[Trace]) -> str:
    return "\n".join(f"- {trace.title}: {trace.came_to}" for trace in traces)
