"""The best of three attempts is not the best there is: what two of them made, put together, is better.

    python examples/best_of/best_of.py [FOLDER]

Makes a small git repository in FOLDER (by default one that is removed afterwards) with two delivery tours in the order
in which the places were found. Three agents shorten them, each a different part; then budwood merges what they made,
scores every union, and chooses one that no attempt came up with. It is done twice, at 1 slot and at 4 with its driver
killed by -9 and resumed, with the same decisions.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
PLACES = 60


class Depot:
    """A repository with tours, and the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(HERE / "tours", folder, ignore=shutil.ignore_patterns("__pycache__"))
        chance = random.Random(7)
        places = {
            name: {f"{name}-{n}": (chance.randrange(1000) / 10, chance.randrange(1000) / 10) for n in range(PLACES)}
            for name in ("north", "south")
        }
        (folder / "places.json").write_text(json.dumps(places, indent=1))
        for name, stops in places.items():
            (folder / f"{name}.txt").write_text("".join(f"{stop}\n" for stop in stops))
        words = json.dumps([sys.executable, "drivers.py"])
        (folder / "budwood.toml").write_text(f'[agents.driver]\nagent = "command"\ncommand = {words}\n')
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("-c", "user.name=You", "-c", "user.email=you@localhost", "commit", "-q", "-m", "Tours as they came")

    def git(self, *words: str) -> str:
        """Ask git."""
        done = subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def command(self, *words: str) -> list[str]:
        """Say how budwood is called, and show it."""
        print(f"$ budwood {' '.join(words)}", flush=True)
        return [sys.executable, "-m", "budwood", *words]

    def budwood(self, *words: str) -> int:
        """Call budwood as you would."""
        return subprocess.run(self.command(*words), cwd=self.folder, check=False).returncode

    def read(self, *words: str) -> str:
        """Call budwood and keep what it prints."""
        words = (sys.executable, "-m", "budwood", *words)
        return subprocess.run(words, cwd=self.folder, check=False, capture_output=True, text=True).stdout

    def killed(self, *words: str) -> int:
        """Call budwood, kill it when the first attempt has ended, and resume."""
        driver = subprocess.Popen(self.command(*words), cwd=self.folder)
        while "attempt_ended" not in self.read("export", "best-of", "--jsonl") and driver.poll() is None:
            time.sleep(0.02)
        driver.kill()
        driver.wait()
        print(f"\n$ kill -9 {driver.pid}\n", flush=True)
        return self.budwood("resume", "best-of")

    def scores(self) -> dict[str, float]:
        """Read what every candidate scored."""
        found = json.loads(self.read("compare", "best-of", "--json"))["candidates"]
        return {each["task"]: each["score"]["value"] for each in found if each["score"]}


def main(folder: Path) -> int:
    """Play it twice; return 0 if all is as it should be."""
    one, four = Depot(folder / "one"), Depot(folder / "four")
    ended = one.budwood("run", "best-of.toml", "--slots", "1") == 0
    ended = four.killed("run", "best-of.toml", "--slots", "4") == 0 and ended
    print(flush=True)
    one.budwood("compare", "best-of")
    one.budwood("best", "best-of", "-o", str(folder / "best"))
    scores, best = one.scores(), one.read("best", "best-of").strip()
    alone = min(value for task, value in scores.items() if task.startswith("try-"))
    merged = one.budwood("merge", "best-of", "--into", "main") == 0
    files = [path.relative_to(folder / "best") for path in (folder / "best").rglob("*") if path.is_file()]
    there = merged and all((folder / "best" / path).read_bytes() == (one.folder / path).read_bytes() for path in files)
    decisions = [depot.read("show", "best-of", "--decisions") for depot in (one, four)]
    answers = {
        f"{best} is {scores[best]:g} km; the tours were {scores['root']:g}, and the best attempt alone is {alone:g}": (
            best.startswith("union-") and scores[best] < alone < scores["root"]
        ),
        "its files are in the directory that was asked for, and on your branch": there and ended,
        "the same decisions at 1 slot, and at 4 after kill -9": decisions[0] == decisions[1] != "",
    }
    print("\nIs that so?")
    for words, holds in answers.items():
        print(f"  {'yes' if holds else 'NO '}  {words}")
    return 0 if all(answers.values()) else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory(prefix="budwood-best-of-") as made:
        sys.exit(main(Path(made)))
