"""The branches that show where lanes, and all of them merged, have come to. Only those that we made are ever moved.

For each there is a ref of ours, `branches/WANTED/NAME`, that says where we left it; both move in one transaction, and
only if nobody else has moved the branch. Knows git; must not know tasks.
"""

import time
from collections.abc import Collection

from budwood._core.ids import free_name
from budwood.errors import WorkspaceError
from budwood.workspaces import Repository
from budwood.workspaces.git import GitFailed

_TWINS = "branches"
_HEADS = "refs/heads/"
_TRIES, _PAUSE_S = 10, 0.05


class Branches:
    """The branches of one run's lanes; `refs` is where the refs of that run are."""

    def __init__(self, repository: Repository, refs: str) -> None:
        self._repository = repository
        self._twins = f"{refs}/{_TWINS}/"

    def made(self) -> dict[str, str]:
        """Tell what each branch that was made is called, by what it was to be called."""
        names = (name.removeprefix(self._twins) for name in self._refs(self._twins))
        return dict(name.split("/", 1) for name in names)

    def move(self, wanted: str, commit: str, *, called: str = "") -> str:
        """Let a branch stand at a commit; it is made if there is none, under another name if that one is taken.

        Returns its name. `called` is for one whose name cannot be what it is known by.
        """
        for tries in range(_TRIES):
            time.sleep(_PAUSE_S * tries)
            there = self._refs(_HEADS, f"{self._twins}{wanted}/")
            twins = [name for name in there if not name.startswith(_HEADS)]
            taken = (name.removeprefix(_HEADS) for name in there if name.startswith(_HEADS))
            twin = twins[0] if twins else f"{self._twins}{wanted}/{_free(called or wanted, list(taken))}"
            before = there.get(twin)
            name = twin.removeprefix(f"{self._twins}{wanted}/")
            if before == commit or self._set(twin, name, f"{commit} {before or '0' * len(commit)}\n"):
                return name
            if before is not None and self._repository.ref(f"{_HEADS}{name}") != before:
                break  # else another run has taken the name since we looked, or is about to
        raise WorkspaceError(
            f"branch {name} is not where budwood left it, and stays as it is",
            hint=f"rename yours, then resume: git branch -m {name} {name}-mine",
        )

    def _set(self, twin: str, name: str, change: str) -> bool:
        """Move both; False if git refuses. Ours is written first: who sees the branch sees whose it is."""
        lines = f"update {twin} {change}update {_HEADS}{name} {change}"
        try:
            self._repository.git.run("update-ref", "--stdin", stdin=lines.encode())
        except GitFailed:
            return False
        return True

    def _refs(self, *below: str) -> dict[str, str]:
        said = self._repository.git.ask("for-each-ref", "--format=%(refname) %(objectname)", *below)
        return dict(line.split(" ") for line in said.splitlines())


def made_by_us(repository: Repository) -> set[str]:
    """Name all branches that budwood made in a repository, for whichever run."""
    said = repository.git.ask("for-each-ref", "--format=%(refname)", "refs/budwood")
    twins = (name.partition(f"/{_TWINS}/")[2] for name in said.splitlines())
    return {twin.partition("/")[2] for twin in twins if twin}


def _free(wanted: str, taken: Collection[str]) -> str:
    """Choose a name that git can have beside others: `a/b` and `a` exclude each other."""
    folder, _, rest = wanted.partition("/")
    if rest and folder in taken:
        wanted = f"{folder}-{rest}"
    return free_name(wanted, taken)
