"""What an attempt made, as one tree: as `git add -A` sees it, with the user's own ignore rules and filters.

Files of repositories inside are files like others; git would take a link to a commit that nobody else has. Knows git
and directories; must not know what is kept beside.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from budwood.workspaces.changes import Changes
from budwood.workspaces.git import Git, listed

_SCRATCH = "candidate-index"


class Candidates:
    """Writes directories into trees."""

    def __init__(self, git: Git) -> None:
        self.git = git

    def write(self, tree: Path, index: Path | None, changes: Changes, *, base: str, without: frozenset[bytes]) -> str:
        """Write what is there, and not ignored, into a tree; return its id. `index` tells git of the base's files.

        Submodules are passed over and their commits looked up: to add one, git asks the git inside for its status, and
        that runs whatever filters were set there.
        """
        git = self.git.aimed(work_tree=tree, index=tree.parent / _SCRATCH)
        assert git.index is not None
        if index is None:
            git.index.unlink(missing_ok=True)
            git.run("read-tree", base)
        else:
            shutil.copy2(index, git.index)  # with its time: by that git tells what changed right after
        found = changes.found
        roots = repositories_in(found.unnameable)
        links = _links(git, roots)
        theirs = tuple(link + b"/" for link in links)
        inside = [root for root in roots if not (root + b"/").startswith(theirs)]
        ours = [path for path in (*without, *found.spared) if not path.startswith(theirs)]
        # Of what is ignored nothing may be said: git takes even an exclusion of it for a mistake.
        excluded = (*links, *not_ignored(git, (*ours, *inside)))
        pathspecs = (f":(exclude,literal,top){os.fsdecode(path)}" for path in excluded)
        git.run("add", "--all", "--sparse", "--", ".", *pathspecs)
        below = tuple(root + b"/" for root in (*inside, *found.spared))
        if below:
            there = (path for path in (*changes.known, *found.files, *changes.gone) if path.startswith(below))
            wanted = not_ignored(git, [path for path in there if path not in without])
            git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=listed(wanted))
        if links:
            git.run("update-index", "-z", "--stdin", stdin=listed(links))
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


def _links(git: Git, roots: Sequence[bytes]) -> list[bytes]:
    """Return the submodules among repositories: git knows them by their commit."""
    if not roots:
        return []
    said = git.run("ls-files", "-z", "--stage", "--", *(f":(literal,top){os.fsdecode(root)}" for root in roots))
    return [entry.partition(b"\t")[2] for entry in said.split(b"\0") if entry.startswith(b"160000 ")]
