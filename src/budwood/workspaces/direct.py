"""Both trees of a directory whose files lie as git has them: the base's trees, and what is different in them.

Nothing that is as it was handed out is read, and no index is written. Only for a repository that converts nothing, has
no other repositories in it, and a directory that says nothing of attributes. Knows git; must not know refs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from budwood.workspaces.candidate import not_ignored
from budwood.workspaces.changes import Changes
from budwood.workspaces.escape import escape
from budwood.workspaces.git import Git
from budwood.workspaces.packing import Entry, Pack
from budwood.workspaces.trees import Trees


class Written(NamedTuple):
    """The ids of two trees, and what is in neither."""

    candidate: str
    whole: str
    too_large: Mapping[bytes, int]


def write(
    git: Git,
    tree: Path,
    changes: Changes,
    *,
    base: str,
    form: str,
    without: frozenset[bytes],
    file_limit: int,
    plain: Git,
) -> Written:
    """Write what is there into two trees, on top of a base; `plain` knows the user's ignore rules."""
    pack = Pack(git, form=form, file_limit=file_limit)
    new = [path for path in changes.found.files if path not in without]
    made = set(not_ignored(plain.aimed(work_tree=tree), new))
    changed = [path for path in changes.changed if path not in without]
    gone: dict[bytes, Entry | None] = dict.fromkeys(changes.gone)
    candidate = gone | pack.add_files(tree, [*changed, *made])
    rest = pack.add_files(tree, (path for path in new if path not in made))
    odd = pack.add_files(tree, (path for path in changes.found.unnameable if path not in without))
    # What is not to be kept stays in the candidate as the base has it, and is nowhere in what was there.
    whole = candidate | rest | dict.fromkeys(path for path in changes.changed if path not in candidate)
    whole |= {escape(path): entry for path, entry in odd.items()}
    trees = Trees(git, base)
    found = Written(trees.write(candidate, pack), trees.write(whole, pack), pack.too_large)
    pack.store()
    return found
