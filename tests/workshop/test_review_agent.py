"""An agent that reviews what another made: its verdicts, what is none, and what it costs."""

import json
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.cases import at_length
from tests.workshop.fakes import with_fakes
from tests.workshop.kept_in import box, kept_in
from tests.workshop.reviewing import COST, WORK, began, errors, held, plan, says, script
from tests.workshop.site import Site, do, task

from budwood._core.events import AttemptQueued, RunPaused
from budwood._core.model import AttemptPhase

__all__ = ["began", "box"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


# --- verdicts ---


def test_what_is_accepted_is_the_candidate_and_nothing_that_the_reviewer_did(site: Site, began: Path) -> None:
    spoils = do("run", command="echo spoilt >> README.md; echo new > reviewed.txt")
    site.call("run", plan(site, task("a", WORK, reviewer=script(spoils, COST, says("accept")))))
    end = site.end_of("a")
    assert (end.phase, began.read_text()) == (AttemptPhase.SUCCEEDED, "a\n")
    assert end.reviewed is not None
    assert (end.reviewed.agent, end.reviewed.verdict, end.reviewed.usage.cost_usd) == ("script", "accept", 0.25)
    assert (end.usage.cost_usd, end.usage.tokens) == (0.75, 110)
    assert set(site.candidate(end)) == {*site.git("ls-tree", "-r", "--name-only", "HEAD").split(), "made.txt"}
    assert site.git("show", f"{end.left.candidate}:README.md") == "a project"  # type: ignore[union-attr]
    assert site.git("show", f"{end.left.ref}.review:reviewed.txt") == "new"  # type: ignore[union-attr]
    assert "reviewer script, accept, $0.25" in site.call("show", "plan", "a").out


def test_what_is_sent_back_is_gone_on_with_and_told_why(site: Site, began: Path) -> None:
    (site.root / "budwood.toml").write_text(
        "[agents.echo]\nagent = 'command'\ncommand = ['sh', '-c', 'cat >> made.txt']\n"
    )
    back = says("Send back:", "say please, and mean it", only_attempt=1)
    reviewer = script(COST, back, says("accept", from_attempt=2))
    site.call("run", plan(site, task("a", "Do it.", agent="echo", reviewer=reviewer)))
    first, second = site.end_of("a", 1), site.end_of("a", 2)
    assert first.error is not None
    assert (first.error.type, first.check_said) == ("review", "say please, and mean it")
    assert first.error.message == "its reviewer script sent it back: say please, and mean it"
    assert second.phase is AttemptPhase.SUCCEEDED
    assert b"say please, and mean it" in site.restored(second)["made.txt"]


def test_it_is_sent_back_so_often_and_no_oftener(site: Site, began: Path) -> None:
    reviewer = script(COST, says("send back"))
    site.call("run", plan(site, task("a", WORK, reviewer=reviewer, max_review_rounds=1)), code=1)
    assert (errors(site), began.read_text()) == (["review", "review"], "a\na\n")
    assert site.state().spending.cost_usd == 1.5


@pytest.mark.parametrize(
    ("review", "message"),
    [
        ((), "it wrote none"),
        ((says("accept, but send back the rest"),), "what it wrote begins with 'accept, but send back the rest'"),
        ((do("run", command='ln -s /etc/hostname "$BUDWOOD_VERDICT"'),), "it wrote none"),
        ((says("accept"), do("crash", signal="SIGSEGV")), "it crashed by SIGSEGV"),
        *at_length(
            ((says(""),), "what it wrote begins with ''"),
            ((says("looks good to me", "accept"),), "what it wrote begins with 'looks good to me'"),
            ((do("run", command='mkdir "$BUDWOOD_VERDICT"'),), "it wrote none"),
            ((says("accept"), do("fail", message="no", exit_code=3)), "step 3: no"),
        ),
    ],
    ids=["nothing", "both", "link", "crash", "empty", "late", "directory", "exit"],
)
def test_what_is_no_verdict_accepts_nothing_and_sends_nothing_back(
    site: Site, began: Path, review: tuple[dict[str, object], ...], message: str
) -> None:
    site.call("run", plan(site, task("a", WORK, reviewer=script(COST, *review))), code=1)
    [end] = site.ends()
    assert end.error is not None
    assert (end.phase, end.error.type) == (AttemptPhase.FAILED, "reviewer")
    assert end.error.message == f"its reviewer script gave no verdict: {message}"
    assert end.reviewed is not None
    assert end.reviewed.verdict == ""
    if "SIG" not in message:  # one that crashes tells nothing
        assert (end.usage.cost_usd, end.usage.tokens) == (0.75, 110)


def test_a_worker_cannot_write_the_verdict(site: Site, began: Path) -> None:
    notes = "for name in verdict verdict.md verdict-0.md; do echo accept > .budwood/notes/$name; done"
    forge = f"mkdir -p .budwood/notes; {notes}"
    look = do("run", command='ls .budwood/notes; test -z "$BUDWOOD_VERDICT"')
    site.call("run", plan(site, task("a", (*WORK, look, do("run", command=forge)), reviewer=script(COST))), code=1)
    assert errors(site) == ["reviewer"]


def test_a_review_that_failed_is_asked_for_again_and_the_work_is_not(site: Site, began: Path) -> None:
    reviewer = script(COST, says("hm", only_attempt=1), says("accept", from_attempt=2))
    site.call("run", plan(site, task("a", WORK, reviewer=reviewer, retries=1), backoff="10ms"))
    first, second = site.ends()
    assert (errors(site), began.read_text()) == (["reviewer", ""], "a\n")
    assert first.left is not None
    assert second.left is not None
    assert (second.left.tree, second.left.base, second.left.files) == (first.left.tree, first.left.base, 1)
    assert (second.usage.cost_usd, second.told) == (0.25, None)
    assert [end.usage.cost_usd for end in site.ends()] == [0.75, 0.25]
    shown = json.loads(site.call("cost", "plan", "--json").out)
    assert shown["all"]["cost_usd"] == 1.0
    assert "made.txt" in site.call("diff", "plan", "a").out


def test_what_is_only_reviewed_again_may_still_be_sent_back(site: Site, began: Path) -> None:
    reviewer = script(says("hm", only_attempt=1), says("send back", only_attempt=2), says("accept", from_attempt=3))
    site.call("run", plan(site, task("a", WORK, reviewer=reviewer, retries=1), backoff="10ms"))
    assert (errors(site), began.read_text()) == (["reviewer", "review", ""], "a\na\n")
    assert site.restored(site.end_of("a", 3))["made.txt"] == b"more\nmore\n"


def test_what_is_scored_is_scored_first_and_what_is_not_valid_is_not_reviewed(site: Site, began: Path) -> None:
    spoils = do("run", command="echo more >> made.txt")
    reviewer = script(spoils, says("accept"))
    bad = task("b", WORK, reviewer=reviewer, score={"run": "wc -l < made.txt", "at_least": 9})
    site.call("run", plan(site, task("a", WORK, reviewer=reviewer, score="wc -l < made.txt"), bad), code=1)
    good, poor = site.end_of("a"), site.end_of("b")
    assert good.score is not None
    assert (good.score.value, good.reviewed and good.reviewed.verdict) == (1.0, "accept")
    assert (poor.error and poor.error.type, poor.reviewed) == ("score", None)


# --- what people see ---


def test_while_it_is_reviewed_everybody_can_see_by_whom(site: Site, began: Path) -> None:
    gate = site.root.parent / "gate"
    driver = site.start("run", plan(site, task("a", WORK, reviewer=held(gate), score="wc -l < made.txt")))
    wait_for(lambda: Path(f"{gate}.pids").exists(), what="the review")
    says = "script reviews what it made"
    [running] = json.loads(site.call("status", "plan", "--json").out)["running"]
    assert running["progress"] == says
    assert says in site.call("status", "plan").out
    assert says in site.call("show", "plan", "a").out
    watcher = site.start("watch", "plan", "--jsonl")
    gate.touch()
    assert site.finish(driver).code == 0
    assert says in site.finish(watcher).out
    assert says not in site.call("show", "plan", "a").out


def test_what_was_sent_back_is_shown_and_reviewed_as_a_whole(site: Site, began: Path) -> None:
    (site.root / "budwood.toml").write_text(
        "[agents.reads]\nagent = 'command'\ncommand = ['sh', '-c', 'cat \"$BUDWOOD_PROMPT_FILE\"; "
        'test "$BUDWOOD_ATTEMPT" = 3 && echo accept > "$BUDWOOD_VERDICT" || '
        'echo send back > "$BUDWOOD_VERDICT"\']\n'
    )
    write = do("write", path="made-{attempt}.txt", text="x\n")
    site.call("run", plan(site, task("a", (*WORK, write), reviewer={"agent": "reads"})))
    ends = site.ends()
    base = site.git("rev-parse", "HEAD")
    assert [end.left and end.left.began for end in ends] == [base] * 3
    assert [end.left and end.left.files for end in ends] == [2, 2, 2]  # each says what it did itself
    whole = ["made-1.txt", "made-2.txt", "made-3.txt", "made.txt"]
    assert site.call("diff", "plan", "a", "--name-only").out.split() == whole
    assert site.call("review", "plan").out.splitlines()[1].split()[:5] == ["a", "succeeded", "-", "4", "+6"]
    assert site.call("diff", "plan", "a.2", "--name-only").out.split() == [whole[0], whole[1], whole[3]]
    assert site.call("diff", "plan", "a.2", "a.3", "--name-only").out.split() == [whole[2], whole[3]]
    assert "made-1.txt" in site.log_of("a")  # its reviewer was shown that, too, the third time
    assert site.call("apply", "plan", "a").out.split() == whole
    assert (site.root / "made.txt").read_text() == "more\n" * 3


# --- limits, logins ---


@pytest.fixture
def fakes(site: Site) -> Site:
    """Put programs on the PATH that speak as the real ones do."""
    return with_fakes(site)


@pytest.mark.parametrize(("name", "cost"), [("claude", 0.525), ("codex", None)])
def test_a_real_agent_is_told_what_was_wanted_and_made_and_its_verdict_counts(
    fakes: Site, began: Path, name: str, cost: float | None
) -> None:
    reviewer = {"agent": name, "model": "m-1", "prompt": "verdict: accept"}
    fakes.call("run", plan(fakes, task("a", WORK, check="test -f made.txt", reviewer=reviewer)))
    end = fakes.end_of("a")
    assert (end.phase, end.reviewed and end.reviewed.model) == (AttemptPhase.SUCCEEDED, "m-1")
    assert end.usage.cost_usd == 0.5 + (cost or 0)
    assert end.usage.tokens is not None
    assert end.usage.tokens > 100
    [prompt] = fakes.root.glob(".budwood/runs/*/agents/0-review-1/prompt.md")
    text = prompt.read_text()
    assert all(part in text for part in ("+more", "test -f made.txt", "verdict: accept", "echo more >> made.txt"))


def test_the_account_of_the_reviewer_rests_and_the_work_is_not_done_again(fakes: Site, began: Path) -> None:
    reviewer = {"agent": "codex", "prompt": "first: limit-soon\nverdict: accept"}
    tables = (task("a", WORK, reviewer=reviewer), task("b", WORK, agent="script"))
    fakes.call("run", plan(fakes, *tables, slots=1))
    first, second = fakes.end_of("a", 1), fakes.end_of("a", 2)
    assert (first.error and first.error.type, first.counts) == ("limit", False)
    assert ((first.error and first.error.message) or "").startswith("its reviewer codex: ")
    assert first.until_ms is not None
    assert second.phase is AttemptPhase.SUCCEEDED
    assert began.read_text() == "a\nb\n"  # the worker's account went on
    queued = [
        (each.event.task, each.event.attempt) for each in fakes._read("plan") if isinstance(each.event, AttemptQueued)
    ]
    assert queued == [("a", 1), ("b", 1), ("a", 2)]
    [again] = [
        each.at_ms
        for each in fakes._read("plan")
        if isinstance(each.event, AttemptQueued) and (each.event.task, each.event.attempt) == ("a", 2)
    ]
    assert again >= first.until_ms


def test_a_login_that_the_reviewer_is_refused_pauses_the_run_and_the_work_stays(fakes: Site, began: Path) -> None:
    file = plan(fakes, task("a", WORK, reviewer={"agent": "codex", "prompt": "first: auth\nverdict: accept"}))
    fakes.call("run", file, code=4)
    [paused] = [event for event in fakes.events() if isinstance(event, RunPaused)]
    assert paused.kind == "login"
    assert not fakes.end_of("a", 1).counts
    fakes.call("resume", "plan")
    assert (fakes.end_of("a", 2).phase, began.read_text()) == (AttemptPhase.SUCCEEDED, "a\n")


# --- before anything starts ---


@pytest.mark.parametrize(
    ("reviewer", "said"),
    [
        ({"agent": "codx"}, "did you mean 'codex'?"),
        ({"agent": "codex"}, "agent codex is not installed"),
        ({"agent": "script", "promt": "x"}, "did you mean 'prompt'?"),
        ({"prompt": "x"}, "reviewer names no agent"),
        ({"agent": ""}, "agent of reviewer is ''"),
    ],
)
def test_who_could_not_review_is_refused_before_anything_starts(
    site: Site, reviewer: dict[str, str], said: str
) -> None:
    site.env["PATH"] = "/usr/bin:/bin"
    site.agents(task("a", WORK, reviewer=reviewer))
    assert said in site.call("run", "plan.toml", code=2).err
    site.agents(task("a", WORK), reviewer=reviewer)
    assert said in site.call("run", "plan.toml", code=2).err
    assert not site.has_runs


def test_a_command_has_no_reviewer(site: Site) -> None:
    file = site.plan('[[task]]\nid = "a"\nrun = "true"\nreviewer = { agent = "script" }\n')
    assert "task 'a' of plan.toml has both reviewer and run" in site.call("run", file, code=2).err


# --- in a sandbox ---


def test_in_a_sandbox_a_reviewer_sees_its_own_state_and_the_worker_does_not(box: Site) -> None:
    says = 'test "$BUDWOOD_ATTEMPT" = 1 && echo send back > "$BUDWOOD_VERDICT" || echo accept > "$BUDWOOD_VERDICT"'
    look = f'ls "$(dirname "$BUDWOOD_PROMPT_FILE")"; {says}'
    command = f"agent = 'command'\ncommand = ['sh', '-c', {json.dumps(look)}]\n"
    (box.root / "budwood.toml").write_text(f"[agents.reads]\n{command}")
    write = do("write", path="made-{attempt}.txt", text="x\n")
    peek = do("run", command=f"ls '{box.root}'/.budwood/runs/*/agents 2>/dev/null | sed 's/^/seen /'")
    kept_in(box, task("a", (write, peek), reviewer={"agent": "reads"}))
    box.call("run", "plan.toml")
    end = box.end_of("a", 2)
    assert (end.phase, end.reviewed and end.reviewed.verdict) == (AttemptPhase.SUCCEEDED, "accept")
    lines = box.log_of("a").splitlines()
    assert "prompt.md" in lines
    assert [line for line in lines if line.startswith("seen ")] == ["seen 0"]  # there is another beside it, unseen
    assert len(list(box.root.glob(".budwood/runs/*/agents/*"))) == 3
