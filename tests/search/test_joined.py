"""Tasks that join a search while it goes on: they are done beside it, and are no part of what it looks for."""

import json

import pytest
from tests.cli.world import wait_for
from tests.formats.there_and_back import OTHER, decisions, states, there_and_back
from tests.search.conftest import SCORE, Halves
from tests.search.grove import Grove
from tests.support.creating import create

from budwood._core.choice import choice
from budwood.stores.base import Asker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
LOOK = 'echo "$BUDWOOD_IDEA." > beside.txt'


def test_a_beam_is_shown_checked_and_written_without_them(grove: Grove) -> None:
    grove.ideas(a="worth 1", b="hang at depth 1, worth 2")
    grove.beam(options={"max_depth": 1}, slots=2)
    driver = grove.start("run", "plan.toml", "--quiet")
    wait_for(lambda: "d1-e0002 1" in (grove.ledger.read_text() if grove.ledger.exists() else ""), what="the second")
    name = create(grove.root, "plan", by=Asker(task="d1-e0002", attempt=1), description="Beside it", run=LOOK)
    grove.call("cancel", "plan", "d1-e0002")
    driver.wait(60)
    assert states(grove)[name] == ("done", None)
    assert grove.restored(grove.end_of(name))["beside.txt"] == b".\n"  # it tries no idea
    assert "beside-it" in grove.git("branch", "--list", "task-*")
    shown = json.loads(grove.call("tree", "plan", "--json").out)
    assert [node["id"] for node in shown["nodes"]] == ["root", "d1-e0001", "d1-e0002"]
    assert json.loads(grove.call("tree", "plan", "--validate", "--json").out)["problems"] == []
    told = grove.call("store", "export", "plan", "--manifest", str(grove.root.parent / "told" / "manifest.json")).err
    assert "1 task joined while it went on, and is not in it: beside-it" in told
    there_and_back(grove)
    assert states(grove, "--store", OTHER) == {task: state for task, state in states(grove).items() if task != name}
    others = [line for line in decisions(grove).splitlines() if json.loads(line)["task"] != name]
    assert decisions(grove, "--store", OTHER).splitlines() == others


@pytest.mark.parametrize("scored", [True, False])
def test_best_of_chooses_among_its_own(halves: Halves, scored: bool) -> None:
    gate = halves.root.parent / "gate"
    halves.agent("lefty", f"until [ -e '{gate}' ]; do sleep 0.02; done; sed -i 's/^[0-9]*$/5/' left.txt")
    words = ("--score", SCORE) if scored else ("--choose", "person")
    driver = halves.start("best-of", "Raise it.", "-n", "1", "--agent", "lefty", *words)
    wait_for(lambda: halves.has_runs and "try-1" in halves.call("status", "best-of").out, what="the try")
    name = create(halves.root, "best-of", description="Beside it", run="echo 99 > right.txt")
    wait_for(lambda: str(halves.state("best-of").task(name).phase) == "done", what="the other task")
    running = json.loads(halves.call("status", "best-of", "--json").out)["search"]
    assert (running["tasks"], running["ended"]) == (1, 0)
    gate.touch()
    halves.finish(driver)
    assert [task for task in halves.compared() if task != "root"] == ["try-1"]
    assert "task-beside-it" in halves.git("branch", "--list", "task-*")
    nodes = json.loads(halves.call("tree", "best-of", "--json").out)["nodes"]
    assert name not in [node["id"] for node in nodes]
    halves.call("approve", "best-of", name)
    found = choice(halves.state("best-of"))
    assert (found and str(found.task.spec.id)) == ("try-1" if scored else None)
    halves.call("approve", "best-of", "try-1")
    assert halves.call("best", "best-of", "-o", str(halves.root.parent / "best")).out == "try-1\n"
