"""The reference of commands says what the program has: every command, every option, every JSON shape."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from tests.cli.test_help import COMMANDS, PATHS
from tests.docs.pages import ROOT, samples
from tests.search.grove import FOUR, Grove
from tests.support.evening import Evening, made_evening
from tests.support.program import call
from tests.support.told import Told, under_way

from budwood.cli.app import app

__all__ = ["made_evening"]
PAGE = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
PLAN = """
[run]
slots = 9
[[lane]]
id = "web"
[[task]]
id = 1
run = "make"
lane = "web"
prefer_after = ["b"]
[[task]]
id = "b"
run = "make b"
after = [1]
"""


OF_AGENTS = ("review", "diff", "compare", "best", "lanes", "recover", "gc", "plan conflicts")
"""Commands about workspaces: their samples are of a run that had some."""
OF_SEARCHES = ("tree",)
"""Commands about searches."""
OF_MANIFESTS = "store import-manifest"
"""Its sample is looked at where there is a manifest: tests/formats/test_tree_import.py."""


def entry(path: str) -> str:
    """Return what stands under a command's heading."""
    _, found, rest = PAGE.partition(f"\n### `budwood {path}`\n")
    assert found, f"no heading for budwood {path}"
    return re.split(r"\n#{2,3} ", rest)[0]


def options(command: click.Command) -> dict[str, str]:
    """Map each option, as the page writes it, to its help."""
    found = {}
    for option in command.params:
        if isinstance(option, click.Option):
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            found[f"{names} `{option.metavar}`" if option.metavar else names] = option.help or ""
    return found


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=PATHS)
def test_every_command_has_an_entry_with_its_usage_and_its_options(path: str, command: click.Command) -> None:
    text = entry(path)
    context = click.Context(command, info_name=f"budwood {path}", **app.context_settings)
    usage = command.get_usage(context).removeprefix("Usage: ")
    assert f"`{' '.join(usage.split())}`" in text
    told = dict(re.findall(r"^\| (`-.*?) \| (.*) \|$", text, re.MULTILINE))
    assert told == options(command)


def test_no_heading_names_a_command_that_is_none() -> None:
    assert sorted(re.findall(r"^### `budwood (.*)`$", PAGE, re.MULTILINE)) == sorted(PATHS)


def test_commands_that_read_have_a_sample_of_their_json() -> None:
    reading = [path for path, command in COMMANDS if "`--json`" in options(command) and path != "story"]
    assert [path for path in reading if "```json" not in entry(path)] == []


def json_samples() -> Iterator[tuple[str, object]]:
    """Give each command line with JSON, and the sample below it."""
    for match in re.finditer(r"^`budwood ([^`\n]*--json)`:\n\n```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        yield match[1], msgspec.json.decode(match[2])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    told = under_way(tmp_path_factory.mktemp("project"))
    (told.root / "plan.toml").write_text(PLAN)
    yield told
    told.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "sample"),
    [(line, sample) for line, sample in json_samples() if line.startswith(OF_AGENTS)],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_every_json_sample_about_workspaces_has_the_shape_of_what_is_written(
    made_evening: Evening, line: str, sample: object
) -> None:
    assert shape(sample) == shape(msgspec.json.decode(made_evening.call(*shlex.split(line)).raw))


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        (line, sample)
        for line, sample in json_samples()
        if not line.startswith((*OF_AGENTS, *OF_SEARCHES, OF_MANIFESTS))
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_every_json_sample_has_the_shape_of_what_is_written(project: Told, line: str, sample: object) -> None:
    written = msgspec.json.decode(call(*shlex.split(line), cwd=project.root).raw)
    if line.startswith("config show"):  # by key, so the sample shows one of many
        assert isinstance(sample, dict)
        written["settings"] = {name: written["settings"][name] for name in sample["settings"]}
    assert shape(sample) == shape(written)


@pytest.mark.slow
def test_every_json_sample_about_searches_has_the_shape_of_what_is_written(tmp_path: Path) -> None:
    grove = Grove(tmp_path / "project")
    grove.ideas(**FOUR)
    grove.beam(options={"max_depth": 1})
    grove.call("run", "plan.toml")
    about = [(line, sample) for line, sample in json_samples() if line.startswith(OF_SEARCHES)]
    assert len(about) == 2
    for line, sample in about:
        assert shape(sample) == shape(msgspec.json.decode(grove.call(*shlex.split(line)).out))
    grove.end()


def shape(value: object) -> object:
    """Leave the keys; of a list its first entry, because samples are cut to that."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value and isinstance(value[0], dict | list) else []
    return None


def test_every_exit_code_is_listed() -> None:
    from budwood import errors
    from budwood.engine.verdict import Exit

    raised = {
        error.exit_code for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "exit_code")
    }
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert raised | set(map(int, Exit)) <= listed


def test_no_json_sample_is_left_out() -> None:
    assert len(list(json_samples())) == sum(sample.language == "json" for sample in samples(PAGE)) > 5
