"""The commits that a manifest names: found in the repository, and what an attempt left there.

Knows git; must not know what was tried or decided. Moves no ref: `kept` says which shall be.
"""

from budwood._core.ids import attempt_id
from budwood._core.model import Left
from budwood.engine.workshop.leaving import changed
from budwood.errors import UsageError
from budwood.workspaces import Repository


class Commits:
    """What of one run is in a repository."""

    def __init__(self, repository: Repository, *, refs: str) -> None:
        self._repository = repository
        self._refs = refs
        self.kept: dict[str, str] = {}
        """The refs of ours that keep them."""

    def keep_base(self, name: str) -> str:
        """Find the commit that the run begins with, and keep it."""
        return self.kept.setdefault(f"{self._refs}/base", self.find(name, "the root"))

    def find(self, name: str, what: str) -> str:
        """Find a commit by its name; refused if it is not there."""
        found = self._repository.ref(f"{name}^{{commit}}")
        if found is None:
            raise UsageError(f"{what}: commit {name} is not in {self._repository.root}")
        return found

    def why_not(self, name: str) -> str:
        """Say why a commit cannot be a candidate; empty if it can."""
        if self._repository.ref(f"{name}^{{commit}}") is not None:
            return ""
        return f"its candidate, commit {name or 'unnamed'}, is not in {self._repository.root}"

    def tree(self, commit: str) -> str:
        """Name the files of a commit."""
        return self._repository.git.ask("rev-parse", f"{commit}^{{tree}}")

    def left(self, task: int, attempt: int, *, base: str, candidate: str) -> Left:
        """Say what an attempt left, and keep it."""
        ref = f"{self._refs}/{attempt_id(task, attempt)}"
        self.kept[ref] = candidate
        tree = self.tree(candidate)
        change = changed(self._repository, base, tree)
        return Left(
            base=base,
            tree=tree,
            candidate=candidate,
            commit=candidate,
            ref=ref,
            files=change.files,
            named=change.named,
            lines_added=change.added,
            lines_removed=change.removed,
        )
