"""A run that was claimed, but its driver died before the first event: all say so, and nothing is asked of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.program import call

import budwood
from budwood.stores import Store, open_store

WHY = "has not begun: its driver died before the first event"


@pytest.fixture
def claimed(tmp_path: Path) -> Iterator[Store]:
    """Such a run."""
    with open_store(tmp_path / ".budwood" / "store.db") as store:
        store.claim("c1a1med", name="night", source="/my plans/night.toml", fresh=True)
        yield store


@pytest.mark.parametrize(
    "words", [("cancel",), ("cancel", "a"), ("pause",), ("resume",), ("retry",), ("retry", "a"), ("watch",)]
)
def test_nothing_can_be_asked_of_it(claimed: Store, tmp_path: Path, words: tuple[str, ...]) -> None:
    command, *tasks = words
    ran = call(command, "night", *tasks, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: run night {WHY}\n\nhint: budwood run '/my plans/night.toml'\n"
    assert claimed.requests("c1a1med") == []


@pytest.mark.parametrize("command", ["show", "why", "logs", "story"])
def test_its_tasks_are_not_looked_for(claimed: Store, tmp_path: Path, command: str) -> None:
    ran = call(command, "night", "a", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, f"error: run night {WHY}\n\nhint: budwood run '/my plans/night.toml'\n")


@pytest.mark.parametrize("words", [(), ("status",), ("show",), ("why",)])
def test_whoever_looks_is_told(claimed: Store, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = call(*words, cwd=tmp_path)
    said = ran.out + ran.err
    assert ran.code == 0
    assert WHY in said
    assert "budwood run '/my plans/night.toml'" in said
    assert "resume" not in said


def test_json_has_the_command_that_begins_it(claimed: Store, tmp_path: Path) -> None:
    for command in ("status", "why"):
        assert call(command, "--json", cwd=tmp_path).json["next"] == "budwood run '/my plans/night.toml'"


def test_what_has_no_file_can_only_be_made_anew(tmp_path: Path) -> None:
    with open_store(tmp_path / ".budwood" / "store.db") as store:
        store.claim("c1a1med", name="best-of", source="", fresh=True)
    again = "what made it, budwood best-of … or a program, makes another"
    hint = f"nothing of best-of was written, and it is not listed; {again}"
    ran = call("resume", "best-of", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, f"error: run best-of {WHY}\n\nhint: {hint}\n")
    for command in ("status", "show", "why"):
        ran = call(command, "best-of", cwd=tmp_path)
        assert (ran.code, hint in ran.out + ran.err, "budwood run" in ran.out + ran.err) == (0, True, False), command


def test_what_nobody_can_begin_is_not_listed(claimed: Store, tmp_path: Path) -> None:
    claimed.claim("c1a1med2", name="best-of", source="", fresh=True)
    for words in ((), ("ls",), ("ls", "--all", "--json"), ("status",), ("show", "last")):
        said = call(*words, cwd=tmp_path)
        text = said.out + said.err
        assert (said.code, "night" in text, "best-of" in text) == (0, True, False), words
    assert "there is no run 'best'" in call("show", "best", cwd=tmp_path).err
    assert [run.name for run in budwood.runs(directory=tmp_path)] == ["night"]
    assert call("store", "verify", cwd=tmp_path).code == 0
    claimed.acquire("c1a1med2", "pid 4242 on host")
    assert "best-of" in call("ls", cwd=tmp_path).out


def test_what_a_program_named_is_begun_under_that_name(tmp_path: Path) -> None:
    with open_store(tmp_path / ".budwood" / "store.db") as store:
        store.claim("c1a1med", name="My-Night", source=f"My Night in {tmp_path}", fresh=True)
    assert "budwood.start(…, name='My Night')" in call("resume", "My-Night", cwd=tmp_path).err


def test_while_somebody_drives_it_its_driver_answers(claimed: Store, tmp_path: Path) -> None:
    claimed.acquire("c1a1med", "pid 4242 on host")
    ran = call("why", cwd=tmp_path)
    assert "it has not begun; its driver is about to" in ran.out
    assert ran.err == ""
