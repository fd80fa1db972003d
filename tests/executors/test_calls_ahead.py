"""Calls that are sent before a worker is free: who makes them, what stops that, and that nothing is made twice."""

import time
from pathlib import Path

import msgspec
import pytest
from tests.executors.calling import Desk, Shop, at_desk

from budwood._core.model import AttemptPhase
from budwood.executors.base import Work
from budwood.executors.local.workers import ahead
from budwood.testing.executor_calls import result_of

FUNCTIONS = """
import json, os, socket, subprocess, time

def note(name):
    with open("made", "a") as file:
        file.write(f"{name}\\n")
    return name

def raises():
    raise ValueError("text")

def dies():
    os._exit(3)

def costs():
    with open(os.environ["BUDWOOD_USAGE"], "w") as file:
        json.dump({"cost_usd": 0.5}, file)

def sleeps(seconds):
    time.sleep(seconds)

def leaves():
    subprocess.Popen(["sleep", "300"])

def says(text):
    print(text)
    return os.environ["BUDWOOD_TASK"]

def closes():
    os.closerange(3, 100)

def steals():
    for fd in range(3, 100):
        try:
            found = socket.socket(fileno=os.dup(fd))
            if found.type == socket.SOCK_DGRAM:
                return len(found.recv(65536)) > 0
        except OSError:
            pass
"""


@pytest.fixture
def desk(desk: Desk) -> Desk:
    assert desk.executor.room_ahead() == 0
    desk.result("note", "first")
    return desk


def send(desk: Desk, *names: str) -> list[Work]:
    """Send calls ahead that note their names."""
    works = [desk.shop.work("note", name) for name in names]
    for work in works:
        assert desk.executor.send_ahead(work)
    return works


def made(desk: Desk) -> list[str]:
    """Tell what was noted after the first."""
    return (desk.shop.root / "made").read_text().split()[1:]


def test_a_worker_makes_them_after_the_call_it_was_asked_for_in_their_order(desk: Desk) -> None:
    works = send(desk, *"abcde")
    assert desk.result("note", "asked") == "asked"
    assert result_of(desk.end_of(works[-1].id)) == "e"
    assert made(desk) == ["asked", *"abcde"]
    assert desk.takings == [(work.id, 0) for work in works]
    assert [work_id for work_id, _, _ in desk.endings[-5:]] == [work.id for work in works]
    assert desk.executor.take_back() == []


def test_each_has_its_own_variables_and_prints_into_its_own_log(desk: Desk) -> None:
    works = [desk.shop.work("says", text) for text in ("one", "two")]
    for work in works:
        assert desk.executor.send_ahead(work)
    desk.result("note", "asked")
    for work in works:
        assert result_of(desk.end_of(work.id)) == work.env["BUDWOOD_TASK"]
    assert [log for _, _, log in desk.endings[-2:]] == [b"one\n", b"two\n"]


def test_what_is_taken_back_is_never_made(desk: Desk) -> None:
    works = send(desk, "a", "b")
    assert desk.executor.take_back() == [work.id for work in works]
    assert desk.result("note", "asked") == "asked"
    desk.turn_for(0.1)
    assert made(desk) == ["asked"]
    assert desk.takings == []
    works = send(desk, "c")  # and others can be sent
    desk.result("note", "again")
    assert result_of(desk.end_of(works[0].id)) == "c"


def test_the_first_can_be_taken_back_alone(desk: Desk) -> None:
    first, second = send(desk, "a", "b")
    assert desk.executor.take_back_first() == first.id
    assert desk.outcome(first).phase is AttemptPhase.SUCCEEDED
    assert result_of(desk.end_of(second.id)) == "b"
    assert made(desk) == ["a", "b"]
    assert desk.takings == [(second.id, 0)]
    assert desk.executor.take_back_first() is None


@pytest.mark.parametrize(
    ("function", "args"),
    [("raises", ()), ("dies", ()), ("costs", ()), ("sleeps", (0.02,)), ("leaves", ()), ("closes", ())],
)
def test_after_a_call_that_did_not_simply_succeed_none_is_made_unasked(
    desk: Desk, function: str, args: tuple[object, ...]
) -> None:
    [work] = send(desk, "a")
    desk.call(function, *args)
    desk.turn_for(0.1)
    assert desk.executor.take_back() == [work.id]
    assert made(desk) == []
    assert desk.result("note", "asked") == "asked"


def test_after_a_call_with_a_time_limit_none_is_made_unasked(desk: Desk) -> None:
    [work] = send(desk, "a")
    desk.changed(desk.shop.work("note", "asked"), timeout_s=30.0)
    desk.turn_for(0.1)
    assert desk.executor.take_back() == [work.id]


def test_a_worker_that_dies_takes_only_the_call_with_it_that_it_was_in(desk: Desk) -> None:
    [before] = send(desk, "a")
    dying = desk.shop.work("dies")
    assert desk.executor.send_ahead(dying)
    [behind] = send(desk, "b")
    desk.result("note", "asked")
    assert desk.end_of(before.id).phase is AttemptPhase.SUCCEEDED
    assert desk.end_of(dying.id).message == "the worker ended in this call: exit code 3"
    assert desk.executor.take_back() == [behind.id]
    assert desk.outcome(behind).phase is AttemptPhase.SUCCEEDED  # under the same number
    assert made(desk) == ["asked", "a", "b"]


def test_a_slow_call_in_front_holds_nobody_up(desk: Desk) -> None:
    desk.changed(desk.shop.work("note", "second"), slot=1)
    slow = desk.shop.work("sleeps", 30)
    assert desk.executor.send_ahead(slow)
    desk.result("note", "asked")
    desk.turn_until(lambda: desk.takings)
    works = send(desk, "a", "b")
    desk.changed(desk.shop.work("note", "other"), slot=1)
    assert result_of(desk.end_of(works[1].id)) == "b"
    assert desk.takings == [(slow.id, 0), (works[0].id, 1), (works[1].id, 1)]
    desk.executor.cancel(slow.id)
    assert desk.end_of(slow.id).phase is AttemptPhase.CANCELLED


def test_what_needs_another_worker_a_limit_or_much_room_is_not_taken(desk: Desk) -> None:
    work = desk.shop.work("note", "a")
    assert not desk.executor.send_ahead(msgspec.structs.replace(work, env={**work.env, "OTHER": "1"}))
    assert not desk.executor.send_ahead(msgspec.structs.replace(work, timeout_s=5.0))
    assert not desk.executor.send_ahead(desk.shop.work("note", "x" * 20_000))
    assert desk.executor.take_back() == []


def test_there_is_room_while_calls_are_short_and_succeed(desk: Desk) -> None:
    desk.result("note", "again")  # the first one had the import
    assert desk.executor.room_ahead() == 32
    send(desk, *map(str, range(16)))
    assert desk.executor.room_ahead() == 16
    send(desk, "more")
    assert desk.executor.room_ahead() == 0  # until half of them are gone
    desk.executor.take_back()
    desk.call("raises")
    assert desk.executor.room_ahead() == 0
    desk.result("note", "again")
    desk.call("sleeps", 0.005)
    assert desk.executor.room_ahead() == 0


def test_where_places_on_the_machine_are_counted_each_call_takes_its_own(tmp_path: Path) -> None:
    shop = Shop(tmp_path, tokens=(tmp_path / "tokens", 2))
    shop.write(FUNCTIONS)
    with at_desk(shop) as place:
        place.result("note", "a")
        place.result("note", "b")
        assert place.executor.room_ahead() == 0


def test_a_worker_that_is_about_to_end_gets_nothing_to_take(desk: Desk) -> None:
    desk.changed(desk.shop.work("note", "second"), slot=1)
    work = desk.shop.work("sleeps", 30)
    desk.begin(work)
    desk.changed(desk.shop.work("note", "third"), slot=1)
    assert desk.executor.room_ahead() > 0
    desk.executor.cancel(work.id)
    assert desk.executor.room_ahead() == 0
    desk.end_of(work.id)


def take_unheard(desk: Desk, name: str) -> Work:
    """Have a worker take a call from the bag that nobody has heard of."""
    before = len(made(desk))
    [work] = send(desk, name)
    desk.executor.start(desk.shop.work("note", f"before-{name}"))
    deadline = time.monotonic() + 15
    while len(made(desk)) < before + 2:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return work


def test_what_has_begun_is_not_taken_back_however_late_we_hear_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_SAYS_WITHIN_S", 0.01)
    work = take_unheard(desk, "a")
    assert desk.executor.take_back() == []
    time.sleep(0.02)
    assert desk.executor.take_back() == []
    assert result_of(desk.end_of(work.id)) == "a"


def test_what_has_begun_is_not_taken_back_though_another_was_missed_long_ago(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_SAYS_WITHIN_S", 0.01)
    first = take_unheard(desk, "a")
    assert desk.executor.take_back() == []
    desk.end_of(first.id)
    time.sleep(0.02)
    second = take_unheard(desk, "b")
    assert desk.executor.take_back() == []
    assert result_of(desk.end_of(second.id)) == "b"
    assert made(desk).count("b") == 1


def steal(desk: Desk, slot: int = 0) -> None:
    """Have a worker take the first call out of the bag without a word, as one does that dies just then."""
    work = msgspec.structs.replace(desk.shop.work("steals"), slot=slot)
    assert result_of(desk.changed(work, timeout_s=30.0)) is True


def test_what_somebody_took_who_does_not_say_so_is_given_back_when_all_were_heard(desk: Desk) -> None:
    first, second = send(desk, "a", "b")
    steal(desk)
    assert desk.executor.take_back() == [second.id, first.id]
    assert desk.executor.take_back() == []
    assert desk.outcome(first).phase is AttemptPhase.SUCCEEDED
    assert made(desk) == ["a"]


def test_what_a_worker_took_that_died_is_given_back_though_another_is_in_a_long_call(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_SAYS_WITHIN_S", 0.5)
    desk.changed(desk.shop.work("note", "second"), slot=1)
    long = desk.shop.work("sleeps", 30)
    desk.executor.start(long)
    [work] = send(desk, "a")
    steal(desk, slot=1)
    assert desk.executor.take_back() == []
    desk.changed(desk.shop.work("dies"), slot=1)
    assert desk.executor.take_back() == []
    until = time.monotonic() + 0.5
    desk.turn_until(lambda: time.monotonic() > until)
    assert desk.executor.take_back() == [work.id]
    desk.executor.cancel(long.id)
    desk.end_of(long.id)


def test_a_worker_is_not_believed_that_took_something_from_a_bag_that_was_given_up(desk: Desk) -> None:
    desk.changed(desk.shop.work("note", "second"), slot=1)
    work = take_unheard(desk, "a")
    # As if we had taken its worker for dead, and sent the call once more.
    given_up = desk.executor._workers._ahead  # type: ignore[attr-defined]
    given_up._waiting.clear()
    given_up.close()
    other = msgspec.structs.replace(desk.shop.work("sleeps", 0.05), slot=1)
    desk.executor.start(other)
    assert desk.executor.send_ahead(work)
    desk.end_of(other.id)
    desk.turn_for(0.1)
    assert desk.takings == []
    assert desk.executor.take_back() == [work.id]
    assert desk.result("note", "again") == "again"
