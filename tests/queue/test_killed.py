"""Seven tasks merged and verified: the same tree at any number of slots, and wherever the driver is killed."""

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.cli.world import wait_for
from tests.queue.plans import conflict_of, lane, published, solve
from tests.queue.seven import check_landed, make_site, solve_by_hand
from tests.support.cases import at_length
from tests.workshop.site import Site

from budwood._core.commands import SolveConflict
from budwood._core.events import ErrandAdded, LaneConflicted, LaneResolved
from budwood.engine.workshop.conflicts import Conflicts
from budwood.errors import UsageError
from budwood.project.bench import run_refs
from budwood.workspaces import Clone, Pool
from budwood.workspaces.joining import write_commit
from budwood.workspaces.leases import Held, places_in
from budwood.workspaces.merging import merge_tree

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(3600)]
REPOSITORY = Path(__file__).parents[2]


class Undisturbed(NamedTuple):
    """What a run comes to that nobody kills."""

    tree: str
    landing_s: float
    """How long its merge queue had lanes in hand until it met the conflict."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Run it once."""
    site = make_site(tmp_path_factory.mktemp("undisturbed") / "project")
    driver = site.start("run", "plan.toml")
    wait_for(lambda: _is_landing(site), what="the merge queue")
    began_s = time.monotonic()
    assert site.finish(driver).code == 5
    landing_s = time.monotonic() - began_s
    solve_by_hand(site)
    site.call("resume", "plan")
    site.end()
    return Undisturbed(check_landed(site), landing_s)


@pytest.fixture(scope="module")
def expected(undisturbed: Undisturbed) -> str:
    """Return the tree that an undisturbed run comes to."""
    return undisturbed.tree


@pytest.mark.parametrize("slots", at_length("1", "10"))
def test_slots_make_no_difference(tmp_path: Path, expected: str, slots: str) -> None:
    site = make_site(tmp_path / "project")
    before = site.belongings()
    site.call("run", "plan.toml", "--slots", slots, code=5)
    solve_by_hand(site)
    site.call("resume", "plan")
    assert check_landed(site) == expected
    assert _theirs(site) == _without_trunk(before)
    site.end()


def _theirs(site: Site) -> dict[str, str]:
    return _without_trunk(site.belongings())


def _without_trunk(belongings: dict[str, str]) -> dict[str, str]:
    return {name: what for name, what in belongings.items() if name != "refs/heads/trunk"}


def _drive(site: Site, module: str, *words: str, at: int) -> "subprocess.CompletedProcess[str]":
    environment = {**site.env, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", module, str(at), *words]
    return subprocess.run(
        command, cwd=site.root, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("module", ["tests.queue.victim", *at_length("tests.workshop.victim")])
def test_killed_anywhere_it_comes_to_the_same_tree(
    tmp_path: Path, expected: str, module: str, *, torture: bool
) -> None:
    whole = make_site(tmp_path / "whole" / "project")
    said = _drive(whole, module, "run", "plan.toml", at=-1)
    assert said.returncode == 5, said.stderr
    points, died = int(said.stderr.splitlines()[-1]), 0
    first = 0 if module == "tests.queue.victim" else points // 2  # what comes before is killed elsewhere
    step = max(1, (points - first) // (20 if torture else 1))
    sites = range(first + step // 2, points, step)
    for at in sites:
        site = make_site(tmp_path / str(at) / "project")
        died += _drive(site, module, "run", "plan.toml", at=at).returncode == -9
        site.call("resume", "plan", code=5)
        solve_by_hand(site)
        died += _drive(site, module, "resume", "plan", at=at % 20).returncode == -9
        site.call("resume", "plan")
        assert check_landed(site) == expected
        site.end()
    assert died > len(sites), "nothing was killed, so nothing was tested"
    print(f"\nmerge queue: driver killed {died} times at {points} points of {module}: the same tree")


def test_killed_at_random_moments_it_comes_to_the_same_tree(
    tmp_path: Path, undisturbed: Undisturbed, *, torture: bool
) -> None:
    chance, kills = random.Random(20261118), 0
    for number in range(10 if torture else 1):
        site = make_site(tmp_path / str(number) / "project")
        driver = site.start("run", "plan.toml")
        for _ in range(3):
            wait_for(lambda site=site: _is_landing(site), what="the merge queue")  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 0.6) * undisturbed.landing_s)  # on a quick machine all is soon over
            driver.kill()
            driver.communicate()
            kills += driver.returncode == -9
            driver = site.start("resume", "plan")
        assert site.finish(driver).code == 5
        solve_by_hand(site)
        site.call("resume", "plan")
        assert check_landed(site) == undisturbed.tree
        site.end()
    assert kills, "nothing was killed, so nothing was tested"
    print(f"\nmerge queue: driver killed at {kills} random moments of merge, verify and publish: the same tree")


def _is_landing(site: Site) -> bool:
    try:
        return any(isinstance(event, ErrandAdded) for event in site.events())
    except (UsageError, StopIteration):  # the store, or the run in it, is being made
        return False


def test_what_a_driver_did_not_lay_out_to_the_end_is_taken_for_no_solution(site: Site) -> None:
    site.agents(lane("x", text="x\n"), lane("y", text="y\n"), review="auto")
    site.call("run", "plan.toml", code=5)
    conflict = conflict_of(site, "lane y")
    run, repository = site.state().id, site.repository
    pool = Pool(site.pool, repository, Clone(repository))
    holder = next(name for name in pool.holders() if "/merge-" in name)
    [place] = [each for each in places_in(site.pool) if each.held is not None and each.held.holder == holder]
    marked = merge_tree(repository.git, conflict.head, conflict.onto).tree
    parents = [conflict.head, conflict.onto]
    start = write_commit(repository.git, marked, parents, message="as an agent is given it", date=1)
    pool.hand_out(holder, start)
    place.hold(Held(holder=holder, base=conflict.head))  # and it died
    dies = Conflicts(run_refs("plan", run), repository=repository, pool=pool, holder=lambda name: f"{run}/{name}")
    wanted = SolveConflict(
        line=conflict.line, head=conflict.head, onto=conflict.onto, branch=conflict.branch, agent=None
    )
    assert isinstance(dies.look(conflict), LaneConflicted)
    assert dies.lay_out(wanted) == msgspec.structs.replace(conflict, path=str(place.tree), reason="")
    assert "<<<<<<<" in (place.tree / "text").read_text()
    site.call("resume", "plan", code=5)
    solve(site, str(place.tree), "text", "both\n")
    site.call("resume", "plan")
    assert published(site, "text") == "both"


def test_what_a_person_solved_is_taken_though_the_driver_that_kept_it_died(site: Site) -> None:
    site.agents(lane("x", text="x\n"), lane("y", text="y\n"), review="auto")
    site.call("run", "plan.toml", code=5)
    conflict = conflict_of(site, "lane y")
    solve(site, conflict.path, "text", "both\n")
    run, repository = site.state().id, site.repository
    pool = Pool(site.pool, repository, Clone(repository))
    dies = Conflicts(run_refs("plan", run), repository=repository, pool=pool, holder=lambda name: f"{run}/{name}")
    assert isinstance(dies.look(conflict), LaneResolved)  # the directory is given back, and nobody writes that down
    site.call("resume", "plan")
    assert published(site, "text") == "both"
