"""Agents from configurations: what is kept with a run, what a name means, and what an agent cannot keep to."""

import sys

import msgspec
import pytest
from tests.agents.starting import Bench

from budwood.agents.base import Price
from budwood.agents.config import AgentConfig, AgentSettings
from budwood.agents.making import make_agent
from budwood.agents.registry import agent_names
from budwood.agents.rules import Choice, ModelRule, choose
from budwood.errors import SettingsError, UsageError

WHOLE = AgentConfig(
    name="local",
    agent="model",
    command=("python3.13",),
    args=("--files=x",),
    env_pass=("A",),
    model="m",
    account="team",
    billing="metered",
    prompt_template="{{task}}",
    base_url="https://h/v1",
    api_key_env="K",
    temperature=0.5,
    max_tokens=9,
    timeout_s=4.0,
    files=("*.py",),
)
RULES = (
    ModelRule(match="^docs-", model="haiku"),
    ModelRule(match="migrat", model="opus", agent="claude"),
    ModelRule(match="web", model="gpt", agent="codex"),
)


def made(**fields: object) -> object:
    return make_agent(AgentConfig(name="mine", **fields), python=sys.executable)  # type: ignore[arg-type]


def test_a_run_can_keep_them_as_json() -> None:
    kept = AgentSettings(
        agents={"local": WHOLE, "cheap": AgentConfig(name="cheap", agent="claude", own_state=True, max_turns=3)},
        prices={"m": Price(input_per_million=1, output_per_million=2)},
        model_rules=RULES,
    )
    assert msgspec.json.decode(msgspec.json.encode(kept), type=AgentSettings) == kept
    assert msgspec.json.encode(AgentSettings()) == b"{}"


def test_a_name_is_a_tables_or_an_agents_own() -> None:
    settings = AgentSettings(agents={"cheap": AgentConfig(name="cheap", agent="claude")})
    assert settings.config("cheap").agent == "claude"
    assert settings.config("codex") == AgentConfig(name="codex", agent="codex")
    with pytest.raises(UsageError, match="there is no agent 'chaep'") as caught:
        settings.config("chaep")
    assert caught.value.hint == "did you mean 'cheap'?"
    with pytest.raises(UsageError) as caught:
        settings.config("xyzzy")
    assert caught.value.hint == (
        f"agents are {', '.join(sorted({*agent_names(), 'cheap'}))}; [agents.xyzzy] would make one"
    )


def test_what_is_configured_reaches_the_command_line(bench: Bench) -> None:
    config = AgentConfig(
        name="cheap", agent="claude", command=("nice", "claude"), args=("--x",), env_pass=("A",), own_state=True
    )
    agent = make_agent(config, python=sys.executable)
    launch = agent.launch(bench.assignment())
    assert (launch.argv[:3], launch.argv[-1]) == (("nice", "claude", "-p"), "--x")
    assert launch.env["CLAUDE_CONFIG_DIR"] == str(bench.state / "claude")
    assert ("A" in launch.env_pass, agent.account) == (True, "claude")
    launch = make_agent(WHOLE, python="unused").launch(msgspec.structs.replace(bench.assignment(), model="m"))
    assert (launch.argv[:4], launch.argv[-2:]) == (
        ("python3.13", "-P", "-m", "budwood.agents.model"),
        ("--files=*.py", "--files=x"),
    )
    assert launch.env_pass == ("K", "A")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"agent": "codex", "max_turns": 3}, "agent mine has max_turns, and codex cannot keep to that"),
        ({"agent": "gemini", "budget_usd": 1.0}, "agent mine has budget_usd, and gemini cannot keep to that"),
        ({"agent": "script", "model": "m"}, "agent mine has model, and script cannot keep to that"),
        ({"agent": "claude", "temperature": 0.0}, "agent mine has temperature, and claude asks no endpoint"),
        ({"agent": "claude", "timeout_s": 3.0}, "agent mine has timeout, and claude asks no endpoint"),
        ({"agent": "aider", "files": ("a",)}, "agent mine has files, and aider asks no endpoint"),
        ({"agent": "gemini", "own_state": True}, "agent gemini cannot have a state of its own"),
        ({"agent": "command"}, "agent command has no program"),
        ({"agent": "mine"}, "there is no agent 'mine'"),
    ],
)
def test_what_an_agent_cannot_keep_to_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        made(**fields)
    assert message in caught.value.message
    assert caught.value.hint


def test_every_refusal_of_a_key_is_one_of_settings() -> None:
    with pytest.raises(SettingsError):
        made(agent="codex", max_turns=1)
    made(agent="claude", max_turns=1, budget_usd=1.0, model="opus")


@pytest.mark.parametrize(
    ("asked", "texts", "chosen"),
    [
        (Choice(), ("docs-1", "", ""), Choice(model="haiku")),
        (Choice(agent="codex"), ("docs-1", "", ""), Choice(agent="codex", model="haiku")),
        (Choice(model="own"), ("docs-1", "", ""), Choice(model="own")),
        (Choice(), ("t", "docs-lane", ""), Choice(model="haiku")),
        (Choice(), ("t", "", "Write a migration"), Choice(agent="claude", model="opus")),
        (Choice(agent="codex"), ("t", "", "Write a migration for web"), Choice(agent="codex", model="gpt")),
        (Choice(agent="aider"), ("t", "", "Write a migration"), Choice(agent="aider")),
        (Choice(), ("my-docs-1", "x", "y"), Choice()),
    ],
)
def test_the_first_rule_that_fits_completes_what_a_task_leaves_open(
    asked: Choice, texts: tuple[str, str, str], chosen: Choice
) -> None:
    task, lane, description = texts
    assert choose(RULES, asked, task=task, lane=lane, description=description) == chosen


def test_an_expression_does_not_run_over_the_end_of_one_text_into_the_next() -> None:
    rule = ModelRule(match="^ab$", model="m")
    assert choose([rule], Choice(), task="a", lane="b") == Choice()
    assert choose([rule], Choice(), task="x", lane="ab").model == "m"
