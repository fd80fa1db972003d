"""Before anything is chosen on resume, every task is accounted for, once."""

import pytest
from tests.core.bench import BAD, LOST, Bench, task

from budwood._core import events as e
from budwood.engine.account import account
from budwood.errors import InternalError
from budwood.executors.base import Recovered


def bench() -> Bench:
    """One done, one failed, one skipped, one cancelled, three open, one ready, one blocked."""
    found = Bench(
        task("done"),
        task("failed"),
        task("skipped", "failed"),
        task("cancelled"),
        *(task(f"open{n}") for n in range(3)),
        task("ready"),
        task("blocked", "ready"),
    )
    for slot, name in enumerate(("done", "failed", "open0", "open1", "open2")):
        found.record(e.AttemptQueued(task=name, attempt=1, slot=slot))
    found.end("done")
    found.end("failed", BAD)
    found.record(e.TasksCancelled(tasks=("cancelled",)))
    return found


def test_every_task_is_counted_once() -> None:
    stood = bench()
    found = {"4.1": Recovered.ADOPTED, "5.1": Recovered.UNSENT, "6.1": Recovered.ENDED}
    stood.end("open2", LOST)  # as recovery reported it
    assert account(stood.state, found, open_before=3) == e.RunAccounted(
        done=1, failed=1, skipped=1, cancelled=1, adopted=1, requeued=2, not_started=2, planned=9
    )


def test_an_attempt_that_nobody_found_is_our_bug_and_nothing_starts() -> None:
    stood = bench()
    found = {"4.1": Recovered.ADOPTED, "5.1": Recovered.UNSENT}
    with pytest.raises(InternalError, match="nothing was started"):
        account(stood.state, found, open_before=3)


def test_an_attempt_that_was_found_ended_and_told_nobody_is_our_bug() -> None:
    stood = bench()
    found = {"4.1": Recovered.ADOPTED, "5.1": Recovered.ADOPTED, "6.1": Recovered.ENDED}
    with pytest.raises(InternalError, match="8 of 9 tasks"):
        account(stood.state, found, open_before=3)


@pytest.mark.parametrize("how", [Recovered.ADOPTED, Recovered.UNSENT])
def test_attempts_at_removed_tasks_are_no_tasks_of_the_plan(how: Recovered) -> None:
    stood = Bench(task("a"), task("b"))
    stood.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    stood.record(e.PlanRevised(removed=("a",)))
    accounted = account(stood.state, {"0.1": how}, open_before=1)
    assert (accounted.planned, accounted.not_started, accounted.adopted, accounted.requeued) == (1, 1, 0, 0)
