"""What follows from a review by an agent: whose account rests, what is done again and what is not, what is paid."""

from msgspec.structs import replace
from tests.core.bench import Bench

from budwood._core.model import (
    AgentTerms,
    AttemptPhase,
    Left,
    Outcome,
    Reviewed,
    Reviewer,
    RunSettings,
    TaskSpec,
    Told,
    Usage,
    WorkspaceTerms,
)
from budwood._core.reserve import reserve_of
from budwood._core.schedule import wake_account
from budwood.project.costs import attempt_costs

TERMS = WorkspaceTerms(kind="clone", base="b0")
SETTINGS = RunSettings(
    slots=4,
    workspace=TERMS,
    agents={
        "maker": AgentTerms(account="makers", expected_usd={"": 0.5}),
        "reader": AgentTerms(account="readers", expected_usd={"": 0.2, "m": 0.1}),
    },
)
TASK = TaskSpec(id="a", prompt="x", agent=("maker",), reviewer=Reviewer(agent="reader", model="m"), retries=1)
LEFT = Left(base="b0", tree="t1", candidate="c1", commit="k1", ref="r1", files=1)
MADE = Outcome(
    phase=AttemptPhase.SUCCEEDED,
    left=LEFT,
    told=Told(agent="maker", outcome="ok", session="s", spent=(1, 2, 3)),
    usage=Usage(cost_usd=0.5, tokens=100),
)
READ = Reviewed(agent="reader", outcome="ok", model="m", usage=Usage(cost_usd=0.25, tokens=10), wall_s=2.0)


def unread(error_type: str, *, until_ms: int | None = None, **more: object) -> Outcome:
    """End an attempt whose reviewer failed."""
    return replace(
        MADE,
        phase=AttemptPhase.FAILED,
        error_type=error_type,
        message="no verdict",
        until_ms=until_ms,
        reviewed=replace(READ, outcome="failed"),
        **more,
    )


def bench(*others: TaskSpec) -> Bench:
    made = Bench(TASK, *others, settings=SETTINGS)
    made.fill()
    return made


def test_at_its_limit_the_account_of_the_reviewer_rests_and_no_other() -> None:
    alone = replace(TASK, id="b", reviewer=None, after=("z",))
    made = bench(alone, TaskSpec(id="z", run="true"))
    until_ms = made.now_ms + 60_000
    made.end("a", unread("limit", until_ms=until_ms))
    made.end("z")
    assert made.state.limited == {"readers": until_ms}
    assert made.fill() == ["b"]  # the maker goes on elsewhere; what wants a review waits
    made.end("b", MADE)
    [waiting] = made.rest()
    assert getattr(waiting, "until_ms", None) == until_ms
    made.now_ms = until_ms
    wake_account(made.state, "readers")
    assert made.fill() == ["a"]


def test_what_waits_for_a_review_alone_does_not_wait_for_its_makers_account() -> None:
    made = bench()
    made.end("a", unread("reviewer"))
    made.state.limited["makers"] = made.now_ms + 60_000
    made.now_ms = made.of("a").not_before_ms
    queued = made.pick()
    assert queued is not None
    assert (queued.task, queued.attempt, queued.agent) == ("a", 2, "maker")


def test_who_made_it_is_known_after_a_second_review_and_gone_on_with_when_it_is_sent_back() -> None:
    made = bench()
    made.end("a", unread("reviewer"))
    made.now_ms = made.of("a").not_before_ms
    made.fill()
    again = replace(LEFT, candidate="c2", commit="k2", ref="r2")
    made.end("a", unread("limit", until_ms=made.now_ms, left=again, told=None))
    waits = made.of("a").go_on
    assert waits is not None
    assert (waits.candidate, waits.agent, waits.session, waits.unreviewed) == ("c2", "maker", "s", LEFT)
    wake_account(made.state, "readers")
    assert made.fill() == ["a"]
    made.end("a", replace(unread("review", left=again, told=None), check_said="shorter"))
    back = made.of("a").go_on
    assert back is not None
    assert (back.agent, back.session, back.wish, back.unreviewed) == ("maker", "s", "shorter", None)
    assert made.refold().task("a").go_on == back


def test_a_review_is_reserved_and_booked_and_told_apart() -> None:
    assert reserve_of(SETTINGS, TASK) == 0.6
    assert reserve_of(SETTINGS, replace(TASK, reviewer="./review")) == 0.5
    made = bench()
    whole = replace(MADE, usage=Usage(cost_usd=0.75, tokens=110), reviewed=replace(READ, verdict="accept"))
    made.end("a", whole)
    assert (made.state.spending.cost_usd, made.state.spending.tokens) == (0.75, 110)
    shown = {one.agent: (one.model, one.cost.cost_usd, one.cost.tokens) for one in attempt_costs(made.events())}
    assert shown == {"maker": ("", 0.5, 100), "reader": ("m", 0.25, 10)}


def test_where_the_work_does_not_say_its_cost_that_of_the_review_is_counted_beside_what_was_reserved() -> None:
    made = bench()
    made.end("a", replace(MADE, usage=Usage(), reviewed=replace(READ, verdict="accept")))
    assert made.state.spending.cost_usd == 0.85
    assert sum(one.cost.cost_usd for one in attempt_costs(made.events())) == 0.85
