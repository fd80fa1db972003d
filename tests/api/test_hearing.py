"""What on_event hears: everything, in order, once, from a thread of its own; and what it can do to a run: nothing."""

import asyncio
import threading
import time

import pytest
from tests.api.world import World, held
from tests.cli.world import QUICK, wait_for

import budwood
from budwood import Event
from budwood.api import hearing, waiting
from budwood.api.hearing import OnEvent


def quick(*names: str) -> list[budwood.TaskSpec]:
    return [budwood.command(QUICK, id=name) for name in names]


def done(tasks: list[budwood.TaskSpec], on_event: OnEvent) -> budwood.Run:
    """Run tasks to their good end."""
    run = budwood.start(tasks, name="night", on_event=on_event)
    assert run.wait().exit_code == 0
    return run


def test_every_event_is_heard_once_in_order_and_from_another_thread(world: World) -> None:
    heard: list[tuple[int, str]] = []
    run = budwood.start(
        quick(*"abcdef"),
        name="night",
        on_event=lambda event: heard.append((event.number, threading.current_thread().name)),
    )
    run.wait()
    assert [number for number, _ in heard] == [event.number for event in run.events()]
    assert {name for _, name in heard} == {"budwood on_event"}
    assert run.callback_error is None


def test_a_drive_that_goes_on_is_heard_from_its_first_event(world: World) -> None:
    run = budwood.start([held("a")], name="night")
    world.wait_began("a")
    run.stop(now=True)
    run.wait()
    before = len(list(run.events()))
    heard: list[int] = []
    world.let_go()
    again = budwood.resume("night", on_event=lambda event: heard.append(event.number))
    again.wait()
    assert heard == list(range(before + 1, len(list(run.events())) + 1))


def test_what_is_heard_is_durable(world: World) -> None:
    missing: list[int] = []

    def hear(event: Event) -> None:
        if not any(each.number == event.number for each in event.run.events(after=event.number - 1)):
            missing.append(event.number)

    budwood.start(quick("a", "b"), name="night", on_event=hear).wait()
    assert missing == []


def test_a_callback_that_raises_is_told_once_and_hears_the_rest(world: World) -> None:
    heard: list[int] = []

    def hear(event: Event) -> None:
        heard.append(event.number)
        raise ValueError(f"I do not like {event.number}")

    with pytest.warns(RuntimeWarning) as warned:
        run = done(quick("a", "b"), hear)
    assert [str(each.message) for each in warned] == [
        "on_event failed at event 1: ValueError: I do not like 1; the run goes on, run.callback_error has it"
    ]
    assert heard == [event.number for event in run.events()]
    assert isinstance(run.callback_error, ValueError)
    assert str(run.callback_error) == "I do not like 1"


def test_where_warnings_are_errors_a_callback_that_raises_still_hears_the_rest(world: World) -> None:
    heard: list[int] = []

    def hear(event: Event) -> None:
        heard.append(event.number)
        raise SystemExit(3)

    run = budwood.start(quick("a"), name="night", on_event=hear)  # pytest makes errors of warnings
    assert run.wait().exit_code == 0
    assert heard == [event.number for event in run.events()]
    assert isinstance(run.callback_error, SystemExit)


def test_a_callback_that_blocks_never_holds_up_the_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "CATCH_UP_S", 0.1)
    gate = threading.Event()
    heard: list[int] = []

    def hear(event: Event) -> None:
        assert gate.wait(60)
        heard.append(event.number)

    run = budwood.start(quick(*"abcdefgh"), name="night", on_event=hear)
    with pytest.warns(
        RuntimeWarning, match=r"on_event has not heard of \d+ events after 0.1 s; run.events\(\) has all"
    ):
        assert run.wait().exit_code == 0
    assert (heard, run.state) == ([], "finished")
    gate.set()
    wait_for(lambda: len(heard) == len(list(run.events())), what="the callback to catch up")
    assert heard == [event.number for event in run.events()]
    assert run.wait().exit_code == 0


def test_a_callback_that_blocks_holds_up_no_wait_that_has_a_limit(world: World) -> None:
    gate = threading.Event()
    run = budwood.start(quick("a"), name="night", on_event=lambda _: gate.wait(60))
    try:
        wait_for(lambda: run.state == "finished" and not run.is_driven, what="the run to end")
        with pytest.warns(RuntimeWarning, match=r"has not heard of .* events after 0.2 s;"):
            assert run.wait(timeout_s=0.2).exit_code == 0
    finally:
        gate.set()


@pytest.mark.parametrize("store", ["memory:", None])
def test_one_that_falls_far_behind_hears_everything_and_little_waits_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch, store: str | None
) -> None:
    monkeypatch.setattr(hearing, "MOST_HELD", 10)
    gate = threading.Event()
    heard: list[int] = []

    def hear(event: Event) -> None:
        assert gate.wait(60)
        heard.append(event.number)

    run = budwood.start(quick(*(f"{n}" for n in range(30))), name="night", store=store, on_event=hear)
    wait_for(lambda: run.state == "finished", what="the run to finish")
    driving = run._inside.driving
    assert driving is not None
    assert driving.hearing is not None
    assert sum(map(len, driving.hearing._held)) < 20
    assert driving.hearing.missing > 50
    gate.set()
    assert run.wait().exit_code == 0
    assert heard == [event.number for event in run.events()]


def test_one_that_is_sometimes_slow_hears_everything_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "MOST_HELD", 3)
    heard: list[int] = []

    def hear(event: Event) -> None:
        if event.number % 7 == 0:
            time.sleep(0.005)  # so that it is now behind, now not
        heard.append(event.number)

    run = budwood.start(quick(*(f"{n}" for n in range(60))), name="night", slots=4, on_event=hear)
    run.wait()
    assert heard == [event.number for event in run.events()]


def test_a_callback_may_ask_something_of_its_run(world: World) -> None:
    def hear(event: Event) -> None:
        if event.kind == "attempt_started":
            event.run.stop()
            world.let_go()

    run = budwood.start([held("a"), *quick("b")], name="night", slots=1, on_event=hear)
    verdict = run.wait()
    assert (verdict.exit_code, verdict.counts["done"]) == (130, 1)


def test_a_callback_that_waits_for_its_own_run_is_let_go(world: World) -> None:
    codes: list[int] = []

    def hear(event: Event) -> None:
        if event.number == 1:
            codes.append(event.run.wait(30).exit_code)

    run = budwood.start(quick("a"), name="night", on_event=hear)
    assert run.wait().exit_code == 0
    wait_for(lambda: codes == [0], what="the callback to be let go")


# --- async ---


def test_an_async_callback_runs_in_the_loop_that_start_was_called_in(world: World) -> None:
    heard: list[int] = []

    async def main() -> budwood.Run:
        loop, thread = asyncio.get_running_loop(), threading.current_thread()

        async def hear(event: Event) -> None:
            assert asyncio.get_running_loop() is loop
            assert threading.current_thread() is thread
            await asyncio.sleep(0)
            heard.append(event.number)

        run = budwood.start(quick(*"abc"), name="night", on_event=hear)
        await run
        return run

    run = asyncio.run(main())
    assert run.callback_error is None
    assert heard == [event.number for event in run.events()]


def test_an_async_callback_runs_without_a_loop_of_the_program_too(world: World) -> None:
    heard: list[int] = []

    async def hear(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event.number)

    run = budwood.start(quick(*"abc"), name="night", on_event=hear)
    run.wait()
    assert run.callback_error is None
    assert heard == [event.number for event in run.events()]


def test_an_async_callback_that_raises_is_told_once(world: World) -> None:
    async def hear(event: Event) -> None:
        raise KeyError(event.kind)

    with pytest.warns(RuntimeWarning, match="on_event failed at event 1: KeyError: 'run_created'"):
        run = done(quick("a"), hear)
    assert isinstance(run.callback_error, KeyError)


def test_an_async_callback_whose_loop_is_gone_does_not_hold_up_the_run(world: World) -> None:
    async def hear(event: Event) -> None: ...

    async def main() -> budwood.Run:
        return budwood.start([held("a")], name="night", on_event=hear)

    def rest() -> budwood.Run:
        run = asyncio.run(main())
        world.let_go()
        assert run.wait().exit_code == 0
        return run

    with pytest.warns(RuntimeWarning, match="on_event failed at event"):
        run = rest()
    assert run.callback_error is not None


def test_a_wait_that_blocks_the_loop_of_an_async_callback_warns_of_what_was_not_heard(world: World) -> None:
    heard: list[int] = []

    async def hear(event: Event) -> None:
        heard.append(event.number)

    async def main() -> budwood.Run:
        run = budwood.start(quick("a"), name="night", on_event=hear)
        with pytest.warns(RuntimeWarning) as warned:
            assert run.wait().exit_code == 0
        assert heard == []
        number = len(list(run.events()))
        assert [str(each.message) for each in warned] == [
            f"on_event has not heard of {number} events while run.wait() blocks the event loop that it is awaited in: "
            "use `await run`; run.events() has all of them"
        ]
        await run
        return run

    run = asyncio.run(main())
    assert heard == [event.number for event in run.events()]


def test_a_plain_callback_is_heard_out_by_a_wait_that_blocks_the_loop(world: World) -> None:
    heard: list[int] = []

    def hear(event: Event) -> None:
        time.sleep(0.01)  # so that it is behind when the run ends
        heard.append(event.number)

    async def main() -> budwood.Run:
        return done(quick(*"abc"), hear)

    run = asyncio.run(main())
    assert heard == [event.number for event in run.events()]
