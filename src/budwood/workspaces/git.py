"""Runs the git program our way, whatever the user's, a repository's or an agent's settings say.

Hooks, background work, prompts and pagers are off, nothing in the environment leads it elsewhere, and what it writes
is synced. Knows processes; must not know what is asked of git, or why.
"""

import subprocess
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from budwood.errors import WorkspaceError

_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.fsync": "all",
    "core.fsyncMethod": "batch",
    "core.quotePath": "false",
    "core.logAllRefUpdates": "false",
    "core.filesRefLockTimeout": "10000",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "submodule.recurse": "false",
    "advice.detachedHead": "false",
    "advice.addEmbeddedRepo": "false",
}
_TIME_LIMIT_S = 1800.0
AUTHOR = ("budwood", "budwood@localhost")
"""Who commits for us, and for whoever has no name."""
_HELD: ContextVar[tuple[int, ...]] = ContextVar("held", default=())


@contextmanager
def holding(descriptor: int) -> Iterator[None]:
    """Let every git that is started here hold a descriptor, and the lock on it, for as long as it lives.

    One that outlives a killed driver goes on writing: whoever comes next has to wait for it.
    """
    before = _HELD.set((*_HELD.get(), descriptor))
    try:
        yield
    finally:
        _HELD.reset(before)


class GitFailed(WorkspaceError):
    """Git refused; `said` is what it wrote."""

    def __init__(self, words: tuple[str, ...], said: str) -> None:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        super().__init__(f"git {' '.join(words[:3])} failed: {last[0]}")
        self.said = said


@dataclass(frozen=True, kw_only=True)
class Git:
    """Git, aimed at one repository; with `index` and `objects` of others where those are given."""

    environ: Mapping[str, str]
    git_dir: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    objects: Path | None = None
    settings: tuple[tuple[str, str], ...] = ()
    """Settings beside ours, for this aim."""

    def aimed(
        self,
        *,
        git_dir: Path | None = None,
        work_tree: Path | None = None,
        index: Path | None = None,
        objects: Path | None = None,
        settings: tuple[tuple[str, str], ...] = (),
    ) -> "Git":
        """Return the same git with another aim; what is not given stays."""
        return replace(
            self,
            git_dir=git_dir or self.git_dir,
            work_tree=work_tree or self.work_tree,
            index=index or self.index,
            objects=objects or self.objects,
            settings=settings or self.settings,
        )

    def run(self, *words: str, stdin: bytes = b"", cwd: Path | None = None, codes: Container[int] = (0,)) -> bytes:
        """Run one command; return what it printed. GitFailed if it ends with another code than these, or hangs."""
        return self.hear(*words, stdin=stdin, cwd=cwd, codes=codes)[0]

    def hear(
        self, *words: str, stdin: bytes = b"", cwd: Path | None = None, codes: Container[int] = (0,)
    ) -> tuple[bytes, bytes]:
        """Do the same, and return what it said on standard error, too: some of git's errors end nothing."""
        pairs = (*self.settings, *_SETTINGS.items())
        settings = [part for name, value in pairs for part in ("-c", f"{name}={value}")]
        try:
            done = subprocess.run(
                ["git", *settings, *words],
                input=stdin,
                capture_output=True,
                cwd=cwd or self.work_tree or self.git_dir,
                env=self._environment(),
                timeout=_TIME_LIMIT_S,
                pass_fds=_HELD.get(),
                # A session of its own: Ctrl-C, or a terminal that is closed, is for us to hear, and we let it finish.
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise WorkspaceError("there is no program git on the PATH", hint="install git 2.39 or newer") from error
        except subprocess.TimeoutExpired:
            raise GitFailed(words, f"it had not ended after {_TIME_LIMIT_S:.0f} s") from None
        if done.returncode not in codes:
            raise GitFailed(words, done.stderr.decode(errors="replace"))
        return done.stdout, done.stderr

    def ask(self, *words: str, stdin: bytes = b"", cwd: Path | None = None) -> str:
        """Run one command; return the text that it printed, without the end of the line."""
        return self.run(*words, stdin=stdin, cwd=cwd).decode(errors="surrogateescape").rstrip("\n")

    def commit(self, tree: str, parents: Iterable[str], message: str) -> str:
        """Write a commit of a tree; author and committer are ours, whoever the user is."""
        words = [part for parent in parents for part in ("-p", parent)]
        return self.ask("commit-tree", tree, *words, stdin=message.encode())

    def _environment(self) -> dict[str, str]:
        # What a hook or an agent set for its own git would lead ours astray.
        environment = {name: value for name, value in self.environ.items() if not name.startswith("GIT_")}
        places = {
            "GIT_DIR": self.git_dir,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_INDEX_FILE": self.index,
            "GIT_OBJECT_DIRECTORY": self.objects,
        }
        name, email = AUTHOR
        return environment | {
            **{name: str(path) for name, path in places.items() if path is not None},
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": email,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": email,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "LC_ALL": "C",
        }


def listed(paths: Iterable[bytes]) -> bytes:
    """Write paths as git reads them with -z."""
    return b"".join(path + b"\0" for path in paths)
