"""A reviewer that sends work back: the agent goes on with it, so often and no oftener, and no retry is used up."""

from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

ADD = (do("run", command="echo more >> made.txt"), do("run", command='cat "$BUDWOOD_PROMPT" >> seen.txt || true'))
WANTS_TWO = 'test "$(wc -l < made.txt)" -ge 2 || { echo "write another line"; exit 1; }'


def test_what_is_sent_back_is_gone_on_with(site: Site) -> None:
    site.call("run", site.agents(task("a", ADD, reviewer=WANTS_TWO)))
    first, second = site.ends()
    assert first.error is not None
    assert (first.phase, first.error.type, first.check_said) == (AttemptPhase.FAILED, "review", "write another line")
    assert first.error.will_retry
    assert second.phase is AttemptPhase.SUCCEEDED
    assert site.restored(second)["made.txt"] == b"more\nmore\n"


def test_the_next_attempt_is_told_what_the_reviewer_said(site: Site) -> None:
    echo = "[agents.echo]\nagent = 'command'\ncommand = ['sh', '-c', 'cat >> made.txt']\n"
    (site.root / "budwood.toml").write_text(echo)
    refuse = "grep -q 'say please' made.txt || { echo say please; exit 1; }"
    site.call("run", site.agents(task("a", "Do it.", agent="echo", reviewer=refuse)))
    assert b"say please" in site.restored(site.end_of("a", 2))["made.txt"]


def test_it_is_sent_back_so_often_and_no_oftener(site: Site) -> None:
    site.call("run", site.agents(task("a", ADD, reviewer="false", max_review_rounds=1, retries=0)), code=1)
    assert [end.error.type for end in site.ends() if end.error is not None] == ["review", "review"]
    assert site.state().task("a").phase.value == "failed"


def test_rounds_are_no_retries(site: Site) -> None:
    steps = (*ADD, do("run", command='test "$(wc -l < made.txt)" -ne 2'))
    reviewer = 'test "$(wc -l < made.txt)" -ge 2 || exit 1'
    site.call("run", site.agents(task("a", steps, reviewer=reviewer, retries=1), backoff="10ms"), code=None)
    kinds = [end.error.type if end.error is not None else "ok" for end in site.ends()]
    assert kinds[0] == "review"
    assert kinds[1] != "review"
    assert len(kinds) >= 3  # its one retry is still there
