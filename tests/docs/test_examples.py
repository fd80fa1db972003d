"""Every example runs and ends as its header says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.support.cases import at_length

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
PLAYED = set(re.findall(r"python (examples/\S+)", (ROOT / "Makefile").read_text())) - {"examples/mcts/mcts.py"}
"""What the demo plays; tests/search plays the one that is left out."""
AT_LENGTH = {"examples/morning/morning.py", "examples/best_of/best_of.py"}
_EXIT = re.compile(r"exit code (\d+)")
_COUNTS = re.compile(r"\d+ (?:done|failed|skipped)")


def budwood(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "budwood", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "budwood.toml").touch()
    shutil.copytree(ROOT / "examples/prompts", tmp_path / "prompts")
    return tmp_path


def header(text: str) -> str:
    return text.partition("\n\n")[0]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_ends_as_its_header_says(example: Path, project: Path) -> None:
    text = example.read_text(encoding="utf-8")
    plan = project / example.name
    plan.write_text(text, encoding="utf-8")
    ran = budwood("run", plan.name, cwd=project)
    expected = re.sub(r"\([^)]*\)", "", header(text).partition("Expect:")[2])
    [code] = _EXIT.findall(expected)
    assert ran.returncode == int(code), ran.stderr
    verdict = ran.stderr.splitlines()[-1 if ran.returncode == 0 else 0 :]
    for count in _COUNTS.findall(expected):
        assert count in ran.stderr, verdict


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_how_to_run_it(example: Path) -> None:
    assert f"#   budwood run examples/{example.name}\n" in example.read_text(encoding="utf-8")


def test_nothing_is_said_against_an_example(project: Path) -> None:
    for example in EXAMPLES:
        (project / example.name).write_bytes(example.read_bytes())
        checked = budwood("plan", "check", example.name, cwd=project)
        assert (checked.returncode, example.name) == (0, example.name), checked.stderr


def test_the_large_plan_has_as_many_tasks_as_asked_and_runs(project: Path) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "examples/large.py", "120"], capture_output=True, check=True, timeout=30
    )
    (project / "large.json").write_bytes(made.stdout)
    assert len(json.loads(made.stdout)["task"]) == 120
    ran = budwood("run", "large.json", cwd=project)
    assert ran.returncode == 0, ran.stderr
    assert "120 done" in ran.stderr


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(600)
@pytest.mark.parametrize("program", [*sorted(PLAYED - AT_LENGTH), *at_length(*sorted(AT_LENGTH))])
def test_what_the_demo_plays_comes_to_what_it_says(program: str, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / program), str(tmp_path / "there")]
    played = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=580, check=False)
    said = played.stdout.partition("Is that so?\n")[2].splitlines()
    assert (played.returncode, [line.split()[0] for line in said]) == (0, ["yes"] * len(said)), played.stdout
    assert said


def test_tasks_of_yokeflow_are_drawn_in_its_batches(project: Path) -> None:
    (project / "yokeflow.json").write_bytes((ROOT / "examples/yokeflow.json").read_bytes())
    shown = budwood("plan", "show", "yokeflow.json", "--json", cwd=project)
    assert json.loads(shown.stdout)["batches"] == [[1, 6], [2], [3, 4], [5, 7]]


def test_the_list_of_examples_names_each_of_them() -> None:
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    there = [path.name for path in (ROOT / "examples").iterdir() if path.is_file() and path.name != "README.md"]
    assert [name for name in there if f"({name})" not in listed] == []
