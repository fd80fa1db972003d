"""What large plans cost, for `growth.py`: a JSON file checked and batched, and wishes that contradict each other."""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import msgspec
from benchmarks.graph import layered

BIN = Path(sys.executable).parent
PEERS = {
    "json.load alone": "import json, sys; json.load(open(sys.argv[1]))",
    "msgspec.json.decode alone": "import msgspec, sys; msgspec.json.decode(open(sys.argv[1], 'rb').read())",
    "json.load and graphlib": """
import json, sys
from graphlib import TopologicalSorter
sorter = TopologicalSorter({task["id"]: task["after"] for task in json.load(open(sys.argv[1]))["task"]})
sorter.prepare()
while sorter.is_active():
    sorter.done(*sorter.get_ready())
""",
}


def plan(tasks: int, rounds: int) -> dict[str, object]:
    """Check a plan of layers of 1,000 tasks, each needing 2 of the layer before, that come in no order."""
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="budwood-bench-") as folder:
        path = Path(folder) / "plan.json"
        for kind in ("numbers", "text"):
            _apart(write_plan, path, tasks, kind == "text")
            print(f"\na JSON plan of {tasks:,} tasks in no order, ids are {kind}, {path.stat().st_size / 1e6:.0f} MB")
            commands = {"budwood plan check": [str(BIN / "budwood"), "plan", "check", str(path)]}
            commands |= {name: [sys.executable, "-c", code, str(path)] for name, code in PEERS.items()}
            found[kind] = {name: _measured(name, command, rounds) for name, command in commands.items()}
    return found


def _apart(write: Callable[[Path, int, bool], None], path: Path, tasks: int, how: bool) -> None:
    """Write a plan in a process of its own: what it takes would otherwise count as the memory of those we start."""
    writer = get_context("spawn").Process(target=write, args=(path, tasks, how))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise SystemExit("the plan could not be written")


def write_plan(path: Path, tasks: int, text: bool) -> None:
    """Write the plan."""
    after = layered(tasks)
    order = list(range(tasks))
    random.Random(4).shuffle(order)
    names: list[object] = [f"task-{number}" if text else number for number in range(tasks)]
    entries = [{"id": names[n], "run": "true", "after": [names[m] for m in after[n]]} for n in order]
    path.write_bytes(msgspec.json.encode({"run": {"slots": 2}, "task": entries}))


def _measured(name: str, command: list[str], rounds: int) -> dict[str, float]:
    seconds, memory = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds.append(time.perf_counter() - begin)
        memory.append(usage.ru_maxrss / 1024)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command} failed")
    print(f"  {name:26} {statistics.median(seconds):6.2f} s   {max(memory):6.0f} MB")
    return {"seconds": statistics.median(seconds), "mb": max(memory)}


def wishes(sizes: list[int], rounds: int) -> dict[str, object]:
    """Check plans in which each task prefers to come after three others, with and without layers of hard edges."""
    print("\nplans of tasks that each prefer to come after 3 others, any others: budwood plan check")
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="budwood-bench-") as folder:
        path = Path(folder) / "plan.json"
        for layers in (False, True):
            for size in sizes:
                _apart(write_wishes, path, size, layers)
                name = f"{size:,} tasks" + (" in layers" if layers else "")
                found[name] = _measured(name, [str(BIN / "budwood"), "plan", "check", str(path)], rounds)
    return found


def write_wishes(path: Path, tasks: int, layers: bool) -> None:
    """Write such a plan; in layers, each task also needs 2 of the layer before."""
    chance = random.Random(5)
    entries = [
        {"id": number, "run": "true", "after": given, "prefer_after": [chance.randrange(tasks) for _ in range(3)]}
        for number, given in enumerate(layered(tasks) if layers else [[]] * tasks)
    ]
    path.write_bytes(msgspec.json.encode({"run": {"slots": 2}, "task": entries}))
