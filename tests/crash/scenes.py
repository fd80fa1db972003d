"""The scenes of the crash suite, by name, so that a victim in another process can make the same one."""

import sys
from pathlib import Path

import msgspec
from tests.strategies.climb import HillClimb
from tests.support.scene import LANES, SETTINGS, Scene, said, thirty_tasks

from budwood._core.model import TaskSpec

WORK = """
import os, time
from pathlib import Path

def say():
    with Path("effects").open("a") as file:
        file.write(f"{os.environ['BUDWOOD_TASK']} {os.environ['BUDWOOD_ATTEMPT']}\\n")

def square(number, wait_s=0.0):
    say()
    time.sleep(wait_s)
    return number * number

def dice(sides):
    say()
    if int(os.environ["BUDWOOD_ATTEMPT_SEED"]) % sides == 0:
        raise ValueError("the seed says no")
    return sides

def height(place):
    say()
    return 10.0 - (place - 3.0) ** 2
"""
CALLING = msgspec.structs.replace(SETTINGS, python=sys.executable, slots=2)


def thirty(root: Path) -> Scene:
    """Thirty tasks with failures and retries."""
    return Scene(root, thirty_tasks(), LANES)


def hundred(root: Path) -> Scene:
    """A hundred tasks that each take a while, so that much can happen to the store meanwhile."""
    tasks = []
    for n in range(100):
        command = "[ $((BUDWOOD_ATTEMPT_SEED % 4)) -ne 0 ]" if n % 5 == 1 else "exit 3" if n == 71 else "true"
        after = tuple(m for m in (n - 7, n - 11) if m >= 0 and n % 3)
        retries = 5 if n % 5 == 1 else 0
        tasks.append(TaskSpec(id=n, run=said(f"sleep 0.2; {command}"), after=after, retries=retries))
    return Scene(root, tasks)


def calls(root: Path) -> Scene:
    """Two hundred calls of functions: most too short to be written at once, some longer, some that fail."""
    (root / "work.py").write_text(WORK)
    tasks = []
    for n in range(200):
        after = tuple(m for m in (n - 5, n - 9) if m >= 0 and n % 4)
        if n % 7 == 3:
            tasks.append(TaskSpec(id=n, function="work:dice", args=(3,), after=after, retries=6))
        else:
            wait = {"wait_s": 0.03} if n % 20 == 0 else {}
            tasks.append(TaskSpec(id=n, function="work:square", args=(n,), kwargs=dict(wait), after=after))
    return Scene(root, tasks, settings=CALLING)


class Climb(HillClimb):
    """Climbs by calling a function of the scene."""

    function = "work:height"


def climb(root: Path) -> Scene:
    """A search of sixty steps, three under way at once."""
    (root / "work.py").write_text(WORK)
    return Scene(root, (), settings=msgspec.structs.replace(CALLING, window=3), strategy=lambda: Climb(steps=60))
