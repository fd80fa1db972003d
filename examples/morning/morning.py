"""The morning after: ten tasks in three lanes become one verified branch; an agent solves a conflict, you another.

    python examples/morning/morning.py [FOLDER]

Makes three small git repositories in FOLDER (by default one that is removed afterwards) and runs `night.toml` in each:
at 1 slot, at 10, and at 3 with its driver killed by -9 while it verifies. In each the conflict of lane 3 is then solved
by hand, as you would: edit, commit, resume. All three end with the same files in `budwood/night`.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "overnight"))

from overnight import Evening  # noqa: E402 - it lies beside this example

TITLE = "# Shop\n"
BY_HAND = TITLE + "- items, with prices\n- logins\n- a page for each item\n"


class Morning(Evening):
    """An evening whose lanes are merged."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.copy(HERE / "night.toml", self.repository)
        words = json.dumps([sys.executable, str(HERE / "joiner.py")])
        (self.repository / "budwood.toml").write_text(f'[agents.joiner]\nagent = "command"\ncommand = {words}\n')

    def is_verifying(self) -> bool:
        """Say whether lanes are merged, and are being verified."""
        return "errand_added" in self.budwood("export", "night", "--jsonl", capture=True).stdout

    def solve(self) -> None:
        """Solve the conflict that is left."""
        folder = Path(self.budwood("open", "night", "3", capture=True).stdout.strip())
        print(f"$ cd {folder}\n{(folder / 'README.md').read_text()}", flush=True)
        (folder / "README.md").write_text(BY_HAND)
        self.git("-C", str(folder), "commit", "-q", "-a", "-m", "All three lines")

    def tree(self) -> str:
        """Name what is published, by its files alone."""
        return self.git("rev-parse", "budwood/night^{tree}")


def play(morning: Morning, *, slots: int, kill: bool) -> bool:
    """Play one night and its morning; return whether everything is merged and nothing of the user's was touched."""
    before = morning.of_the_user()
    if kill:
        driver = morning.begin()
        while not morning.is_verifying() and driver.poll() is None:
            time.sleep(0.05)
        driver.kill()
        driver.wait()
        print(f"\n$ kill -9 {driver.pid}\n", flush=True)
        code = morning.budwood("resume", "night").returncode
    else:
        code = morning.budwood("run", "night.toml", "--slots", str(slots)).returncode
    if code != 5:
        return False
    morning.solve()
    return morning.budwood("resume", "night").returncode == 0 and morning.of_the_user() == before


def main(folder: Path) -> int:
    """Play three nights and compare what they come to; return 0 if all is as it should be."""
    mornings = [Morning(folder / name) for name in ("one", "ten", "killed")]
    well = [
        play(mornings[0], slots=1, kill=False),
        play(mornings[1], slots=10, kill=False),
        play(mornings[2], slots=3, kill=True),
    ]
    same = len({morning.tree() for morning in mornings}) == 1
    readme = mornings[0].git("show", "budwood/night:README.md") + "\n" == BY_HAND
    print("\nIs that so?")
    print(
        f"  {'yes' if all(well) else 'NO '}  three lanes merged and verified, and nothing of yours touched, each time"
    )
    print(
        f"  {'yes' if same else 'NO '}  the same files at 1 slot, at 10, and after kill -9: {mornings[0].tree()[:12]}"
    )
    print(f"  {'yes' if readme else 'NO '}  what the agent and you solved is in it")
    return 0 if all(well) and same and readme else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory(prefix="budwood-morning-") as made:
        sys.exit(main(Path(made)))
