"""Monte Carlo tree search on a real repository: agents pack circles, and the search grows what scores best.

    python examples/mcts/mcts.py [FOLDER]

Makes two small git repositories in FOLDER (by default one that is removed afterwards) and runs `packing.toml` in each:
at 4 slots, and at 1 with its driver killed by -9 in the middle and resumed at 2. No key is needed: the agent is
`packer.py`, a program. Both searches decide the same, and what they find is in no file here.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ME = {"GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@localhost"}
ME |= {"GIT_COMMITTER_NAME": "you", "GIT_COMMITTER_EMAIL": "you@localhost"}


class Search:
    """A repository with circles in a corner of a square, and what is done in it."""

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "circles"
        self.repository.mkdir(parents=True)
        # A try knows nobody's settings, and leaves its workspaces where it is removed from.
        self.environ = {**os.environ, **ME, "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        for name in ("packing.toml", "score.py"):
            shutil.copy(HERE / name, self.repository)
        places = [(0.2 + 0.15 * (n % 4), 0.2 + 0.2 * (n // 4)) for n in range(12)]
        (self.repository / "circles.txt").write_text("\n\n".join(f"{x:.6f} {y:.6f}" for x, y in places) + "\n")
        (self.repository / ".gitignore").write_text("__pycache__/\n")
        words = json.dumps([sys.executable, str(HERE / "packer.py"), "{prompt_file}"])
        (self.repository / "budwood.toml").write_text(f'[agents.packer]\nagent = "command"\ncommand = {words}\n')
        self._run("git", "init", "-q", "-b", "main")
        self._run("git", "add", "-A")
        self._run("git", "commit", "-q", "-m", "Circles")

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.repository, env=self.environ, check=True, capture_output=True, text=True, timeout=300
        )
        return done.stdout

    def begin(self, *words: str) -> "subprocess.Popen[bytes]":
        """Give a budwood command, and go on here."""
        print(f"\n$ budwood {' '.join(words)}", flush=True)
        return subprocess.Popen([sys.executable, "-m", "budwood", *words], cwd=self.repository, env=self.environ)

    def budwood(self, *words: str) -> int:
        """Give a budwood command; return its exit code."""
        return self.begin(*words).wait(timeout=600)

    def done(self) -> int:
        """Count the tasks that are done."""
        try:
            said = self._run(sys.executable, "-m", "budwood", "show", "packing", "--json")
        except subprocess.CalledProcessError:  # it has not begun
            return 0
        return int(json.loads(said)["run"]["done"])

    def decisions(self) -> list[dict[str, object]]:
        """Read the decision log: the same at any number of slots."""
        said = self._run(sys.executable, "-m", "budwood", "show", "packing", "--decisions")
        return [json.loads(line) for line in said.splitlines()]


def scores(decisions: list[dict[str, object]]) -> dict[str, float]:
    """Return the score of every candidate that has one."""
    found: dict[str, float] = {}
    for line in decisions:
        match line:
            case {"task": task, "scores": {"score": float() as value}}:
                found[str(task)] = value
    return found


def main(folder: Path) -> int:
    """Search twice and compare; return 0 if all is as it should be."""
    quiet, killed = Search(folder / "undisturbed"), Search(folder / "killed")
    # Exit code 1: some attempts failed, which is no harm to a search. Two that moved the same circle cannot be merged.
    if quiet.budwood("run", "packing.toml", "--slots", "4") not in (0, 1):
        return 1
    driver = killed.begin("run", "packing.toml", "--slots", "1")
    while killed.done() < 5 and driver.poll() is None:
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    print(f"\n$ kill -9 {driver.pid}", flush=True)
    if killed.budwood("resume", "packing", "--slots", "2") not in (0, 1):
        return 1
    killed.budwood("tree", "packing")
    decisions = quiet.decisions()
    found = scores(decisions)
    best = max(found, key=lambda task: found[task])
    merged = [line for line in decisions if isinstance(line["parents"], list) and len(line["parents"]) == 2]
    same, better = decisions == killed.decisions(), found[best] > 1.2 * found["root"]
    print("\nIs that so?")
    print(f"  {'yes' if better else 'NO '}  {best} has {found[best]:.3f}, the start {found['root']:.3f}")
    print(
        f"  {'yes' if merged else 'NO '}  {len(merged)} of {len(decisions) - 1} attempts stood on two that were merged"
    )
    print(f"  {'yes' if same else 'NO '}  the same decisions at 4 slots, and at 1 with kill -9 and 2 from then on")
    return 0 if better and merged and same else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory(prefix="budwood-mcts-") as made:
        sys.exit(main(Path(made)))
