"""The busy share of slots in real runs of mcts: a git repository, workspaces, an agent that sleeps, a score command."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

BIN = Path(sys.executable).parent
SLOTS = 8
ATTEMPTS = 64
SIGMA = 1.0
MEAN_S = 4.0
AGENT = f"""
import os, random, time
from pathlib import Path

dice = random.Random(os.environ["BUDWOOD_TASK"])
time.sleep({MEAN_S} * dice.lognormvariate(-{SIGMA}**2 / 2, {SIGMA}))
value = Path("value.txt")
value.write_text(f"{{float(value.read_text()) + dice.gauss(0, 1)}}\\n")
"""
ME = {"GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@localhost"}
ME |= {"GIT_COMMITTER_NAME": "you", "GIT_COMMITTER_EMAIL": "you@localhost"}
RUNS = (("task", 8), ("task", 16), ("completion", 8))


def measure() -> dict[str, object]:
    """Run searches that differ in how long answers wait, and read how busy their slots were."""
    print(f"\nreal runs: {SLOTS} slots, {ATTEMPTS} attempts that sleep {MEAN_S:g} s on average, sigma {SIGMA:g}\n")
    print("| order | window | slots busy | took |\n|---|---|---|---|")
    found: dict[str, object] = {}
    for order, window in RUNS:
        with tempfile.TemporaryDirectory(prefix="budwood-search-") as folder:
            busy, took_s = _run(Path(folder), order, window)
        print(f"| {order} | {window if order == 'task' else ''} | {busy:.0%} | {took_s:.0f} s |", flush=True)
        found[f"{order} {window}"] = (busy, took_s)
    return found


def _run(folder: Path, order: str, window: int) -> tuple[float, float]:
    environ = {**os.environ, **ME, "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    repository = folder / "hill"
    repository.mkdir()
    (folder / "agent.py").write_text(AGENT)
    (repository / "value.txt").write_text("100\n")
    words = json.dumps([sys.executable, str(folder / "agent.py")])
    (repository / "budwood.toml").write_text(f'[agents.sleeper]\nagent = "command"\ncommand = {words}\n')
    (repository / "hill.toml").write_text(
        f'[run]\nstrategy = "mcts"\nagent = "sleeper"\nslots = {SLOTS}\nwindow = {window}\norder = "{order}"\n'
        f'score = "cat value.txt"\n[run.options]\nprompt = "Climb."\nattempts = {ATTEMPTS}\n'
    )
    for typed in (["git", "init", "-q"], ["git", "add", "-A"], ["git", "commit", "-q", "-m", "A hill"]):
        subprocess.run(typed, cwd=repository, env=environ, check=True)
    command = [str(BIN / "budwood"), "run", "hill.toml", "--no-budget"]
    ran = subprocess.run(command, cwd=repository, env=environ, capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1):  # attempts may fail: two candidates that are merged often conflict here
        raise SystemExit(f"the run ended with {ran.returncode}: {ran.stderr}")
    with closing(sqlite3.connect(f"file:{repository / '.budwood/store.db'}?mode=ro", uri=True)) as store:
        query = "SELECT started_at_ms, finished_at_ms FROM attempt WHERE started_at_ms IS NOT NULL ORDER BY 1"
        spans = [(began, ended) for began, ended in store.execute(query)]
    begun, last = spans[1][0], spans[-1][0]  # from the first attempt on, which the root is not, to the last that began
    used = sum(max(0, min(ended, last) - max(began, begun)) for began, ended in spans)
    return used / (SLOTS * (last - begun)), (max(ended for _, ended in spans) - begun) / 1000
