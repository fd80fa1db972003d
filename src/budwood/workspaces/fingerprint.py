"""What the user has in a repository, in a form that shows afterwards what was changed.

Workspaces keep away from it, but an agent with the user's rights can reach everything; then this tells what. Knows git;
must not change anything, an index's times included.
"""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from budwood.workspaces.git import Git
from budwood.workspaces.repository import Repository

Fingerprint = dict[str, str]
"""Names for people, and a digest each: `branch main`, `hook pre-commit`, `file src/a.py`."""


_STATUS = (
    *("--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind"),
    *("--no-renames", "--untracked-files=all"),
)
_FIELDS = {"1": 8, "u": 10, "?": 1}
"""How many words are before the path in a line of git's about a changed, an unmerged and an unknown file."""
_STEADY_NS = 1_000_000_000
"""A file that was last changed longer ago than this cannot have been changed again within the same tick of a clock."""


class Watch:
    """Looks at the checkout of one repository, again and again."""

    def __init__(self, repository: Repository) -> None:
        assert repository.git.git_dir is not None
        self._repository = repository
        self._git = repository.git.aimed(work_tree=repository.root)
        self._index_file = repository.git.git_dir / "index"
        self._index: tuple[tuple[int, ...], str] | None = None
        """What the index was when last looked at, and the file that it was in."""

    def look(self) -> Fingerprint:
        """Look at branches and tags, HEAD, stash, settings, hooks, the index and the files that differ from it."""
        common = self._repository.common
        return {
            **_refs(self._git),
            **_files(common, "setting", ("config", "config.worktree", "info/exclude", "info/attributes")),
            **_hooks(common),
            "the index": self._index_digest(),
            **_head_and_files(self._git, self._repository.root),
        }

    def _index_digest(self) -> str:
        """Tell the index from every other; git is asked only if its file is another than before."""
        before = _identity(self._index_file)
        if self._index is not None and self._index[0] == before:
            return self._index[1]
        digest = _digest(self._git.run("ls-files", "-z", "--stage", "-v", cwd=self._repository.root))
        self._index = (before, digest) if before else None
        return digest


def differences(before: Fingerprint, after: Fingerprint) -> list[str]:
    """Name what was changed, added or removed, in the order of names."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)]


def _refs(git: Git) -> Fingerprint:
    found = {}
    for line in git.ask("for-each-ref", "--format=%(objectname) %(refname)").splitlines():
        commit, _, name = line.partition(" ")
        if not name.startswith(("refs/budwood/", "refs/heads/budwood/")):
            found[name.replace("refs/heads/", "branch ").replace("refs/tags/", "tag ")] = commit
    return found


def _files(folder: Path, what: str, names: tuple[str, ...]) -> Fingerprint:
    return {f"{what} {name}": _digest((folder / name).read_bytes()) for name in names if (folder / name).is_file()}


def _hooks(common: Path) -> Fingerprint:
    folder = common / "hooks"
    names = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    return {
        f"hook {name}": _digest((folder / name).read_bytes()) + oct((folder / name).stat().st_mode) for name in names
    }


def _head_and_files(git: Git, root: Path) -> Fingerprint:
    heads, found = {}, {}
    for entry in map(os.fsdecode, git.run(*_STATUS, cwd=root).split(b"\0")[:-1]):
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            what, _, value = rest.partition(" ")
            heads[what] = value
        else:
            *state, path = entry.split(" ", _FIELDS[kind])
            found[f"file {path}"] = " ".join(state) + content_of(root / path)
    name = heads["branch.head"]
    return {"HEAD": heads["branch.oid"] if name == "(detached)" else name, **found}


def content_of(path: Path) -> str:
    """Tell what a file or a link holds from everything else that it could; "none" where there is neither."""
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    if not path.is_file():
        return "none"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(file: Path) -> tuple[int, ...]:
    """Tell a file's content from what it was and will be, without reading it; nothing where that cannot be told."""
    with suppress(OSError):
        found = file.stat()
        if time.time_ns() - found.st_ctime_ns > _STEADY_NS:
            return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return ()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
