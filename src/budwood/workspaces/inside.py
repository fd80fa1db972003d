"""What differs inside of submodules: a candidate has those by their commit alone, so that it is in none.

Of what was written there about filters, hooks and monitors nothing is run: the user's own settings count, as they do
for a candidate. Knows git and directories; must not know what is kept.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from budwood.workspaces.git import Git, GitFailed

LINK = "160000"
"""The mode of a submodule's entry."""


def changed_inside(git: Git, tree: Path, candidate: str, *, index: Path) -> Iterator[str]:
    """Name the files of submodules that are not as the commit has them which the candidate links to.

    One that git cannot look into is named itself. `index` is a scratch file.
    """
    for entry in git.run("ls-tree", "-r", "-z", "--full-tree", candidate).split(b"\0"):
        if entry.startswith(f"{LINK} ".encode()):
            head, _, path = entry.partition(b"\t")
            name, commit = os.fsdecode(path), head.split(b" ")[2].decode()
            if os.path.lexists(tree / name / ".git"):
                try:
                    yield from (f"{name}/{each}" for each in _differing(git, tree / name, commit, index=index))
                except GitFailed:  # damaged, by whoever worked there
                    yield name


def _differing(git: Git, inside: Path, commit: str, *, index: Path) -> list[str]:
    words = ("rev-parse", "--path-format=absolute", "--git-path", "objects")
    objects = Path(Git(environ=git.environ).ask(*words, cwd=inside))
    index.unlink(missing_ok=True)
    aimed = git.aimed(work_tree=inside, index=index, objects=objects)
    aimed.run("read-tree", commit)
    aimed.run("update-index", "-q", "--refresh", codes=(0, 1))
    changed = aimed.run("diff-files", "-z", "--name-only", "--ignore-submodules=all")
    new = aimed.run("ls-files", "-z", "--others", "--exclude-standard")
    return sorted(os.fsdecode(path) for path in (changed + new).split(b"\0")[:-1])
