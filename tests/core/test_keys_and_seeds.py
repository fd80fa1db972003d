"""Keys: what a task is and stands on. Seeds: one number for each purpose, on any machine."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood._core.keys import task_key
from budwood._core.model import TaskSpec
from budwood._core.seeds import derive, fraction

PLAIN = TaskSpec(id="a", run="make", prompt="p", env={"A": "1", "B": "2"}, env_pass=("T",))


@pytest.mark.parametrize(
    "changes",
    [{"id": "b"}, {"run": "make x"}, {"run": ("make",)}, {"prompt": "q"}, {"env": {"A": "1"}}, {"env_pass": ("U",)}],
    ids=str,
)
def test_what_a_task_is_is_part_of_its_key(changes: dict[str, object]) -> None:
    assert task_key(msgspec.structs.replace(PLAIN, **changes), ()) != task_key(PLAIN, ())


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "x"},
        {"prefer_after": ("z",)},
        {"priority": 3},
        {"timeout_s": 9.0},
        {"retries": 2},
        {"lane": "x"},
        {"group": "g"},
        {"cpus": 2.0},
        {"gpus": 1},
        {"memory_bytes": 9},
        {"reserve_usd": 1.0},
        {"reserve_tokens": 7},
        {"env": {"B": "2", "A": "1"}},
    ],
    ids=str,
)
def test_wishes_are_not_part_of_the_key(changes: dict[str, object]) -> None:
    assert task_key(msgspec.structs.replace(PLAIN, **changes), ()) == task_key(PLAIN, ())


def test_parents_are_part_of_the_key_in_their_order() -> None:
    keys = {task_key(PLAIN, parents) for parents in ((), ("x",), ("x", "y"), ("y", "x"), ("xy",))}
    assert len(keys) == 5


def test_an_id_as_number_or_text_is_the_same_task() -> None:
    assert task_key(TaskSpec(id=7, run="x"), ()) == task_key(TaskSpec(id="7", run="x"), ())


def test_keys_and_seeds_are_the_same_for_ever() -> None:
    assert task_key(TaskSpec(id="a", run="true"), ()) == "1106d28b59e0df932663ef5d"
    assert derive(7, "k", purpose="task") == 9045251744942193804
    assert derive(7, "k", retry=1, purpose="task") == 4431493071736215092


def test_another_process_derives_the_same() -> None:
    code = "from budwood._core.seeds import derive; print(derive(3, 'key', retry=2, purpose='p'))"
    told = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": salt}, capture_output=True, text=True, check=True
        ).stdout
        for salt in ("1", "2")
    ]
    assert told == [f"{derive(3, 'key', retry=2, purpose='p')}\n"] * 2


@given(st.integers(), st.text(max_size=20), st.integers(0, 99))
def test_a_seed_has_63_bits_and_a_fraction_is_below_one(seed: int, key: str, retry: int) -> None:
    number = derive(seed, key, retry=retry, purpose="x")
    assert 0 <= number < 2**63
    assert 0.0 <= fraction(seed, key, retry=retry, purpose="x") <= 1.0


def test_every_part_makes_another_seed() -> None:
    base = derive(1, "k", retry=0, purpose="task")
    others = [
        derive(2, "k", retry=0, purpose="task"),
        derive(1, "l", retry=0, purpose="task"),
        derive(1, "k", retry=1, purpose="task"),
        derive(1, "k", retry=0, purpose="back-off"),
        derive(1, "k\x000", retry=0, purpose="task"),
    ]
    assert len({base, *others}) == 6


def test_fractions_are_spread() -> None:
    found = [fraction(1, f"task {n}", purpose="x") for n in range(1000)]
    assert 0.45 < sum(found) / 1000 < 0.55
    assert min(found) < 0.02
    assert max(found) > 0.98
