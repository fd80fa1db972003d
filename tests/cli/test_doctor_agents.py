"""`budwood doctor` on agents: where each is, its version, its login; bad and hanging programs do no harm."""

import os
import sys
from pathlib import Path

import pytest
from tests.agents.starting import FAKES, Bench
from tests.support.program import call

from budwood import __version__
from budwood.agents import finding
from budwood.agents.config import AgentConfig, AgentSettings
from budwood.cli import agents_checkup
from budwood.project.place import Project


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Here:
    """The program in a project of its own, with the fakes as all the agents there are."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = bench
        self.project = bench.root / "project"
        self.project.mkdir()
        (self.project / "budwood.toml").touch()
        self.environ = bench.environ()
        self.environ["PATH"] = os.pathsep.join((str(FAKES), str(bench.programs), "/usr/bin", "/bin"))
        # A machine that is busy with other tests may need longer than a user waits.
        monkeypatch.setattr("budwood.cli.commands.doctor.VERSION_TIMEOUT_S", 60.0)
        monkeypatch.setattr("tests.support.program._environment", lambda: {**self.environ, "XDG_CONFIG_HOME": "/none"})

    def configure(self, text: str) -> None:
        """Write the project's settings."""
        (self.project / "budwood.toml").write_text(text)

    def agents(self) -> dict[str, dict[str, object]]:
        """Return what is told of each agent."""
        told = call("doctor", "--json", cwd=self.project).json["agents"]
        assert isinstance(told, list)
        return {each["name"]: each for each in told}

    def text(self) -> str:
        """Return what people see."""
        ran = call("doctor", cwd=self.project)
        assert ran.code == 0
        return ran.out


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Here:
    return Here(bench, monkeypatch)


def program(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_each_agent_is_told_with_its_version_and_its_login(here: Here) -> None:
    (here.bench.home / ".codex").mkdir()
    login = here.bench.home / ".codex/auth.json"
    login.write_text("{}")
    here.environ["ANTHROPIC_API_KEY"] = "hunter2"
    told = here.agents()
    assert list(told) == ["aider", "claude", "codex", "gemini", "opencode", "script"]
    assert told["claude"] == {
        "name": "claude",
        "agent": "claude",
        "state": "ok",
        "text": f"2.1.197 at {FAKES / 'claude'}; key in ANTHROPIC_API_KEY, metered",
        "fix": None,
        "program": str(FAKES / "claude"),
        "version": "2.1.197",
        "tried": True,
        "login": "key",
        "login_at": "ANTHROPIC_API_KEY",
        "billing": "metered",
    }
    assert (told["codex"]["login"], told["codex"]["login_at"]) == ("subscription", str(login))
    assert told["codex"]["billing"] == "subscription"
    assert (told["gemini"]["state"], told["gemini"]["login"]) == ("warning", "none")
    assert told["gemini"]["fix"] == "set GEMINI_API_KEY or GOOGLE_API_KEY, or log in with gemini"
    assert (told["script"]["state"], told["script"]["version"]) == ("ok", __version__)
    text = here.text()
    assert f"\nok       claude      2.1.197 at {FAKES / 'claude'}; key in ANTHROPIC_API_KEY, metered\n" in text
    assert "hunter2" not in text


def test_an_agent_that_is_not_there_matters_only_if_it_is_configured(here: Here) -> None:
    here.environ["PATH"] = "/nonexistent"
    told = here.agents()
    assert {name for name, each in told.items() if each["state"] == "absent"} == {*told} - {"script"}
    here.configure('[agents.cheap]\nagent = "claude"\n')
    told = here.agents()
    assert (told["cheap"]["state"], told["claude"]["state"]) == ("warning", "absent")
    assert told["cheap"]["fix"]


def test_a_version_that_was_never_tried_is_told(here: Here) -> None:
    other = program(here.bench.root, "other", "echo 9.9.9")
    here.environ["ANTHROPIC_API_KEY"] = "k"
    here.configure(f'[agents.mine]\nagent = "claude"\ncommand = ["{other}"]\n')
    mine = here.agents()["mine"]
    assert (mine["state"], mine["version"], mine["tried"]) == ("unknown", "9.9.9", False)
    assert mine["text"] == (
        f"claude 9.9.9 at {other}; this version was never tried, 2.1.197 was; key in ANTHROPIC_API_KEY, metered"
    )


def test_configured_models_and_commands_are_looked_at_and_wrong_ones_named(here: Here) -> None:
    mine = program(here.bench.root, "mine", f"touch {here.bench.root}/worked")
    here.configure(
        '[agents.local]\nagent = "model"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "MY_KEY"\n'
        f'[agents.own]\nagent = "command"\ncommand = ["{mine}"]\n'
        '[agents.wrong]\nagent = "codex"\nmax_turns = 3\n[agents.none]\nagent = "cluade"\n'
    )
    told = here.agents()
    assert (told["local"]["state"], told["local"]["fix"]) == ("warning", "set MY_KEY")
    assert (told["local"]["program"], told["local"]["version"]) == (sys.executable, __version__)
    assert (told["own"]["state"], told["own"]["program"], told["own"]["version"]) == ("ok", str(mine), None)
    assert not (here.bench.root / "worked").exists()
    assert told["wrong"]["text"] == "agent wrong has max_turns, and codex cannot keep to that"
    assert (told["none"]["text"], told["none"]["fix"]) == ("there is no agent 'cluade'", "did you mean 'claude'?")


def test_settings_that_are_wrong_do_not_keep_it_from_looking(here: Here) -> None:
    here.configure('[agents.a]\nagent = "claude"\nprompt_template = "absent.md"\n')
    assert "\nwarning  settings    there is no file " in here.text()
    here.configure("[agents.a]\nmodle = 1\n")
    told = call("doctor", "--json", cwd=here.project).json
    assert isinstance(told["checks"], list)
    wrong = [each["name"] for each in told["checks"] if "modle" in each["text"]]
    assert wrong == ["store"]
    assert here.agents()["claude"]["version"] == "2.1.197"


def look(bench: Bench, *names: str, timeout_s: float) -> list[agents_checkup.AgentFinding]:
    """Look at programs of these names as if they were agents, with nothing else on the PATH."""
    configs = {name: AgentConfig(name=name, agent="claude", command=(str(bench.root / name),)) for name in names}
    project = Project(root=bench.root, environ={"PATH": os.defpath, "HOME": str(bench.home)})
    found = agents_checkup.agents(project, AgentSettings(agents=configs), timeout_s=timeout_s)
    return [each for each in found if each.name in names]


def test_programs_are_asked_at_the_same_time(bench: Bench) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        wait = f"while ! [ -e {bench.root}/{other}.here ]; do sleep 0.01; done"
        program(bench.root, name, f": > {bench.root}/{name}.here\n{wait}\necho 1.2.3")
    assert [each.version for each in look(bench, "one", "two", timeout_s=30)] == ["1.2.3", "1.2.3"]


def test_a_program_that_hangs_is_given_up_with_a_warning(bench: Bench) -> None:
    stuck = program(bench.root, "stuck", "exec sleep 300")
    [found] = look(bench, "stuck", timeout_s=0.3)
    assert (found.state, found.text) == ("warning", f"{stuck} did not tell its version within 0.3 s")


def test_users_wait_for_five_seconds_at_most() -> None:
    assert finding.VERSION_TIMEOUT_S == 5
