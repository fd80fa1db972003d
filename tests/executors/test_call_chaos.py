"""Calls that live and die at random, while workers and supervisors are killed: each ends once, and nothing is left."""

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from tests.executors.calling import Desk, Shop, at_desk
from tests.support.cases import at_length

from budwood._core.model import AttemptPhase, Outcome
from budwood.executors.base import Work

SLOTS = 3
FUNCTIONS = """
import os, subprocess, sys, time

def act(how):
    if how == "sleep":
        time.sleep(0.03)
    elif how == "die":
        os._exit(3)
    elif how == "leave":
        subprocess.Popen(["sleep", "300"])
    elif how == "raise":
        raise ValueError(how)
    elif how == "print":
        print("x" * 100_000)
    return how
"""
_WAYS = ("return", "return", "return", "return", "sleep", "die", "leave", "raise", "print")


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [0, 3, *at_length(1, 2)])
def test_each_call_ends_once_whatever_happens(tmp_path: Path, torture: bool, seed: int) -> None:
    shop = Shop(tmp_path)
    shop.write(FUNCTIONS)
    dice = random.Random(seed)
    with at_desk(shop) as desk:
        expected = _play(desk, dice, calls=3000 if torture else 150)
        assert {name for name, _, _ in desk.endings} == expected.keys()
        assert len(desk.endings) == len(expected)
        for name, outcome, log in desk.endings:
            _check(expected[name], outcome, log)


def _play(desk: Desk, dice: random.Random, *, calls: int) -> dict[str, Work]:
    made: dict[str, Work] = {}
    busy: dict[int, str] = {}
    until = time.monotonic() + 600
    while len(made) < calls or busy:
        assert time.monotonic() < until, busy
        for slot in [slot for slot in range(SLOTS) if slot not in busy and len(made) < calls]:
            work = msgspec.structs.replace(
                desk.shop.work("act", dice.choice(_WAYS)),
                slot=slot,
                timeout_s=dice.choice((None, None, 0.01, 20.0)),
                memory_bytes=dice.choice((None, None, None, 10**9)),
            )
            made[work.id], busy[slot] = work, work.id
            desk.executor.start(work)
        _disturb(desk, dice, list(busy.values()))
        desk.loop.turn(0.01)
        ended = {name for name, _, _ in desk.endings}
        for slot, name in list(busy.items()):
            if name in ended:
                desk.executor.forget(name)
                del busy[slot]
    return made


def _disturb(desk: Desk, dice: random.Random, open_calls: list[str]) -> None:
    chance = dice.random()
    if chance < 0.02 and open_calls:
        desk.executor.cancel(dice.choice(open_calls))
    elif chance < 0.03:
        with suppress(OSError, IndexError):
            os.kill(dice.choice(desk.shop.survivors()), signal.SIGKILL)
    elif chance < 0.035:
        info = desk.shop.paths.slot(f"w{dice.randrange(SLOTS)}") / "info.json"
        with suppress(OSError, msgspec.MsgspecError):
            os.kill(msgspec.json.decode(info.read_bytes())["pid"], signal.SIGKILL)


def _check(work: Work, outcome: Outcome, log: bytes | None) -> None:
    assert work.call is not None
    [how] = work.call.args
    phase, kind = outcome.phase, outcome.error_type
    if phase is AttemptPhase.SUCCEEDED:
        assert how in ("return", "sleep", "leave", "print")
        assert log == (b"x" * 100_000 + b"\n" if how == "print" else b"")
    elif phase is AttemptPhase.TIMED_OUT:
        assert work.timeout_s == 0.01
    else:
        usual = (how, kind) in {("raise", "exception"), ("die", "exit")}
        killed = kind == "spawn" and "SIGKILL" in outcome.message  # three that were just starting, one after the other
        assert usual or killed or kind in ("cancelled", "abandoned", "signal"), outcome.message
