"""Files that git ignores and work needs: copied from the user's checkout into a workspace, or linked.

What is brought is named by patterns in `.worktreeinclude` or by the user, and only what git ignores there is taken: the
rest comes with the base. Copies are copies, never hard links, so that nobody writes into the user's files. Knows
directories and git's patterns; must not know leases.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.errors import UsageError, WorkspaceError
from budwood.workspaces.fingerprint import content_of
from budwood.workspaces.git import listed
from budwood.workspaces.repository import Repository

INCLUDE_FILE = ".worktreeinclude"


class Outfit(Struct, frozen=True, kw_only=True):
    """What a workspace gets beside the files of its base."""

    bring: tuple[str, ...] = ()
    """Patterns of ignored files to copy."""
    link: tuple[str, ...] = ()
    """Directories of the checkout to link."""


class Brought(Struct, frozen=True):
    """What a workspace got: files and what they held, and links."""

    files: dict[str, str] = {}
    links: tuple[str, ...] = ()


def fit_out(repository: Repository, outfit: Outfit, tree: Path) -> Brought:
    """Bring and link what a workspace is to get."""
    refuse_outside(outfit.link, key="link")
    files = brought_files(repository, outfit.bring)
    bring(repository.root, files, tree)
    link(repository.root, outfit.link, tree)
    return Brought({path: content_of(tree / path) for path in files}, outfit.link)


def untouched(brought: Brought, tree: Path) -> list[bytes]:
    """Name what lies in a workspace as it was brought: the user has it, and secrets are not to be kept elsewhere."""
    same = [path for path, content in brought.files.items() if content_of(tree / path) == content]
    return [os.fsencode(path) for path in (*same, *(path for path in brought.links if (tree / path).is_symlink()))]


def read_brought(path: Path) -> Brought:
    """Read what was written down about a workspace."""
    return msgspec.json.decode(path.read_bytes(), type=Brought) if path.exists() else Brought()


def brought_files(repository: Repository, patterns: Sequence[str]) -> list[str]:
    """List the ignored files of a checkout that the patterns, or its `.worktreeinclude`, ask for."""
    git, root = repository.git.aimed(work_tree=repository.root), repository.root
    words = [word for pattern in patterns for word in ("-x", pattern)]
    if (root / INCLUDE_FILE).is_file():
        words += ["-X", str(root / INCLUDE_FILE)]
    if not words:
        return []
    asked = [path for path in git.run("ls-files", "-z", "-o", "-i", *words, cwd=root).split(b"\0") if path]
    if not asked:
        return []
    ignored = git.run("check-ignore", "-z", "--stdin", stdin=listed(asked), cwd=root, codes=(0, 1)).split(b"\0")
    return sorted(os.fsdecode(path) for path in ignored if path)


def bring(root: Path, paths: Iterable[str], into: Path) -> None:
    """Copy files of a checkout to the same places in a workspace; what is a link stays one."""
    for path in paths:
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, target, follow_symlinks=False)


def link(root: Path, paths: Iterable[str], into: Path) -> None:
    """Let a workspace use directories of the checkout where they are."""
    for path in paths:
        source, target = root / path, into / path
        if not source.exists():
            raise UsageError(f"link names {path}, and there is no {source}", hint="make it, or take it out of link")
        if os.path.lexists(target):
            raise WorkspaceError(f"{path} is to be linked, and is in the repository itself", hint="take it out of link")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)


def refuse_outside(paths: Iterable[str], *, key: str) -> None:
    """Refuse a path that leads out of the checkout, or into its git."""
    for path in paths:
        parts = Path(path).parts
        if not parts or Path(path).is_absolute() or ".." in parts or parts[0] == ".git":
            raise UsageError(f"{key} names {path!r}; it takes paths inside the project")
