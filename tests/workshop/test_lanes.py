"""Lines of history: what a task starts with, where its branch goes, and what happens when two do not fit together."""

import shlex

import pytest
from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def lane(name: str) -> str:
    """Write a [[lane]]."""
    return f'[[lane]]\nid = "{name}"\n'


def writes(path: str, text: str) -> tuple[dict[str, object], ...]:
    """Write one file."""
    return (do("write", path=path, text=text),)


def test_a_retry_starts_where_the_lane_was(site: Site) -> None:
    tries = (
        do("run", command="test ! -e junk.txt"),
        do("read", path="first.txt"),
        do("write", path="junk.txt", text="junk\n", only_attempt=1),
        do("fail", only_attempt=1),
        do("write", path="second.txt", text="second\n"),
    )
    site.agents(
        task("first", writes("first.txt", "first\n"), lane="x"),
        task("second", tries, lane="x", after=["first"], retries=1),
        lane("x"),
        backoff="10ms",
    )
    site.call("run", "plan.toml")
    assert site.restored(site.end_of("second", 1))["junk.txt"] == b"junk\n"
    assert set(site.candidate(site.end_of("second", 2))) >= {"first.txt", "second.txt"}
    assert "junk.txt" not in site.git("ls-tree", "-r", "--name-only", "lane-x")


def test_lanes_that_do_not_fit_together_stop_what_needs_both_and_nothing_else(site: Site) -> None:
    site.agents(
        task("a", writes("README.md", "by a\n"), lane="x"),
        task("b", writes("README.md", "by b\n"), lane="y"),
        task("both", writes("both.txt", "both\n"), after=["a", "b"], retries=3),
        task("other", writes("other.txt", "other\n"), lane="y", after=["b"]),
        lane("x"),
        lane("y"),
    )
    before = site.belongings()
    site.call("run", "plan.toml", code=1)
    end = site.end_of("both")
    assert (end.error and end.error.type, end.error and end.error.will_retry) == ("conflict", False)
    assert end.error is not None
    assert end.error.message == "what b made does not fit with what a made: README.md"
    assert site.end_of("other").phase is AttemptPhase.SUCCEEDED
    assert site.belongings() == before


AGENT = """
import os
task, wish = os.environ["BUDWOOD_TASK"], open(os.environ["BUDWOOD_PROMPT_FILE"]).read()
name = "README.md" if task in "ab" and "make room" not in wish else f"{task}.txt"
open("README.md", "w").write("a project\\n")
open(name, "w").write(f"by {task}\\n")
"""


def test_what_is_said_to_help_where_work_does_not_fit_together_does(site: Site) -> None:
    (site.root.parent / "agent.py").write_text(AGENT)
    agent = f'[agents.made]\nagent = "command"\ncommand = ["python3", {str(site.root.parent / "agent.py")!r}]\n'
    (site.root / "budwood.toml").write_text(agent)
    after = {"a": [], "b": [], "both": ["a", "b"], "last": ["both"]}
    site.agents(*(task(name, "do it", agent="made", after=needs) for name, needs in after.items()))
    said = [site.call("run", "plan.toml", code=1)]
    said += [site.call("why", "plan", *words) for words in ((), ("both",), ("last",))]
    for each in said:
        assert "hint: budwood revise plan TASK TEXT tells one of those that do not fit to make room; then" in each.err
        assert "then budwood retry plan both" in each.err
    assert "made: README.md (another try would find the same)" in said[2].out
    site.call("revise", "plan", "b", "make room for a", code=1)
    site.call("retry", "plan", "both")
    assert site.end_of("last").phase is AttemptPhase.SUCCEEDED


def test_commands_whose_work_does_not_fit_together_are_told_to_be_put_in_order(site: Site) -> None:
    def plan(*after: str) -> None:
        made = 'run = "echo $BUDWOOD_TASK > README.md"\n'
        site.plan(
            '[run]\nworkspace = "clone"\n',
            f'[[task]]\nid = "a"\n{made}[[task]]\nid = "b"\nafter = {list(after)}\n{made}',
            '[[task]]\nid = "both"\nafter = ["a", "b"]\nrun = "true"\n',
        )

    plan()
    again = f"budwood run {shlex.quote(f'{site.root}/plan.toml')} --again"
    hint = f"hint: let one of those that do not fit come after the other, then {again}"
    for said in (site.call("run", "plan.toml", code=1), site.call("why", "plan", "both")):
        assert hint in said.err
    plan("a")
    site.call("run", "plan.toml", "--again")


def test_a_branch_of_the_users_with_that_name_is_left_alone(site: Site) -> None:
    site.git("branch", "lane-x")
    theirs = site.git("rev-parse", "lane-x")
    site.agents(task("a", writes("a.txt", "a\n"), lane="x"), lane("x"))
    site.call("run", "plan.toml")
    assert site.git("rev-parse", "lane-x") == theirs
    assert site.git("show", "lane-x-2:a.txt") == "a"


def test_a_lane_branch_that_the_user_moved_stays_where_the_user_put_it(site: Site) -> None:
    move = 'cd "$THERE" && until git rev-parse -q --verify lane-x; do sleep 0.05; done; git branch -f lane-x side'
    site.agents(
        task("a", writes("a.txt", "a\n"), lane="x"),
        task("b", (*writes("b.txt", "b\n"), do("run", command=move)), lane="x", after=["a"], env_pass=["THERE"]),
        lane("x"),
    )
    said = site.call("run", "plan.toml", env={"THERE": str(site.root)})
    assert site.git("rev-parse", "lane-x") == site.git("rev-parse", "side")
    assert "branch lane-x is not where budwood left it, and stays as it is" in said.err
    left = site.end_of("b").left
    assert left is not None
    assert site.git("show", f"{left.candidate}:b.txt") == "b"


@pytest.mark.parametrize("kind", ["worktree", "copy"])
def test_other_kinds_of_workspaces_do_the_same(site: Site, kind: str) -> None:
    reads = (do("read", path="a.txt", contains="a"), do("read", path="src/app.py"), *writes("b.txt", "b\n"))
    site.agents(
        task("a", (*writes("a.txt", "a\n"), do("write", path="ignored/x", text="x\n")), lane="x"),
        task("b", reads, lane="y", after=["a"]),
        task("c", (*writes("c.txt", "c\n"), do("run", command="rm -rf .git; exit 3")), lane="x", after=["a"]),
        lane("x"),
        lane("y"),
        workspace=kind,
    )
    before = site.belongings()
    site.call("run", "plan.toml", code=1)
    assert site.end_of("a").phase is AttemptPhase.SUCCEEDED
    assert site.end_of("b").phase is AttemptPhase.SUCCEEDED
    left = site.end_of("c").left
    assert left is not None
    git_dir = site.root / (".git" if kind == "worktree" else ".budwood/kept.git")
    assert site.git("--git-dir", str(git_dir), "show", f"{left.commit}:c.txt") == "c"
    assert site.belongings() == before
