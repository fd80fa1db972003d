"""Processes, not threads, that want the same thing at once; and processes that are killed in the middle."""

from pathlib import Path

import pytest
from tests.support.scripts import hear, say, scripts

from budwood.stores import open_store
from budwood.testing import samples
from budwood.testing.store_world import RUN

RACERS = 8

DRIVE = """
import sys
from budwood.errors import LeaseHeld
from budwood.stores import open_store
from budwood.testing import samples
from budwood.testing.store_world import RUN

with open_store(sys.argv[1]) as store:
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "drop\\n":
            if lease: store.release(lease)
            print("dropped", flush=True)
            continue
        try:
            lease = store.acquire(RUN, f"racer {sys.argv[2]}")
            store.append(lease, samples.note(RUN, sum(1 for _ in store.read(RUN))))
            print(lease.fence, flush=True)
        except LeaseHeld as error:
            lease = None
            print("held by", error.holder, flush=True)
"""

CREATE = """
import sys
from budwood.stores import open_store

print("ready", flush=True)
sys.stdin.readline()
with open_store(sys.argv[1]) as store:
    claim = store.claim(f"run-{sys.argv[2]}", name="night", source="/plan.toml", fresh=False)
    print(claim.run, claim.created, flush=True)
"""

WRITE_FOR_EVER = """
import sys
from budwood.stores import open_store
from budwood.testing import samples
from budwood.testing.store_world import RUN

store = open_store(sys.argv[1])
lease = store.acquire(RUN, f"writer {sys.argv[2]}")
last = sum(1 for _ in store.read(RUN))
while True:
    store.append(lease, samples.turn(RUN, last, ended=0, begun=1, log=b"x" * 3000))
    last += 3
    print(last, flush=True)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made."""
    if request.param == "postgres":
        return str(request.getfixturevalue("database"))
    return str(tmp_path / "new" / "store.db")


@pytest.fixture
def place(empty: str) -> str:
    """A store with one run."""
    with open_store(empty) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
    return empty


@pytest.mark.timeout(300)
def test_of_eight_processes_that_want_to_drive_one_run_exactly_one_does(place: str, torture: bool) -> None:
    last_fence = 0
    rounds = 200 if torture else 20
    with scripts(RACERS, DRIVE, [place]) as racers:
        assert [hear(racer) for racer in racers] == ["ready"] * RACERS
        for _ in range(rounds):
            for racer in racers:
                say(racer, "go")
            answers = [hear(racer) for racer in racers]
            winners = [number for number, answer in enumerate(answers) if answer.isdigit()]
            assert len(winners) == 1, answers
            assert answers.count(f"held by racer {winners[0]}") == RACERS - 1, answers
            assert int(answers[winners[0]]) == last_fence + 1
            last_fence += 1
            for racer in racers:
                say(racer, "drop")
            assert [hear(racer) for racer in racers] == ["dropped"] * RACERS
    with open_store(place) as store:
        assert len(list(store.read(RUN))) == rounds
        assert store.check() == []
    print(f"\n{RACERS} processes, {rounds} rounds for one lease: one holder in each")


@pytest.mark.parametrize("again", range(3))
def test_eight_processes_that_make_the_store_at_once_make_one_with_one_run(empty: str, again: int) -> None:
    with scripts(RACERS, CREATE, [empty]) as racers:
        assert [hear(racer) for racer in racers] == ["ready"] * RACERS
        for racer in racers:
            say(racer, "go")
        answers = [hear(racer).split() for racer in racers]
    assert len({run for run, _ in answers}) == 1
    assert [created for _, created in answers].count("True") == 1


def test_a_writer_killed_at_any_point_leaves_whole_commits_and_all_that_it_had_confirmed(
    place: str, torture: bool
) -> None:
    confirmed = 0
    for number in range(40 if torture else 6):
        with scripts(1, WRITE_FOR_EVER, [place]) as [writer]:
            for _ in range(1 + 7 * number % 23):
                confirmed = int(hear(writer))
            writer.kill()
            assert writer.stdout is not None
            rest = writer.stdout.read()  # not communicate(): it would pass by what was read ahead of `hear`
            writer.wait()
            lines = rest.split("\n")[:-1]  # a line without its end may be half a number
            confirmed = int(lines[-1]) if lines else confirmed
        with open_store(place) as store:
            store.release(store.acquire(RUN, "the next"))
            assert store.holder(RUN) is None
            found = sum(1 for _ in store.read(RUN))
            assert found in (confirmed, confirmed + 3)
            assert store.runs()[0].last_event == found
            assert store.check() == []
    print(f"\n{number + 1} writers killed: whole commits only, and all that was confirmed")


def test_a_killed_driver_is_succeeded_at_once_and_named_before(place: str) -> None:
    with scripts(1, WRITE_FOR_EVER, [place]) as [writer], open_store(place) as store:
        hear(writer)
        assert store.holder(RUN) == "writer 0"
        writer.kill()
        writer.communicate()
        lease = store.acquire(RUN, "the next")
        assert store.holder(RUN) == "the next"
        store.append(lease, samples.note(RUN, store.runs()[0].last_event))
