"""Conflicts and stops when people do otherwise than expected: nothing is lost, nothing goes on forever."""

from pathlib import Path

import pytest
from tests.queue.plans import conflict_of, doing, events, lane, lanes, published, shell, solve
from tests.support.cases import at_length
from tests.workshop.site import Site, do, steps, task

from budwood._core.events import LaneConflicted, LanesMerged, MergeStopped, TargetMoved

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def made(name: str, line: str, *after: str, readme: str = "") -> str:
    """Write a task that writes a file of its name, and maybe the one that others write, too."""
    more = [do("write", path="README.md", text=readme)] if readme else []
    return task(name, steps(do("write", path=f"{name}.txt", text=name), *more), lane=line, after=list(after))


@pytest.mark.parametrize("other", ["x3", *at_length("w1")])
def test_a_conflict_in_lanes_that_are_one_holds_back_all_of_them(site: Site, other: str) -> None:
    tasks = (
        made("w1", "w", readme="theirs\n" if other == "w1" else ""),
        made("x1", "x"),
        made("y1", "y", "x1"),
        made("x2", "x", "y1"),
        made("x3", "x", "x2", readme="theirs\n" if other == "x3" else ""),
        made("y2", "y", "y1", readme="by y\n"),
    )
    site.agents("".join(f'[[lane]]\nid = "{name}"\n' for name in "wxy"), *tasks, review="auto")
    site.call("run", "plan.toml", code=5)
    assert [line for merged in events(site, LanesMerged) for line, _ in merged.lines] == ["lane w"]
    solve(site, conflict_of(site, "lane y").path, "README.md", "both\n")
    site.call("resume", "plan")
    assert published(site, "README.md") == "both"
    assert {"x3.txt", "y2.txt", "w1.txt"} <= set(site.git("ls-tree", "--name-only", "budwood/plan").split())


def test_lanes_whose_names_have_no_letter_that_git_takes_have_a_directory_each(site: Site) -> None:
    site.agents(
        lane("x", README__md="x\n"), lane("日本", README__md="y\n"), lane("中国", README__md="z\n"), review="auto"
    )
    site.call("run", "plan.toml", code=5)
    one, other = conflict_of(site, "lane 日本").path, conflict_of(site, "lane 中国").path
    (Path(other) / "README.md").write_text("in the middle of it\n")
    solve(site, one, "README.md", "x and y\n")
    site.call("resume", "plan", code=5)
    assert published(site, "README.md") == "x and y"
    assert (Path(other) / "README.md").read_text() == "in the middle of it\n"


def test_a_branch_that_still_cannot_move_is_said_once_more(site: Site) -> None:
    (site.root / "README.md").write_text("mine\n")
    site.agents(lane("x", README__md="by x\n"), review="auto", into="main")
    site.call("run", "plan.toml", code=4)
    assert "main cannot take it yet" in site.call("resume", "plan", code=4).err
    assert len(events(site, MergeStopped)) == 2


def test_a_branch_that_moved_all_the_time_is_tried_again_when_it_rests(site: Site) -> None:
    site.git("branch", "target")
    rests = site.root.parent / "rests"
    move = (
        f"cd '{site.root}' && git update-ref refs/heads/target $(git commit-tree -p target -m theirs target^{{tree}})"
    )
    site.agents(lane("x", a__txt="a\n"), verify=f"test -e '{rests}' || (unset GIT_DIR; {move})", into="target")
    assert "target moves all the time" in site.call("run", "plan.toml", code=4).err
    assert len(events(site, TargetMoved)) == 5
    rests.touch()
    site.call("resume", "plan")
    assert site.git("rev-parse", "target") == site.git("rev-parse", "budwood/plan")


def test_a_linked_worktree_holds_a_conflict_and_teaches_the_users_git_nothing(site: Site) -> None:
    site.agents(lane("x", README__md="x\n"), lane("y", README__md="y\n"), review="auto", workspace="worktree")
    before = site.belongings()
    site.call("run", "plan.toml", code=5)
    assert site.belongings() == before
    assert not (site.root / ".git" / "rr-cache").exists()  # where it is, git remembers conflicts from then on
    solve(site, conflict_of(site, "lane y").path, "README.md", "both\n")
    site.call("resume", "plan")
    assert published(site, "README.md") == "both"


def test_what_did_not_pass_is_verified_again_when_asked(site: Site) -> None:
    service = site.root.parent / "service-is-up"
    site.agents(lane("x", a__txt="a\n"), verify=f"test -e '{service}'", backoff="10ms")
    site.call("run", "plan.toml", code=1)
    service.touch()
    assert "merged    lane x" in site.call("merge", "plan", code=None).err
    assert published(site, "a.txt") == "a"
    assert [str(each.spec.id) for each in site.state().tasks[1:]] == ["verify-1", "verify-2", "verify-3"]


@pytest.mark.parametrize("how", ["rejected", "removed"])
def test_nobody_waits_for_a_lane_that_is_not_wanted_any_more(site: Site, how: str) -> None:
    site.agents(lane("x", README__md="x\n"), lane("y", README__md="y\n"), review="auto")
    site.call("run", "plan.toml", code=5)
    conflict = conflict_of(site, "lane y")
    said = site.call("status", "plan")
    assert "conflict  lane y: README.md" in said.out
    assert "hint: budwood open plan y" in said.err
    if how == "rejected":
        site.call("reject", "plan", "make-y")
        site.call("resume", "plan")
    else:
        site.agents(lane("x", README__md="x\n"), review="auto")
        site.call("run", "plan.toml")
    assert "conflict" not in lanes(site).values()
    site.call("gc", "--apply")
    assert "<<<<<<<" in (Path(conflict.path) / "README.md").read_text()  # somebody may be in the middle of it


def test_a_conflict_that_is_none_any_more_is_merged(site: Site) -> None:
    site.git("branch", "target")
    shell(
        site,
        "export GIT_INDEX_FILE=../index; git read-tree target; "
        "git update-index --cacheinfo 100644,$(echo other | git hash-object -w --stdin),README.md; "
        "git update-ref refs/heads/target $(git commit-tree -p target -m theirs $(git write-tree))",
    )
    site.agents(lane("x", README__md="by x\n"), review="auto", into="target")
    site.call("run", "plan.toml", code=5)
    shell(site, f"rm -rf '{conflict_of(site, 'lane x').path}'")
    site.git("branch", "-f", "target", "main")
    site.call("resume", "plan")
    assert site.git("show", "target:README.md") == "by x"


def test_a_target_that_conflicts_with_what_the_run_started_from_is_named_as_that(site: Site) -> None:
    tree = shell(
        site,
        "export GIT_INDEX_FILE=../index; git read-tree main; "
        "git update-index --cacheinfo 100644,$(echo other | git hash-object -w --stdin),README.md; git write-tree",
    )
    site.git("branch", "target", site.git("commit-tree", "-m", "another history", tree))
    site.agents(doing("x", "echo x > x.txt"), review="auto", into="target")
    said = site.call("run", "plan.toml", code=4)
    assert "target and what the run started from changed the same places: README.md" in said.err
    assert f"git switch target && git merge {site.git('rev-parse', 'main')}" in said.err


def test_settings_of_the_users_git_about_signatures_and_merges_are_not_in_the_way(site: Site) -> None:
    with (site.home / ".gitconfig").open("a") as settings:
        settings.write("[merge]\n\tverifySignatures = true\n\tff = only\n\tconflictStyle = diff3\n")
        settings.write("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    site.agents(lane("x", README__md="x\n"), lane("y", README__md="y\n"), review="auto", into="side")
    site.call("run", "plan.toml", code=5)
    path = Path(conflict_of(site, "lane y").path)
    assert "|||||||" not in (path / "README.md").read_text()
    site.git("config", "commit.gpgSign", "false", cwd=path)
    solve(site, path, "README.md", "both\n")
    site.call("resume", "plan")
    assert site.git("show", "side:README.md") == "both"


def test_what_stands_on_a_lane_in_conflict_is_not_asked_about_and_comes_with_it(site: Site) -> None:
    last = task("more", steps(do("write", path="more.txt", text="more\n")), lane="z", after=["make-y"])
    site.agents(lane("x", README__md="x\n"), lane("y", README__md="y\n"), '[[lane]]\nid = "z"\n', last, review="auto")
    said = site.call("run", "plan.toml", code=5)
    assert [event.line for event in events(site, LaneConflicted)] == ["lane y"]
    assert "  waiting   lane z: stands on lane y\n" in said.err
    assert "lane z is not merged: it stands on lane y" in site.call("why", "plan", "more").out
    assert lanes(site) == {"x": "merged", "y": "conflict", "z": "waiting"}
    solve(site, conflict_of(site, "lane y").path, "README.md", "both\n")
    assert "stands on" not in site.call("resume", "plan").err
    assert lanes(site) == {"x": "merged", "y": "merged", "z": "merged"}
    assert published(site, "more.txt") == "more"


def test_what_stands_on_a_broken_lane_is_told(site: Site) -> None:
    last = task("more", steps(do("write", path="more.txt", text="more\n")), lane="z", after=["make-y"])
    site.agents(lane("y", bad="y\n"), '[[lane]]\nid = "z"\n', last, verify="! test -e bad", backoff="10ms")
    said = site.call("run", "plan.toml", code=1)
    assert "  broken    lane y: verify passes without it" in said.err
    assert "  waiting   lane z: stands on lane y\n" in said.err
    assert lanes(site) == {"y": "broken", "z": "waiting"}
