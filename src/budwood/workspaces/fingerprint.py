"""What the user has in a repository, in a form that shows afterwards what was changed.

Workspaces keep away from it, but an agent with the user's rights can reach everything; then this tells what. Knows git;
must not change anything, an index's times included.
"""

import hashlib
import os
from pathlib import Path

from budwood.workspaces.git import Git
from budwood.workspaces.repository import Repository

Fingerprint = dict[str, str]
"""Names for people, and a digest each: `branch main`, `hook pre-commit`, `file src/a.py`."""


def fingerprint(repository: Repository) -> Fingerprint:
    """Look at branches and tags, HEAD, stash, settings, hooks, the index and the files that differ from it."""
    git = repository.git.aimed(work_tree=repository.root)
    return {
        **_refs(git),
        **_files(repository.common, "setting", ("config", "config.worktree", "info/exclude", "info/attributes")),
        **_hooks(repository.common),
        "the index": _digest(git.run("ls-files", "-z", "--stage", "-v", cwd=repository.root)),
        **_changed_files(git, repository.root),
    }


def differences(before: Fingerprint, after: Fingerprint) -> list[str]:
    """Name what was changed, added or removed, in the order of names."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)]


def _refs(git: Git) -> Fingerprint:
    found = {"HEAD": git.ask("rev-parse", "--symbolic-full-name", "HEAD")}
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


def _changed_files(git: Git, root: Path) -> Fingerprint:
    words = ("--no-optional-locks", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    found = {}
    for entry in git.run(*words, cwd=root).split(b"\0"):
        if entry:
            state, path = entry[:2].decode(), os.fsdecode(entry[3:])
            found[f"file {path}"] = state + content_of(root / path)
    return found


def content_of(path: Path) -> str:
    """Tell what a file or a link holds from everything else that it could; "none" where there is neither."""
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    if not path.is_file():
        return "none"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
