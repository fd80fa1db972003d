"""State is the fold of events: the same as it was live, and nothing is guessed."""

from dataclasses import asdict
from typing import Any

import pytest
from tests.core.bench import BAD, CANCELLED, LOST, OK, Bench, bad, task

from budwood._core import events as e
from budwood._core.model import AttemptPhase, RunPhase, RunSettings
from budwood._core.project import take_rows
from budwood._core.replay import fold, fold_rows, story, story_lines
from budwood._core.state import RunState
from budwood.errors import IllegalTransition, UnknownEvent


def plain(state: RunState) -> dict[str, Any]:
    """Lay a state out for comparing; without what `schedule` keeps for itself, and what was touched since a commit."""
    fields = asdict(state)
    del fields["queue"], fields["touched"]
    return fields


def eventful() -> Bench:
    """A run in which nearly everything happens."""
    settings = RunSettings(slots=3, cpus=4.0, gpus=("0", "1"), groups={"g": 2}, seed=5)
    bench = Bench(
        task("a", retries=1, cpus=1.5, usd=0.1),
        task("b", "a", lane="x", gpus=1),
        task("c", "b", prefer=["d"]),
        task("d", group="g", tokens=9),
        task(0, "d", lane="x"),
        task("gone", group="g"),
        lanes=["x"],
        settings=settings,
    )
    bench.fill()
    bench.begin("a")
    bench.end("a", LOST)
    bench.fill()
    bench.now_ms += 17
    bench.end("d", BAD)
    bench.record(e.RunPaused(kind="person", reason="lunch"))
    bench.record(e.RunResumed())
    bench.record(e.DriverStarted(driver="two", fence=2))
    bench.record(e.AttemptAdopted(task="a", attempt=2))
    bench.record(e.PlanRevised(removed=("gone",), added=(task("new", "a"),), lanes=tuple(bench.state.lanes)))
    bench.end("gone", CANCELLED)
    bench.end("a", bad("memory"))
    bench.record(e.TasksCancelled(tasks=("new",)))
    bench.record(e.External(cause="retry"))
    bench.record(e.TasksRetried(tasks=("new",)))
    bench.record(e.SettingsChanged(settings=RunSettings(slots=1, seed=5), changed=("slots", "cpus", "gpus", "groups")))
    bench.record(e.DriverStopped(reason="asked to stop"))
    return bench


def test_the_fold_of_stored_events_is_the_live_state_field_by_field() -> None:
    bench = eventful()
    live, again = plain(bench.state), plain(bench.refold())
    assert live.keys() == again.keys()
    for name, value in live.items():
        assert again[name] == value, name


def test_every_prefix_folds() -> None:
    events = eventful().events()
    state = RunState()
    for number, recorded in enumerate(events, start=1):
        fold([recorded], state)
        assert plain(state) == plain(fold(events[:number]))


def test_a_refolded_run_goes_on_with_what_was_ready() -> None:
    bench = Bench(task("a", lane="x"), task("b", lane="x"), task("c"), lanes=["x"])
    assert bench.fill() == ["a", "c"]
    bench.state = bench.refold()
    assert bench.fill() == []
    bench.end("a")
    assert bench.fill() == ["b"]


def test_rows_of_a_refold_are_the_rows_that_commits_wrote() -> None:
    bench = eventful()
    rows = fold_rows(bench.events())
    everything = take_rows(bench.state)  # nothing was taken so far
    assert rows.run == everything.run
    assert rows.tasks == everything.tasks
    written = {(row.task, row.number): row for row in everything.attempts}
    assert {(row.task, row.number): row for row in rows.attempts} == written
    assert rows.dependencies == tuple(sorted(everything.dependencies, key=lambda row: (row.task, row.needs)))


@pytest.mark.parametrize("missing", [1, 2, 5])
def test_a_gap_in_the_numbers_is_named(missing: int) -> None:
    events = [each for each in eventful().events() if each.number != missing]
    with pytest.raises(UnknownEvent, match=f"event {missing} is missing; the next one is {missing + 1}"):
        fold(events)


def test_an_event_that_comes_twice_is_refused() -> None:
    events = eventful().events()
    with pytest.raises(UnknownEvent, match="event 4 is missing; the next one is 3"):
        fold([*events[:3], events[2]])


def test_a_story_has_all_that_is_about_one_task_and_nothing_else() -> None:
    told = [e.kind_of(each.event) for each in story(eventful().events(), "d")]
    assert told == ["tasks_added", "attempt_queued", "attempt_ended", "tasks_skipped"]


def test_a_story_finds_a_task_by_number_or_text() -> None:
    events = eventful().events()
    assert story(events, 0) == story(events, "0") != []


def test_story_lines_are_short_and_the_newest_come_last() -> None:
    bench = Bench(task("a", retries=50, run="x" * 500))
    for _ in range(30):
        bench.of("a").not_before_ms = 0
        bench.state.queue.ready = [bench.of("a").rank]
        bench.fill()
        bench.end("a", BAD)
    lines = story_lines(bench.events(), ["a"])
    assert len(lines) == 20
    assert lines[-1].startswith(f"{bench.state.number} attempt_ended")
    assert max(map(len, lines)) < 200


def test_without_an_id_the_story_is_the_runs_own() -> None:
    told = [line.split()[1] for line in story_lines(Bench(task("a")).events(), ())]
    assert told == ["run_created", "driver_started"]


def test_a_fold_leaves_no_rows_to_be_written_again() -> None:
    state = eventful().refold()
    rows = take_rows(state)
    assert (rows.tasks, rows.attempts, rows.dependencies, rows.gone_dependencies) == ((), (), (), ())


def long_log() -> list[e.Recorded]:
    """A run whose last event is illegal, with 1,500 others between that and the last one about the same task."""
    bench = Bench(task("a"), task("b"))
    bench.fill()
    bench.end("a")
    for _ in range(1_500):
        bench.record(e.DriverSeen())
    wrong = e.AttemptEnded(task="a", attempt=1, phase=AttemptPhase.SUCCEEDED)
    return [*bench.events(), e.Recorded(bench.state.number + 1, bench.now_ms, wrong)]


def test_the_story_of_an_illegal_event_goes_back_as_far_as_the_events_can_be_read_again() -> None:
    events = long_log()
    with pytest.raises(IllegalTransition) as caught:
        fold(iter(events), again=lambda: events)
    assert [line.split()[1] for line in caught.value.story] == [
        "tasks_added",
        "attempt_queued",
        "attempt_ended",
        "attempt_ended",
    ]


def test_without_them_it_has_the_last_events() -> None:
    with pytest.raises(IllegalTransition) as caught:
        fold(iter(long_log()))
    assert [line.split()[1] for line in caught.value.story] == ["attempt_ended"]


def test_rows_of_thousands_of_events_are_those_of_one_commit() -> None:
    bench = Bench(*(task(n, *([n - 1] if n % 7 else []), retries=1) for n in range(400)))
    while started := bench.fill():
        for name in started:
            bench.begin(name)
            bench.end(name, bad("io") if name == 13 and bench.of(13).attempts == 1 else OK)
        bench.rest()
        if bench.state.phase is RunPhase.PAUSED:
            bench.record(e.RunResumed())
    rows, everything = fold_rows(bench.events()), take_rows(bench.state)
    assert len(bench.log) > 1_000
    assert rows.tasks == everything.tasks
    assert {(row.task, row.number): row for row in rows.attempts} == {
        (row.task, row.number): row for row in everything.attempts
    }
    assert rows.dependencies == tuple(sorted(everything.dependencies, key=lambda row: (row.task, row.needs)))
