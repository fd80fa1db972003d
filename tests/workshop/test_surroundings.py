"""What happens around agents: the user works meanwhile, directories vanish, disks fill up, programs are missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.mounts import mounted
from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HOLD = 'touch "$HELD/$BUDWOOD_TASK.began"; until [ -e "$HELD/go" ]; do sleep 0.02; done'


def held(name: str, **keys: object) -> str:
    """Write a task that waits, when it has begun, until the test lets it go."""
    begun = do("write", path=f"{name}.txt", text=f"by {name}\n")
    return task(name, (begun, do("run", command=HOLD)), env_pass=["HELD"], **keys)


@pytest.fixture
def hall(site: Site) -> Path:
    """Give the directory in which tasks say that they wait."""
    folder = site.root.parent / "hall"
    folder.mkdir()
    site.env["HELD"] = str(folder)
    return folder


def wait_held(hall: Path, *names: str) -> None:
    """Wait until tasks wait."""
    wait_for(lambda: all((hall / f"{name}.began").exists() for name in names), what=f"{names} to wait")


def test_what_it_changes_outside_its_workspace_is_told(site: Site) -> None:
    evil = 'echo evil > "$THERE/evil.txt"; echo more >> "$THERE/README.md"; git -C "$THERE" branch evil'
    evil += '; git -C "$THERE" config core.hooksPath /evil; echo x > "$THERE/.git/hooks/post-merge"'
    site.agents(task("evil", (do("write", path="a", text="a"), do("run", command=evil)), env_pass=["THERE"]))
    site.env["THERE"] = str(site.root)
    said = site.call("run", "plan.toml")
    left = site.end_of("evil").left
    assert left is not None
    names = {"branch evil", "file README.md", "file evil.txt", "hook post-merge", "setting config"}
    assert set(left.outside) == names
    assert "while attempt 1 at evil ran, changed outside its workspace: branch evil" in said.out + said.err
    assert "changed outside its workspace meanwhile" in site.call("story", "plan").out


def test_the_user_goes_on_working_while_agents_do(site: Site, hall: Path) -> None:
    base = site.git("rev-parse", "main")
    site.agents(held("a", lane="x"), held("b", lane="x", after=["a"]), "[[lane]]\nid = 'x'\n", slots=2)
    driver = site.start("run", "plan.toml")
    wait_held(hall, "a")
    site.git("commit", "-qam", "the user's own")
    theirs = site.git("rev-parse", "main")
    (hall / "go").touch()
    assert site.finish(driver).code == 0
    assert site.git("rev-parse", "main") == theirs
    assert site.git("merge-base", "main", "lane-x") == base
    assert site.git("log", "--format=%s", "main..lane-x").splitlines() == ["b: attempt 1", "a: attempt 1"]
    assert site.git("ls-tree", "-r", "--name-only", "lane-x", "a.txt", "b.txt").splitlines() == ["a.txt", "b.txt"]
    left = site.end_of("a").left
    assert left is not None
    assert "branch main" in left.outside


def test_two_runs_of_one_repository_do_not_meet(site: Site, hall: Path) -> None:
    site.agents(held("a"), held("b"), slots=2)
    (site.root / "other.toml").write_text((site.root / "plan.toml").read_text())
    before = site.belongings()
    drivers = [site.start("run", file) for file in ("plan.toml", "other.toml")]
    leases = "state/budwood/pools/*/clone/*/lease.json"
    wait_for(lambda: len(list(site.home.glob(leases))) == 4, what="four workspaces")
    (hall / "go").touch()
    assert [site.finish(driver).code for driver in drivers] == [0, 0]
    for name in ("plan", "other"):
        for end in site.ends(name):
            assert site.restored(end)[f"{end.task}.txt"] == f"by {end.task}\n".encode()
    branches = site.git("for-each-ref", "--format=%(refname:short)", "refs/heads/task-*").splitlines()
    assert branches == ["task-a", "task-a-2", "task-b", "task-b-2"]
    assert site.belongings() == before
    assert [end.left.outside for name in ("plan", "other") for end in site.ends(name) if end.left] == [()] * 4


@pytest.mark.parametrize("part", ["tree", ""], ids=["files", "everything"])
def test_a_directory_that_was_removed_in_use_fails_that_attempt_alone(site: Site, hall: Path, part: str) -> None:
    site.agents(held("a", retries=1), slots=1, backoff="10ms")
    driver = site.start("run", "plan.toml")
    wait_held(hall, "a")
    shutil.rmtree(site.pool / "w1" / part)
    (hall / "go").touch()
    assert site.finish(driver).code == 0
    first, second = site.end_of("a", 1), site.end_of("a", 2)
    assert (first.error and first.error.type, first.left) == ("gone", None)
    assert second.phase is AttemptPhase.SUCCEEDED


def test_directories_that_were_removed_between_runs_are_made_again(site: Site) -> None:
    made = (do("read", path="README.md", contains="a project"), do("write", path="made.txt", text="made\n"))
    site.agents(task("a", made))
    site.call("run", "plan.toml")
    shutil.rmtree(site.pool / "w1" / "tree")
    site.call("run", "plan.toml", "--again")
    shutil.rmtree(site.pool)
    site.call("run", "plan.toml", "--again")
    for name in ("plan", "plan-2", "plan-3"):
        [end] = site.ends(name)
        left = site.restored(end)
        assert (left["made.txt"], left["README.md"]) == (b"made\n", b"a project\n")


def test_an_agent_that_is_not_installed_is_refused_before_anything_starts(site: Site) -> None:
    site.agents(task("a", "Do it.", agent="claude"), task("b", (do("say", text="x"),)))
    path = os.pathsep.join(p for p in site.env["PATH"].split(os.pathsep) if not (Path(p) / "claude").exists())
    said = site.call("run", "plan.toml", env={"PATH": path}, code=2)
    assert "agent claude is not installed: there is no program claude on the PATH" in said.err
    assert not site.has_store or site.runs() == []
    assert site.git("for-each-ref", "refs/budwood") == ""


@pytest.mark.parametrize("known", [True, False], ids=["the user's", "nobody's"])
def test_agents_can_commit_whoever_git_knows(site: Site, *, known: bool) -> None:
    (site.home / ".gitconfig").unlink()
    if known:
        site.git("config", "user.name", "Here Only")
        site.git("config", "user.email", "here@example.org")
    site.agents(task("a", (do("write", path="made.txt", text="made\n"), do("commit", message="mine"))))
    site.call("run", "plan.toml")
    left = site.end_of("a").left
    assert left is not None
    authors = site.git("log", "--format=%an <%ae>|%s", left.commit).splitlines()
    assert ("Here Only <here@example.org>|mine" if known else "budwood <budwood@localhost>|mine") in authors


def test_a_full_disk_pauses_the_run_and_nothing_is_lost(site: Site, tmp_path: Path) -> None:
    fill = "mkdir -p ignored; head -c 8M /dev/urandom > ignored/filler"
    with mounted(tmp_path / "small", size="4m") as small:
        objects = site.root / ".git" / "objects"
        shutil.move(objects, small / "objects")
        objects.symlink_to(small / "objects")
        work = (do("write", path="made.txt", text="made\n"), do("run", command=fill, only_attempt=1))
        site.agents(task("a", work), slots=1)
        before = site.belongings()
        said = site.call("run", "plan.toml", code=4)
        end = site.end_of("a")
        assert (end.counts, end.error and end.error.type, end.left) == (False, "disk_full", None)
        [place] = site.pool.glob("*/tree")
        assert (place / "made.txt").read_text() == "made\n"
        assert f"what was left stays in {place}" in said.out + said.err
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        site.call("resume", "plan")
        assert (place / "made.txt").read_text() == "made\n"
        assert (place / "ignored" / "filler").stat().st_size == 8 * 1024**2
        late = site.git("for-each-ref", "--format=%(refname)", "refs/budwood/**/0.1")
        assert site.git("cat-file", "-s", f"{late}:ignored/filler") == str(8 * 1024**2)
        assert f"it was kept late, as {late}" in (place.parent / "shut.json").read_text()
        assert site.restored(site.end_of("a", 2))["made.txt"] == b"made\n"
        assert site.belongings() == before


def test_a_workspace_that_fills_its_own_disk_is_kept_or_stays(site: Site, tmp_path: Path) -> None:
    fill = "mkdir -p ignored; head -c 64M /dev/zero > ignored/filler; true"
    with mounted(tmp_path / "small", size="12m") as small:
        site.agents(task("a", (do("write", path="made.txt", text="made\n"), do("run", command=fill))), slots=1)
        site.env["BUDWOOD_POOL"] = str(small)
        said = site.call("run", "plan.toml", code=None)
        end = site.end_of("a")
        if end.left is not None:
            left = site.restored(end)
            assert left["made.txt"] == b"made\n"
            assert len(left["ignored/filler"]) > 4 * 1024**2
        else:  # what it needs to keep it has no room, either
            assert (said.code, end.error and end.error.type) == (4, "disk_full")
            [file] = small.glob("*/clone/*/tree/made.txt")
            assert file.read_text() == "made\n"
            assert list(small.glob("*/clone/*/shut.json"))


def test_many_thousand_files_are_kept(site: Site, *, torture: bool) -> None:
    half = 25_000 if torture else 2_500
    make = f"for place in many ignored/many; do mkdir -p $place; seq {half} | split -l 1 -a 5 - $place/f; done"
    site.agents(task("many", (do("run", command=make),)), task("few", (do("write", path="few", text="few"),)), slots=1)
    before = site.belongings()
    site.call("run", "plan.toml")
    end = site.end_of("many")
    assert end.left is not None
    assert end.left.files == half
    left = site.restored(end)
    assert len([name for name in left if name.startswith(("many/", "ignored/many/"))]) == 2 * half
    assert left["many/faaaaa"] == b"1\n"
    few = site.candidate(site.end_of("few"))
    assert "few" in few
    assert not [name for name in few if name.startswith("many/")]
    assert site.belongings() == before


def test_what_was_cancelled_is_kept(site: Site, hall: Path) -> None:
    site.agents(held("a"), held("b"), slots=2)
    driver = site.start("run", "plan.toml")
    wait_held(hall, "a", "b")
    site.call("cancel", "plan", "a")
    (hall / "go").touch()
    assert site.finish(driver).code == 1
    end = site.end_of("a")
    assert end.phase is AttemptPhase.CANCELLED
    assert site.restored(end)["a.txt"] == b"by a\n"


def test_git_of_the_user_stays_quick_and_clean(site: Site) -> None:
    """The refs are out of the way of branches, tags, fetch and push, and git finds nothing wrong."""
    site.agents(task("a", (do("write", path="made.txt", text="made\n"),)))
    site.call("run", "plan.toml")
    other = site.root.parent / "fetched"
    subprocess.run(["git", "clone", "-q", str(site.root), str(other)], env=site.env, check=True)
    assert "budwood" not in site.git("for-each-ref", "--format=%(refname)", cwd=other).replace("task-a", "")
    assert "error" not in site.git("fsck", "--full")
