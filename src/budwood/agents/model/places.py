"""Where an answer may write: files of the workspace, and nothing that leads out of it or into .git.

Knows paths and what files are. Must not know edits.
"""

import stat
from pathlib import Path, PurePosixPath

from budwood.agents.model.answers import Unusable

MOST_FILE_BYTES = 4 * 1024 * 1024


def place_of(path: str, *, root: Path) -> Path:
    """Return the real file that a path means; raises Unusable if it is none of the workspace's."""
    pure = PurePosixPath(path)
    if not path or not path.isprintable() or "\\" in path:
        raise Unusable(f"{path!r} is no name of a file")
    if pure.is_absolute() or ".." in pure.parts or path.endswith("/") or not pure.parts:
        raise Unusable(f"{path} is no path inside the workspace")
    if _is_git(pure.parts):
        raise Unusable(f"{path} belongs to git")
    base = root.resolve()
    try:
        place = (base / pure).resolve()
        if not place.is_relative_to(base):
            raise Unusable(f"{path} leads out of the workspace by a symbolic link")
        if _is_git(place.relative_to(base).parts):
            raise Unusable(f"{path} leads into .git by a symbolic link")
        if place.exists() and not stat.S_ISREG(place.stat().st_mode):
            raise Unusable(f"{path} is no regular file")
        above = next(folder for folder in place.parents if folder.exists())
        if not above.is_dir():
            raise Unusable(f"{path} would lie in {above.relative_to(base)}, which is a file")
    except (OSError, RuntimeError) as error:
        raise Unusable(f"{path} cannot be looked at: {getattr(error, 'strerror', None) or error}") from error
    return place


def read_text_file(place: Path, *, path: str) -> bytes | None:
    """Read a file that can be edited or shown; None if there is none, Unusable if it is binary or too large."""
    try:
        with place.open("rb") as file:
            content = file.read(MOST_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > MOST_FILE_BYTES:
        raise Unusable(f"{path} is larger than {MOST_FILE_BYTES >> 20} MiB, which is too large to be edited by a model")
    if b"\0" in content:
        raise Unusable(f"{path} is binary")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is no UTF-8 text (byte {error.start})") from error
    return content


def _is_git(parts: tuple[str, ...]) -> bool:
    # File systems that fold case, or drop dots and blanks at the end, have more names for it than one.
    return any(part.casefold().rstrip(". ") in (".git", "git~1") for part in parts)
