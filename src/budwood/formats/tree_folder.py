"""The run folder of the tree runner: its files are found where they lie now, and compared with their sha256.

A manifest names files as they were where it was written, often with the backslashes of Windows; a folder that was moved
or copied since is searched from the names that it is made of. Must not know what the files mean.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from budwood.errors import UsageError

IDEAS = "node_ideas"
_FOLDERS = (IDEAS, "artifacts", "eval", "cand", "wt", "conversations", "logs")
_PROVENANCE = "_provenance"


class RunFolder:
    """Where a manifest lies, and what lies beside it."""

    def __init__(self, path: Path, run: str) -> None:
        self.path = path
        self._run = run

    def find(self, said: str) -> Path | None:
        """Find a file that the manifest names: below this folder first, then where it says; None if it is gone."""
        parts = _parts(said)
        places = [self.path.joinpath(*parts[start:]) for start in self._starts(parts)]
        places.append(self.path / said)  # where it says, if that begins at the root of the file system
        return next((place for place in places if place.is_file()), None)

    def name_of(self, said: str) -> str:
        """Name an idea: its path below the ideas, or else its file's name."""
        parts = _parts(said)
        below = parts[parts.index(IDEAS) + 1 :] if IDEAS in parts else parts[-1:]
        return str(PurePosixPath(*below))

    def problems(self, entry: Mapping[str, object]) -> Iterator[str]:
        """Name every file of an entry that is not there, or is not what its sha256 is of."""
        for key, value in entry.items():
            if not key.endswith(_PROVENANCE) or not isinstance(value, Mapping):
                continue
            said = value.get("copied_to_path") or value.get("source_path")
            what = key.removesuffix(_PROVENANCE)
            if not isinstance(said, str) or not said:
                yield f"{what}: its provenance names no file"
                continue
            file, wanted = self.find(said), value.get("sha256")
            if file is None:
                yield f"{what}: {said} is not there"
            elif wanted and hash_of(file) != str(wanted).casefold():
                yield f"{what}: {said} is not what it was: its sha256 was {wanted} and is {hash_of(file)}"

    def _starts(self, parts: tuple[str, ...]) -> Iterator[int]:
        """Say from which of its names on a path may be one below this folder."""
        for place, name in enumerate(parts):
            if name == self._run:
                yield place + 1
            elif name in _FOLDERS:
                yield place


def read_text(file: Path) -> str:
    """Read a text, with or without the mark that Windows puts before it."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read as text: {error}") from error


def hash_of(file: Path) -> str:
    """Return the sha256 of a file."""
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def _parts(said: str) -> tuple[str, ...]:
    path: PurePath = PureWindowsPath(said) if "\\" in said else PurePosixPath(said)
    return tuple(part for part in path.parts if part != path.anchor)
