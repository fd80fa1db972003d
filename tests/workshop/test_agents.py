"""Agents through whole runs: the fakes on the PATH speak as the real ones do, and a model's endpoint is on loopback."""

import pytest
from tests.agents.model.stub import KEY, Stub, completion, refusal
from tests.cli.world import wait_for
from tests.support.cases import at_length
from tests.workshop.fakes import with_fakes
from tests.workshop.site import Site, task

from budwood._core.events import AttemptQueued, AttemptStarted, Recorded, RunPaused, RunWaiting
from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
NAMES = ("claude", "codex", "gemini", "aider", "opencode")
RESUMES = {"claude": "--resume", "codex": "resume", "gemini": "-r", "opencode": "-s"}


@pytest.fixture
def site(site: Site) -> Site:
    return with_fakes(site)


def asking(name: str, words: str, **keys: object) -> str:
    """Write a task for an agent that behaves in a certain way and makes a file."""
    return task(name, f"Please {words}\nmakes: made-{name}.txt\n", **keys)


def recorded(site: Site) -> list[Recorded]:
    """Return all events with their times."""
    return site._read("plan")


def test_five_agents_do_their_tasks_and_tell_what_they_used(site: Site) -> None:
    (site.root / "budwood.toml").write_text("[prices.gemini-3-pro]\ninput_per_million = 10\noutput_per_million = 100\n")
    site.agents(*(asking(name, "behave: ok", agent=name) for name in NAMES))
    before = site.belongings()
    site.call("run", "plan.toml")
    told = {name: site.end_of(name) for name in NAMES}
    assert all(end.phase is AttemptPhase.SUCCEEDED for end in told.values())
    for name, end in told.items():
        assert end.told is not None
        assert (end.told.agent, end.told.outcome) == (name, "ok")
        assert f"made-{name}.txt" in site.candidate(end)
    assert told["claude"].usage.cost_usd == 0.525
    assert told["opencode"].usage.cost_usd == pytest.approx(0.03)
    assert told["aider"].usage.cost_usd
    assert {name for name, end in told.items() if end.usage.tokens} == set(NAMES)
    sessions = {name: end.told.session for name, end in told.items() if end.told is not None}
    assert sessions["codex"] == "0199-thread"
    assert sessions["gemini"] == "gemini-1"
    assert sessions["opencode"] == "ses_1"
    assert told["claude"].told is not None
    assert told["claude"].told.turns == 3
    assert site.belongings() == before


def test_a_limit_rests_its_account_until_the_stated_time_and_the_session_is_gone_on_with(site: Site) -> None:
    limited = (asking(name, "first: limit-soon\nbehave: ok", agent=name) for name in NAMES)
    site.agents(*limited, asking("other", "behave: ok", agent="codex", after=["claude"]), slots=6)
    site.call("run", "plan.toml")
    events = recorded(site)
    for name in NAMES:
        first, second = site.end_of(name, 1), site.end_of(name, 2)
        assert (first.counts, first.error and first.error.type) == (False, "limit")
        assert first.until_ms is not None
        assert second.phase is AttemptPhase.SUCCEEDED
        [again] = [
            each.at_ms
            for each in events
            if isinstance(each.event, AttemptQueued) and (each.event.task, each.event.attempt) == (name, 2)
        ]
        assert again >= first.until_ms
        called = site.restored(second)[f"made-{name}.txt"].decode()
        assert (RESUMES.get(name, "no such word") in called.split()) == (name in RESUMES), called


def test_what_an_account_stopped_before_any_work_costs_nothing_and_after_work_what_was_reserved(site: Site) -> None:
    site.agents(
        *(task(name, "Please behave: auth\n", agent=name) for name in ("codex", "gemini", "opencode")),
        asking("worked", "behave: auth", agent="codex"),
        slots=4,
        reserve_usd=0.5,
    )
    site.call("run", "plan.toml", code=4)
    booked = {str(end.task): end.usage for end in site.ends()}
    assert (booked["worked"].cost_usd, booked["worked"].tokens) == (None, None)
    assert {(booked[name].cost_usd, booked[name].tokens) for name in ("codex", "gemini", "opencode")} == {(0.0, 0)}
    assert "~$0.50" in site.call("status", "plan").out


def test_others_go_on_while_an_account_rests(site: Site) -> None:
    site.agents(
        asking("limited", "first: event\nbehave: ok", agent="claude"),  # for years
        asking("waits", "behave: ok", agent="claude", prefer_after=["goes-on"]),
        asking("goes-on", "behave: ok", agent="codex"),
        slots=1,
    )
    run = site.start("run", "plan.toml")
    wait_for(lambda: _is_waiting(site), what="that the run waits", within_s=site.within_s)
    assert [(str(end.task), end.attempt) for end in site.ends()] == [("limited", 1), ("goes-on", 1)]
    run.terminate()
    site.finish(run)


def _is_waiting(site: Site) -> bool:
    known = site.events() if site.has_runs else []
    return any(isinstance(event, RunWaiting) for event in known)


def test_a_list_of_agents_falls_through_to_the_next(site: Site) -> None:
    site.agents(asking("a", "first: limit\nbehave: ok", agent=["claude", "codex"]), slots=1)
    site.call("run", "plan.toml")
    first, second = site.end_of("a", 1), site.end_of("a", 2)
    assert [end.told and end.told.agent for end in (first, second)] == ["claude", "codex"]
    assert second.phase is AttemptPhase.SUCCEEDED
    assert "resume" not in site.restored(second)["made-a.txt"].decode().split()


@pytest.mark.parametrize("name", [*NAMES[:2], *at_length(*NAMES[2:])])
def test_a_refused_login_pauses_the_run_at_once(site: Site, name: str) -> None:
    site.agents(
        asking("first", "behave: auth", agent=name), asking("next", "behave: ok", agent=name, after=["first"]), slots=1
    )
    said = site.call("run", "plan.toml", code=4)
    events = recorded(site)
    [began] = [each.at_ms for each in events if isinstance(each.event, AttemptStarted)]
    [paused] = [each for each in events if isinstance(each.event, RunPaused)]
    assert isinstance(paused.event, RunPaused)
    assert (paused.event.kind, paused.at_ms - began < 3000) == ("login", True)
    assert paused.event.reason in (said.out + said.err).replace("\n", " ")
    assert "hint: let its agent in again, budwood doctor shows how; then budwood resume plan\n" in said.err
    assert not site.end_of("first").counts
    resumed = site.call("resume", "plan", code=4)
    assert "paused" in resumed.out + resumed.err


def test_a_success_that_is_none_is_found_out(site: Site) -> None:
    site.agents(asking("lies", "first: lying-success\nbehave: ok", agent=["claude", "codex"]), slots=1)
    site.call("run", "plan.toml")
    first = site.end_of("lies", 1)
    assert first.told is not None
    assert (first.phase, first.told.outcome, first.exit_code) == (AttemptPhase.FAILED, "limit", 0)
    assert site.end_of("lies", 2).phase is AttemptPhase.SUCCEEDED


def test_where_a_check_passes_on_changes_nobody_asks_what_the_agent_says(site: Site) -> None:
    site.agents(asking("lies", "behave: lying-success", agent="claude", check="test -f made.txt"), slots=1)
    site.call("run", "plan.toml")
    assert site.end_of("lies").phase is AttemptPhase.SUCCEEDED


def test_a_check_refuses_what_an_agent_calls_done_and_the_next_attempt_is_told(site: Site) -> None:
    check = 'echo "3 tests failed"; test "$BUDWOOD_ATTEMPT" = 2'
    site.agents(asking("a", "behave: ok", agent="claude", check=check, retries=1), slots=1, backoff="10ms")
    site.call("run", "plan.toml")
    first = site.end_of("a", 1)
    assert (first.error and first.error.type, first.check_said.splitlines()[-1]) == ("check", "3 tests failed")
    [prompt] = site.root.glob(".budwood/runs/*/agents/*/prompt-2.md")
    assert "3 tests failed" in prompt.read_text()


@pytest.mark.parametrize("name", ["claude", "codex", "aider", "opencode"])
def test_one_that_crashes_is_tried_again(site: Site, name: str) -> None:
    site.agents(asking("a", "first: segv\nbehave: ok", agent=name, retries=1), slots=1, backoff="10ms")
    site.call("run", "plan.toml")
    first = site.end_of("a", 1)
    assert (first.counts, first.error and first.error.type) == (True, "agent")
    assert "made-a.txt" in site.restored(first)
    assert site.end_of("a", 2).phase is AttemptPhase.SUCCEEDED


def test_a_subscription_costs_no_money(site: Site) -> None:
    (site.root / "budwood.toml").write_text('[agents.claude]\nbilling = "subscription"\n')
    site.agents(asking("a", "behave: ok", agent="claude"))
    said = site.call("run", "plan.toml")
    end = site.end_of("a")
    assert (end.usage.cost_usd, end.told and end.told.list_usd) == (0.0, 0.525)
    assert "$" not in (said.out + said.err).splitlines()[-1]


class TestModel:
    EDIT = "src/app.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"

    def plan(self, site: Site, stub: Stub) -> None:
        """Write a plan that asks the endpoint."""
        table = f'[agents.model]\nbase_url = "{stub.base_url}"\nmodel = "m-2"\napi_key_env = "THE_KEY"\n'
        prices = "[prices.m-2]\ninput_per_million = 10\noutput_per_million = 100\n"
        (site.root / "budwood.toml").write_text(table + prices)
        site.agents(task("a", "Make x two.", agent="model"), slots=1)
        site.env["THE_KEY"] = KEY

    def test_its_answer_becomes_the_candidate_when_another_is_at_its_limit(self, site: Site) -> None:
        with Stub(refusal(429, "slow down", Retry_After="60")) as busy, Stub(completion(self.EDIT)) as stub:
            self.plan(site, stub)
            with (site.root / "budwood.toml").open("a") as file:
                file.write(f'[agents.busy]\nagent = "model"\nbase_url = "{busy.base_url}"\nmodel = "m-2"\n')
            site.agents(task("a", "Make x two.", agent=["busy", "model"]), slots=1)
            site.call("run", "plan.toml")
            assert (len(busy.got), len(stub.got)) == (1, 1)
        first, second = site.end_of("a", 1), site.end_of("a", 2)
        assert (first.error and first.error.type, first.counts) == ("limit", False)
        assert second.left is not None
        assert site.git("show", f"{second.left.candidate}:src/app.py") == "x = 2"
        assert second.usage.tokens == 1100
        assert second.usage.cost_usd
        for path in (site.root / ".budwood").rglob("*"):
            assert not path.is_file() or KEY.encode() not in path.read_bytes()

    def test_a_refused_key_pauses_the_run(self, site: Site) -> None:
        with Stub(refusal(401, "Incorrect API key provided")) as stub:
            self.plan(site, stub)
            site.call("run", "plan.toml", code=4)
        assert (site.end_of("a").error or pytest.fail("it had no error")).type == "auth"

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (completion(""), "agent"),
            (completion(EDIT[:20], reason="length"), "agent"),
            (refusal(404, "no such model"), "agent"),
            (refusal(400, "too long", code="context_length_exceeded"), "context"),
        ],
        ids=["empty", "cut", "404", "context"],
    )
    def test_what_is_no_answer_is_a_failure_of_its_kind(self, site: Site, reply: object, error: str) -> None:
        with Stub(reply) as stub:  # type: ignore[arg-type]
            self.plan(site, stub)
            site.call("run", "plan.toml", code=1)
        assert (site.end_of("a").error or pytest.fail("it had no error")).type == error
