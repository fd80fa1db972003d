"""Tasks that were created while the run went on, in everything that reads, moves and repeats a run."""

import csv
import io
import json
import signal

import pytest
from tests.cli.world import HELD, QUICK, Budwood, send, task
from tests.support.creating import create

from budwood.stores.base import Asker

A = Asker(task="a", attempt=1)
BAD = "echo $BUDWOOD_ATTEMPT >> began-bad; test -e fixed"
READS = (("show", "plan", "--decisions"), ("export", "plan", "--csv"), ("export", "plan", "--jsonl"), ("story", "plan"))


@pytest.fixture
def killed(budwood: Budwood) -> Budwood:
    """A run that three tasks have joined, one by one's own making, and whose driver was killed then."""
    lane = '[[lane]]\nid = "api"\n'
    budwood.plan("[run]\nslots = 2\n", lane, task("a", HELD, reserve_usd=0.5), task("b", after=["a"], lane="api"))
    driver = budwood.start("run", "plan.toml")
    budwood.wait_began("a")
    assert create(budwood.root, "plan", by=A, description="=Do it", run=HELD, lane="api") == "do-it"
    assert create(budwood.root, "plan", by=A, id="bad", description="It fails", run=BAD, after=("do-it",)) == "bad"
    last = {"id": "last", "description": "A person's", "run": QUICK, "after": ("b", "bad"), "priority": 3}
    assert create(budwood.root, "plan", **last) == "last"
    budwood.wait_began("do-it")
    send(driver, signal.SIGKILL)
    driver.wait()
    return budwood


def test_they_are_listed_waited_for_and_explained(killed: Budwood) -> None:
    shown = json.loads(killed.call("status", "plan", "--json").out)
    assert (shown["run"]["tasks"], shown["counts"]["blocked"]) == (5, 3)
    assert {each["task"]: each["found"] for each in shown["running"]} == {"a": "running", "do-it": "running"}
    assert "bad" in killed.call("why", "plan", "last").out
    assert [str(each["id"]) for each in json.loads(killed.call("show", "plan", "--json").out)["tasks"]] == [
        *("a", "b", "do-it", "bad", "last")
    ]
    # What a file says is the file's: who looks at that sees what it would begin with.
    assert json.loads(killed.call("plan", "show", "plan.toml", "--json").out)["batches"] == [["a"], ["b"]]
    assert "do-it was created by a" in killed.call("story", "plan", "do-it").out


def test_they_are_adopted_resumed_and_retried(killed: Budwood) -> None:
    killed.let_go()
    said = killed.call("resume", "plan", code=1).err
    assert "plan: 3 done, 1 failed, 1 skipped of 5" in said
    assert "outside the determinism promise: 3 created tasks" in said
    killed.call("run", "plan.toml", code=1)
    assert killed.lines("began-bad") == ["1"]
    (killed.root / "fixed").touch()
    assert "plan: 5 done" in killed.call("retry", "plan", "bad").err
    assert (killed.lines("began-bad"), killed.lines("began-do-it"), killed.lines("began-last")) == (
        ["1", "2"],
        ["1"],
        ["1"],
    )
    assert "nothing would run" in killed.call("run", "plan.toml", "--dry-run").out


def test_a_dry_run_tells_of_those_that_are_to_be_done(killed: Budwood) -> None:
    said = killed.call("run", "plan.toml", "--dry-run").out
    assert "3 tasks of these joined while it went on: do-it, bad, last" in said
    assert "reserves $1.50" in said  # a, and the two that take over what it reserves


def test_what_is_done_is_not_reserved_once_more(budwood: Budwood) -> None:
    budwood.plan(*(plan := (task("a", reserve_usd=0.5), task("b", "exit 1", after=["a"], reserve_usd=0.25))))
    budwood.call("run", "plan.toml", code=1)
    assert "reserves" not in budwood.call("run", "plan.toml", "--dry-run").out
    budwood.plan(plan[0], task("b", QUICK, after=["a"], reserve_usd=0.25))
    assert "reserves $0.25" in budwood.call("run", "plan.toml", "--dry-run").out


def test_an_edited_plan_keeps_them_but_where_it_takes_away_what_they_stand_on(killed: Budwood) -> None:
    killed.let_go()
    (killed.root / "fixed").touch()
    killed.plan(
        "[run]\nslots = 2\n", '[[lane]]\nid = "api"\n', task("a", HELD, reserve_usd=0.5), task("c", after=["a"])
    )
    said = killed.call("run", "plan.toml").err
    assert "1 added (c), 2 removed (b, last)" in said
    assert "plan: 4 done" in said
    assert killed.call("store", "verify").code == 0


def test_a_table_and_lines_have_them(killed: Budwood) -> None:
    killed.let_go()
    killed.call("resume", "plan", code=1)
    rows = list(csv.DictReader(io.StringIO(killed.call("export", "plan", "--csv").out)))
    assert [(row["task"], row["state"], row["lane"], row["batch"], row["because"]) for row in rows] == [
        ("a", "done", "", "1", ""),
        ("b", "done", "api", "2", ""),
        ("do-it", "done", "api", "1", ""),
        ("bad", "failed", "", "2", ""),
        ("last", "skipped", "", "3", "bad"),
    ]
    lines = [json.loads(line) for line in killed.call("export", "plan", "--jsonl").out.splitlines()]
    made = [line for line in lines if line["event"] == "task_created"]
    assert [(line["task"]["id"], line.get("parent")) for line in made] == [("do-it", "a"), ("bad", "a"), ("last", None)]


@pytest.mark.parametrize("ended", [False, True])
def test_in_a_file_and_another_store_they_are_what_they_were(killed: Budwood, ended: bool) -> None:
    killed.let_go()
    if ended:
        killed.call("resume", "plan", code=1)
    killed.call("store", "export", "plan", "out.jsonl")
    killed.call("store", "import", "out.jsonl", "--store", "other.db")
    for words in READS:
        assert killed.call(*words, "--store", "other.db").out == killed.call(*words).out, words
    assert killed.call("store", "verify", "--store", "other.db").code == 0


@pytest.mark.postgres
def test_they_go_to_postgresql_and_back_and_the_run_goes_on(killed: Budwood, database: str) -> None:
    before = [killed.call(*words).out for words in READS]
    killed.call("store", "import", ".budwood/store.db", "--store", database)
    assert [killed.call(*words, "--store", database).out for words in READS] == before
    killed.let_go()
    assert "plan: 3 done, 1 failed, 1 skipped of 5" in killed.call("resume", "plan", "--store", database, code=1).err
    (killed.root / "fixed").touch()
    after = [killed.call(*words, "--store", database).out for words in READS]
    killed.call("store", "import", database)
    assert [killed.call(*words).out for words in READS] == after
    assert "plan: 5 done" in killed.call("retry", "plan", "bad").err
    assert (killed.lines("began-a"), killed.lines("began-do-it")) == (["1"], ["1"])
    assert killed.call("store", "verify").code == 0
