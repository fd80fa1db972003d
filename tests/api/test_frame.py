"""A run's tasks as a table for pandas, and what is said where pandas is not installed."""

import sys
from collections.abc import Sequence
from random import Random

import pandas
import pytest
from tests.api.world import World

import budwood
from budwood import TaskSpec, UsageError
from budwood.strategies.base import Told

COLUMNS = ["id", "number", "state", "parents", "score", "valid", "gain", "decision", "why"]
COLUMNS += ["attempts", "duration_s", "cost_usd", "lane", "depth"]


class Nothing(budwood.Strategy):
    """Wants nothing."""

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        return ()

    def tell(self, told: Told) -> None:
        """Hear of nothing."""


def test_there_is_a_row_for_each_task_of_a_plan(world: World) -> None:
    tasks = [
        budwood.command("exit 3", id="bad", retries=1, lane="api"),
        budwood.command("true", id=7),
        budwood.command("true", id="after", after=["bad", 7]),
    ]
    run = budwood.start(tasks, name="night", backoff="10ms")
    run.wait(30)
    frame = run.to_pandas()
    assert list(frame.columns) == COLUMNS
    assert frame["id"].tolist() == ["bad", 7, "after"]
    assert frame["number"].tolist() == [0, 1, 2]
    assert frame["state"].tolist() == ["failed", "done", "skipped"]
    assert frame["parents"].tolist() == [(), (), ("bad", 7)]
    assert frame["attempts"].tolist() == [2, 1, 0]
    assert frame["why"].tolist() == ["exit code 3", "", ""]
    assert frame["lane"].tolist() == ["api", None, None]
    assert frame["depth"].tolist() == [0, 0, 1]
    assert frame["score"].isna().all()
    assert frame["valid"].isna().all()
    assert frame["duration_s"].isna().tolist() == [False, False, True]
    assert frame["duration_s"][0] == run.tasks()[0].duration_s
    assert [str(frame[name].dtype) for name in ("score", "valid", "cost_usd", "depth")] == [
        "float64",
        "boolean",
        "float64",
        "int64",
    ]
    assert isinstance(frame, pandas.DataFrame)


def test_a_run_without_tasks_has_the_columns_all_the_same(world: World) -> None:
    run = budwood.start(strategy=Nothing(), name="night")
    run.wait(30)
    frame = run.to_pandas()
    assert (list(frame.columns), len(frame)) == (COLUMNS, 0)
    assert run.tree().text == "Tree of run night (tests.api.test_frame:Nothing): 0 tasks"


def test_without_pandas_the_error_names_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = budwood.start([budwood.command("true", id="a")], name="night")
    run.wait(30)
    monkeypatch.setitem(sys.modules, "pandas", None)  # importing it then fails as where it is not installed
    with pytest.raises(UsageError, match="needs the package pandas, which is not installed") as caught:
        run.to_pandas()
    assert caught.value.hint == "pip install pandas"
