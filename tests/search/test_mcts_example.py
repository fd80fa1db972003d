"""The example of mcts does what it says, and its run can be looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

from budwood._core.replay import fold
from budwood._core.state import RunState
from budwood.stores import open_store
from budwood.strategies.mcts_report import mcts_nodes

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("mcts")
    example = [sys.executable, str(ROOT / "examples/mcts/mcts.py"), str(folder)]
    ran = subprocess.run(example, capture_output=True, text=True, timeout=380, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder / "undisturbed/circles", ran.stdout


def state_of(repository: Path) -> RunState:
    with open_store(repository / ".budwood/store.db") as store:
        [row] = store.runs()
        return fold(store.read(row.id), again=lambda: store.read(row.id))


def test_it_finds_more_than_it_began_with_and_decides_the_same_after_a_kill(played: tuple[Path, str]) -> None:
    assert [line.split()[0] for line in played[1].splitlines()[-3:]] == ["yes", "yes", "yes"]


def test_visits_and_values_follow_from_the_run(played: tuple[Path, str]) -> None:
    state = state_of(played[0])
    nodes = mcts_nodes(state)
    assert len(nodes) == len(state.tasks) == nodes["root"].visits == 15
    best = max((task for task in state.tasks if task.score and task.score.valid), key=lambda task: task.score.value)  # type: ignore[union-attr, arg-type, return-value]
    assert nodes[str(best.spec.id)].best == nodes["root"].best
    assert all(0.0 <= node.value <= 1.0 for node in nodes.values())
    for task in state.tasks:
        below = [other for other in state.tasks if other.spec.after[:1] == (task.spec.id,)]
        assert nodes[str(task.spec.id)].visits == 1 + sum(nodes[str(other.spec.id)].visits for other in below)


def test_the_tree_shows_them(played: tuple[Path, str]) -> None:
    command = [sys.executable, "-m", "budwood", "tree", "packing"]
    shown = subprocess.run(command, cwd=played[0], capture_output=True, text=True, timeout=60, check=True).stdout
    head, root = shown.splitlines()[:2]
    assert head.split()[3:5] == ["VISITS", "VALUE"]
    assert root.split()[:4] == ["root", "done", "0.9", "15"]
    said = subprocess.run([*command, "--json"], cwd=played[0], capture_output=True, timeout=60, check=True).stdout
    nodes = mcts_nodes(state_of(played[0]))
    assert {node["id"]: node["visits"] for node in json.loads(said)["nodes"]} == {
        name: node.visits for name, node in nodes.items()
    }


def test_prompts_hold_lessons_of_the_branch(played: tuple[Path, str]) -> None:
    tasks = {str(task.spec.id): task.spec for task in state_of(played[0]).tasks}
    late = tasks["m14"].prompt
    assert "reworked circle" in late.partition("# Lessons of earlier attempts")[2]
