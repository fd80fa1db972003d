"""A workspace that is a clone: settings, hooks, stash, refs and locks are its own, objects are shared.

What `git clone --shared` makes, without what it asks and reports. Knows git; must not know leases.
"""

import shutil
from pathlib import Path

from budwood.errors import UsageError
from budwood.workspaces.git import Git, GitFailed
from budwood.workspaces.keeping import Past
from budwood.workspaces.removal import remove_tree
from budwood.workspaces.repository import Repository
from budwood.workspaces.sparse import FILE as SPARSE_FILE

NO_PUSH = "budwood-does-not-push://"


class Clone:
    """Makes clones of one repository."""

    skip = ".git"
    raw = False

    def __init__(self, repository: Repository) -> None:
        if repository.is_partial:  # what was not fetched yet could be fetched there only
            raise UsageError(
                f"{repository.root} is a partial clone, which a workspace cannot share objects with",
                hint="a linked worktree can be used there",
            )
        self._repository = repository

    def equip(self, tree: Path, base: str, *, cones: str) -> Path:
        """Give a directory a new `.git`; return where that has its index."""
        remove_git(tree)
        theirs, git_dir = self._repository, tree / ".git"
        for name in ("objects/info", "refs/heads", "info"):
            (git_dir / name).mkdir(parents=True)
        (git_dir / "objects" / "info" / "alternates").write_text(f"{theirs.objects}\n")
        for name in ("info/exclude", "info/attributes", "shallow"):
            if (theirs.common / name).exists():
                shutil.copyfile(theirs.common / name, git_dir / name)
        heads = theirs.git.ask(
            "for-each-ref", "--format=%(objectname) refs/remotes/origin/%(refname:lstrip=2)", "refs/heads"
        )
        (git_dir / "packed-refs").write_text(
            "# pack-refs with: peeled fully-peeled sorted\n" + heads + "\n" * bool(heads)
        )
        (git_dir / "HEAD").write_text(f"{base}\n")
        (git_dir / "config").write_text(self._settings(sparse=bool(cones)))
        if cones:
            (git_dir / SPARSE_FILE).write_text(cones)
        return git_dir / "index"

    def _settings(self, *, sparse: bool) -> str:
        form = self._repository.form
        newer = form != "sha1"
        lines = [
            "[core]",
            f"\trepositoryformatversion = {int(newer)}",
            "\tfilemode = true",
            "\tbare = false",
            "\tlogallrefupdates = true",
            *(("\tsparseCheckout = true", "\tsparseCheckoutCone = true") if sparse else ()),
            *(("[extensions]", f"\tobjectformat = {form}") if newer else ()),
            '[remote "origin"]',
            f"\turl = {_quoted(self._repository.root)}",
            f"\tpushurl = {NO_PUSH}",
            "\tfetch = +refs/heads/*:refs/remotes/origin/*",
            "[gc]",
            "\tauto = 0",
        ]
        return "".join(f"{line}\n" for line in lines)

    def past(self, tree: Path) -> Past | None:
        """List what was committed and stashed there, but for what the user's own branches have."""
        git_dir = tree / ".git"
        if git_dir.is_symlink() or not git_dir.is_dir():
            return None
        git = Git(environ=self._repository.git.environ, git_dir=git_dir)
        try:
            head, *older = commits_of_reflogs(git, "--all")
            tips = (*commits_of_refs(git), head, *older)
        except GitFailed as error:
            return Past(git, problem=error.message)
        theirs = set(commits_of_refs(self._repository.git))
        return Past(git, tuple(tip for tip in tips if tip not in theirs), head=head)


def commits_of_refs(git: Git) -> list[str]:
    """List the commits that refs lead to, through tags as well."""
    said = git.ask("for-each-ref", "--format=%(objecttype) %(objectname)%0a%(*objecttype) %(*objectname)")
    return [line.removeprefix("commit ") for line in said.splitlines() if line.startswith("commit ")]


def commits_of_reflogs(git: Git, *whose: str) -> list[str]:
    """List where refs once stood: older stashes, and what was reset or rebased away, are known by that alone."""
    assert git.git_dir is not None
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not ((git.git_dir / "logs").exists() or (git.git_dir / "reftable").exists()):
        return [head]
    return [head, *git.ask("log", "--walk-reflogs", "--format=%H", *whose).splitlines()]


def remove_git(tree: Path) -> None:
    """Take whatever is called `.git` away."""
    git_dir = tree / ".git"
    if git_dir.is_dir() and not git_dir.is_symlink():
        remove_tree(git_dir)
    else:
        git_dir.unlink(missing_ok=True)


def _quoted(path: Path) -> str:
    """Write a path as a value in git's settings."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
