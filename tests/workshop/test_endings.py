"""Attempts that end in every possible way: every byte that was there at the end comes back from a ref."""

import hashlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.workshop import leaver
from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.crash, pytest.mark.timeout(3600)]
LIMITS: dict[str, dict[str, object]] = {
    "success": {},
    "failure": {},
    "refused": {"check": "echo no; exit 1"},
    "timeout": {"timeout": "4s"},
    "cancel": {},
    "memory": {"memory": "150MB"},
    "supervisor": {},
    "crash": {},
    "driver": {},
}


def test_every_byte_comes_back_however_an_attempt_ends(site: Site, *, torture: bool) -> None:
    many = 200 if torture else 18
    ledger = site.root.parent / "ledger"
    ledger.mkdir()
    site.env["LEDGER"] = str(ledger)
    site.agents(*(_task(number) for number in range(many)), slots=4, retries=0, grace="1s")
    before = site.belongings()
    kills = _drive(site, ledger, many)
    ends = site.ends()
    tally = Counter((end.phase.value, "" if end.error is None else end.error.type) for end in ends)
    expected = {path.stem: json.loads(path.read_text()) for path in ledger.glob("*.json")}
    for end in ends:
        wrote = expected.pop(f"{end.task}.{end.attempt}", None)
        if wrote is not None:
            left = {path: hashlib.sha256(data).hexdigest() for path, data in site.restored(end).items()}
            assert left == wrote, f"{end.task}.{end.attempt}"
        else:
            assert end.phase is not AttemptPhase.SUCCEEDED
    assert expected == {}, "attempts that left something and are not in the store"
    assert {"succeeded", "failed", "timed_out", "cancelled", "abandoned"} <= {phase for phase, _ in tally}
    assert tally["failed", "memory"]
    assert site.belongings() == before
    assert list(site.pool.glob("*/shut.json")) == []
    told = ", ".join(f"{number} {phase} {error}".rstrip() for (phase, error), number in sorted(tally.items()))
    print(f"\n{len(ends)} attempts, driver killed {kills} times: every byte restored from its ref ({told})")


def _task(number: int) -> str:
    how = list(LIMITS)[number % len(LIMITS)]
    command = f'"{sys.executable}" -S -E "{leaver.__file__}" {how} {number}'
    return task(f"{how}-{number}", (do("run", command=command),), env_pass=["LEDGER"], **LIMITS[how])


def _drive(site: Site, ledger: Path, many: int) -> int:
    """Drive the run to its end, kill its driver now and then, and cancel what waits for that."""
    chance, kills, cancelled = random.Random(200), 0, set[str]()
    driver = site.start("run", "plan.toml")
    until_s, kill_at_s = time.monotonic() + 15 * many, time.monotonic() + chance.uniform(2, 5)
    while True:
        assert time.monotonic() < until_s, "it does not end"
        waiting = {path.name.partition(".")[0] for path in ledger.glob("cancel-*.json")} - cancelled
        if waiting:
            done = subprocess.run(
                site._argv(("cancel", "plan", *waiting)), cwd=site.root, env=site.env, capture_output=True, check=False
            )
            if done.returncode == 0:
                cancelled |= waiting
        if driver.poll() is not None:
            said = site.finish(driver)
            if said.code == 1:
                return kills
            assert said.code == -9 or "drives" in said.err, said  # a cancel without a driver holds the run for a moment
            driver = site.start("run", "plan.toml")
        elif time.monotonic() > kill_at_s and kills < many / 10:
            driver.kill()
            kills += 1
            kill_at_s = time.monotonic() + chance.uniform(2, 5)
        time.sleep(0.05)
