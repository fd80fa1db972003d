"""What a repository shows of itself: how it is tested, what makes it ready, and which agents are on this machine.

Knows files that tools leave, and agents' programs. Must not run any of them.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.agents.finding import find_program
from budwood.agents.registry import agent_named, agent_names
from budwood.errors import UsageError

_NO_PROGRAM = frozenset({"command", "model", "script"})
"""Agents that are always there, and nobody's choice for a night."""
_MAKE_TEST = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_PYTEST_INI = re.compile(r"^\[(?:tool:)?pytest\]", re.MULTILINE)


class Setup(Struct, frozen=True):
    """What makes a workspace ready, as a lock file tells."""

    lock: str
    command: str
    keeps: tuple[str, ...] = ()


_LOCKS = (
    Setup("uv.lock", "uv sync --frozen", (".venv",)),
    Setup("poetry.lock", "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install", (".venv",)),
    Setup("package-lock.json", "npm ci", ("node_modules",)),
    Setup("pnpm-lock.yaml", "pnpm install --frozen-lockfile", ("node_modules",)),
    Setup("yarn.lock", "yarn install --frozen-lockfile", ("node_modules",)),
    Setup("bun.lock", "bun install --frozen-lockfile", ("node_modules",)),
    Setup("composer.lock", "composer install", ("vendor",)),
    Setup("Cargo.lock", "cargo fetch --locked", ("target",)),
    Setup("go.sum", "go mod download"),
)


class Detected(Struct, frozen=True, kw_only=True):
    """What was found, the first choice first."""

    agents: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    setups: tuple[Setup, ...] = ()


def detect(folder: Path, environ: Mapping[str, str]) -> Detected:
    """Look at the files of a directory and at the programs on the PATH."""
    return Detected(
        agents=tuple(_agents(environ.get("PATH", ""))),
        checks=tuple(command for command, look in _CHECKS if look(folder)),
        setups=tuple(setup for setup in _LOCKS if (folder / setup.lock).is_file()),
    )


def _agents(path: str) -> Iterator[str]:
    for name in agent_names():
        if name in _NO_PROGRAM:
            continue
        with suppress(UsageError):  # a package that cannot be loaded brings no agent
            if find_program(agent_named(name).version_argv[0], path) is not None:
                yield name


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError:
        return {}


def _has_pytest(folder: Path) -> bool:
    tool = _toml(folder / "pyproject.toml").get("tool")
    return (
        (isinstance(tool, dict) and "pytest" in tool)
        or any((folder / name).is_file() for name in ("pytest.ini", "conftest.py", "tests/conftest.py"))
        or any(_PYTEST_INI.search(_text(folder / name)) for name in ("tox.ini", "setup.cfg"))
        or next((folder / "tests").glob("test_*.py"), None) is not None
    )


def _has_npm_test(folder: Path) -> bool:
    try:
        found = msgspec.json.decode(_text(folder / "package.json") or "{}")
    except msgspec.DecodeError:
        return False
    scripts = found.get("scripts") if isinstance(found, dict) else None
    test = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(test, str) and "no test specified" not in test  # what `npm init` writes fails by itself


def _pytest_with(lock: str) -> Callable[[Path], bool]:
    return lambda folder: (folder / lock).is_file() and _has_pytest(folder)


_CHECKS: tuple[tuple[str, Callable[[Path], bool]], ...] = (
    ("uv run pytest -q", _pytest_with("uv.lock")),
    ("poetry run pytest -q", _pytest_with("poetry.lock")),
    ("pytest -q", _has_pytest),
    ("npm test", _has_npm_test),
    ("cargo test", lambda folder: (folder / "Cargo.toml").is_file()),
    ("go test ./...", lambda folder: (folder / "go.mod").is_file()),
    ("make test", lambda folder: _MAKE_TEST.search(_text(folder / "Makefile")) is not None),
)
