"""A pull request: a branch pushed, and `gh` asked to open one, both as the user would type it.

Knows how programs are started; must not know runs.
"""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from budwood.errors import UsageError, WorkspaceError
from budwood.workspaces import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """What is pushed where, and what is said about it."""

    commit: str
    branch: str
    remote: str
    into: str | None
    title: str
    body: str
    draft: bool = False

    @property
    def push(self) -> list[str]:
        """The first of the two commands."""
        return ["git", "push", self.remote, f"{self.commit}:refs/heads/{self.branch}"]

    @property
    def create(self) -> list[str]:
        """The second."""
        words = ["gh", "pr", "create", "--head", self.branch, "--title", self.title, "--body", self.body]
        return words + (["--base", self.into] if self.into else []) + (["--draft"] if self.draft else [])

    @property
    def commands(self) -> list[str]:
        """Both, as they are typed."""
        return [shlex.join(self.push), shlex.join(self.create)]


def open_request(request: PullRequest, folder: Path, environ: Mapping[str, str]) -> str | None:
    """Push and open; return what `gh` said, its address. None, and nothing done, where there is no `gh`."""
    if shutil.which("gh", path=environ.get("PATH")) is None:
        return None
    _run(request.push, folder, environ, then=request.commands)
    return _run(request.create, folder, environ, then=request.commands[1:]).strip()


def find_remote(repository: Repository, given: str | None) -> str:
    """Return the remote to push to: the one that is named, else `origin`, else the only one."""
    remotes = repository.git.ask("remote").splitlines()
    if given is not None and given not in remotes:
        raise UsageError(f"there is no remote {given}", hint=f"git remote lists them: {', '.join(remotes) or 'none'}")
    if given is not None or "origin" in remotes:
        return given or "origin"
    if len(remotes) != 1:
        hint = f"--remote names one of {', '.join(remotes)}" if remotes else "git remote add origin ADDRESS"
        raise UsageError(f"{repository.root} has {'many remotes' if remotes else 'no remote'} to push to", hint=hint)
    return remotes[0]


def _run(words: Sequence[str], folder: Path, environ: Mapping[str, str], *, then: Sequence[str]) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise WorkspaceError(
            f"{' '.join(words[:3])} failed: {' '.join(said[-3:])}", hint=f"by hand: {' && '.join(then)}"
        )
    return done.stdout
