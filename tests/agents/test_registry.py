"""Agents by name, those of other packages included: a real distribution on the path, as pip leaves it."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.starting import Bench

from budwood.agents.base import Overrides
from budwood.agents.registry import agent_named, agent_names
from budwood.errors import UsageError

GOOD = """
from budwood.agents.base import Agent, Launch, OutcomeKind, Reading

class Mine(Agent):
    name = account = program = "mine"

    def arrange(self, assignment):
        return Launch(argv=("mine", "go"))

    def read(self, output, *, exit_code, signal, now_ms, zone, timed_out=False, tokens_before=None):
        return Reading(kind=OutcomeKind.OK)

class Broken(Mine):
    def __init__(self, overrides):
        raise RuntimeError("no luck")
"""


class Shelf:
    """A directory on sys.path, into which packages are put."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, package: str, *, points: dict[str, str], code: str = "") -> None:
        """Install a package, as far as an importer can tell."""
        module = package.replace("-", "_")
        (self.root / f"{module}.py").write_text(code)
        info = self.root / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {target}\n" for name, target in points.items())
        (info / "entry_points.txt").write_text(f"[budwood.agents]\n{lines}")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.syspath_prepend(tmp_path)
    return Shelf(tmp_path)


@pytest.mark.parametrize("name", ["aider", "claude", "codex", "gemini", "opencode"])
def test_built_in_agents_are_found_by_name(name: str) -> None:
    agent = agent_named(name)
    assert (agent.name, agent.version_argv) == (name, (name, "--version"))
    assert agent.tried


def test_a_package_can_add_one_and_overrides_apply_to_it(shelf: Shelf, bench: Bench) -> None:
    shelf.put("budwood-mine", points={"mine": "budwood_mine:Mine"}, code=GOOD)
    assert "mine" in agent_names()
    agent = agent_named("mine", Overrides(args=("--more",)))
    assert agent.launch(bench.assignment()).argv == ("mine", "go", "--more")


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match="there is no agent 'cluade'") as raised:
        agent_named("cluade")
    assert raised.value.hint == "did you mean 'claude'?"
    with pytest.raises(UsageError) as raised:
        agent_named("xyzzy")
    assert raised.value.hint == f"agents are {', '.join(agent_names())}"


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [
        (
            "budwood_bad:Mine",
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ),
        ("budwood_bad:Absent", "", "AttributeError"),
        ("budwood_bad:thing", "thing = 3", "is no subclass of budwood.agents.Agent"),
        ("budwood_bad:Broken", GOOD, "cannot be made: RuntimeError: no luck"),
    ],
)
def test_a_package_that_brings_no_agent_is_named(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, target: str, code: str, words: str
) -> None:
    monkeypatch.delitem(sys.modules, "budwood_bad", raising=False)
    shelf.put("budwood-bad", points={"bad": target}, code=code)
    with pytest.raises(UsageError) as raised:
        agent_named("bad")
    assert raised.value.message.startswith("agent bad of package budwood-bad ")
    assert words in raised.value.message
    monkeypatch.delitem(sys.modules, "budwood_bad", raising=False)


def test_a_name_that_two_packages_claim_is_refused(shelf: Shelf) -> None:
    shelf.put("budwood-one", points={"twice": "budwood_one:A"})
    shelf.put("budwood-two", points={"twice": "budwood_two:B"})
    with pytest.raises(UsageError, match="agent twice comes from more than one package: budwood-one, budwood-two"):
        agent_named("twice")


def test_a_built_in_name_cannot_be_taken(shelf: Shelf) -> None:
    shelf.put("budwood-thief", points={"claude": "budwood_thief:Claude"})
    assert type(agent_named("claude")).__module__ == "budwood.agents.claude"


def test_adapters_are_imported_when_they_are_asked_for() -> None:
    code = "import sys, budwood.agents; print([m for m in sys.modules if m.endswith(('.claude', '.codex'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "[]\n"
