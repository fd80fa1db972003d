"""What a sandbox costs: one step in it and without, and a run of commands in workspaces with and without.

    .venv/bin/python benchmarks/sandbox.py [--rounds 7] [--steps 50] [--tasks 40] [--json FILE]

bwrap must be on the PATH. A step is `true`, as the supervisor would start it: alone, in `bwrap` with the words that a
sandbox has, and in `budwood-supervisor sandbox`, with the machine's network, without one, and with a list of hosts. A
run has independent `true` in clones at 2 slots, as shipped; start-up (a run of one task) is taken off. Rounds are in
turn; figures are medians of milliseconds for one step or one task, by the clock and of the processor.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from budwood._core.model import RunSettings, WorkspaceTerms
from budwood.agents.homes import Places
from budwood.engine.workshop.enclosing import Own
from budwood.executors.base import Step, Work
from budwood.executors.local import RunPaths
from budwood.project.place import find_project
from budwood.project.sandbox import make_sandbox
from budwood.project.workspaces import find_ground
from budwood.workspaces import Workspace

Timings = dict[str, list[tuple[float, float]]]
Network = Literal["all", "none"] | tuple[str, ...]
NETWORKS: dict[str, Network] = {"all": "all", "none": "none", "hosts": ("example.org",)}


def git(where: Path, *words: str) -> None:
    """Run git as a user would."""
    subprocess.run(["git", "-c", "user.name=b", "-c", "user.email=b@localhost", *words], cwd=where, check=True)


def processor() -> float:
    """Count the seconds of all that was waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(found: Timings, name: str, count: int, action: Callable[[], object]) -> None:
    """Take the time of so many, for one of them."""
    clock, before = time.perf_counter(), processor()
    action()
    found.setdefault(name, []).append(((time.perf_counter() - clock) / count, (processor() - before) / count))


def step_words(root: Path, network: Network) -> tuple[str, ...]:
    """Write the command of a step in a sandbox, as a run in this directory has it."""
    project = find_project(root)
    terms = WorkspaceTerms(kind="clone", base="HEAD")
    settings = RunSettings(sandbox="bwrap", network=network, workspace=terms)
    runtime = root / "runtime"
    paths = RunPaths(root / ".budwood" / "runs" / "bench", runtime=runtime)
    sandbox = make_sandbox(project, paths, find_ground(project, "clone"), settings)
    assert sandbox is not None
    tree = root / "tree"
    tree.mkdir(exist_ok=True)
    (paths.attempts / "0.1").mkdir(parents=True, exist_ok=True)
    work = Work(id="0.1", slot=0, cwd=str(tree), steps=(Step(name="run", argv=("true",)),))
    workspace = Workspace(holder="b", path=tree, base="HEAD", warm=False, setup_due=False)
    [step] = sandbox.around(work, workspace, Own(state=None, ours=(), agent=Places(), argv=())).steps
    return step.argv


def repeat(argv: Sequence[str], count: int) -> None:
    """Run a command so many times, one after the other."""
    for _ in range(count):
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def run(root: Path, tasks: int, sandbox: str) -> None:
    """Run commands in clones."""
    entries = "".join(f'[[task]]\nid = "t{number}"\nrun = "true"\n' for number in range(tasks))
    (root / "plan.toml").write_text(f'[run]\nworkspace = "clone"\nslots = 2\nsandbox = "{sandbox}"\n{entries}')
    subprocess.run([sys.executable, "-m", "budwood", "run", "plan.toml", "--again", "-q"], cwd=root, check=True)


def measure(root: Path, *, rounds: int, steps: int, tasks: int) -> Timings:
    """Take all times, in turn."""
    found: Timings = {}
    in_sandbox = {name: step_words(root, network) for name, network in NETWORKS.items()}
    plain = in_sandbox["all"]
    words = plain[plain.index("--") + 1 :]
    end = words.index("--")
    repeat(in_sandbox["all"], 1)  # makes what bwrap by itself expects to be there
    for _ in range(rounds):
        timed(found, "step: true", steps, lambda: repeat(("true",), steps))
        timed(found, "step: bwrap alone", steps, lambda: repeat((*words[:end], "--", "true"), steps))
        for name, argv in in_sandbox.items():
            timed(found, f"step: network {name}", steps, partial(repeat, argv, steps))
        for sandbox in ("none", "bwrap"):
            timed(found, f"one: {sandbox}", 1, partial(run, root, 1, sandbox))
            timed(found, f"run: {sandbox}", tasks, partial(run, root, tasks, sandbox))
    return found


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        root = Path(folder) / "project"
        root.mkdir()
        os.environ["XDG_STATE_HOME"] = folder
        (root / "a").write_text("a\n")
        git(root, "init", "-q", "-b", "main")
        git(root, "add", "a")
        git(root, "commit", "-qm", "first")
        found = measure(root, rounds=given.rounds, steps=given.steps, tasks=given.tasks)
    medians = {
        name: [statistics.median(each) * 1000 for each in zip(*took, strict=True)] for name, took in found.items()
    }
    for sandbox in ("none", "bwrap"):
        whole, one = medians.pop(f"run: {sandbox}"), medians.pop(f"one: {sandbox}")
        rest = [(all_of * given.tasks - start) / (given.tasks - 1) for all_of, start in zip(whole, one, strict=True)]
        medians[f"run: sandbox {sandbox}"] = rest
    for name, (clock, used) in medians.items():
        print(f"{name:24} {clock:8.2f} ms   processor {used:8.2f} ms")
    if given.json is not None:
        given.json.write_text(json.dumps(medians, indent=2))


if __name__ == "__main__":
    main()
