"""What is seen: plain lines, word for word, and the live view as it is drawn."""

import io
import re

import pytest
from tests.cli.world import HELD, Budwood, task

from budwood._core.events import (
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    ProgressReported,
    QuestionAnswered,
    QuestionAsked,
    Recorded,
)
from budwood._core.model import AttemptPhase, Measure, TaskPhase
from budwood.cli.view.live import Live, picture
from budwood.cli.view.plain import Plain
from budwood.project.feed import News
from budwood.project.summary import Summary

pytestmark = pytest.mark.slow

GOLDEN = """\
plan: 6 tasks, 1 slot
done 1/6  first  TIME
again  flaky  exit code 1; attempt 2 in TIME
failed 2/6  bad  exit code 3 after TIME  budwood logs plan bad
skipped 4/6  hangs-on-bad, and-on-that  because of bad
failed 5/6  slow  stopped at its time limit after TIME  budwood logs plan slow
done 6/6  flaky  TIME
plan: 2 done, 2 failed, 2 skipped of 6 in TIME, 5 attempts
  failed  bad  exit code 3  budwood logs plan bad
  failed  slow  stopped at its time limit after TIME  budwood logs plan slow
outside the determinism promise: 1 time-out

hint: budwood retry plan tries again what did not succeed
"""


def test_plain_lines_say_what_happened_in_order(budwood: Budwood) -> None:
    budwood.plan(
        '[run]\nslots = 1\nbackoff = "2s"\n',
        task("first", priority=9),
        task("flaky", "[ $BUDWOOD_ATTEMPT -gt 1 ]", retries=1, priority=8),
        task("bad", "exit 3", priority=7),
        task("hangs-on-bad", after=["bad"]),
        task("and-on-that", after=["hangs-on-bad"]),
        task("slow", "sleep 60", timeout="300ms"),
    )
    said = budwood.call("run", "plan.toml", code=1)
    plain = re.sub(r"\d+(\.\d+)? m?s\b", "TIME", said.err)
    assert plain.replace("waiting  ready tasks in back-off: 1; next try in TIME\n", "") == GOLDEN


def test_a_terminal_shows_bar_running_tasks_and_slots(budwood: Budwood) -> None:
    budwood.plan("[run]\nslots = 2\n", task("build", HELD), task("test", HELD), task("pack", after=["build", "test"]))
    terminal = budwood.terminal("run", "plan.toml")
    for wanted in ("━━━", "0/3", "2 running on 2 slots", "build", "slot 0", "slot 1", "1 to come"):
        terminal.wait_text(wanted)
    assert "\x1b[" in terminal.text
    budwood.let_go()
    assert terminal.wait() == 0
    last = terminal.text.rstrip().splitlines()[-1]
    assert "plan: 3 done in" in last


def test_no_color_is_honoured_and_the_bar_still_readable(budwood: Budwood) -> None:
    budwood.plan(task("build", HELD))
    terminal = budwood.terminal("run", "plan.toml", env={"NO_COLOR": "1"})
    terminal.wait_text("╌╌╌")
    budwood.let_go()
    assert terminal.wait() == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.text)


def test_ci_and_dumb_terminals_get_plain_lines(budwood: Budwood) -> None:
    budwood.plan(task("build", HELD))
    terminal = budwood.terminal("run", "plan.toml", env={"CI": "true"})
    terminal.wait_text("plan: 1 task, 4 slots")
    budwood.let_go()
    assert terminal.wait() == 0
    assert "\x1b[" not in terminal.text
    assert "done 1/1  build" in terminal.text


def news(*events: object, done: int = 0, total: int = 100, slots: int = 4) -> News:
    counts = dict.fromkeys(TaskPhase, 0) | {TaskPhase.DONE: done, TaskPhase.READY: total - done}
    recorded = [Recorded(n, 1000, event) for n, event in enumerate(events, start=1)]  # type: ignore[arg-type]
    return News(events=recorded, counts=counts, cost_usd=0.0, attempts=0, name="night", slots=slots)


def test_plain_lines_say_how_far_an_attempt_is_and_the_live_view_has_that_in_its_rows() -> None:
    told = news(ProgressReported(task="a", attempt=1, text="two of\nfour", percent=50))
    err, summary = io.StringIO(), Summary(lambda: 0)
    for view in (Plain(err), Live(err)):
        view.take(told, summary)
        view.draw(summary)
        view.close()
    assert err.getvalue().count("says  a  50 %, two of") == 1
    assert len(err.getvalue().splitlines()) == 1


def ended(name: str, wall_s: float) -> AttemptEnded:
    return AttemptEnded(task=name, attempt=1, phase=AttemptPhase.SUCCEEDED, measure=Measure(wall_s=wall_s))


def summary_after(seconds: float, *parcels: News) -> Summary:
    clock = [0]
    summary = Summary(lambda: clock[0])
    for parcel in parcels:
        summary.take(parcel)
    clock[0] = round(seconds * 1000)
    return summary


def test_no_time_left_is_guessed_from_fewer_than_three_ends() -> None:
    assert summary_after(4, news(ended("a", 2), ended("b", 2), done=2)).left_s() is None
    assert summary_after(4, news(ended("a", 2), ended("b", 2), ended("c", 2), done=3)).left_s() is not None


def test_time_left_counts_the_concurrency_that_there_was_not_idle_slots() -> None:
    one_by_one = summary_after(6, news(*(ended(n, 2.0) for n in "abc"), done=3, total=13, slots=8))
    assert one_by_one.left_s() == 20.0
    side_by_side = summary_after(2, news(*(ended(n, 2.0) for n in "abcd"), done=4, total=12, slots=4))
    assert side_by_side.left_s() == 4.0


def test_the_picture_fits_its_screen_whatever_runs() -> None:
    from rich.console import Console

    queued = [AttemptQueued(task=f"task-{n}-{'x' * 200}", attempt=1, slot=n) for n in range(64)]
    started = [AttemptStarted(task=each.task, attempt=1, pid=1, began_at_ms=0) for each in queued]
    summary = summary_after(60, news(*queued, *started, total=100_000, slots=64))
    for width, height in ((40, 10), (80, 24), (200, 60)):
        out = io.StringIO()
        console = Console(file=out, width=width, height=height, force_terminal=False)
        console.print(picture(summary, width=width, height=height))
        lines = out.getvalue().splitlines()
        assert len(lines) < height
        assert max(map(len, lines)) <= width
        assert "more are running" in lines[-1]


def test_what_an_attempt_says_stands_beside_it_and_a_question_before_all_else() -> None:
    begun = (AttemptQueued(task="a", attempt=1, slot=0), AttemptStarted(task="a", attempt=1, pid=1, began_at_ms=0))
    half = ProgressReported(task="a", attempt=1, text="half of it", percent=50)
    asked = QuestionAsked(task="a", attempt=1, question=1, text="which one?")
    answered = QuestionAnswered(task="a", attempt=1, question=1, text="that")
    for events, says in (
        ((*begun, half), "50 %, half of it"),
        ((*begun, asked), "which one?"),
        ((*begun, asked, half), "which one?"),
        ((*begun, asked, answered, half), "50 %, half of it"),
    ):
        summary = summary_after(1, news(*events))
        assert summary.running["a"].says == says
        assert says in str(picture(summary, width=100, height=24).renderables[-1])
