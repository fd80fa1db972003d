"""What calls say that they cost is booked once, whoever dies: driver, supervisor or worker."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.cli.world import Budwood, send
from tests.executors.calling import GRACE_S, SURVIVES_TERM, Desk, Shop, at_desk
from tests.executors.looks import wait_for
from tests.support.scene import REPOSITORY

from budwood._core.events import AttemptStarted
from budwood._core.model import AttemptPhase, Usage
from budwood.executors.base import Recovered, Work

FUNCTIONS = (
    SURVIVES_TERM
    + """
import os, signal, time

def say_cost(cost):
    with open(os.environ["BUDWOOD_USAGE"], "w") as file:
        file.write('{"cost_usd": %s}' % cost)

def spend(cost):
    say_cost(cost)
    with open("spent", "a") as file:
        file.write("x")
    return cost

def spend_and_hold():
    print("spending")
    spend(0.5)
    time.sleep(600)

def spend_and_die():
    spend(0.5)
    os._exit(3)

def odd():
    os.mkfifo(os.environ["BUDWOOD_USAGE"])
    time.sleep(600)

def fail_thrice():
    spend(1)
    while os.path.getsize("spent") < 3:
        time.sleep(0.01)
"""
)
COST = Usage(cost_usd=0.5)


def kill_driver_in(shop: Shop, function: str) -> Work:
    """Make a call in another process and kill that while the call runs."""
    command = [sys.executable, "-m", "tests.executors.calling", str(shop.root), function]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.kill()
    return shop.work(function)


def test_a_killed_drivers_call_is_another_attempt_if_it_has_cost_something(shop: Shop) -> None:
    work = kill_driver_in(shop, "spend_and_hold")
    for fence in (2, 3):  # the second has not written it down either
        with at_desk(shop, fence) as desk:
            assert desk.recover(work) == [Recovered.ENDED]
            [(name, outcome, log)] = desk.endings
            assert (name, outcome.phase, outcome.usage, log) == (work.id, AttemptPhase.ABANDONED, COST, b"spending\n")
            assert outcome.message == "its driver ended before it did, and it with its driver"
            if fence == 3:
                desk.executor.forget(work.id)
    assert list(shop.paths.attempts.iterdir()) == []


def test_what_a_killed_drivers_call_printed_comes_without_its_secrets(shop: Shop) -> None:
    work = msgspec.structs.replace(kill_driver_in(shop, "spend_and_hold"), mask=("spending",))
    with at_desk(shop, 2) as desk:
        assert desk.recover(work) == [Recovered.ENDED]
        assert desk.last_log == b"[masked]\n"
        desk.executor.forget(work.id)


def test_an_answered_call_that_nobody_wrote_down_is_another_attempt_if_it_has_cost_something(shop: Shop) -> None:
    with at_desk(shop) as desk:
        first, second = shop.work("spend", 0.5), shop.work("spend", 0.25)
        for work in (first, second):
            assert desk.outcome(work).phase is AttemptPhase.SUCCEEDED
        desk.executor.forget(second.id)
    with at_desk(shop, 2) as desk:
        assert desk.recover(first) == [Recovered.ENDED]
        assert desk.end_of(first.id).usage == COST
        desk.executor.forget(first.id)
    assert list(shop.paths.attempts.iterdir()) == []


def test_a_call_whose_end_is_in_the_store_leaves_no_file(desk: Desk) -> None:
    for number in range(1, 4):
        assert desk.call("spend", 0.5).usage == COST
        desk.executor.forget(f"{number}.1")
    [worker] = desk.shop.paths.attempts.iterdir()
    assert list(worker.glob("usage*")) == []


def test_a_call_whose_supervisor_is_killed_keeps_its_cost_process_and_time(desk: Desk) -> None:
    work = desk.shop.work("spend_and_hold")
    desk.begin(work)
    info = msgspec.json.decode((desk.shop.paths.slot("w0") / "info.json").read_bytes())
    os.kill(info["pid"], signal.SIGKILL)
    outcome = desk.end_of(work.id)
    assert (outcome.phase, outcome.usage) == (AttemptPhase.ABANDONED, COST)
    assert outcome.pid == desk.begun_pids[work.id]
    assert outcome.began_at_ms is not None
    assert outcome.measure.wall_s >= 0.1
    assert (outcome.measure.output_bytes, desk.last_log) == (9, b"spending\n")
    desk.executor.forget(work.id)
    assert not desk.shop.paths.attempt(work.id).exists()


def test_a_call_that_dies_keeps_its_cost_until_that_is_written_down(shop: Shop) -> None:
    work = shop.work("spend_and_die")
    with at_desk(shop) as desk:
        outcome = desk.outcome(work)
        assert (outcome.phase, outcome.exit_code, outcome.usage) == (AttemptPhase.FAILED, 3, COST)
    with at_desk(shop, 2) as desk:
        assert desk.recover(work) == [Recovered.ENDED]
        assert desk.end_of(work.id).usage == COST


def test_a_call_that_is_hit_by_the_limit_of_the_one_before_is_not_made_twice_if_it_has_cost_something(
    desk: Desk,
) -> None:
    desk.outlast_limit()
    outcome = desk.changed(desk.shop.work("spend_and_hold"), grace_s=GRACE_S)
    assert (outcome.phase, outcome.usage) == (AttemptPhase.ABANDONED, COST)
    assert outcome.message == "it was ended by the time limit of the call before it"
    assert (desk.shop.root / "spent").read_text() == "x"


@pytest.mark.timeout(60)
def test_a_fifo_in_the_place_of_a_report_holds_nobody_up(shop: Shop) -> None:
    work = kill_driver_in(shop, "odd")
    with at_desk(shop, 2) as desk:
        assert desk.recover(work) == [Recovered.UNSENT]


def _has_spent(budwood: Budwood, times: int) -> bool:
    spent = budwood.root / "spent"
    if not spent.exists() or spent.stat().st_size != times:
        return False
    return sum(isinstance(event, AttemptStarted) for event in budwood.events()) == times


def test_the_run_counts_what_was_spent_each_time_its_driver_was_killed(tmp_path: Path) -> None:
    budwood = Budwood(tmp_path / "project")
    try:
        (budwood.root / "work.py").write_text(FUNCTIONS)
        budwood.plan("[[task]]\nid = 'a'\nfunction = 'work:fail_thrice'\n")
        for kill, command in enumerate((("run", "plan.toml"), ("resume", "plan")), 1):
            driver = budwood.start(*command)
            wait_for(partial(_has_spent, budwood, kill))
            send(driver, signal.SIGKILL)
            driver.wait()
        budwood.call("resume", "plan")
        assert budwood.state().spending.cost_usd == pytest.approx(3.0)
        assert [task.attempts for task in budwood.state().tasks] == [3]
    finally:
        budwood.end()
