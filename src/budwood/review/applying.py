"""The files of a candidate, written back into the user's checkout: all of them, or none.

A file is written only where the checkout has it as the attempt found it, by content and mode; the index is not
touched. Killed in between, the same call goes on. Knows git and directories; must not know runs.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from budwood.errors import WorkspaceError
from budwood.review.changes import Entry, entries
from budwood.review.checkouts import users_git
from budwood.workspaces import Repository
from budwood.workspaces.git import Git, listed

_NONE = "000000"
_LINK, _SUBMODULE = "120000", "160000"
_SHOWN = 10


class Applied(NamedTuple):
    """What was done to a checkout."""

    written: list[str]
    deleted: list[str]
    there: list[str]
    """What it had already."""


class FilesChanged(WorkspaceError):
    """The user has changed what was to be written; nothing was."""

    def __init__(self, root: Path, paths: list[str]) -> None:
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        super().__init__(
            f"changed in {root} since the attempt began, so that nothing was written: "
            f"{', '.join(paths[:_SHOWN])}{more}",
            hint="budwood merge joins both; budwood diff shows what it would change",
        )
        self.paths = paths


def apply(repository: Repository, base: str, candidate: str, *, folder: str) -> Applied:
    """Write what a candidate changed of its base into the checkout; FilesChanged names what stands in the way.

    `folder` is an empty one, for as long as this takes.
    """
    git = users_git(repository).aimed(index=Path(folder) / "index")
    git.run("read-tree", base)  # whether line ends are converted depends on what git knows of a file
    wanted = entries(git, base, candidate)
    found = _Checkout(repository, git, wanted).look()
    changed = [each.path for each in wanted if found[each.path] not in (_old(each), _new(each)) or _is_odd(each)]
    if changed:
        raise FilesChanged(repository.root, changed)
    due = [each for each in wanted if found[each.path] != _new(each)]
    deleted = [each.path for each in due if each.new_mode == _NONE]
    written = [each.path for each in due if each.new_mode != _NONE]
    for path in deleted:
        _delete(repository.root, path)
    git.run("read-tree", candidate)
    paths = listed(os.fsencode(path) for path in written)
    git.run("checkout-index", "-z", "--force", "--stdin", stdin=paths, cwd=repository.root)
    return Applied(written, deleted, [each.path for each in wanted if each not in due])


class _Checkout:
    """What a checkout has at the places that are to be written."""

    def __init__(self, repository: Repository, git: Git, wanted: list[Entry]) -> None:
        self._root = repository.root
        self._git = git
        self._wanted = wanted
        self._going = {each.path for each in wanted if each.new_mode == _NONE}
        self._has_modes = ("core.filemode", "false") not in repository.settings()

    def look(self) -> dict[str, tuple[str, str]]:
        """Tell by path the mode and the object; what is neither file nor link has an object that nothing has."""
        modes = {each.path: self._mode(each) for each in self._wanted}
        files = [path for path, mode in modes.items() if mode.startswith("100")]
        plain = [path for path in files if "\n" not in path and not path.startswith('"')]
        lines = b"".join(os.fsencode(path) + b"\n" for path in plain)
        said = self._git.ask("hash-object", "--stdin-paths", stdin=lines, cwd=self._root).split()
        objects = dict(zip(plain, said, strict=True))
        for path, mode in modes.items():
            if mode == _LINK:
                target = os.readlink(os.fsencode(self._root / path))
                objects[path] = self._git.ask("hash-object", "--stdin", "--no-filters", stdin=target)
            elif mode.startswith("100") and path not in objects:
                objects[path] = self._git.ask("hash-object", "--", path, cwd=self._root)
        return {path: (mode, objects.get(path, "")) for path, mode in modes.items()}

    def _mode(self, each: Entry) -> str:
        path = self._root / each.path
        if any(_is_barrier(folder) for folder in self._folders_above(each.path)):
            return "behind something that is no directory"
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return _NONE
        if stat.S_ISLNK(mode):
            return _LINK
        if stat.S_ISDIR(mode) and self._only_going(path):
            return _NONE
        if not stat.S_ISREG(mode):
            return "neither file nor link"
        if not self._has_modes and each.old_mode.startswith("100"):
            return each.old_mode
        return "100755" if mode & stat.S_IXUSR else "100644"

    def _folders_above(self, path: str) -> list[Path]:
        parts = path.split("/")[:-1]
        above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        return [self._root / folder for folder in above if folder not in self._going]

    def _only_going(self, folder: Path) -> bool:
        """Say whether all that lies in a directory is to be deleted, so that a file may take its place."""
        files = [Path(top) / name for top, _, names in os.walk(folder) for name in names]
        return bool(files) and all(str(file.relative_to(self._root)) in self._going for file in files)


def _is_barrier(folder: Path) -> bool:
    return os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir())


def _delete(root: Path, path: str) -> None:
    """Delete a file, and the directories that are empty without it."""
    (root / path).unlink(missing_ok=True)
    for folder in (root / path).parents:
        if folder == root or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


def _is_odd(each: Entry) -> bool:
    """Say whether it is a submodule, whose files are another repository's."""
    return _SUBMODULE in (each.old_mode, each.new_mode)


def _old(each: Entry) -> tuple[str, str]:
    return each.old_mode, "" if each.old_mode == _NONE else each.old


def _new(each: Entry) -> tuple[str, str]:
    return each.new_mode, "" if each.new_mode == _NONE else each.new
