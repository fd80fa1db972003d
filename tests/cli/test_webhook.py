"""`--notify URL`: a receiver is told of every event of a run, and the run does not depend on it."""

import re
import signal
import threading
import time
from collections.abc import Mapping

import msgspec
import pytest
from tests.cli.world import HELD, Budwood, Said, task, wait_for
from tests.support.receiver import NO_PROXY, Got, Receiver, Reply, free_port, is_signed

from budwood._core.events import AttemptEnded, RunEnded

pytestmark = pytest.mark.slow
REFUSED = "it takes a shell command, or a web address: http:// or https:// with a host, and no password in it"

SECRET = "s3cr3t-of-the-receiver"
SIGNED = {**NO_PROXY, "BUDWOOD_NOTIFY_SECRET": SECRET}
NOTE = re.compile(r"^note: what is sent to \S+ is not signed: BUDWOOD_NOTIFY_SECRET is not set$", re.MULTILINE)


def call(budwood: Budwood, *words: str, env: Mapping[str, str] = NO_PROXY, code: int = 0) -> Said:
    return budwood.call(*words, env=env, code=code)


def everything(budwood: Budwood, name: str = "plan") -> list[dict[str, object]]:
    """Read a run's events as `export` gives them."""
    return [msgspec.json.decode(line) for line in budwood.call("export", name, "--jsonl").out.splitlines()]


def test_the_receiver_has_every_event_when_the_command_is_over(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]), task("bad", "exit 3"))
    with Receiver() as receiver:
        said = call(budwood, "run", "plan.toml", "--notify", receiver.url, env=SIGNED, code=1)
    assert receiver.events == everything(budwood)
    assert all(is_signed(got, SECRET) for got in receiver.got)
    assert {got.json["name"] for got in receiver.got} == {"plan"}
    assert receiver.got[-1].json["state"] == "finished"
    assert "warning" not in said.err
    assert not NOTE.search(said.err)


def test_what_is_not_signed_is_said_once(budwood: Budwood) -> None:
    with Receiver() as receiver:
        budwood.plan(f'[run]\nslots = 1\nnotify = "{receiver.url}?token=hidden"\n', *map(task, "abc"))
        said = call(budwood, "run", "plan.toml")
    assert len(NOTE.findall(said.err)) == 1
    assert receiver.events == everything(budwood)
    assert "hidden" not in said.err


def test_the_secret_is_nowhere(budwood: Budwood) -> None:
    budwood.plan(task("a", "env"))
    with Receiver() as receiver:
        said = call(budwood, "run", "plan.toml", "--notify", receiver.url, env=SIGNED)
        shown = [
            call(budwood, *words.split(), env=SIGNED).out
            for words in ("config show --json", "story --json", "logs", "show --json", "export --csv", "doctor")
        ]
    files = [path for path in budwood.root.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in "".join([said.out, said.err, *shown])
    assert SECRET.encode() not in b"".join(got.body for got in receiver.got)


@pytest.mark.parametrize("address", ["http://", "htps://host/x", "https://me:word@host/", "http://host:port/"])
def test_a_malformed_address_is_refused(budwood: Budwood, address: str) -> None:
    budwood.plan(task("a"))
    assert REFUSED in call(budwood, "run", "plan.toml", "--notify", address, code=2).err
    assert not budwood.has_store


def test_one_is_refused_before_anything_begins_wherever_it_is_given(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    assert REFUSED in call(budwood, "run", "plan.toml", env={"BUDWOOD_NOTIFY": "http://"}, code=2).err
    budwood.plan('[run]\nnotify = "http://"\n', task("a"))
    assert REFUSED in call(budwood, "run", "plan.toml", code=2).err
    assert REFUSED in call(budwood, "plan", "check", "plan.toml", code=2).err
    budwood.plan(task("a"))
    (budwood.root / "budwood.toml").write_text('[run]\nnotify = "http://"\n')
    assert REFUSED in call(budwood, "run", "plan.toml", code=2).err
    assert REFUSED in call(budwood, "doctor").out
    assert not budwood.has_store


def test_the_password_of_an_address_that_is_refused_is_not_shown(budwood: Budwood) -> None:
    address = "http://me:s3cret@host/"
    budwood.plan(task("a"))
    assert "s3cret" not in call(budwood, "run", "plan.toml", "--notify", address, code=2).err
    budwood.plan(f'[run]\nnotify = "{address}"\n', task("a"))
    assert "s3cret" not in call(budwood, "run", "plan.toml", code=2).err


def test_a_run_is_over_while_the_receiver_still_thinks_about_its_first_request(budwood: Budwood) -> None:
    budwood.plan(*(task(f"t{n}") for n in range(20)))

    def reply(got: Got) -> Reply:
        if got.index == 0:
            wait_for(lambda: budwood.has_runs, what="the run")
            wait_for(lambda: any(isinstance(event, RunEnded) for event in budwood.events()), what="the run's end")
        return Reply()

    with Receiver(reply) as receiver:
        said = call(budwood, "run", "plan.toml", "--notify", receiver.url, env=SIGNED)
    assert "warning" not in said.err
    assert receiver.events == everything(budwood)
    assert receiver.most_at_once == 1


def test_a_receiver_that_is_never_there_is_one_warning(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    url = f"http://127.0.0.1:{free_port()}/x?token=hidden"
    began_s = time.monotonic()
    said = call(budwood, "run", "plan.toml", "--notify", url, env=SIGNED)
    assert time.monotonic() - began_s < 30
    last = budwood.runs()[0].last_event
    shown = url.partition("?")[0]
    lines = said.err.splitlines()
    assert lines[-2:] == [
        "waiting, for at most 10 s, until the last events are delivered",
        f"warning: {last} events were not delivered to {shown}: connection refused",
    ]
    assert lines[-3].startswith("plan: 1 done in")
    quiet = call(budwood, "run", "plan.toml", "--again", "--quiet", "--notify", url)
    assert quiet.err.startswith("warning: ")
    assert quiet.err.count("\n") == 1


def test_a_receiver_that_refuses_is_one_warning(budwood: Budwood) -> None:
    budwood.plan(task("a"), task("b", after=["a"]))
    with Receiver(lambda got: Reply(410)) as receiver:
        said = call(budwood, "run", "plan.toml", "--notify", receiver.url, env=SIGNED)
    assert len(receiver.got) == 1
    assert said.err.splitlines()[-1] == (
        f"warning: {budwood.runs()[0].last_event} events were not delivered to {receiver.url}: 410 Gone"
    )


def test_a_driver_that_is_killed_leaves_nothing_untold(budwood: Budwood, torture: bool) -> None:
    """Killed when the receiver has a request and has not answered, which is when doubles must come of it."""
    budwood.plan("[run]\nslots = 2\nretries = 1\n", *(task(f"t{n}", "sleep 0.05") for n in range(20)), task("z", HELD))
    drives = 12 if torture else 3
    asked, answer = threading.Event(), threading.Event()

    def reply(got: Got) -> Reply:
        asked.set()
        answer.wait(30)
        return Reply()

    with Receiver(reply) as receiver:
        words = ("run", "plan.toml", "--notify", receiver.url)
        for _ in range(drives):
            driver = budwood.start(*words, env=SIGNED)
            wait_for(asked.is_set, what="a request")
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            answer.set()
            wait_for(lambda: len(receiver.accepted) == len(receiver.got), what="the answer")
            asked.clear()
            answer.clear()
        budwood.let_go()
        answer.set()
        call(budwood, *words, env=SIGNED)
    there = everything(budwood)
    seen: dict[int, dict[str, object]] = {}
    for got in receiver.accepted:
        assert got.numbers == list(range(got.numbers[0], got.numbers[-1] + 1))
        assert got.numbers[0] <= len(seen) + 1, "something was left out"
        for event in got.json["events"]:
            assert seen.setdefault(event["number"], event) == event
    assert [seen[number] for number in sorted(seen)] == there
    assert len(receiver.numbers) > len(there), "a request that nobody confirmed is sent again"


def test_a_run_that_is_resumed_goes_on_where_its_receiver_is(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    with Receiver() as receiver:
        driver = budwood.start("run", "plan.toml", "--notify", receiver.url, env=SIGNED)
        budwood.wait_began("a")
        driver.send_signal(signal.SIGTERM)
        assert budwood.finish(driver).code == 130
        told = receiver.numbers
        budwood.let_go()
        call(budwood, "resume", "plan", env=SIGNED)
    assert receiver.events == everything(budwood)
    assert told
    assert receiver.numbers == list(range(1, len(receiver.numbers) + 1)), "nothing came twice"


def test_who_leaves_does_not_wait_for_long(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))

    def reply(got: Got) -> Reply:
        receiver.over.wait(60)
        return Reply()

    with Receiver(reply) as receiver:
        driver = budwood.start("run", "plan.toml", "--notify", receiver.url, env=SIGNED)
        budwood.wait_began("a")
        wait_for(lambda: receiver.got, what="a request")
        began_s = time.monotonic()
        driver.send_signal(signal.SIGTERM)
        said = budwood.finish(driver)
        assert time.monotonic() - began_s < 9
    assert said.code == 130
    assert f"events were not delivered to {receiver.url}: no answer" in said.err


def test_ctrl_c_ends_the_wait_for_a_receiver(budwood: Budwood) -> None:
    budwood.plan(task("a"))

    def reply(got: Got) -> Reply:
        receiver.over.wait(60)
        return Reply()

    with Receiver(reply) as receiver:
        driver = budwood.start("run", "plan.toml", "--notify", receiver.url, env=SIGNED)
        wait_for(lambda: receiver.got, what="a request")
        wait_for(lambda: budwood.driver() is None and budwood.state().phase == "finished", what="the run's end")
        time.sleep(0.3)
        began_s = time.monotonic()
        driver.send_signal(signal.SIGINT)
        said = budwood.finish(driver)
        assert time.monotonic() - began_s < 5
    assert said.code == 0
    assert "not delivered" in said.err


def test_a_run_that_is_cancelled_with_nobody_driving_tells_its_receiver(budwood: Budwood) -> None:
    budwood.plan(task("a", HELD))
    with Receiver() as receiver:
        driver = budwood.start("run", "plan.toml", "--notify", receiver.url, env=SIGNED)
        budwood.wait_began("a")
        driver.kill()
        driver.wait()
        said = call(budwood, "cancel", "plan", env=SIGNED)
    there = everything(budwood)
    seen = {event["number"]: event for event in receiver.events}
    assert [seen[number] for number in sorted(seen)] == there
    assert receiver.got[-1].json["state"] == "cancelled"
    assert "warning" not in said.err


def test_a_detached_driver_tells_too(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    with Receiver() as receiver:
        call(budwood, "run", "plan.toml", "--detach", "--notify", receiver.url, env=SIGNED)
        wait_for(lambda: receiver.got and receiver.got[-1].json["state"] == "finished", what="the end to be told")
        wait_for(lambda: budwood.driver() is None, what="the driver's end")
        wait_for(lambda: len(receiver.numbers) == len(everything(budwood)), what="all events")


def test_a_run_in_memory_is_told_of_as_well(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    with Receiver() as receiver:
        call(budwood, "run", "plan.toml", "--store", "memory:", "--notify", receiver.url, env=SIGNED)
    assert [event["event"] for event in receiver.events][-1] == "driver_stopped"


def test_the_address_of_the_flag_wins_over_the_runs_own(budwood: Budwood) -> None:
    with Receiver() as own, Receiver() as other:
        budwood.plan(f'[run]\nnotify = "{own.url}"\nmax_attempts = 1\n', task("a"), task("b", after=["a"]))
        call(budwood, "run", "plan.toml", code=3)
        before = len(own.got)
        call(budwood, "resume", "plan", "--max-attempts", "5", "--notify", other.url)
    assert len(own.got) == before > 0
    assert other.events == everything(budwood)


def test_an_end_is_known_to_the_receiver_before_the_next_task_has_ended(budwood: Budwood) -> None:
    """While the run goes on, not only when it is over."""
    budwood.plan(task("a"), task("b", HELD, after=["a"]))
    with Receiver() as receiver:
        driver = budwood.start("run", "plan.toml", "--notify", receiver.url, env=SIGNED)
        budwood.wait_began("b")
        wait_for(lambda: any(event["event"] == "attempt_ended" for event in receiver.events), what="the end of a")
        assert sum(isinstance(event, AttemptEnded) for event in budwood.events()) == 1
        budwood.let_go()
        assert budwood.finish(driver).code == 0
    assert receiver.events == everything(budwood)


def test_how_far_the_receiver_is_stands_in_the_runs_directory(budwood: Budwood) -> None:
    budwood.plan(task("a"))
    with Receiver() as receiver:
        call(budwood, "run", "plan.toml", "--notify", receiver.url, env=SIGNED)
    [mark] = (budwood.root / ".budwood" / "runs").glob("*/webhook-*.json")
    assert msgspec.json.decode(mark.read_bytes()) == {"delivered": len(everything(budwood))}
