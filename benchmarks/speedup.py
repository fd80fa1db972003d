"""How much sooner agents are done side by side: at 1, 3 and 10 slots, beside what the graph allows.

    .venv/bin/python benchmarks/speedup.py [--seconds 3] [--slots 1,3,10] [--rounds 3] [--json FILE]

Two plans on a real repository, each task an agent (`script`) that thinks for so many seconds and writes a file: 30
tasks that need nothing of each other, and the seven tasks in three lanes of `examples/overnight`. The bound is what
nobody can beat: the longest path, or all the work divided by the slots (rounded up to whole tasks), whichever is more.
`above` is how much longer the run took than that; workspaces, checks, trees and the agent's own start are all in it.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

Graph = dict[int, tuple[int, tuple[int, ...]]]
"""By task: its lane (0 is none) and what it comes after."""
PLANS: dict[str, Graph] = {
    "30 independent tasks": dict.fromkeys(range(1, 31), (0, ())),
    "7 tasks in 3 lanes": {
        1: (1, ()),
        2: (1, (1,)),
        3: (1, (2,)),
        4: (2, (2,)),
        5: (2, (3, 4)),
        6: (3, ()),
        7: (3, (3,)),
    },
}


def write_plan(graph: Graph, seconds: float, path: Path) -> None:
    """Write a plan whose tasks take so long."""
    lanes = sorted({lane for lane, _ in graph.values() if lane})
    tables = ['[run]\nagent = "script"\n', *(f"[[lane]]\nid = {lane}\n" for lane in lanes)]
    for number, (lane, after) in graph.items():
        steps = (
            f'[[step]]\ndo = "sleep"\nseconds = {seconds}\n[[step]]\ndo = "write"\npath = "{number}"\ntext = "made"\n'
        )
        where = f"lane = {lane}\n" if lane else ""
        tables.append(f"[[task]]\nid = {number}\n{where}after = {list(after)}\nprompt = '''\n{steps}'''\n")
    path.write_text("\n".join(tables))


def bound(graph: Graph, slots: int, seconds: float) -> float:
    """Return the time that no scheduler can beat."""
    depth: dict[int, int] = {}
    for number, (_, after) in graph.items():
        depth[number] = 1 + max((depth[each] for each in after), default=0)
    return seconds * max(*depth.values(), math.ceil(len(graph) / slots))


def run(graph: Graph, slots: int, seconds: float) -> float:
    """Make a repository, run a plan in it, and return how long that took."""
    with tempfile.TemporaryDirectory(prefix="budwood-speedup-") as made:
        root = Path(made) / "repository"
        root.mkdir()
        (root / "README").write_text("a repository\n")
        names = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environ = {**os.environ, **names, "XDG_STATE_HOME": f"{made}/state", "XDG_CONFIG_HOME": f"{made}/config"}
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
            subprocess.run(["git", *words], cwd=root, env=environ, check=True)
        write_plan(graph, seconds, root / "plan.toml")
        command = [sys.executable, "-m", "budwood", "run", "plan.toml", "--slots", str(slots), "--quiet"]
        began_s = time.monotonic()
        subprocess.run(command, cwd=root, env=environ, check=True)
        return time.monotonic() - began_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--slots", default="1,3,10")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    slots = [int(each) for each in given.slots.split(",")]
    found: dict[str, dict[int, list[float]]] = {name: {each: [] for each in slots} for name in PLANS}
    for _ in range(given.rounds):
        for name, graph in PLANS.items():
            for each in slots:
                found[name][each].append(run(graph, each, given.seconds))
    print(f"{'':24}slots    took    bound   above   sooner than one by one")
    for name, graph in PLANS.items():
        alone = len(graph) * given.seconds
        for each in slots:
            took, least = statistics.median(found[name][each]), bound(graph, each, given.seconds)
            print(f"{name:24}{each:5}  {took:6.1f} s {least:6.1f} s  {took / least - 1:5.0%}   {alone / took:4.1f} x")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
