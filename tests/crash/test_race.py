"""Eight processes race to drive one run: exactly one wins, each time."""

import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from tests.support.racer import race
from tests.support.scene import REPOSITORY, check_nothing_lost

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]
RACERS = 8
Racer = subprocess.Popen[str]


@pytest.fixture
def racers() -> Iterator[list[Racer]]:
    """Eight processes that have imported everything and wait for a run to fight over."""
    command = [sys.executable, "-m", "tests.support.racer"]
    started = [
        subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(RACERS)
    ]
    try:
        yield started
        for racer in started:
            racer.communicate(timeout=30)
            assert racer.returncode == 0
    finally:
        for racer in started:
            racer.kill()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def _losers(racers: list[Racer]) -> int:
    """Wait until all but one have lost; fail if anybody says something else first."""
    lost = 0
    with selectors.DefaultSelector() as waiting:
        for racer in racers:
            waiting.register(_pipe(racer.stdout), selectors.EVENT_READ)
        while lost < RACERS - 1:
            ready = waiting.select(timeout=30)
            assert ready, f"{RACERS - lost} processes neither won nor lost"
            for key, _ in ready:
                assert isinstance(key.fileobj, type(racers[0].stdout))
                assert key.fileobj.readline().strip() == "held"
                waiting.unregister(key.fileobj)
                lost += 1
        (winner,) = waiting.get_map().values()
        assert not waiting.select(timeout=0), "the winner must still be driving"
        return racers.index(next(racer for racer in racers if racer.stdout is winner.fileobj))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest) -> str | None:
    """The database that the runs are in; None where each has a file."""
    return str(request.getfixturevalue("database")) if request.param == "postgres" else None


def test_of_eight_processes_exactly_one_drives(
    tmp_path: Path, racers: list[Racer], address: str | None, *, torture: bool
) -> None:
    rounds = 200 if torture else 8
    for number in range(rounds):
        root = tmp_path / str(number)
        root.mkdir()
        os.mkfifo(root / "gate")
        if address is not None:
            race(root).keep_in(address)
        for racer in racers:
            _pipe(racer.stdin).write(f"{root}\n")
        winner = racers[_losers(racers)]
        (root / "gate").write_text("go\n")
        assert _pipe(winner.stdout).readline().strip() == "won 0"
        check_nothing_lost(race(root))
    where = "SQLite" if address is None else "PostgreSQL"
    print(f"\n{RACERS} processes, {rounds} rounds on {where}: one winner in each")
