"""Branches that the user asks for, at what attempts made. Once made they are the user's.

Knows git; must not know runs.
"""

from budwood.errors import UsageError
from budwood.workspaces import Repository
from budwood.workspaces.git import GitFailed


def make_branch(repository: Repository, name: str, commit: str) -> None:
    """Make a branch at a commit; refused if it is there, or if no branch may be called so."""
    git = repository.git
    try:
        git.run("check-ref-format", "--branch", name)
    except GitFailed as error:
        raise UsageError(f"no branch can be called {name!r}", hint="letters, digits, - and / always do") from error
    if repository.ref(f"refs/heads/{name}") is not None:
        raise UsageError(f"there is a branch {name} already, and it stays as it is", hint="choose another name")
    try:
        git.run("update-ref", "-m", "budwood branch", f"refs/heads/{name}", commit, "0" * len(commit))
    except GitFailed as error:  # a branch of that name has come up meanwhile, or one that is a folder of it
        raise UsageError(f"branch {name} cannot be made: {error.message}", hint="choose another name") from error
