"""What an attempt made, as one tree: as `git add -A` sees it, with the user's own ignore rules and filters.

Files of repositories inside are files like others; git would take a link to a commit that nobody else has. Knows git
and directories; must not know what is kept beside.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from budwood.workspaces.git import Git, listed
from budwood.workspaces.survey import Survey

_SCRATCH = "candidate-index"


class Candidates:
    """Writes directories into trees."""

    def __init__(self, git: Git) -> None:
        self.git = git

    def write(self, tree: Path, index: Path | None, found: Survey, *, base: str, without: frozenset[bytes]) -> str:
        """Write what is there, and not ignored, into a tree; return its id. `index` tells git of the base's files."""
        git = self.git.aimed(work_tree=tree, index=tree.parent / _SCRATCH)
        assert git.index is not None
        if index is None:
            git.index.unlink(missing_ok=True)
            git.run("read-tree", base)
        else:
            shutil.copy2(index, git.index)  # with its time: by that git tells what changed right after
        inside = _without_links(git, repositories_in(found.unnameable))
        # Of what is ignored nothing may be said: git takes even an exclusion of it for a mistake.
        excluded = not_ignored(git, (*without, *found.spared, *inside))
        pathspecs = (f":(exclude,literal,top){os.fsdecode(path)}" for path in excluded)
        git.run("add", "--all", "--sparse", "--", ".", *pathspecs)
        below = tuple(root + b"/" for root in (*inside, *found.spared))
        theirs = [path for path in found.files if path.startswith(below) and path not in without] if below else []
        if theirs:
            wanted = not_ignored(git, theirs)
            git.run("update-index", "-z", "--add", "--replace", "--stdin", stdin=listed(wanted))
        return git.ask("write-tree")


def not_ignored(git: Git, paths: Sequence[bytes]) -> list[bytes]:
    """Return the paths that no rule of the work tree ignores, whatever repository they are in."""
    if not paths:
        return []
    words = ("check-ignore", "-z", "--verbose", "--non-matching", "--no-index", "--stdin")
    fields = git.run(*words, stdin=listed(paths), codes=(0, 1)).split(b"\0")
    return [path for pattern, path in zip(fields[2::4], fields[3::4], strict=False) if not _ignores(pattern)]


def _ignores(pattern: bytes) -> bool:
    return bool(pattern) and not pattern.startswith(b"!")


def repositories_in(unnameable: Iterable[bytes]) -> list[bytes]:
    """Return the directories that have a `.git` of their own, from the files in those."""
    return sorted({path.partition(b"/.git")[0] for path in unnameable if b"/.git/" in path or path.endswith(b"/.git")})


def _without_links(git: Git, roots: Sequence[bytes]) -> list[bytes]:
    """Leave out submodules: git knows them by their commit."""
    if not roots:
        return []
    said = git.run("ls-files", "-z", "--stage", "--", *(f":(literal,top){os.fsdecode(root)}" for root in roots))
    links = {entry.partition(b"\t")[2] for entry in said.split(b"\0") if entry.startswith(b"160000 ")}
    return [root for root in roots if root not in links]
