"""A user's repository in which beam searches: an agent of kind `command` does what ideas say, and a command scores it.

An idea says how much it is worth: the score of a candidate is the sum of the ideas in it. It may also say that it never
succeeds, or never ends; in a flaky grove every third one fails once. Attempts are noted outside of the workspaces.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from tests.workshop.site import Site, toml

from budwood._core.events import CandidatesJudged
from budwood._core.model import ENDED_TASK, TaskPhase
from budwood._core.scores import Judgement

WORKER = """
import os, re, sys, time
said = sys.stdin.read()
task, attempt = os.environ["BUDWOOD_TASK"], int(os.environ["BUDWOOD_ATTEMPT"])
with open({ledger!r}, "a") as ledger:
    ledger.write(f"{{task}} {{attempt}}\\n")
number = int(task.rpartition("-e")[2]) if "-e" in task else 0
if "never succeed" in said or ({flaky} and number % 3 == 0 and attempt == 1):
    sys.exit("as it was told to")
if "hang at depth 1" in said and task.startswith("d1-"):
    time.sleep(600)
time.sleep({pause})
worth = re.search(r"worth (\\S+)", said)[1]
os.makedirs("worth", exist_ok=True)
with open("worth/" + os.path.basename(os.environ["BUDWOOD_IDEA"]), "w") as file:
    file.write(worth + "\\n")
"""
SCORE = "cat base worth/* 2>/dev/null | awk '{ sum += $1 } END { print sum }'"
FOUR = {"a": "worth 1", "b": "worth -1", "c": "worth 3", "d": "worth 2"}


class Grove(Site):
    """One repository, ideas, and the program."""

    def __init__(self, root: Path, *, flaky: bool = False, pause: float = 0.0) -> None:
        root.parent.mkdir(exist_ok=True)
        super().__init__(root)
        self.ledger = root.parent / "ledger"
        worker = root.parent / "worker.py"
        worker.write_text(WORKER.format(ledger=str(self.ledger), flaky=flaky, pause=pause))
        self.agent("worker", worker)
        (root / "base").write_text("10\n")
        self.git("add", "base")
        self.git("commit", "-qm", "base", "--", "base")

    def agent(self, name: str, program: Path) -> None:
        """Make a program an agent."""
        words = json.dumps([sys.executable, str(program)])
        with (self.root / "budwood.toml").open("a") as file:
            file.write(f'[agents.{name}]\nagent = "command"\ncommand = {words}\n')

    def ideas(self, **texts: str) -> None:
        """Write ideas, each into its file."""
        folder = self.root / "ideas"
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.md").write_text(f"{text}\n")

    def beam(self, *, options: dict[str, object] | None = None, file: str = "plan.toml", **keys: object) -> str:
        """Write a plan that searches."""
        run = {"strategy": "beam", "agent": "worker", "score": SCORE, "retries": 0, "backoff": "10ms", **keys}
        chosen = {"ideas": "ideas", **(options or {})}
        lines = [f"{key} = {toml(value)}" for key, value in run.items()]
        lines += ["[run.options]", *(f"{key} = {toml(value)}" for key, value in chosen.items())]
        return self.plan("\n".join(["[run]", *lines, ""]), file=file)

    def judged(self) -> list[Judgement]:
        """List what was judged, in order."""
        found = (event.judgements for event in self.events() if isinstance(event, CandidatesJudged))
        return [judgement for judgements in found for judgement in judgements]

    def promoted(self) -> list[str]:
        """List who was promoted, in order."""
        return [str(judgement.task) for judgement in self.judged() if judgement.decision == "promoted"]

    def check_nothing_repeated(self) -> None:
        """Every attempt ran once, no task after it was done, and none is left that has not ended."""
        ran = Counter(self.ledger.read_text().splitlines())
        assert [line for line, times in ran.items() if times > 1] == []
        state = self.state()
        assert [task.spec.id for task in state.tasks if task.phase not in ENDED_TASK] == []
        assert state.open == {}
        succeeded = Counter(str(end.task) for end in self.ends() if end.phase.value == "succeeded")
        done = [str(task.spec.id) for task in state.tasks if task.phase is TaskPhase.DONE]
        assert succeeded == Counter(done)
