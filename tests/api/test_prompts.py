"""Agents asked from Python."""

import subprocess
from pathlib import Path

import pytest

import budwood

STEPS = """
[[step]]
do = "write"
path = "made.txt"
text = "made"

[[step]]
do = "cost"
usd = 0.25
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "README").write_text("a repository\n")
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=u", "-c", "user.email=u@h", "commit", "-qm", "first"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def test_a_prompt_is_done_by_an_agent_in_a_workspace(repository: Path) -> None:
    asked = budwood.prompt(STEPS, id="a", agent="script", check="test -f made.txt")
    run = budwood.start([asked, budwood.command("cat made.txt", id="b", after=[asked])], directory=repository)
    assert run.wait().counts["done"] == 2
    assert run.cost_usd == 0.25
    assert not (repository / "made.txt").exists()
    said = subprocess.run(
        ["git", "show", "task-a:made.txt"], cwd=repository, check=True, capture_output=True, text=True
    )
    assert said.stdout == "made"


def test_a_prompt_without_an_agent_is_refused(repository: Path) -> None:
    with pytest.raises(budwood.PlanError, match="has a prompt and no agent"):
        budwood.start([budwood.prompt("Do it.")], directory=repository)


def test_a_prompt_has_one_prompt() -> None:
    with pytest.raises(budwood.UsageError, match="has its prompt already"):
        budwood.prompt("Do it.", prompt="Do that.")
