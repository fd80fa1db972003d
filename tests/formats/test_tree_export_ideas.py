"""A beam whose ideas an agent has, written as a manifest and read back: what came of asking is the same."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.formats.there_and_back import OTHER, cancel_when, decisions, states, there_and_back
from tests.search.grove import Grove
from tests.support.cases import at_length

from budwood.strategies.beam import IDEAS_SUFFIX

pytestmark = pytest.mark.slow
MUSE = """
import os, pathlib, sys, time
task, attempt = os.environ["BUDWOOD_TASK"], os.environ["BUDWOOD_ATTEMPT"]
with open({ledger!r}, "a") as ledger:
    ledger.write(f"{{task}} {{attempt}}\\n")
says = {says!r}.get(task, "two")
if says == "fails" or (says == "fails once" and attempt == "1"):
    sys.exit("nothing comes to mind")
if says == "hangs" or (says == "fails once" and attempt == "2"):
    time.sleep(600)
notes = pathlib.Path(os.environ["BUDWOOD_NOTES"], "ideas")
notes.mkdir(parents=True)
(notes / f"{{task}}-x.md").write_text("worth 2\\n")
(notes / f"{{task}}-y.md").write_text("worth 1\\n")
"""


class Musing(Grove):
    """A grove with an agent that has ideas, unless it is told otherwise."""

    def muses(self, *, says: dict[str, str], retries: int = 0, strict: bool = False) -> None:
        """Write the agent and a plan that asks it."""
        muse = self.root.parent / "muse.py"
        muse.write_text(MUSE.format(ledger=str(self.ledger), says=says))
        self.agent("muse", muse)
        chosen = {"idea_agent": "muse", "beam_width": 2, "max_depth": 2}
        plan = self.root / self.beam(options=chosen, retries=retries, strict=strict)
        plan.write_text(plan.read_text().replace('ideas = "ideas"\n', ""))

    def check_same(self) -> dict[str, object]:
        """Take it there and back; return what was said of it."""
        found = there_and_back(self)
        assert states(self, "--store", OTHER) == states(self)
        assert _decided(decisions(self, "--store", OTHER)) == _decided(decisions(self))
        assert json.loads(self.call("tree", "plan", "--store", OTHER, "--validate", "--json").out)["problems"] == []
        return found


def _decided(lines: str) -> list[dict[str, object]]:
    """Read a decision log; which files lay there when somebody thought is nothing that a manifest tells."""
    found = [json.loads(line) for line in lines.splitlines()]
    return [{**one, "tree": None} if one["task"].endswith(IDEAS_SUFFIX) else one for one in found]


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Musing]:
    with Musing(tmp_path / "project") as made:
        yield made


def test_one_that_ended_as_it_should(grove: Musing) -> None:
    grove.muses(says={"d1-e0001-ideas": "fails"})
    grove.call("run", "plan.toml")
    assert states(grove)["d1-e0001-ideas"] == ("failed", None)
    assert grove.check_same()["requeued"] == []


@pytest.mark.parametrize("says", ["fails once", *at_length("hangs")])
def test_one_of_which_asking_for_ideas_was_cancelled(grove: Musing, says: str) -> None:
    grove.muses(says={"d1-e0002-ideas": says}, retries=1)
    cancel_when(grove, f"d1-e0002-ideas {1 if says == 'hangs' else 2}", "d1-e0002-ideas")
    assert states(grove)["d1-e0002-ideas"] == ("cancelled", None)
    assert states(grove)["d2-e0003"] == ("done", None)
    assert grove.check_same()["requeued"] == []


def test_one_whose_root_got_no_ideas_because_somebody_cancelled_that(grove: Musing) -> None:
    grove.muses(says={"root-ideas": "hangs"})
    cancel_when(grove, "root-ideas 1", "root-ideas")
    assert states(grove)["root-ideas"] == ("cancelled", None)
    grove.check_same()


def test_one_that_was_given_up_while_ideas_were_asked_for(grove: Musing) -> None:
    grove.muses(says={"d1-e0001-ideas": "hangs"})
    cancel_when(grove, "d1-e0001-ideas 1")
    assert (states(grove)["run"], states(grove)["d1-e0002-ideas"]) == ("cancelled", ("cancelled", None))
    grove.check_same()
    assert "was cancelled" in grove.call("resume", "plan", "--store", OTHER, code=2).err


def test_one_that_a_missing_idea_stopped(grove: Musing) -> None:
    grove.muses(says={"d1-e0001-ideas": "fails"}, strict=True)
    grove.call("run", "plan.toml", code=1)
    assert states(grove)["d1-e0002-ideas"] == ("skipped", "d1-e0001-ideas")
    assert grove.check_same()["requeued"] == []
    grove.call("resume", "plan", "--store", OTHER, code=1)
    assert states(grove, "--store", OTHER) == states(grove)
