"""A repository with a run of the `script` agent that is over: made once for a file of tests, and put back before each.

What a store and a pool say is absolute, so everything is put back where it was. Knows the program and git.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.program import Ran, call

from budwood._core.events import Event, Recorded
from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.executors.local.leftovers import is_alive
from budwood.stores import open_store
from budwood.testing.workspaces import git

PLAN = """
[run]
agent = "script"
retries = 0
goal = "Ship it"

[[lane]]
id = "api"

[[task]]
id = "models"
lane = "api"
description = "The models"
prompt = '''
[[step]]
do = "write"
path = "models.txt"
text = "models\\n"
[[step]]
do = "write"
path = "build.log"
text = "ignored by git\\r\\n"
[[step]]
do = "cost"
usd = 0.25
'''

[[task]]
id = "views"
lane = "api"
after = ["models"]
prompt = '''
[[step]]
do = "edit"
path = "a.txt"
find = "two"
replace = "TWO"
only_attempt = 1
[[step]]
do = "append"
path = "a.txt"
text = "by attempt {attempt}\\n"
'''

[[task]]
id = "docs"
prompt = '''
[[step]]
do = "write"
path = "docs/x.md"
text = "docs\\n"
[[step]]
do = "delete"
path = "b.txt"
'''

[[task]]
id = "bad"
prompt = '''
[[step]]
do = "write"
path = "half.txt"
text = "half\\n"
[[step]]
do = "fail"
'''
"""


_BELLS = shutil.ignore_patterns("bells")
"""Pipes, which are made anew when somebody listens."""


class Evening:
    """One project, its user's state, and the program in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "project ü"
        self._copy = folder.with_name(f"{folder.name}-copy")

    def make(self) -> None:
        """Make the repository and let the run come to its end."""
        self.root.mkdir(parents=True)
        (self.root / "a.txt").write_text("one\ntwo\nthree\n")
        (self.root / "b.txt").write_text("b\n")
        (self.root / ".gitignore").write_text("*.log\n")
        (self.root / "night.toml").write_text(PLAN)
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "config", "user.name", "user")
        git(self.root, "config", "user.email", "user@host")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "first")
        ran = self.call("run", "night.toml")
        assert ran.code == 1, ran.err
        self._wait_for_supervisors()
        shutil.copytree(self.folder, self._copy, symlinks=True, ignore=_BELLS)

    def put_back(self) -> None:
        """Let everything be as it was when the run was over."""
        self._wait_for_supervisors()
        shutil.rmtree(self.folder)
        shutil.copytree(self._copy, self.folder, symlinks=True)

    def _wait_for_supervisors(self) -> None:
        """Those that their driver has left remove what is theirs on their way out, also from what is put there anew."""
        slots = [path for path in self.root.glob(".budwood/runs/*/slots/*") if path.is_dir()]
        wait_for(lambda: not any(map(is_alive, slots)), what="supervisors to leave")

    def call(self, *words: str, cwd: Path | None = None) -> Ran:
        """Give a command here."""
        return call(*words, cwd=cwd or self.root)

    def state(self, name: str = "night") -> RunState:
        """Fold the run's events."""
        return fold(self._read(name))

    def events(self, name: str = "night") -> list[Event]:
        """List the run's events."""
        return [recorded.event for recorded in self._read(name)]

    def _read(self, name: str) -> list[Recorded]:
        with open_store(self.root / ".budwood" / "store.db", create=False) as store:
            run = next(row for row in store.runs() if row.name == name)
            return list(store.read(run.id))

    def commit(self, path: str, text: str) -> str:
        """Let the user commit a file."""
        (self.root / path).write_text(text)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", f"the user's {path}")
        return self.head()

    def head(self, branch: str = "HEAD") -> str:
        """Say where a branch stands."""
        return git(self.root, "rev-parse", branch)


@contextmanager
def evening_in(folder: Path) -> Iterator[Evening]:
    """Make one, with a home and state directory of its own for as long as it is used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        evening = Evening(folder)
        evening.make()
        yield evening


@pytest.fixture(scope="module")
def made_evening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evening]:
    with evening_in(tmp_path_factory.mktemp("evening") / "of") as evening:
        yield evening


@pytest.fixture
def evening(made_evening: Evening) -> Evening:
    """The run as it was when it was over."""
    made_evening.put_back()
    return made_evening
