"""What of an agent is on this machine: its program, the program's version, a login.

The only file of this package that touches the machine. Knows programs and files; must not read the environment: PATH,
variables and HOME are given.
"""

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from budwood.agents.base import Agent
from budwood.agents.config import Billing
from budwood.agents.records import one_line, plain

VERSION_TIMEOUT_S = 5.0
_VERSION_BYTES = 64 * 1024
_POLL_S = 0.05
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:-[0-9A-Za-z][0-9A-Za-z.-]*)?)(?![\w])")


class LoginState(StrEnum):
    """How an agent would be let in."""

    KEY = "key"
    SUBSCRIPTION = "subscription"
    NONE = "none"
    UNKNOWN = "unknown"
    """It needs none, or nobody knows where it would be."""


class FoundLogin(Struct, frozen=True, kw_only=True):
    """How an agent would be let in, and which variable or file says so."""

    state: LoginState
    at: str = ""


class Version(Struct, frozen=True, kw_only=True):
    """What a program says of its version."""

    number: str | None = None
    problem: str = ""


class Sighting(Struct, frozen=True, kw_only=True):
    """What is there of an agent."""

    program: Path | None = None
    version: str | None = None
    is_tried: bool = False
    login: FoundLogin = FoundLogin(state=LoginState.UNKNOWN)
    problem: str = ""


def look_for(agent: Agent, environ: Mapping[str, str], *, home: Path, timeout_s: float = VERSION_TIMEOUT_S) -> Sighting:
    """Find out whether an agent could be used, without using it."""
    login = find_login(agent, environ, home=home)
    name, *words = agent.version_argv
    program = find_program(name, environ.get("PATH", ""))
    if program is None:
        return Sighting(login=login, problem=f"{name} is not on PATH, or may not be run")
    if not words:
        return Sighting(program=program, login=login)
    version = ask_version((str(program), *words), environ, timeout_s=timeout_s)
    return Sighting(
        program=program,
        version=version.number,
        is_tried=version.number in agent.tried,
        login=login,
        problem=version.problem,
    )


def find_program(name: str, path: str) -> Path | None:
    """Find what would run under this name, on this PATH."""
    found = shutil.which(name, path=path)
    return None if found is None else Path(found)


def ask_version(argv: Sequence[str], environ: Mapping[str, str], *, timeout_s: float = VERSION_TIMEOUT_S) -> Version:
    """Run a program for its version; nothing of it is left when this returns."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        return Version(problem=f"{argv[0]} cannot be started: {error.strerror}")
    with process:
        try:
            said, in_time = _listen(process, timeout_s)
        finally:
            _end(process)
    # A program that fails may tell the version of its interpreter.
    number = read_version(said) if not in_time or process.returncode == 0 else None
    if number is not None:
        return Version(number=number)
    if not in_time:
        return Version(problem=f"{argv[0]} did not tell its version within {timeout_s:g} s")
    return Version(problem=f"{argv[0]} tells no version, exit code {process.returncode}: {one_line(said) or 'no word'}")


def _listen(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[str, bool]:
    """Read until it ends, says too much or takes too long; a child that keeps its output open is not waited for."""
    assert process.stdout is not None
    said = b""
    deadline = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(said) < _VERSION_BYTES and time.monotonic() < deadline:
            ended = _has_ended(process)
            if selector.select(0 if ended else _POLL_S):
                piece = os.read(process.stdout.fileno(), _VERSION_BYTES)
                if not piece:
                    break
                said += piece
            elif ended:
                break
    return said.decode("utf-8", "replace"), time.monotonic() < deadline


def _end(process: subprocess.Popen[bytes]) -> None:
    # The group bears its number, which is nobody else's as long as it has not been waited for.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Look without waiting for it; macOS has no way to do that, and there the end of its output tells."""
    if sys.platform == "darwin":
        return False
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def read_version(text: str) -> str | None:
    """Pick the version out of whatever a program prints: warnings may stand around it."""
    lines = [plain(line) for line in text.splitlines()]
    found = [(len(line), match[1]) for line in lines for match in _VERSION.finditer(line)]
    # Of lines with a number, a warning is the longer one.
    return min(found, key=lambda each: each[0])[1] if found else None


def find_login(agent: Agent, environ: Mapping[str, str], *, home: Path) -> FoundLogin:
    """Tell how an agent would be let in: a key in a variable counts before a subscription's file."""
    login = agent.login
    if not login.keys and not login.files:
        return FoundLogin(state=LoginState.UNKNOWN)
    for name in login.keys:
        if environ.get(name, "").strip():
            return FoundLogin(state=LoginState.KEY, at=name)
    # A state of the attempt's own has no login in it.
    files = () if agent.overrides.own_state else login.files
    directory = Path(environ.get(login.directory_env) or home / login.directory)
    found = next((directory / name for name in files if _is_filled(directory / name)), None)
    if found is None:
        return FoundLogin(state=LoginState.NONE)
    return FoundLogin(state=LoginState.SUBSCRIPTION, at=str(found))


def billing_of(given: Billing | None, login: FoundLogin) -> Billing:
    """Say whether what an agent costs counts as money; where nobody knows, it does."""
    return given or ("subscription" if login.state is LoginState.SUBSCRIPTION else "metered")


def _is_filled(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False
