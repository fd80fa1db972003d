"""The agents of a project: from its settings to what a run keeps, with the files that are named."""

from pathlib import Path

import msgspec
import pytest

from budwood._core.model import AgentTerms, RunSettings
from budwood.agents.base import Price
from budwood.agents.config import AgentConfig
from budwood.agents.rules import ModelRule
from budwood.errors import SettingsError
from budwood.project.agents import agent_settings
from budwood.project.manning import without_tools
from budwood.settings import TABLES, read_settings, resolve
from budwood.settings.agents import AGENT_KEYS


def settings(directory: Path, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "budwood.toml"
    path.write_text(text)
    return path


def test_every_key_reaches_what_a_run_keeps(tmp_path: Path) -> None:
    lines = [f"{key.name} = {key.example}\n" for key in AGENT_KEYS.values()]
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/attempt.md").write_text("Please: {{task}}\n")
    kept = agent_settings(resolve([read_settings(settings(tmp_path, "".join(["[agents.full]\n", *lines])))]))
    assert kept.agents["full"] == AgentConfig(
        name="full",
        agent="claude",
        command=("/opt/claude/bin/claude",),
        args=("--permission-mode", "acceptEdits"),
        env_pass=("CORPORATE_TOKEN",),
        own_state=True,
        model="haiku",
        max_turns=40,
        budget_usd=2.5,
        account="team-a",
        billing="subscription",
        prompt_template="Please: {{task}}\n",
        base_url="https://models.example.com/v1",
        api_key_env="EXAMPLE_API_KEY",
        temperature=0.2,
        max_tokens=8000,
        timeout_s=300.0,
        files=("src/**/*.py",),
    )


def test_prices_and_rules_are_kept(tmp_path: Path) -> None:
    _, prices, rules = ("".join(f"{key.name} = {key.example}\n" for key in keys.values()) for keys in TABLES.values())
    text = f'[prices."x.1"]\n{prices}[[model_rule]]\n{rules}'
    kept = agent_settings(resolve([read_settings(settings(tmp_path, text))]))
    assert kept.prices == {"x.1": Price(input_per_million=3, output_per_million=15, cached_per_million=0.3)}
    assert kept.model_rules == (ModelRule(match="^docs-", model="haiku", agent="claude"),)
    assert msgspec.json.decode(msgspec.json.encode(kept), type=type(kept)) == kept


def test_a_table_without_an_agent_is_about_the_agent_of_its_name(tmp_path: Path) -> None:
    kept = agent_settings(resolve([read_settings(settings(tmp_path, '[agents.codex]\nmodel = "x"\n'))]))
    assert kept.config("codex") == AgentConfig(name="codex", agent="codex", model="x")


def test_a_template_lies_beside_the_file_that_names_it(tmp_path: Path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    layers = [
        read_settings(settings(project, '[agents.a]\nagent = "claude"\n')),
        read_settings(settings(user, '[agents.a]\nprompt_template = "mine.md"\n')),
    ]
    (project / "mine.md").write_text("{{wrong}}")
    (user / "mine.md").write_bytes(b"\xef\xbb\xbf{{task}},\r\nplease")
    assert agent_settings(resolve(layers)).agents["a"].prompt_template == "{{task}},\nplease"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"{{task}} {{gaol}}", "PATH:1: unknown name 'gaol'", "did you mean 'goal'?"),
        (b"{{task}}\n\xff", "PATH:2: not UTF-8 text", "save the file as UTF-8"),
        (None, "there is no file PATH", "did you mean 'tt.md'?"),
    ],
)
def test_a_template_is_checked_before_anything_starts(
    tmp_path: Path, content: bytes | None, message: str, hint: str
) -> None:
    path = settings(tmp_path, '[agents.a]\nagent = "claude"\nprompt_template = "t.md"\n')
    (tmp_path / ("tt.md" if content is None else "t.md")).write_bytes(content or b"")
    with pytest.raises(SettingsError) as caught:
        agent_settings(resolve([read_settings(path)]))
    assert caught.value.message.replace(str(tmp_path / "t.md"), "PATH") == message
    assert caught.value.hint == hint


def test_a_rule_for_an_agent_that_there_is_not_is_named(tmp_path: Path) -> None:
    rules = '[[model_rule]]\nmatch = "a"\nmodel = "m"\nagent = "{}"\n'
    mine = '[agents.mine]\nagent = "claude"\n'
    path = settings(tmp_path, mine + rules.format("mine") + rules.format("codex") + rules.format("mnie"))
    with pytest.raises(SettingsError) as caught:
        agent_settings(resolve([read_settings(path)]))
    assert caught.value.message == f"there is no agent 'mnie', which [[model_rule]] number 3 of {path} names"
    assert caught.value.hint == "did you mean 'mine'?"


def test_agents_that_take_no_server_are_named() -> None:
    def terms(name: str) -> AgentTerms:
        return AgentTerms(account=name, config={"name": name, "agent": name})

    assert without_tools(RunSettings(mcp=True)) == ["mcp is set, and no task is an agent's"]
    assert without_tools(RunSettings(agents={name: terms(name) for name in ("claude", "opencode")})) == []
    both = without_tools(RunSettings(agents={name: terms(name) for name in ("claude", "aider", "script")}))
    assert both == ["mcp is set, and these agents take no MCP server: aider, script"]
