"""`init` inside a repository: what it finds there is in the settings, and the plan can be checked and run."""

import itertools
import json
import re
import subprocess
import tomllib

import pytest
from tests.cli.world import Budwood


@pytest.fixture
def repository(budwood: Budwood) -> Budwood:
    """Return a repository without settings, on a machine without agents."""
    (budwood.root / "budwood.toml").unlink()
    for words in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=n@x.org", "commit", "-qm1", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=budwood.root, env=budwood.env, check=True)
    programs = budwood.root.parent / "programs"
    programs.mkdir()
    budwood.env["PATH"] = f"{programs}:/usr/bin:/bin"
    return budwood


def settings(budwood: Budwood) -> dict[str, object]:
    found: dict[str, dict[str, object]] = tomllib.loads((budwood.root / "budwood.toml").read_text(encoding="utf-8"))
    return found["run"]


def program(budwood: Budwood, name: str, text: str = "exit 0") -> None:
    path = budwood.root.parent / "programs" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("files", "check"),
    [
        ({"tests/test_a.py": ""}, "pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "Makefile": "test:\n\ttrue\n"}, "pytest -q"),
        ({"setup.cfg": "[tool:pytest]\n"}, "pytest -q"),
        ({"pytest.ini": "", "uv.lock": ""}, "uv run pytest -q"),
        ({"pytest.ini": "", "poetry.lock": ""}, "poetry run pytest -q"),
        ({"package.json": '{"scripts": {"test": "vitest"}}'}, "npm test"),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"go.mod": ""}, "go test ./..."),
        ({"Makefile": "all:\n\ntest: all\n\ttrue\n"}, "make test"),
        ({"Makefile": "test := 1\nlatest:\n"}, None),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, None),
        ({"package.json": "{", "pyproject.toml": "["}, None),
        ({}, None),
    ],
)
def test_the_test_command_is_found(repository: Budwood, files: dict[str, str], check: str | None) -> None:
    write(repository, files)
    repository.call("init")
    assert settings(repository).get("check") == check


@pytest.mark.parametrize(
    ("files", "setup", "keeps"),
    [
        (["uv.lock"], "uv sync --frozen", [".venv"]),
        (["package-lock.json"], "npm ci", ["node_modules"]),
        (["pnpm-lock.yaml"], "pnpm install --frozen-lockfile", ["node_modules"]),
        (["Cargo.lock"], "cargo fetch --locked", ["target"]),
        (["uv.lock", "package-lock.json"], "uv sync --frozen && npm ci", [".venv", "node_modules"]),
        (["go.sum"], "go mod download", None),
        ([], None, None),
    ],
)
def test_lock_files_say_how_a_workspace_is_made_ready(
    repository: Budwood, files: list[str], setup: str | None, keeps: list[str] | None
) -> None:
    write(repository, dict.fromkeys(files, ""))
    repository.call("init")
    assert (settings(repository).get("setup"), settings(repository).get("setup_keeps")) == (setup, keeps)


def write(budwood: Budwood, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = budwood.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_agents_on_the_path_are_found(repository: Budwood) -> None:
    program(repository, "codex")
    program(repository, "claude")
    repository.call("init")
    assert settings(repository)["agent"] == "claude"
    assert "also here: codex" in (repository.root / "budwood.toml").read_text(encoding="utf-8")


def test_without_an_agent_the_plan_can_be_checked_and_says_what_is_missing(repository: Budwood) -> None:
    repository.call("init")
    assert (
        "3 tasks; widest batch 2, longest path 2; nothing to warn of"
        in repository.call("plan", "check", "plan.toml").out
    )
    refused = repository.call("run", "plan.toml", code=2)
    assert "agent claude is not installed" in refused.err


def test_the_written_files_run_with_a_script_in_the_agents_place(repository: Budwood) -> None:
    program(repository, "npm", "mkdir node_modules && touch node_modules/ready")
    write(
        repository,
        {
            "package-lock.json": "{}",
            ".gitignore": "node_modules\n",
            "Makefile": "test:\n\tls *.txt\n",
        },
    )
    repository.call("init")
    plan = repository.root / "plan.toml"
    numbers = itertools.count()

    def steps(_: re.Match[str]) -> str:
        return f"prompt = '''\n[[step]]\ndo = 'write'\npath = '{next(numbers)}.txt'\ntext = 'x'\n'''"

    text = re.sub(
        r'^prompt = (?:""".*?"""|".*?")$', steps, plan.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    plan.write_text(text, encoding="utf-8")
    assert next(numbers) == 3
    ran = repository.call("run", "plan.toml", "--agent", "script", "--include-dirty")
    assert "3 done" in ran.err


def test_several_attempts_at_one_task_run_as_written_with_a_command_in_the_agents_place(repository: Budwood) -> None:
    write(repository, {"code.txt": "used\nunused\nunused too\n"})
    repository.call("init", "--template", "best-of")
    settings = repository.root / "budwood.toml"
    cutter = '\n[agents.cutter]\nagent = "command"\ncommand = ["sed", "-i", "$d", "code.txt"]\n'
    settings.write_text(settings.read_text(encoding="utf-8") + cutter, encoding="utf-8")
    ran = repository.call("run", "plan.toml", "--agent", "cutter", "--include-dirty")
    assert "best    try-1  score" in ran.err


@pytest.mark.parametrize(("template", "first"), [("beam", "d1-e0001"), ("mcts", "m1"), ("evolve", "e1")])
def test_a_search_runs_as_written_with_a_command_in_the_agents_place(
    repository: Budwood, template: str, first: str
) -> None:
    write(repository, {"code.txt": "used\nunused\nunused too\nnever used\n"})
    repository.call("init", "--template", template)
    settings = repository.root / "budwood.toml"
    cutter = '\n[agents.cutter]\nagent = "command"\ncommand = ["sed", "-i", "$d", "code.txt"]\n'
    settings.write_text(settings.read_text(encoding="utf-8") + cutter, encoding="utf-8")
    repository.call("run", "plan.toml", "--agent", "cutter", "--include-dirty", code=None)
    grown = json.loads(repository.call("tree", "plan", "--json").out)
    scores = {node["id"]: node["score"]["value"] for node in grown["nodes"] if node["score"]}
    assert scores[first] == scores["root"] - 1
    assert scores[grown["best"]] < scores[first]


def test_elsewhere_and_on_request_a_plan_of_commands_is_written(repository: Budwood) -> None:
    repository.call("init", "--template", "commands")
    assert "5 tasks" in repository.call("plan", "check", "plan.toml").out
    outside = repository.root.parent / "outside"
    repository.call("init", str(outside))
    assert 'run = "echo all done"' in (outside / "plan.toml").read_text(encoding="utf-8")
    refused = repository.call("init", "--template", "evolv", code=2)
    assert "'commands', 'plan'" in refused.err
