"""evolve decides the same wherever its driver is killed, at any number of slots, and asks nobody twice."""

import random
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.search.conftest import SCORE, Halves

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(1200)]
RAISE = """
echo "$BUDWOOD_TASK $BUDWOOD_ATTEMPT" >> {ledger}
sleep 0.15
[ $((BUDWOOD_ATTEMPT_SEED % 7)) != 0 ] || exit 3
if [ $((BUDWOOD_ATTEMPT_SEED / 3 % 2)) = 0 ]; then half=left; else half=right; fi
sed -i "2s/.*/$(($(sed -n 2p $half.txt) + BUDWOOD_ATTEMPT_SEED % 3))/" $half.txt
echo "$BUDWOOD_TASK" >> made-$half.txt
"""
PLAN = f"""
[run]
strategy = "evolve"
agent = "raiser"
score = "{SCORE}"
seed = 3

[run.options]
prompt = "Raise the numbers."
attempts = 24
islands = 2
population = 3
migrate_every = 6
crossover = 0.4
"""


class Evolving(Halves):
    """A search that has not begun, and what it asked agents for."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.ledger = root.parent / f"{root.name} asked"
        self.agent("raiser", RAISE.format(ledger=f"'{self.ledger}'"))
        (self.root / "search.toml").write_text(PLAN)

    def asked(self) -> Counter[str]:
        """Count how often each attempt was made."""
        return Counter(self.ledger.read_text().splitlines() if self.ledger.exists() else [])

    def log(self) -> str:
        """Return the decision log."""
        return self.call("show", "search", "--decisions").out


def test_killed_at_random_moments_and_resumed_with_other_slots_it_decides_the_same(
    tmp_path: Path, *, torture: bool
) -> None:
    with Evolving(tmp_path / "undisturbed") as quiet:
        quiet.call("run", "search.toml", "--slots", "2", code=None)
        expected = quiet.log()
        assert set(quiet.asked().values()) == {1}
    chance, kills = random.Random(20261118), 0
    for number in range(6 if torture else 1):
        with Evolving(tmp_path / f"killed {number}") as killed:
            driver = killed.start("run", "search.toml", "--slots", "3")
            for kill in range(4):
                wait_for(partial(has_asked, killed, 4 * kill), what="attempts")
                time.sleep(chance.uniform(0.0, 0.3))
                driver.kill()
                driver.communicate()
                kills += driver.returncode == -9
                driver = killed.start("resume", "search", "--slots", str(1 + (number + kill) % 4))
            driver.communicate(timeout=120)
            assert killed.log() == expected
            assert set(killed.asked().values()) == {1}
    assert kills > (20 if torture else 2), "nothing was killed, so nothing was tested"
    print(f"\nevolve: driver killed at {kills} random moments, resumed with other slots: the same decisions")


def has_asked(search: Evolving, more_than: int) -> bool:
    return len(search.asked()) > more_than
