"""A branch of the user's moves only when asked, only in the safe way, and never over what somebody else did."""

import pytest
from tests.queue.plans import doing, events, lane, lanes, published, shell
from tests.workshop.site import Site

from budwood._core.events import LanesMerged, MergeStopped, TargetMoved

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_branch_that_is_checked_out_moves_with_its_files(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), verify="test -e a.txt", into="main")
    site.call("run", "plan.toml")
    assert site.git("rev-parse", "main") == site.git("rev-parse", "budwood/plan")
    assert (site.root / "a.txt").read_text() == "a\n"
    assert (site.root / "src" / "app.py").read_text() == "x = 1  # mine, not committed\n"
    assert site.git("status", "--short").splitlines()[0].strip() in ("M src/app.py", "A  staged.txt")


def test_files_that_were_changed_there_are_not_overwritten(site: Site) -> None:
    (site.root / "README.md").write_text("mine\n")
    site.agents(lane("x", README__md="by x\n"), review="auto", into="main")
    main = site.git("rev-parse", "main")
    said = site.call("run", "plan.toml", code=4)
    assert "main stays as it is: main cannot take it yet" in said.err
    assert "merge --ff-only --no-overwrite-ignore" in said.err
    assert (site.git("rev-parse", "main"), (site.root / "README.md").read_text()) == (main, "mine\n")
    assert published(site, "README.md") == "by x"  # the run's own branch has it
    site.git("checkout", "-q", "README.md")
    site.call("resume", "plan")
    assert (site.root / "README.md").read_text() == "by x\n"


def test_ignored_files_are_not_overwritten(site: Site) -> None:
    (site.root / "mine.tmp").write_text("mine\n")
    force = "git add -f mine.tmp && git commit -qm forced"
    site.agents(doing("x", f"echo theirs > mine.tmp && {force}"), review="auto", into="main")
    site.call("run", "plan.toml", code=None)
    assert (site.root / "mine.tmp").read_text() == "mine\n"


def test_a_branch_that_moves_meanwhile_is_merged_again_and_verified_again(site: Site) -> None:
    site.git("branch", "target")
    flag = site.root.parent / "moved"
    move = (
        f"test -e '{flag}' || {{ touch '{flag}'; cd '{site.root}' && GIT_DIR=.git git update-ref refs/heads/target "
        '$(git commit-tree -p target -m theirs "target^{tree}"); }'
    )
    site.agents(lane("x", a__txt="a\n"), verify=f"test -e a.txt && ({move})", into="target")
    site.call("run", "plan.toml")
    assert len(events(site, TargetMoved)) == 1
    assert "theirs" in site.git("log", "--format=%s", "target").splitlines()
    assert site.git("rev-parse", "target") == site.git("rev-parse", "budwood/plan")
    assert sum(task.spec.errand is not None for task in site.state().tasks) == 2


def test_a_branch_that_conflicts_with_a_lane_is_not_touched(site: Site) -> None:
    site.git("branch", "target")
    shell(
        site,
        "export GIT_INDEX_FILE=../index; git read-tree target; "
        "git update-index --cacheinfo 100644,$(echo other | git hash-object -w --stdin),README.md; "
        "git update-ref refs/heads/target $(git commit-tree -p target -m theirs $(git write-tree))",
    )
    target = site.git("rev-parse", "target")
    site.agents(lane("x", README__md="by x\n"), lane("y", y__txt="y\n"), review="auto", into="target")
    site.call("run", "plan.toml", code=5)
    assert lanes(site) == {"x": "conflict", "y": "merged"}
    assert site.git("merge-base", "target", target) == target


@pytest.mark.parametrize("what", ["deleted", "rebased"])
def test_a_branch_that_cannot_move_stays_and_is_moved_later(site: Site, what: str) -> None:
    site.git("branch", "target")
    delete = f"git -C '{site.root}' branch -D target; " if what == "deleted" else ""
    site.agents(doing("x", f"{delete}echo a > a.txt"), review="auto", into="target")
    state = site.root / ".git" / "rebase-merge"
    if what == "rebased":
        state.mkdir()
        (state / "head-name").write_text("refs/heads/target\n")
    said = site.call("run", "plan.toml", code=4)
    [stopped] = events(site, MergeStopped)
    assert ("there is no branch" if what == "deleted" else "in the middle of a rebase") in stopped.reason
    assert "target stays as it is" in said.err
    if what == "deleted":
        site.git("branch", "target", "main")
    else:
        shell(site, "rm -r .git/rebase-merge")
    site.call("resume", "plan")
    assert site.git("rev-parse", "target") == site.git("rev-parse", "budwood/plan")


def test_a_branch_that_was_forced_elsewhere_is_merged_with_as_it_is(site: Site) -> None:
    site.git("branch", "target", site.git("commit-tree", "-m", "alone", site.git("rev-parse", "main^{tree}")))
    site.agents(lane("x", a__txt="a\n"), verify="test -e a.txt", into="target")
    alone = site.git("rev-parse", "target")
    site.call("run", "plan.toml")
    assert site.git("merge-base", "--is-ancestor", alone, "target") == ""
    assert site.git("show", "target:a.txt") == "a"


def test_what_was_published_before_goes_into_a_branch_when_asked(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), verify="true")
    site.git("branch", "target")
    site.call("run", "plan.toml")
    site.call("merge", "plan", "--into", "target")
    assert [merged.into for merged in events(site, LanesMerged)] == ["", "target"]
    assert site.git("rev-parse", "target") == site.git("rev-parse", "budwood/plan")


def test_a_branch_called_budwood_is_not_in_the_way(site: Site) -> None:
    site.git("branch", "budwood")
    site.agents(lane("x", a__txt="a\n"), verify="true")
    site.call("run", "plan.toml")
    assert [merged.branch for merged in events(site, LanesMerged)] == ["budwood-plan"]


def test_a_branch_of_the_runs_that_somebody_moved_is_left_alone(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), verify="true")
    site.call("run", "plan.toml")
    site.git("branch", "-f", "budwood/plan", "main")
    site.agents(lane("x", a__txt="a\n"), lane("y", b__txt="b\n"), verify="true")
    said = site.call("run", "plan.toml", code=4)
    assert "is not where budwood left it" in said.err
    assert site.git("rev-parse", "budwood/plan") == site.git("rev-parse", "main")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("merge", "plan", "--into", "nowhere"), "there is no branch nowhere"),
        (("merge", "plan", "--into", "lane-x"), "is moved by budwood alone"),
        (("merge", "plan", "x", "--partial"), "are for the lanes of a whole run"),
        (("merge", "plan", "--resolve", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_meant_is_refused(site: Site, words: tuple[str, ...], text: str) -> None:
    site.agents(lane("x", a__txt="a\n"))
    site.call("run", "plan.toml")
    said = site.call(*words, code=2)
    assert text in said.err


def test_merging_needs_branches(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), workspace="copy", verify="true")
    assert "verify is about merged lanes" in site.call("run", "plan.toml", code=2).err
    site.agents(lane("x", a__txt="a\n"), workspace="copy", review="auto")
    assert "review is about merged lanes" in site.call("run", "plan.toml", code=2).err


def test_where_copies_have_no_branches_a_branch_to_move_is_of_no_account(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), workspace="copy", into="main")
    site.call("run", "plan.toml")


@pytest.mark.parametrize(("into", "hint"), [("mian", "did you mean"), ("night", "git branch night makes one")])
def test_a_branch_that_is_not_there_is_refused_before_anything_starts(site: Site, into: str, hint: str) -> None:
    site.agents(lane("x", a__txt="a\n"), review="auto", into=into)
    said = site.call("run", "plan.toml", code=2).err
    assert f"into is {into!r}, and there is no branch of that name" in said
    assert hint in said
