"""A night of agents on a real repository: seven tasks in three lanes, once undisturbed, once killed in the middle.

    python examples/overnight/overnight.py [FOLDER]

Makes two small git repositories in FOLDER (by default one that is removed afterwards), runs `night.toml` in both, kills
the second run's driver with -9 while agents work, resumes it, and compares: the same files in every lane, and nothing
of the user's touched.
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
STARTER = {
    "README.md": "# Shop\n",
    ".gitignore": "__pycache__/\n",
    "shop/__init__.py": "",
    "tests/__init__.py": "",
    "tests/test_shop.py": (
        "import unittest\n\nimport shop\n\n\nclass Shop(unittest.TestCase):\n"
        "    def test_it_is_there(self):\n        self.assertIsNotNone(shop)\n"
    ),
}
ME = {"GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@localhost"}
ME |= {"GIT_COMMITTER_NAME": "you", "GIT_COMMITTER_EMAIL": "you@localhost"}


class Evening:
    """A repository, and what is done in it."""

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "shop"
        # A try knows nobody's settings, and leaves its workspaces where it is removed from.
        self.environ = {**os.environ, **ME, "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        for name, text in STARTER.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A shop")
        shutil.copy(HERE / "night.toml", self.repository)
        shutil.copytree(HERE / "steps", self.repository / "steps")

    def git(self, *words: str) -> str:
        """Give a git command; return what it printed."""
        done = subprocess.run(
            ["git", *words], cwd=self.repository, env=self.environ, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def budwood(self, *words: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
        """Give a budwood command."""
        if not capture:
            print(f"$ budwood {' '.join(words)}", flush=True)
        command = [sys.executable, "-m", "budwood", *words]
        return subprocess.run(
            command, cwd=self.repository, env=self.environ, capture_output=capture, text=True, check=False, timeout=300
        )

    def begin(self) -> "subprocess.Popen[str]":
        """Begin the run, and go on here."""
        print("$ budwood run night.toml", flush=True)
        command = [sys.executable, "-m", "budwood", "run", "night.toml"]
        return subprocess.Popen(command, cwd=self.repository, env=self.environ, text=True)

    def done(self) -> int:
        """Count the tasks that are done."""
        said = self.budwood("show", "night", "--json", capture=True)
        return int(json.loads(said.stdout)["run"]["done"]) if said.returncode == 0 else 0

    def trees(self) -> dict[str, str]:
        """Name what stands at the end of every lane, by its files alone."""
        branches = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads/lane-*").splitlines()
        return {branch: self.git("rev-parse", f"{branch}^{{tree}}") for branch in branches}

    def of_the_user(self) -> str:
        """Return what the user has: the branch, its commit, the index and the files."""
        return self.git("rev-parse", "--abbrev-ref", "HEAD", "HEAD") + self.git("status", "--porcelain")


def main(folder: Path) -> int:
    """Play both evenings and compare them; return 0 if all is as it should be."""
    quiet, killed = Evening(folder / "undisturbed"), Evening(folder / "killed")
    before = killed.of_the_user()
    if quiet.budwood("run", "night.toml").returncode != 0:
        return 1
    print("\nThe same again, and its driver is killed when two tasks are done:\n")
    driver = killed.begin()
    while killed.done() < 2 and driver.poll() is None:
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    print(f"\n$ kill -9 {driver.pid}\n", flush=True)
    if killed.budwood("resume", "night").returncode != 0:
        return 1
    same = quiet.trees() == killed.trees() and len(quiet.trees()) == 3
    untouched = killed.of_the_user() == before
    print("\nIs that so?")
    print(f"  {'yes' if same else 'NO '}  every lane ends with the same files: {', '.join(sorted(killed.trees()))}")
    print(f"  {'yes' if untouched else 'NO '}  your branch, your index and your files are as they were")
    return 0 if same and untouched else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory(prefix="budwood-overnight-") as made:
        sys.exit(main(Path(made)))
