"""The page on agents says what the adapters do: command lines, logins, versions, abilities, steps, keys."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, samples

from budwood.agents.base import Ability, Agent, Assignment, Chat, Launch, OutcomeKind, Overrides
from budwood.agents.making import make_agent
from budwood.agents.prompts import NAMES, check_prompt_template
from budwood.agents.registry import agent_named, agent_names
from budwood.agents.script.steps import _KINDS, Step, read_steps
from budwood.project.agents import agent_settings
from budwood.settings import TABLES, TableKey, read_settings, resolve

PAGE = (ROOT / "docs/reference/agents.md").read_text(encoding="utf-8")
OVERRIDES = {
    "command": Overrides(command=("my-agent", "{prompt_file}")),
    "model": Overrides(python="python", chat=Chat(base_url="URL", api_key_env="NAME")),
    "script": Overrides(python="python"),
}
ALL_KEYS = [(table, key) for table, keys in TABLES.items() for key in keys.values()]


def entry(heading: str) -> str:
    """Return what stands under a heading, or fail naming it."""
    _, found, rest = PAGE.partition(f"\n{heading}\n")
    assert found, f"no heading {heading}"
    return re.split(r"\n#{2,3} ", rest)[0]


def known(name: str) -> Agent:
    return agent_named(name, OVERRIDES.get(name, Overrides()))


def launch(name: str) -> Launch:
    model = "MODEL" if name == "model" else None
    return known(name).launch(Assignment(prompt_file=Path("PROMPT"), state_dir=Path("STATE"), prompt="", model=model))


@pytest.mark.parametrize("name", agent_names())
def test_every_agent_is_described_as_it_is_started(name: str) -> None:
    text, agent, started = entry(f"## {name}"), known(name), launch(name)
    assert f"```sh\n{shlex.join(started.argv)}\n```" in text
    names = {*started.env, *started.env_pass, *agent.login.files, *([agent.state_env] if agent.state_env else [])}
    told = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    assert names - told - {"NAME"} == set()
    if name not in OVERRIDES:
        assert f"Tried with {' and '.join(agent.tried)}." in text
    assert ("| prompt | on standard input |" in text) == (started.stdin is not None)


@pytest.mark.parametrize("name", agent_names())
def test_the_overview_says_what_each_can_keep_to(name: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| [`{name}`](#{name})"))
    cells = [cell.strip() for cell in row.split("|")][3:6]
    wanted = [Ability.MODEL, Ability.TURNS, Ability.BUDGET]
    assert cells == ["yes" if ability in known(name).abilities else "no" for ability in wanted]


def test_the_overview_has_every_agent_and_every_outcome() -> None:
    assert sorted(re.findall(r"^\| \[`(\w+)`\]", PAGE, re.MULTILINE)) == list(agent_names())
    assert [kind for kind in OutcomeKind if f"`{kind}`" not in entry("## What holds for all of them")] == []


@pytest.mark.parametrize(("do", "kind"), _KINDS.items(), ids=list(_KINDS))
def test_every_step_of_a_script_is_listed_with_its_keys(do: str, kind: type[Step]) -> None:
    keys = ", ".join(f"`{key}`" for key in kind.__struct_fields__ if key not in Step.__struct_fields__) or "none"
    assert f"| `{do}` | {keys} | {kind.__doc__} |" in entry("## script")


@pytest.mark.parametrize(("table", "key"), ALL_KEYS, ids=lambda given: getattr(given, "name", given))
def test_every_key_has_an_entry_that_agrees_with_the_table(table: str, key: TableKey) -> None:
    text = entry(f"### `{table}.{key.name}`")
    told = [key.doc, f"| takes | {key.kind.wants} |", f"| default | {key.shown_default} |"]
    told += [f"`{key.name} = {key.example}`"]
    assert [part for part in told if part not in text] == []


def test_no_heading_names_a_key_that_is_none() -> None:
    assert re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE) == [f"{table}.{key.name}" for table, key in ALL_KEYS]


def test_every_placeholder_of_a_template_is_listed() -> None:
    assert re.findall(r"^\| `\{\{(\w+)\}\}` \|", PAGE, re.MULTILINE) == list(NAMES)


def test_every_sample_works(tmp_path: Path) -> None:
    tried = []
    for sample in samples(PAGE):
        file = tmp_path / "sample.toml"
        file.write_text(sample.text)
        if sample.text.startswith("# budwood.toml"):
            settings = agent_settings(resolve([read_settings(file)]))
            for config in settings.agents.values():
                make_agent(config, python=sys.executable, prices=settings.prices)
            tried.append("settings")
        elif sample.language == "toml":
            assert read_steps(file)
            tried.append("steps")
        elif sample.language == "text":
            check_prompt_template(sample.text, where="sample")
            tried.append("template")
    assert sorted(tried) == ["settings", "settings", "settings", "steps", "template"]
