"""Finished lanes become one verified branch, and what does not fit costs its own lane only."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.queue.plans import conflict_of, doing, events, lane, lanes, published, shell, solve
from tests.workshop.site import Site, do, steps, task

import budwood
from budwood._core.events import AttemptQueued, LaneHeld, LanesJoined, LanesMerged, TaskReviewed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_finished_lanes_are_verified_together_and_published(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), lane("y", b__txt="b\n"), verify="test -e a.txt && test -e b.txt")
    before, main = site.belongings(), site.git("rev-parse", "main")
    said = site.call("run", "plan.toml")
    assert "merged    lane x, lane y into budwood/plan" in said.err
    [merged] = events(site, LanesMerged)
    assert (merged.branch, merged.into, merged.tasks) == ("budwood/plan", "", ("make-x", "make-y"))
    assert published(site, "a.txt") == "a"
    assert lanes(site) == {"x": "merged", "y": "merged"}
    assert [task.review for task in site.state("plan").tasks if task.spec.errand is None] == ["merged", "merged"]
    assert not events(site, TaskReviewed)
    assert site.git("rev-parse", "main") == main
    assert site.belongings() == before


def test_a_lane_that_changed_nothing_is_merged_with_the_others(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), doing("y", "true", allow_unchanged=True), verify="true")
    assert "merged    lane x, lane y into budwood/plan" in site.call("run", "plan.toml").err
    assert lanes(site) == {"x": "merged", "y": "merged"}


def test_a_lane_that_is_left_out_because_of_a_lost_task_is_named_with_what_helps(site: Site) -> None:
    half = doing("x", "echo x > x.txt") + task("lost", steps(do("fail")), lane="x", after=["make-x"], retries=0)
    site.agents(half, lane("y", y__txt="y\n"))
    assert "held" not in site.call("run", "plan.toml", code=1).err  # nobody wants to merge yet
    for said in (site.call("merge", "plan", code=1).err, site.call("status", "plan").out):
        assert "held      lane x: not done: lost\n" in said
        assert "budwood merge plan --partial merges what was accepted in it" in said
    assert "held" not in site.call("merge", "plan", "--partial", code=1).err
    assert published(site, "x.txt") == "x"


def test_without_verify_a_person_asks(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), lane("y", b__txt="b\n"))
    assert "budwood merge plan" in site.call("run", "plan.toml").err
    assert not events(site, LanesMerged)
    assert "merged    lane x, lane y" in site.call("merge", "plan").err
    assert published(site, "b.txt") == "b"
    assert site.call("merge", "plan").code == 0  # nothing is left to do


def test_who_asks_while_the_run_is_driven_is_answered_and_its_driver_merges(site: Site) -> None:
    go = site.root.parent / "go"
    held = f"echo x > x.txt; touch '{go}-began'; until [ -e '{go}' ]; do sleep 0.1; done"
    site.agents(doing("x", held), lane("y", y__txt="y\n"), slots=2)
    driver = site.start("run", "plan.toml")
    wait_for(Path(f"{go}-began").exists, what="the run")
    assert "merged when every task has ended" in site.call("merge", "plan", "--into", "side").err
    go.touch()
    assert "merged    lane x, lane y into budwood/plan and side" in site.finish(driver).err
    assert site.git("show", "side:x.txt") == "x"


def test_verify_names_the_lane_that_broke_it_and_publishes_the_others(site: Site) -> None:
    made = [lane(f"l{n}", **{f"f{n}__txt": "BAD\n" if n == 3 else "good\n"}) for n in range(5)]
    site.agents(*made, verify="! grep -rq BAD f*.txt")
    said = site.call("run", "plan.toml", code=1)
    [held] = events(site, LaneHeld)
    assert held.line == "lane l3"
    assert "; broken: lane l3\n" in site.call("resume", "plan", "--quiet", code=1).err
    assert "broken    lane l3: verify passes without it and fails with it" in said.err
    [merged] = events(site, LanesMerged)
    assert [line for line, _ in merged.lines] == ["lane l0", "lane l1", "lane l2", "lane l4"]
    assert "f3.txt" not in site.git("ls-tree", "--name-only", "budwood/plan").split()
    assert lanes(site) == {"l0": "merged", "l1": "merged", "l2": "merged", "l3": "broken", "l4": "merged"}
    mend = "hint: budwood revise plan TASK TEXT has its agent mend what is broken; budwood retry plan verifies it once"
    for shown in (said, site.call("why", "plan"), site.call("why", "plan", "make-l3")):
        assert mend in shown.err
    assert "plan: lane l3 is broken; budwood why plan" in site.call().out.partition("Ended")[0]


def test_a_lane_is_merging_while_it_is_verified_also_when_nobody_drives_and_by_python(site: Site) -> None:
    go = site.root.parent / "go"
    verify = f"touch '{go}-began'; until [ -e '{go}' ]; do sleep 0.1; done"
    site.agents(lane("x", x__txt="x\n"), lane("y", y__txt="y\n"), verify=verify)
    driver = site.start("run", "plan.toml")
    wait_for(Path(f"{go}-began").exists, what="verify")
    assert lanes(site) == {"x": "merging", "y": "merging"}
    driver.kill()
    driver.communicate()
    assert lanes(site) == {"x": "merging", "y": "merging"}
    by_python = budwood.open_run("plan", directory=site.root)
    assert [lane.state for lane in by_python.lanes()] == ["merging", "merging"]
    go.touch()
    site.call("resume", "plan")
    assert lanes(site) == {"x": "merged", "y": "merged"}
    assert [lane.state for lane in by_python.lanes()] == ["merged", "merged"]


def test_a_retry_verifies_anew_what_was_held_and_nothing_of_before(site: Site) -> None:
    forgiven = site.root.parent / "forgiven"
    made = [lane(f"l{n}", **{f"f{n}__txt": "BAD\n" if n == 1 else "good\n"}) for n in range(3)]
    site.agents(*made, verify=f"test -e {forgiven} || ! grep -rq BAD f*.txt", backoff="10ms")
    site.call("run", "plan.toml", code=1)
    before = site.events()
    forgiven.touch()
    said = site.call("retry", "plan")
    assert "what is broken is merged again" in said.out + said.err
    assert lanes(site)["l1"] == "merged"
    known = {event.task for event in before if isinstance(event, AttemptQueued)}
    [again] = [event.task for event in site.events()[len(before) :] if isinstance(event, AttemptQueued)]
    assert again not in known


def test_a_base_that_does_not_pass_is_no_lanes_fault(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), verify="false")
    assert "before any of these lines is merged" in site.call("run", "plan.toml", code=1).err
    assert not events(site, LanesMerged)
    assert "budwood/plan" not in site.git("branch", "--list", "--all")


def test_lanes_that_a_wrong_verify_held_back_are_verified_by_the_right_one(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), verify="tset -e a.txt", backoff="10ms")
    site.call("run", "plan.toml", code=1)
    site.agents(lane("x", a__txt="a\n"), verify="test -e a.txt", backoff="10ms")
    site.call("run", "plan.toml")
    assert published(site, "a.txt") == "a"
    assert [str(end.task) for end in site.ends()][-1] == "verify-3"


def test_a_flaky_verify_is_run_once_more_and_said_so(site: Site) -> None:
    flag = site.root.parent / "flag"
    site.agents(lane("x", a__txt="a\n"), verify=f"test -e '{flag}' || {{ touch '{flag}'; false; }}", backoff="10ms")
    assert "flaky     verify-1 failed and then passed" in site.call("run", "plan.toml").err
    assert events(site, LanesMerged)


@pytest.mark.parametrize("verify", ["echo junk > a.txt; echo new > left.txt", "git commit -qam meddled; true"])
def test_a_verify_that_changes_files_changes_nothing_of_what_is_published(site: Site, verify: str) -> None:
    site.agents(lane("x", a__txt="a\n"), verify=verify)
    site.call("run", "plan.toml")
    assert published(site, "a.txt") == "a"
    assert "left.txt" not in site.git("ls-tree", "--name-only", "budwood/plan").split()


def test_a_verify_that_hangs_is_ended_and_the_lane_is_held(site: Site) -> None:
    site.agents(lane("x", a__txt="a\n"), verify="test ! -e a.txt || sleep 600", verify_timeout="1s", backoff="10ms")
    site.call("run", "plan.toml", code=1)
    [held] = events(site, LaneHeld)
    assert "verify passes without it" in held.reason


def test_a_conflict_costs_its_lane_and_is_solved_by_a_commit(site: Site) -> None:
    made = (lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), lane("z", z__txt="z\n"))
    site.agents(*made, verify="! grep -q broken README.md")
    before = site.belongings()
    said = site.call("run", "plan.toml", code=5)
    conflict = conflict_of(site, "lane y")
    assert (conflict.branch, conflict.files) == ("lane-y", ("README.md",))
    assert f"solve it in {conflict.path}" in said.err
    assert site.call("open", "plan", "y").out.strip() == conflict.path
    needs = site.call().out
    assert needs.startswith("Needs you\n")
    assert "plan: lane y is in conflict: README.md; budwood open plan y" in needs
    assert "Ended" not in needs
    for asked in (("plan",), ("plan", "make-y")):
        why = site.call("why", *asked)
        assert f"lane y is in conflict with what is merged: README.md; to be solved in {conflict.path}" in why.out
        assert "budwood open plan y" in why.err
    assert "conflict" not in site.call("why", "plan", "make-x").out
    assert (published(site, "README.md"), published(site, "z.txt")) == ("by x", "z")
    assert "UU README.md" in site.git("status", "--short", cwd=conflict_path(site)).splitlines()

    assert "conflicts are not solved yet" in site.call("resume", "plan", code=5).err
    solve(site, conflict.path, "README.md", "<<<<<<< HEAD\nby y\n=======\nby x\n>>>>>>> everything-else\n")
    assert "marks of the conflict were committed: README.md" in site.call("resume", "plan", code=5).err
    solve(site, conflict.path, "README.md", "by x and y\n")
    assert "merged    lane x, lane z, lane y" in site.call("resume", "plan").err
    assert published(site, "README.md") == "by x and y"
    assert site.belongings() == before


def conflict_path(site: Site) -> Path:
    """Where the conflict of lane y is to be solved."""
    return Path(conflict_of(site, "lane y").path)


def test_a_conflict_that_is_solved_wrongly_does_not_pass_verify(site: Site) -> None:
    site.agents(lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), verify="! grep -q broken README.md")
    site.call("run", "plan.toml", code=5)
    solve(site, conflict_of(site, "lane y").path, "README.md", "broken\n")
    program = "import budwood; print(budwood.resume('plan').wait().exit_code)"
    assert shell(site, f'{sys.executable} -c "{program}"') == "1"
    assert lanes(site)["y"] == "broken"
    assert published(site, "README.md") == "by x"


def test_a_merge_that_was_given_up_can_be_begun_again(site: Site) -> None:
    site.agents(lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), review="auto")
    site.call("run", "plan.toml", code=5)
    site.git("merge", "--abort", cwd=conflict_path(site))
    assert "; in conflict: lane y\n" in site.call("resume", "plan", "--quiet", code=5).err
    said = site.call("resume", "plan", code=5).err
    [command] = re.findall(r"the merge was given up there; to begin it again, there: (git merge .*)", said)
    subprocess.run(command.split(), cwd=conflict_path(site), env=site.env, check=False, capture_output=True)
    solve(site, conflict_path(site), "README.md", "by x and y\n")
    site.call("resume", "plan")
    assert published(site, "README.md") == "by x and y"


def test_a_conflict_solved_in_the_wrong_directory_is_not_taken_for_solved(site: Site) -> None:
    site.agents(lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), review="auto")
    site.call("run", "plan.toml", code=5)
    site.git("merge", "--abort", cwd=conflict_path(site))
    assert "the merge was given up there" in site.call("resume", "plan", code=5).err
    site.git("checkout", "-q", "--orphan", "other", cwd=conflict_path(site))
    site.git("commit", "-qm", "another history", cwd=conflict_path(site))
    assert "does not hold" in site.call("resume", "plan", code=5).err


def test_a_directory_of_a_conflict_that_is_gone_is_laid_out_again(site: Site) -> None:
    site.agents(lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), review="auto")
    site.call("run", "plan.toml", code=5)
    first = conflict_of(site, "lane y").path
    shell(site, f"rm -rf '{first}'")
    site.call("resume", "plan", code=5)
    again = conflict_of(site, "lane y")
    solve(site, again.path, "README.md", "both\n")
    site.call("resume", "plan")
    assert published(site, "README.md") == "both"


def test_an_agent_solves_a_conflict_and_is_verified_like_any_work(site: Site) -> None:
    (site.root / "solve.py").write_text(
        "import os, re\n"
        "prompt = open(os.environ['BUDWOOD_PROMPT_FILE']).read()\n"
        "assert '- README.md' in prompt and 'CONFLICT (content)' in prompt, prompt\n"
        "text = open('README.md').read()\n"
        "ours, theirs = re.search(r'<{7}.*?\\n(.*?)={7}\\n(.*?)>{7}.*?\\n', text, re.S).groups()\n"
        "open('README.md', 'w').write(theirs + ours)\n"
    )
    made = (lane("x", README__md="by x\n"), lane("y", README__md="by y\n"))
    agent = f'[agents.solver]\nagent = "command"\ncommand = ["python3", "{site.root}/solve.py"]\n'
    (site.root / "budwood.toml").write_text(agent)
    site.agents(*made, verify="grep -q 'by x' README.md", resolve=["solver"])
    site.call("run", "plan.toml")
    assert published(site, "README.md") == "by x\nby y"
    assert {"lane-x", "lane-y"} <= set(site.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split())


def test_an_agent_solves_what_commands_made_where_no_task_is_an_agents(site: Site) -> None:
    (site.root / "budwood.toml").write_text(
        '[agents.solver]\nagent = "command"\ncommand = ["sh", "-c", "echo both > README.md"]\n'
    )
    site.plan(
        '[run]\nworkspace = "clone"\nreview = "auto"\nresolve = ["solver"]\n',
        *(f'[[task]]\nid = "{name}"\nrun = "echo {name} > README.md"\n' for name in "xy"),
    )
    site.call("run", "plan.toml")
    assert published(site, "README.md") == "both"
    assert site.state("plan").settings.slots == site.state("plan").settings.cpus


def test_an_agent_that_leaves_marks_does_not_solve_it(site: Site) -> None:
    made = (lane("x", README__md="by x\n"), lane("y", README__md="by y\n"))
    agent = '[agents.idle]\nagent = "command"\ncommand = ["sh", "-c", "echo more >> README.md"]\n'
    (site.root / "budwood.toml").write_text(agent)
    site.agents(*made, resolve=["idle"], review="auto", backoff="10ms")
    site.call("run", "plan.toml", code=5)
    error = site.end_of("resolve-y", 2).error
    assert error is not None
    assert (error.type, error.message) == ("marks", "marks of a conflict are left in README.md")
    assert conflict_of(site, "lane y").files == ("README.md",)


def test_agents_may_try_what_a_person_was_asked_and_the_next_one_where_one_failed(site: Site) -> None:
    marks = "/^<<<<<<<|^=======|^>>>>>>>/d"
    (site.root / "budwood.toml").write_text(
        '[agents.idle]\nagent = "command"\ncommand = ["false"]\n'
        f'[agents.solver]\nagent = "command"\ncommand = ["sed", "-i", "-E", "{marks}", "README.md"]\n'
    )
    made = (lane("x", README__md="by x\n"), lane("y", README__md="by y\n"))
    site.agents(*made, verify="test -e README.md", backoff="10ms")
    site.call("run", "plan.toml", code=5)
    assert f"{conflict_path(site)}  the conflict of lane y of run plan has it" in site.call("gc").out
    half = conflict_path(site) / "half.txt"
    half.write_text("a person's\n")
    site.call("merge", "plan", "--resolve", "idle", code=5)
    assert half.read_text() == "a person's\n"  # who is asked again finds what was begun
    site.call("merge", "plan", "--resolve", "solver")
    assert published(site, "README.md") == "by y\nby x"
    assert "STAYS" not in site.call("gc").out
    [kept] = site.git("for-each-ref", "--format=%(refname)", "refs/budwood/*/solved/*").splitlines()
    assert "half.txt" in site.git("ls-tree", "--name-only", kept)


def test_what_git_remembers_of_a_conflict_is_used(site: Site) -> None:
    site.git("config", "rerere.enabled", "true")
    base = site.git("rev-parse", "main")
    for name in "xy":
        index = {"GIT_INDEX_FILE": str(site.root.parent / "index")}
        site.env.update(index)
        site.git("read-tree", base)
        blob = shell(site, f"echo by {name} | git hash-object -w --stdin")
        site.git("update-index", "--cacheinfo", f"100644,{blob},README.md")
        tree = site.git("write-tree")
        site.git("branch", f"try-{name}", site.git("commit-tree", "-p", base, "-m", name, tree))
        del site.env["GIT_INDEX_FILE"]
    elsewhere = site.root.parent / "elsewhere"
    site.git("worktree", "add", "-q", str(elsewhere), "try-y")
    shell(site, f"cd '{elsewhere}' && git merge -q try-x; true")
    solve(site, elsewhere, "README.md", "as remembered\n")
    site.agents(lane("x", README__md="by x\n"), lane("y", README__md="by y\n"), review="auto")
    site.call("run", "plan.toml")
    assert published(site, "README.md") == "as remembered"


def test_lanes_that_took_from_each_other_are_one(site: Site) -> None:
    def make(name: str, line: str, *after: str) -> str:
        return task(name, steps(do("write", path=f"{name}.txt", text=name)), lane=line, after=list(after))

    heads = '[[lane]]\nid = "x"\n[[lane]]\nid = "y"\n[[lane]]\nid = "w"\n'
    tasks = (make("x1", "x"), make("y1", "y", "x1"), make("x2", "x", "y1"), make("w1", "w"))
    site.agents(heads, *tasks, review="auto")
    site.call("run", "plan.toml")
    [join] = events(site, LanesJoined)
    assert [joint.lines for joint in join.joints] == [("lane x", "lane y"), ("lane w",)]


def test_a_lane_that_is_not_finished_is_held_and_merged_in_part_when_asked(site: Site) -> None:
    first = task("x1", steps(do("write", path="x1.txt", text="x")), lane="x")
    second = task("x2", steps(do("fail")), lane="x", after=["x1"])
    on_it = task("y1", steps(do("write", path="y1.txt", text="y")), lane="y", after=["x1"])
    site.agents('[[lane]]\nid = "x"\n[[lane]]\nid = "y"\n', first, second, on_it, lane("z", z__txt="z"), verify="true")
    site.call("run", "plan.toml", code=1)
    assert [line for merged in events(site, LanesMerged) for line, _ in merged.lines] == ["lane z"]
    site.call("merge", "plan", "--partial", code=1)
    assert [line for line, _ in events(site, LanesMerged)[-1].lines] == ["lane x", "lane y"]
    assert set(site.git("ls-tree", "--name-only", "budwood/plan").split()) >= {"x1.txt", "y1.txt", "z.txt"}


def test_empty_lanes_and_lanes_that_undo_each_other_are_merged(site: Site) -> None:
    undoing = task("undo", steps(do("write", path="README.md", text="a project\n")), lane="u", after=["make-x"])
    site.agents(
        lane("x", README__md="by x\n"),
        '[[lane]]\nid = "u"\n' + undoing,
        doing("e", "true", allow_unchanged=True),
        verify="true",
    )
    site.call("run", "plan.toml")
    assert published(site, "README.md") == "a project"
    assert (lanes(site)["x"], lanes(site)["u"]) == ("merged", "merged")


def test_squashed_lanes_have_one_commit_each_and_regular_ones_keep_what_agents_committed(site: Site) -> None:
    command = "echo 1 > c.txt && git add -A && git commit -qm 'by the agent' && echo 2 > c.txt"
    site.agents(doing("x", command), lane("y", y__txt="y\n"), verify="true", merge="squash")
    site.call("run", "plan.toml")
    assert site.git("rev-list", "--count", "main..budwood/plan") == "2"
    site.agents(doing("x", command), lane("y", y__txt="y\n"), verify="true", merge="regular")
    site.call("run", "plan.toml", "--again")
    assert "by the agent" in site.git("log", "--format=%s", "main..budwood/plan-2").splitlines()
    assert published(site, "c.txt", "plan-2") == "2"
