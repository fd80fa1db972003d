"""The branches that show where lanes have come to. Only those that we made are ever moved.

For each there is a ref of ours that says where we left it; both move in one transaction, and only if nobody else has
moved the branch. Knows git; must not know tasks.
"""

from budwood.errors import WorkspaceError
from budwood.workspaces import Repository
from budwood.workspaces.git import GitFailed

_MOST = 100


class Branches:
    """The branches of one run's lanes; `refs` is where the refs of that run are."""

    def __init__(self, repository: Repository, refs: str) -> None:
        self._repository = repository
        self._refs = f"{refs}/branches"

    def names(self) -> set[str]:
        """Name all branches that budwood made here, for this run and for others."""
        said = self._repository.git.ask("for-each-ref", "--format=%(refname)", "refs/budwood")
        return {name.partition("/branches/")[2] for name in said.splitlines() if "/branches/" in name}

    def find(self, wanted: str) -> str | None:
        """Return what the branch is called that was to be called so, if it was made."""
        names = (wanted, *(f"{wanted}-{number}" for number in range(2, _MOST)))
        return next((name for name in names if self._repository.ref(f"{self._refs}/{name}") is not None), None)

    def move(self, wanted: str, commit: str) -> None:
        """Let a branch stand at a commit; it is made if there is none, under another name if that one is taken."""
        name = self.find(wanted) or self._free(wanted)
        before = self._repository.ref(f"{self._refs}/{name}")
        if before == commit:
            return
        none = "0" * len(commit)
        lines = (
            # Ours first: who sees the branch can see whose it is.
            f"update {self._refs}/{name} {commit} {before or none}\n"
            f"update refs/heads/{name} {commit} {before or none}\n"
        )
        try:
            self._repository.git.run("update-ref", "--stdin", stdin=lines.encode())
        except GitFailed as error:
            raise WorkspaceError(
                f"branch {name} is not where budwood left it, and stays as it is",
                hint=f"rename yours, then resume: git branch -m {name} {name}-mine",
            ) from error

    def _free(self, wanted: str) -> str:
        for number in range(1, _MOST):
            name = wanted if number == 1 else f"{wanted}-{number}"
            if self._repository.ref(f"refs/heads/{name}") is None:
                return name
        raise WorkspaceError(f"there are {_MOST} branches like {wanted} already", hint="delete those not needed")
