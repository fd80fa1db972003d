"""Waiting for a run: in threads and in event loops, which are never blocked, and by Ctrl-C, which is never lost."""

import asyncio
import signal
import subprocess
import threading
import time
from collections.abc import Callable

import pytest
from tests.api.world import World, held
from tests.cli.world import QUICK, send, send_aside, wait_for

import budwood
from budwood import ExecutorError, StoreError
from budwood._core import events as e
from budwood.api import process
from budwood.api.latch import Latch
from budwood.executors.local import LocalExecutor
from budwood.stores.sqlite import SqliteStore


def quick(name: str) -> budwood.TaskSpec:
    return budwood.command(QUICK, id=name)


# --- threads ---


def test_a_wait_that_takes_too_long_raises_and_the_run_goes_on(world: World) -> None:
    run = budwood.start([held("a")], name="night")
    with pytest.raises(TimeoutError, match=r"run night is not at rest after 0\.05 s"):
        run.wait(0.05)
    assert run.is_driven
    world.let_go()
    assert run.wait(30).exit_code == 0
    assert run.wait(0).exit_code == 0


def test_many_threads_wait_for_one_run(world: World) -> None:
    run = budwood.start([held("a")], name="night")
    codes: list[int] = []
    threads = [threading.Thread(target=lambda: codes.append(run.wait().exit_code)) for _ in range(5)]
    for thread in threads:
        thread.start()
    world.let_go()
    for thread in threads:
        thread.join(30)
    assert codes == [0] * 5


def test_what_the_driver_cannot_deal_with_is_raised_by_every_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: LocalExecutor, work: object) -> None:
        raise ExecutorError("nothing can be started here")

    monkeypatch.setattr(LocalExecutor, "start", broken)
    run = budwood.start([quick("a")], name="night")
    for _ in range(2):
        with pytest.raises(ExecutorError, match="nothing can be started here"):
            run.wait()

    async def main() -> None:
        with pytest.raises(ExecutorError, match="nothing can be started here"):
            await run

    asyncio.run(main())
    assert not run.is_driven


def test_an_error_of_the_beginning_is_raised_by_start_and_leaves_no_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: SqliteStore, run: str) -> None:
        raise StoreError("nothing begins here")

    monkeypatch.setattr(SqliteStore, "listen", broken)
    before = threading.active_count()
    with pytest.raises(StoreError, match="nothing begins here"):
        budwood.start([quick("a")], name="night", on_event=print)
    wait_for(lambda: threading.active_count() == before, what="the threads to end")


# --- event loops ---


def test_an_await_does_not_block_the_loop(world: World) -> None:
    async def main() -> int:
        run = budwood.start([held("a")], name="night")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1
                if ticks == 20:
                    world.let_go()

        ticking = asyncio.create_task(tick())
        verdict = await run
        ticking.cancel()
        assert ticks >= 20
        assert (await run) == verdict
        return verdict.exit_code

    assert asyncio.run(main()) == 0


def test_several_runs_are_awaited_together(world: World) -> None:
    async def main() -> list[int]:
        runs = [budwood.start([quick(f"{n}")], name=f"run{n}") for n in range(3)]
        return [verdict.exit_code for verdict in await asyncio.gather(*runs)]

    assert asyncio.run(main()) == [0, 0, 0]


def test_a_cancelled_await_leaves_the_run_going(world: World) -> None:
    async def main() -> budwood.Run:
        run = budwood.start([held("a")], name="night")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 0.05)
        waiting = asyncio.ensure_future(run)
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return run

    run = asyncio.run(main())
    assert run.is_driven
    world.let_go()
    assert run.wait().exit_code == 0


def test_a_loop_that_is_closed_before_the_run_rests_does_no_harm(world: World) -> None:
    async def main() -> budwood.Run:
        run = budwood.start([held("a")], name="night")
        asyncio.ensure_future(run)  # noqa: RUF006 - it is cancelled with the loop
        following = run.follow().__aiter__()
        await anext(following)
        return run

    run = asyncio.run(main())
    world.let_go()
    assert run.wait().exit_code == 0


def test_wait_works_inside_a_running_loop_which_it_blocks(world: World) -> None:
    async def main() -> int:
        return budwood.start([quick("a")], name="night").wait(30).exit_code

    assert asyncio.run(main()) == 0


def test_wait_inside_the_loop_of_an_async_callback_does_not_wait_for_itself(world: World) -> None:
    heard: list[str] = []

    async def hear(event: budwood.Event) -> None:
        heard.append(event.kind)

    async def main() -> None:
        run = budwood.start([quick("a")], name="night", on_event=hear)
        began = time.monotonic()
        with pytest.warns(RuntimeWarning, match=r"on_event has not heard of \d+ events while run.wait\(\) blocks"):
            assert run.wait(30).exit_code == 0
        assert time.monotonic() - began < 4  # not the time that a callback is given to catch up
        await run
        assert heard[-1] == "driver_stopped"

    asyncio.run(main())


def test_asyncio_run_inside_a_running_loop_is_pythons_error_and_harms_nothing(world: World) -> None:
    async def main() -> int:
        run = budwood.start([held("a")], name="night")

        async def inner() -> None:
            await run

        coroutine = inner()
        with pytest.raises(RuntimeError, match="cannot be called from a running event loop"):
            asyncio.run(coroutine)
        coroutine.close()
        world.let_go()
        return (await run).exit_code

    assert asyncio.run(main()) == 0


def test_events_are_followed_in_a_loop(world: World) -> None:
    async def main() -> list[int]:
        run = budwood.start([held("a"), quick("b")], name="night")
        seen = []
        async for event in run.follow():
            seen.append(event.number)
            if event.kind == "attempt_started":
                world.let_go()
        assert [event.number async for event in run.events()] == seen
        assert [event.number async for event in run.events(after=4)] == seen[4:]
        return seen

    seen = asyncio.run(main())
    assert seen == list(range(1, len(seen) + 1))


def test_what_another_process_drives_is_awaited(world: World) -> None:
    world.plan(f"[[task]]\nid = 'a'\nrun = '''{held('a').run}'''")
    other = world.start("run", "plan.toml")
    world.wait_began("a")

    async def main() -> int:
        run = budwood.open_run("plan")
        asyncio.get_running_loop().call_later(0.2, world.let_go)
        return (await run).exit_code

    assert asyncio.run(main()) == 0
    assert world.finish(other).code == 0


def test_an_async_with_waits_at_its_end_and_leaves_at_once_on_an_error(world: World) -> None:
    async def main() -> None:
        async with budwood.start([quick("quick")], name="good") as run:
            pass
        assert run.state == "finished"
        with pytest.raises(ZeroDivisionError):
            async with budwood.start([held("a")], name="bad") as run:
                1 / 0  # noqa: B018
        assert not run.is_driven

    asyncio.run(main())


# --- a latch ---


def test_a_latch_that_is_waited_for_with_a_limit_says_whether_it_was_reached() -> None:
    latch = Latch()

    async def main() -> None:
        assert not await latch.reached(0.01)
        asyncio.get_running_loop().run_in_executor(None, latch.set)
        assert await latch.reached(10)
        assert await latch.reached()

    asyncio.run(main())
    assert latch._calls == []
    assert latch.wait(0)
    latch.set()


# --- Ctrl-C, and the end of the interpreter ---

CTRL_C = """
    import signal
    import threading
    import budwood

    if __name__ == "__main__":
        held = "echo $BUDWOOD_ATTEMPT >> began-$BUDWOOD_TASK; until [ -e go ]; do sleep 0.02; done"
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        tasks = [budwood.command(held, id="a"), budwood.command(held, id="b", after=["a"])]
        run = budwood.start(tasks, name="night", slots=1)
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
        threading.Timer(0.5, lambda: open("waiting", "w").close()).start()
        try:
            run.wait()
        except KeyboardInterrupt:
            print("interrupted", run.is_driven, flush=True)
            open("go", "w").close()
            print(run.wait().exit_code, run.counts["done"], flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("press", [send, send_aside])
def test_ctrl_c_lets_nothing_new_start_and_raises_keyboard_interrupt(
    world: World, press: Callable[[subprocess.Popen[str], signal.Signals], None]
) -> None:
    process = world.script(CTRL_C)
    world.wait_began("a")
    wait_for((world.root / "waiting").exists, what="the program to wait")
    press(process, signal.SIGINT)
    said = world.finish(process)
    assert (said.code, said.out.split()) == (0, ["interrupted", "True", "130", "1"]), said
    assert world.lines("began-b") == []
    assert budwood.resume("night").wait().exit_code == 0
    assert world.lines("began-a") == ["1"]


LEAVES = """
    import sys
    import budwood

    held = "echo $BUDWOOD_ATTEMPT >> began-$BUDWOOD_TASK; until [ -e go ]; do sleep 0.02; done; echo did >> did-a"
    run = budwood.start([budwood.command(held, id="a"), budwood.command("true", id="b", after=["a"])], name="night")
    for event in run.follow():
        if event.kind == "attempt_started":
            break
    {end}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("end", "code"), [("pass", 0), ("sys.exit(3)", 3), ("1 / 0", 1)])
def test_a_program_that_ends_leaves_its_run_in_good_order_and_what_runs_goes_on(
    world: World, end: str, code: int
) -> None:
    began = time.monotonic()
    said = world.run_script(LEAVES.format(end=end), code=code)
    assert time.monotonic() - began < 20
    assert ("ZeroDivisionError" in said.err) == (code == 1)
    assert [each.reason for each in world.events("night") if isinstance(each, e.DriverStopped)] == ["the program ended"]
    assert world.driver("night") is None
    run = budwood.resume("night")
    assert [each for each in world.events("night") if isinstance(each, e.AttemptAdopted)]
    world.let_go()
    assert run.wait().counts["done"] == 2
    assert (world.lines("began-a"), world.lines("did-a")) == (["1"], ["did"])


@pytest.mark.slow
def test_a_program_that_is_killed_loses_nothing(world: World) -> None:
    process = world.script(LEAVES.format(end="run.wait()"))
    world.wait_began("a")
    process.kill()
    process.wait(30)
    world.let_go()
    run = budwood.resume("night")
    assert run.wait().counts["done"] == 2
    assert world.lines("began-a") == ["1"]


@pytest.mark.slow
def test_a_forked_child_that_ends_leaves_the_parents_run_alone(world: World) -> None:
    said = world.run_script(
        """
        import os, sys, warnings
        import budwood

        warnings.simplefilter("ignore", DeprecationWarning)
        run = budwood.start([budwood.command("sleep 0.3", id="a")], name="night")
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(run.wait().exit_code)
        """
    )
    assert said.out.split() == ["0"]
    assert [each.reason for each in world.events("night") if isinstance(each, e.DriverStopped)] == ["finished"]


def test_ctrl_c_while_a_run_begins_lets_its_driver_leave(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = Latch.wait

    def interrupted(self: Latch, timeout_s: float | None = None) -> bool:
        monkeypatch.setattr(Latch, "wait", waits)
        raise KeyboardInterrupt

    monkeypatch.setattr(Latch, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        budwood.start([held("a"), held("b")], name="night", slots=1)
    wait_for(lambda: not process._live, what="the driver to leave")
    world.let_go()
    assert budwood.start([held("a"), held("b")], name="night", slots=1).wait().exit_code == 0
    assert world.lines("began-a") == ["1"]
