"""The public surface: small, known to type checkers, and free of charge until it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

import budwood
from budwood.api.keys import RunKeys, TaskKeys
from budwood.plans import TASK_KEYS
from budwood.settings import KEYS


def python(code: str, *, cwd: Path) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True).stdout


def test_there_are_fewer_than_forty_public_names_and_each_is_there() -> None:
    assert len(budwood.__all__) < 40
    assert sorted(set(budwood.__all__)) == sorted(budwood.__all__)
    assert [name for name in budwood.__all__ if not hasattr(budwood, name)] == []
    assert set(budwood.__all__) <= set(dir(budwood))


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'strat'"):
        budwood.strat  # noqa: B018


def test_importing_budwood_loads_nothing_of_it(tmp_path: Path) -> None:
    loaded = python("import sys, budwood; print(*sys.modules)", cwd=tmp_path).split()
    heavy = (
        "budwood.",
        "msgspec",
        "asyncio",
        "sqlite3",
        "inspect",
        "click",
        "rich",
        "platformdirs",
        "psutil",
        "pathlib",
    )
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_decorating_a_function_loads_neither_stores_nor_engine(tmp_path: Path) -> None:
    code = "import sys, budwood\n@budwood.task\ndef f(): ...\nprint(*sys.modules)"
    loaded = python(code, cwd=tmp_path).split()
    assert [
        name for name in loaded if name.startswith(("budwood.stores", "budwood.engine", "msgspec", "asyncio"))
    ] == []


def test_a_task_may_say_in_python_what_it_may_say_in_a_plan() -> None:
    in_files = {"id", "after", "run", "function", "args", "kwargs", "prompt_file"}  # who writes Python can read a file
    assert set(TaskKeys.__annotations__) == set(TASK_KEYS) - in_files


def test_a_run_may_be_given_every_setting_by_its_name() -> None:
    assert set(RunKeys.__annotations__) == set(KEYS) - {"name", "store", "strategy"}


@pytest.mark.slow
def test_a_type_checker_knows_arguments_keys_and_results(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "import budwood\n"
        "@budwood.task(retries=2)\n"
        "def square(number: int) -> int:\n"
        "    return number * number\n"
        "whole: int = square(3)\n"
        "budwood.start([square.task(3), square.options(id='a', after=['b']).task(number=4)], slots=2).wait().counts\n"
        "square.task('three')\n"
        "square.options(retires=2)\n"
        "budwood.start([], slot=2)\n"
        "reveal_type(budwood.start([]).results()[0].duration_s)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", str(tmp_path), "sample.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)
    lines = [line.split(":", 1)[1] for line in ran.stdout.splitlines() if line.startswith("sample.py:")]
    assert [line.split(":")[0] for line in lines if ": error:" in line] == ["7", "8", "9"], ran.stdout
    assert any('Revealed type is "float"' in line or 'Revealed type is "builtins.float"' in line for line in lines)
