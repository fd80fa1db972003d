"""Ideas that lie in a folder, one in each file: read before a run begins, and looked at again when it goes on.

Knows files and what a run was given. Must not know how ideas are tried.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from budwood._core.state import RunState
from budwood.errors import UsageError
from budwood.project.words import some
from budwood.strategies.ideas import Idea, idea

Plain = dict[str, object]


def read_ideas(folder: str, *, where: Path) -> list[Plain]:
    """Read the ideas of a folder, seen from where its plan lies, in the order of their names; refused without any.

    What begins with a point is none, and folders in it are left alone.
    """
    ideas = list(_in_folder(folder, where=where))
    if not ideas:
        raise UsageError(
            f"there are no ideas in {folder}", hint="write each idea into a file of its own there, like 01-smaller.md"
        )
    for one in ideas:
        if not one.text.strip():
            raise UsageError(f"the idea {one.path} is empty", hint="say in it what to try, or remove it")
    return [msgspec.to_builtins(one) for one in ideas]


def place_of(source: str, *, root: Path) -> Path:
    """Say where the plan of a run lies; a run without a file is seen from the project."""
    return Path(source).parent if Path(source).is_absolute() else root


def _in_folder(folder: str, *, where: Path) -> Iterator[Idea]:
    place = where / folder
    try:
        files = sorted(file for file in place.iterdir() if not file.name.startswith(".") and file.is_file())
    except OSError as error:
        raise UsageError(
            f"the ideas cannot be read: {error.strerror}: {place}",
            hint="ideas in [run.options] names a folder, seen from where the plan lies",
        ) from None
    for file in files:
        path = str(PurePosixPath(folder) / file.name)
        try:
            yield idea(path, file.read_bytes().decode())
        except OSError as error:
            raise UsageError(f"the idea {path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"the idea {path} is no UTF-8 text", hint="every file of the folder is an idea") from None


def untried(options: Mapping[str, object]) -> dict[str, str]:
    """Say of the ideas of a beam that are never tried, by path, why: one before them says the same."""
    given = {} if options.get("dedupe") == "none" else hashes(options.get("ideas"))
    firsts: dict[str, str] = {}
    for path, content in given.items():
        firsts.setdefault(content, path)
    return {
        path: f"it says the same as {firsts[content]}" for path, content in given.items() if firsts[content] != path
    }


def refuse_changed_ideas(state: RunState) -> None:
    """Refuse to go on with a search whose ideas are not those any more that it was planned with."""
    if state.strategy != "beam":
        return  # whatever another strategy calls its ideas
    begun = hashes(state.options.get("ideas"))
    where = place_of(state.source, root=Path(state.cwd))
    folders = dict.fromkeys(str(PurePosixPath(path).parent) for path in begun)
    now = {one.path: one.sha256 for folder in folders for one in _still_in(folder, where=where)}
    if now != begun:
        raise UsageError(
            f"run {state.name} cannot go on: {ideas_differ(begun, now)}",
            hint="put the folder back as it was, or begin anew: budwood run FILE --again",
        )


def ideas_differ(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Name the ideas that are others now, by the sha256 of each."""
    parts = {
        "edited": [path for path in before if path in now and now[path] != before[path]],
        "removed": [path for path in before if path not in now],
        "new": [path for path in now if path not in before],
    }
    said = "; ".join(f"{word}: {some(paths)}" for word, paths in parts.items() if paths)
    return f"its ideas are not those that it was planned with ({said})"


def hashes(ideas: object) -> dict[str, str]:
    """Return the sha256 of ideas, by path, as a strategy was given them."""
    return {one.path: one.sha256 for one in msgspec.convert(ideas or (), tuple[Idea, ...])}


def _still_in(folder: str, *, where: Path) -> list[Idea]:
    return list(_in_folder(folder, where=where)) if (where / folder).is_dir() else []
