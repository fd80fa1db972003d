"""What git has of a run, put right from what the run knows: deleted refs, entries of directories that are gone.

Nothing that holds work is ever removed. Knows git; must not know runs.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from budwood._core.model import Left
from budwood.workspaces import Repository


class Refs(NamedTuple):
    """What became of refs that were not there."""

    made: list[str]
    lost: list[str]
    """Those whose commit is gone as well."""


def mend_refs(repository: Repository, left: Iterable[Left]) -> Refs:
    """Make refs anew that somebody deleted; a commit that another ref of ours holds needs none."""
    git = repository.git
    said = git.ask("for-each-ref", "--format=%(refname)", "refs/budwood")
    there = set(said.splitlines())
    refs = Refs([], [])
    for each in left:
        if each.ref in there:
            continue
        has = git.run("cat-file", "--batch-check", stdin=f"{each.commit}\n".encode())
        if b" commit " not in has:
            refs.lost.append(each.ref)
        elif not git.ask("for-each-ref", "--count=1", f"--contains={each.commit}", "refs/budwood"):
            repository.set_ref(each.ref, each.commit)
            refs.made.append(each.ref)
    return refs


def prune_entries(repository: Repository, pool: Path) -> list[str]:
    """Remove what the repository has about linked worktrees of a pool whose directories are gone; others' stay."""
    pruned = []
    for file in sorted((repository.common / "worktrees").glob("*/gitdir")):
        link = Path(file.read_text().strip())
        if link.is_relative_to(pool) and not link.exists():
            shutil.rmtree(file.parent)
            pruned.append(file.parent.name)
    return pruned
