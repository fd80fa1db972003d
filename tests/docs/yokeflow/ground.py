"""What the rows of "Coming from YokeFlow" are tried on, and the list of what tries each.

Knows the program and the Python API.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT
from tests.docs.trials import Trials
from tests.support.program import Ran, call
from tests.workshop.seven import FILE, RUN, make_site
from tests.workshop.site import Site, do, steps

import budwood

EXAMPLE = str(ROOT / "examples/yokeflow.json")


@dataclass(frozen=True)
class Shared:
    """What all trials may look at and none may change: the guide's tasks, done by agents and by commands."""

    night: Site
    guide: budwood.Run
    heard: list[dict[str, object]]


class Ground:
    """A directory of the trial's own, and what is shared."""

    def __init__(self, folder: Path, shared: Shared) -> None:
        self.folder = folder
        self.shared = shared
        self._sites: list[Site] = []

    def call(self, *words: str) -> Ran:
        """Give a command in the directory."""
        return call(*words, cwd=self.folder)

    def write(self, name: str, what: object) -> Path:
        """Write a file: text as it is, anything else as JSON."""
        path = self.folder / name
        path.write_text(what if isinstance(what, str) else json.dumps(what))
        return path

    def epics(self, *tasks: dict[str, object], names: dict[int, str], **keys: object) -> Site:
        """Make a repository with tasks for the script agent, as YokeFlow has them, and run them."""
        site = Site(self.folder / f"project{len(self._sites)}")
        shutil.rmtree(site.root / "ignored")
        self._sites.append(site)
        given = {"agent": "script", "retries": 0, **keys}
        (site.root / "budwood.toml").write_text(
            "[run]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in given.items())
        )
        epics = [{"id": number, "name": name} for number, name in names.items()]
        (site.root / FILE).write_text(json.dumps({"epics": epics, "tasks": tasks}))
        return site

    def end(self) -> None:
        """End what was started."""
        for site in self._sites:
            site.end()
            self._sites = []


def writing(number: int, epic: int, path: str, **keys: object) -> dict[str, object]:
    """Make a task whose agent writes one file."""
    action = steps(do("write", path=path, text=f"by task {number}\n"))
    return {"id": number, "epic_id": epic, "description": f"task {number}", "action": action, **keys}


def make_night(root: Path) -> Site:
    """Let agents do the seven tasks of the guide."""
    site = make_site(root)
    site.call("run", FILE, "--slots", "3")
    return site


def asked(root: Path, question: str) -> list[tuple[object, ...]]:
    """Ask the store of a project in SQL, as its users do."""
    with closing(sqlite3.connect(f"file:{root}/.budwood/store.db?mode=ro", uri=True)) as connection:
        return connection.execute(question).fetchall()


TRIALS: Trials[Ground] = Trials("docs/how-to/coming-from-yokeflow.md")
tries = TRIALS.tries


__all__ = [
    "EXAMPLE",
    "FILE",
    "RUN",
    "TRIALS",
    "Ground",
    "Shared",
    "asked",
    "make_night",
    "tries",
    "writing",
]
