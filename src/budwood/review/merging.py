"""What was made is merged into a branch of the user's, because they asked for it.

Merged without a working tree. A branch that is checked out moves only as `git merge --ff-only --no-overwrite-ignore`
moves it there; one that is not, only from where it was seen. Whatever refuses, nothing has changed. Knows git; must
not know runs.
"""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from budwood.errors import MergeConflict, UsageError, WorkspaceError
from budwood.review.changes import patch_id, patch_ids
from budwood.review.checkouts import checkout_of, fast_forward, fast_forward_command, is_rebased
from budwood.workspaces import Repository
from budwood.workspaces.git import Git, GitFailed
from budwood.workspaces.merging import is_ancestor, merge_tree

How = Literal["fast-forward", "merge", "squash"]
_TRIES = 5
_MOST_COMMITS = 2000
"""So many commits of a branch are looked through for the same change."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be merged, and how it is spoken of."""

    commit: str
    called: str
    message: str
    squash: bool = False


class Merged(Struct, frozen=True, kw_only=True):
    """What was done to a branch."""

    branch: str
    before: str
    commit: str
    how: How
    checkout: Path | None
    """Whose files moved with it."""


class Merger:
    """Merges into branches of one repository; `refs` is where the refs of the run are."""

    def __init__(self, repository: Repository, refs: str) -> None:
        self._repository = repository
        self._refs = refs

    def merge(self, wanted: Wanted, branch: str) -> Merged:
        """Merge into a branch; MergeConflict, or whatever else stands in the way, leaves it as it was."""
        if is_rebased(self._repository, branch):
            raise WorkspaceError(
                f"{branch} is in the middle of a rebase, and stays as it is", hint="end the rebase, then merge again"
            )
        for _ in range(_TRIES):
            before = branch_head(self._repository, branch)
            how, after = self._join(wanted, branch, before)
            folder = checkout_of(self._repository, branch)
            try:
                self._move(branch, before, after, folder=folder)
            except GitFailed as error:
                if branch_head(self._repository, branch) == before:
                    raise self._refused(branch, after, folder, error) from error
                continue  # somebody was quicker: what they did is merged with, too
            return Merged(branch=branch, before=before, commit=after, how=how, checkout=folder)
        raise WorkspaceError(f"{branch} moves all the time, and stays as it is", hint="merge again when it rests")

    def _join(self, wanted: Wanted, branch: str, before: str) -> tuple[How, str]:
        git = self._repository.git
        if is_ancestor(git, before, wanted.commit) and not wanted.squash:
            return "fast-forward", wanted.commit
        merge = merge_tree(git, before, wanted.commit)
        if not merge.is_clean:
            raise MergeConflict(
                f"{wanted.called} cannot be merged into {branch}, which changed the same places; nothing was changed",
                files=merge.files,
                hint=f"merge it by hand: git switch {branch} && git merge {wanted.commit[:12]}",
            )
        if wanted.squash:
            return "squash", git.commit(merge.tree, [before], wanted.message)
        return "merge", git.commit(merge.tree, [before, wanted.commit], wanted.message)

    def _move(self, branch: str, before: str, after: str, *, folder: Path | None) -> None:
        if folder is None:
            self._repository.git.run("update-ref", "-m", "budwood merge", f"refs/heads/{branch}", after, before)
            return
        kept = f"{self._refs}/merging/{branch}"
        self._repository.set_ref(kept, after)  # if the checkout refuses, the user merges it later
        fast_forward(self._repository, folder, after)
        self._repository.git.run("update-ref", "-d", kept)

    def _refused(self, branch: str, after: str, folder: Path | None, error: GitFailed) -> WorkspaceError:
        if folder is None:
            return WorkspaceError(f"{branch} could not be moved, and stays as it is: {error.message}")
        said = " ".join(line.strip() for line in error.said.splitlines() if line.strip())
        return WorkspaceError(
            f"{branch} is checked out in {folder}, which cannot take it yet; nothing was changed: {said}",
            hint=f"when it can: {fast_forward_command(folder, after)}",
        )


def branch_head(repository: Repository, branch: str) -> str:
    """Return the commit that a branch stands at."""
    found = repository.ref(f"refs/heads/{branch}")
    if found is None:
        raise UsageError(f"there is no branch {branch}", hint="--into names one that is there; git branch lists them")
    return found


def found_in(git: Git, commit: str, target: str) -> str | None:
    """Say how a line of history has a commit already: itself, its files or the same change; None if it has not."""
    if is_ancestor(git, commit, target):
        return "its commits are there"
    merge = merge_tree(git, target, commit)
    if merge.is_clean and merge.tree == git.ask("rev-parse", f"{target}^{{tree}}"):
        return "its changes are there"
    base = git.run("merge-base", target, commit, codes=(0, 1)).decode().strip()
    own = patch_id(git, base, commit) if base else ""
    if not own:
        return None
    since = git.ask("rev-list", "--no-merges", f"--max-count={_MOST_COMMITS}", f"{base}..{target}").split()
    return "a commit there makes the same change" if own in patch_ids(git, since) else None
