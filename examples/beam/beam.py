"""Beam search on a real repository: ideas for a small program are tried, and the best are built upon.

    python examples/beam/beam.py [FOLDER]

Makes a git repository in FOLDER (by default one that is removed afterwards) with `pack.py`, runs `beam.toml` in it with
two slots, kills its driver with -9 at the second depth, resumes it with three, and shows the tree. The score must have
become better at every depth, and the record must hold.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
ME = {"GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@localhost"}
ME |= {"GIT_COMMITTER_NAME": "you", "GIT_COMMITTER_EMAIL": "you@localhost"}


class Bench:
    """A repository, and what is done in it."""

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "circles"
        # A try knows nobody's settings, and leaves its workspaces where it is removed from.
        self.environ = {**os.environ, **ME, "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        shutil.copytree(HERE, self.repository, ignore=shutil.ignore_patterns("beam.py", "__pycache__"))
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Circles")):
            subprocess.run(["git", *words], cwd=self.repository, env=self.environ, check=True)

    def budwood(self, *words: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
        """Give a budwood command."""
        if not capture:
            print(f"\n$ budwood {' '.join(words)}", flush=True)
        return subprocess.run(
            [sys.executable, "-m", "budwood", *words],
            cwd=self.repository,
            env=self.environ,
            capture_output=capture,
            text=True,
            check=False,
            timeout=600,
        )

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Begin a command, and go on here."""
        print(f"$ budwood {' '.join(words)}", flush=True)
        return subprocess.Popen(
            [sys.executable, "-m", "budwood", *words], cwd=self.repository, env=self.environ, text=True
        )

    def depths(self) -> list[dict[str, float]]:
        """Return what there is at each depth; nothing before the run has begun."""
        said = self.budwood("tree", "beam", "--json", capture=True)
        found: list[dict[str, float]] = json.loads(said.stdout)["depths"] if said.returncode == 0 else []
        return found


def main(folder: Path) -> int:
    """Search, be killed, go on; return 0 if all is as it should be."""
    bench = Bench(folder)
    driver = bench.begin("run", "beam.toml", "--slots", "2")
    while driver.poll() is None and not any(depth["depth"] == 2 and depth["ended"] for depth in bench.depths()):
        time.sleep(0.1)
    driver.kill()
    driver.wait()
    print(f"\n$ kill -9 {driver.pid}", flush=True)
    if bench.budwood("resume", "beam", "--slots", "3").returncode != 0:
        return 1
    bench.budwood("tree", "beam")
    holds = bench.budwood("tree", "beam", "--validate", capture=True).returncode == 0
    best = [depth["best"] for depth in bench.depths()]
    better = len(best) == 4 and all(after > before for before, after in pairwise(best))
    print("\nIs that so?")
    print(
        f"  {'yes' if better else 'NO '}  the best radius of each depth: {', '.join(f'{value:.5f}' for value in best)}"
    )
    print(f"  {'yes' if holds else 'NO '}  everything is kept, and every decision follows from the scores")
    return 0 if better and holds else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory(prefix="budwood-beam-") as made:
        sys.exit(main(Path(made)))
