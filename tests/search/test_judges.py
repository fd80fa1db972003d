"""Judges that are real agents: a chat endpoint on loopback, and programs that speak as the real ones do."""

import json
import sys
from pathlib import Path

import pytest
from tests.agents.model.stub import Reply, Stub, completion, refusal
from tests.agents.starting import FAKES
from tests.search.conftest import SCORE, Halves
from tests.support.cases import at_length

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
CHOICE = '{"choice": "try-2", "why": "it is the right one"}'
FILE = ".budwood/notes/choice.json"
BLOCK = f"I take the second.\n\n```json {FILE}\n{CHOICE}\n```\n"


@pytest.fixture
def halves(halves: Halves) -> Halves:
    """Add two agents that each raise one half."""
    halves.setter("lefty", "left", 5)
    halves.setter("righty", "right", 3)
    return halves


def judged(halves: Halves, *more: str, task: str = "chooses: try-2", code: int | None = 0) -> str:
    """Let both make an attempt, and `wise` judge."""
    agents = ("--agent", "lefty", "--agent", "righty", "--judge", "wise", "--budget-usd", "9")
    return halves.call("best-of", f"Raise the numbers. {task}", "-n", "2", *agents, *more, code=code).err


def chat(halves: Halves, stub: Stub) -> None:
    """Let `wise` be a model behind an endpoint."""
    halves.env |= {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    with (halves.root / "budwood.toml").open("a") as file:
        file.write(f'\n[agents.wise]\nagent = "model"\nbase_url = "{stub.base_url}"\nmodel = "m-2"\n')
        file.write("[prices.m-2]\ninput_per_million = 10\noutput_per_million = 100\n")


def program(halves: Halves, name: str, folder: Path) -> None:
    """Let `wise` be a program on the PATH."""
    folder.mkdir()
    (folder / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    (folder / "python3").chmod(0o755)
    halves.env |= {"PATH": f"{FAKES}:{folder}:{halves.env['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    with (halves.root / "budwood.toml").open("a") as file:
        file.write(f'\n[agents.wise]\nagent = "{name}"\n')


# --- a model behind an endpoint ---


def test_a_model_is_shown_the_patches_and_its_word_counts(halves: Halves) -> None:
    with Stub(completion(BLOCK)) as stub:
        chat(halves, stub)
        said = judged(halves, "--score", SCORE)
        asked = stub.got[0].json["messages"][-1]["content"]
    assert "best    try-2  judge: it is the right one" in said
    assert all(part in asked for part in ("Raise the numbers.", "-1\n    +5", "-1\n    +3", FILE, "- try-1: score 6"))
    cost = json.loads(halves.call("cost", "best-of", "--json").out)
    assert [row["cost_usd"] for row in cost["agents"] if row["agent"] == "wise"] == [pytest.approx(0.02)]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (completion("I like them both."), "judge did not answer: it failed (agent)"),
        (completion(f"```json {FILE}\nneither\n```\n"), "choice.json of judge is no JSON"),
        (completion(None, refusal="I will not"), "judge did not answer: it failed (refused)"),
        *at_length(
            (completion(f"```json\n{CHOICE}\n```\n"), "judge did not answer: it failed (agent)"),
            (completion(f"```json other.json\n{CHOICE}\n```\n"), "judge left no choice.json"),
            (completion(""), "judge did not answer: it failed (agent)"),
            (completion(f"```json {FILE}\n{{}}\n```\n"), "choice.json of judge names none of try-1, try-2: None"),
            (completion(BLOCK, reason="length"), "judge did not answer: it failed (agent)"),
            (refusal(500, "broken"), "judge did not answer: it failed (agent)"),
        ),
    ],
    ids=["words", "nonsense", "refused", "nowhere", "elsewhere", "nothing", "nobody", "cut", "broken"],
)
def test_what_is_no_choice_leaves_it_to_the_score_or_to_nobody(halves: Halves, reply: Reply, why: str) -> None:
    with Stub(reply) as stub:
        chat(halves, stub)
        said = judged(halves, "--score", SCORE, code=None)
        assert "best    try-1  " in said, said
        assert why in said
        assert "; by score" in said
        alone = judged(halves, "--name", "alone", code=None)
    assert f"best    none was chosen: {why}" in alone, alone
    assert why in halves.call("compare", "alone").out
    assert f"nothing is chosen: {why}" in halves.call("best", "alone", code=1).err


def test_a_judge_that_failed_is_asked_again(halves: Halves) -> None:
    with Stub(completion(""), completion(BLOCK)) as stub:
        chat(halves, stub)
        text = (halves.root / "budwood.toml").read_text()
        (halves.root / "budwood.toml").write_text(text.replace("retries = 0", 'retries = 1\nbackoff = "10ms"'))
        assert "best    try-2  judge: it is the right one" in judged(halves, "--score", SCORE)
        assert len(stub.got) == 2


# --- programs ---


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_the_word_of_a_program_counts(halves: Halves, tmp_path: Path, name: str) -> None:
    program(halves, name, tmp_path / "programs")
    assert "best    try-2  judge: fake" in judged(halves)


@pytest.mark.parametrize(
    ("behaves", "said"),
    [("auth", "best-of: paused (task judge: "), ("segv", "judge did not answer: it failed (agent); by score")],
)
def test_a_program_that_fails_chooses_nothing(halves: Halves, tmp_path: Path, behaves: str, said: str) -> None:
    program(halves, "codex", tmp_path / "programs")
    found = judged(halves, "--score", SCORE, task=f"behave: {behaves}", code=None)
    assert said in found, found
    assert "judge: fake" not in found
