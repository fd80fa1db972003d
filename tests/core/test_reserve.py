"""Money that attempts of agents set aside: what their tasks say, else what they will probably cost."""

import msgspec
from tests.core.bench import OK, Bench

from budwood._core.events import SettingsChanged
from budwood._core.model import AgentTerms, RunSettings, TaskSpec
from budwood._core.reserve import reserve_of

AGENTS = {
    "claude": AgentTerms(account="a", expected_usd={"": 0.5, "haiku": 0.1}),
    "codex": AgentTerms(account="b", config={"model": "large"}, expected_usd={"large": 0.7, "": 9.0}),
    "new": AgentTerms(account="c"),
}


def reserved(**keys: object) -> float:
    return reserve_of(RunSettings(agents=AGENTS), msgspec.convert({"id": 1, **keys}, TaskSpec))


def test_an_attempt_reserves_what_its_agent_cost_with_that_model_before() -> None:
    assert reserved(agent=["claude"]) == 0.5
    assert reserved(agent=["claude"], model="haiku") == 0.1
    assert reserved(agent=["claude"], model="unheard") == 0.0
    assert reserved(agent=["codex"]) == 0.7  # its own configuration names the model
    assert reserved(agent=["new"]) == 0.0


def test_what_a_task_says_counts_before_what_is_expected() -> None:
    assert reserved(agent=["claude"], reserve_usd=2.0) == 2.0
    assert reserved(run="true", reserve_usd=2.0) == 2.0
    assert reserved(run="true") == 0.0


def test_of_a_list_the_dearest_is_reserved_because_nobody_knows_who_is_asked() -> None:
    assert reserved(agent=["claude", "codex", "new"]) == 0.7


def test_what_was_reserved_is_given_back_though_expectations_changed_meanwhile() -> None:
    spec = TaskSpec(id="a", prompt="x", agent=("claude",))
    settings = RunSettings(slots=1, budget_usd=1.0, agents=AGENTS)
    bench = Bench(spec, msgspec.structs.replace(spec, id="b"), settings=settings)
    assert bench.fill() == ["a"]
    assert bench.state.spending.reserved_usd == 0.5
    dearer = {**AGENTS, "claude": AgentTerms(account="a", expected_usd={"": 0.6})}
    bench.apply(SettingsChanged(settings=msgspec.structs.replace(settings, agents=dearer), changed=("agents",)))
    bench.end("a", OK)
    assert bench.state.spending.reserved_usd == 0.0
    assert bench.state.spending.cost_usd == 0.5  # it did not say, so its reservation counts
    assert bench.fill() == []  # another 0.6 would pass the budget
