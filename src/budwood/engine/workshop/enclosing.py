"""The sandbox of an attempt: its steps as they are, with what keeps them in written in front.

Knows what an attempt has (its workspace, its agent's state, its report of cost) and so what it must see. Must not know
how an attempt ended, nor start anything.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from budwood._core.model import AttemptPhase, Outcome
from budwood.agents.finding import find_program
from budwood.agents.homes import Places
from budwood.agents.serving import VARIABLES
from budwood.executors.base import Step, Work
from budwood.sandbox import Machine, View, bwrap_words, places
from budwood.sandbox.door import DOOR, PLACE
from budwood.sandbox.machine import gpu_devices
from budwood.sandbox.view import TMP
from budwood.workspaces import Workspace

FAULT = "sandbox"
"""The file in an attempt's directory that says why a step could not begin in its sandbox."""
_FAULT_BYTES = 4096
_SOCKETS = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Ways to others' programs that are not there inside."""
_OF_ATTEMPT = (*VARIABLES, "BUDWOOD_ATTEMPT", "BUDWOOD_MARK")
"""What a server at the door is started with: whose it is, so that it can act for nobody else, and is found with it."""
_OF_MACHINE = ("HOME", "LANG", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What else it has, unless the task has set that: it may name what an attempt can change."""
_HOMES = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What an attempt has of its own beside its workspace."""

    state: Path | None
    """Where its agent's files are; None without an agent."""
    ours: tuple[Path, ...]
    """What we wrote there, and somebody outside opens: an agent that could replace it could have that read a key."""
    agent: Places
    """What its agent needs of the home directory."""
    argv: tuple[str, ...]
    """Its agent's command."""


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """What keeps the attempts of one run in."""

    bwrap: Path
    helper: Path
    """The supervisor's program, which runs bwrap and ends as the step ended."""
    machine: Machine
    environ: Mapping[str, str]
    network: str | tuple[str, ...]
    reads: tuple[Path, ...]
    """What else can be read: what the user names, objects that a clone shares, directories that are linked."""
    writes: tuple[Path, ...]
    """What else can be changed. Whatever an attempt needs of the project's own state is to be named here."""
    sealed: tuple[Path, ...]
    """The user's checkout and the pool."""
    tmp_of: Callable[[int], Path]
    """Where the supervisor of a slot has its temporary directory."""
    attempts: Path
    server: tuple[str, ...]
    """What serves at the door, outside, each time that somebody comes; without it there is no door."""

    def around(self, work: Work, workspace: Workspace, own: Own) -> Work:
        """Keep every step of an attempt in."""
        tmp, folder = self.tmp_of(work.slot), self.attempts / work.id
        own_tmp, own_home, usage = tmp / "tmp", tmp / "home", folder / "usage.json"
        view = View(
            reads=(*self.machine.reads, *self.reads, *self._programs(own.argv), *_links(own.agent.reads)),
            writes=tuple(self._writes(workspace, own, usage)),
            guarded=(*own.ours, *(path for path in own.agent.reads if not path.is_symlink())),
            sealed=self.sealed,
            tmp=own_tmp,
            home=self.machine.home,
            own_home=own_home,
            cwd=Path(work.cwd),
            devices=gpu_devices() if work.env.get("CUDA_VISIBLE_DEVICES") else (),
            env=self._variables(),
            network=self.network == "all",
        )
        words = (
            *(str(self.helper), "sandbox", "--make", str(own_tmp), "--make", str(own_home)),
            *_each("--place", map(str, places(view))),
            *("--touch", str(usage), "--fault", str(folder / FAULT)),
            *_each("--host", self._hosts),
            *_each("--unset", self._missing(work)),
            *self._door(work, tmp / "door"),
            *("--", str(self.bwrap), *bwrap_words(view), "--"),
        )
        return msgspec.structs.replace(work, steps=tuple(_in_front(words, step) for step in work.steps))

    @property
    def _hosts(self) -> tuple[str, ...]:
        return () if isinstance(self.network, str) else self.network

    def _writes(self, workspace: Workspace, own: Own, usage: Path) -> Iterator[Path]:
        yield from (path for path in (*self.writes, *own.agent.writes) if path.exists())
        yield from (workspace.path, usage)
        if own.state is not None:
            yield own.state

    def _programs(self, argv: tuple[str, ...]) -> Iterator[Path]:
        """List what an agent's command names: its program, and files that are words of it."""
        if argv:
            program = find_program(argv[0], self.environ.get("PATH", ""))
            yield from () if program is None else self.machine.program(program)
        yield from (Path(word) for word in argv[1:] if word.startswith("/") and os.path.isfile(word))

    def _door(self, work: Work, path: Path) -> Iterator[str]:
        """Ask for a door where somebody is to serve at it."""
        if self.server:
            yield from ("--door", str(path))
            yield from _each("--server", self.server)
            yield from _each("--keep", (*_OF_ATTEMPT, *(name for name in _OF_MACHINE if name not in work.env)))

    def _variables(self) -> dict[str, str]:
        shown = {"TMPDIR": str(TMP), "IS_SANDBOX": "1", **({DOOR: PLACE} if self.server else {})}
        return shown if self.machine.home != Path("/") else {**shown, "HOME": str(TMP)}

    def _missing(self, work: Work) -> Iterator[str]:
        """Name the variables that would lead to what is not there, unless somebody asked for them; and the token."""
        yield from VARIABLES
        asked = {*work.env, *work.env_pass}
        for name in _SOCKETS:
            if name not in asked:
                yield name
        for name in _HOMES:
            value = self.environ.get(name)
            if value and name not in asked and not Path(value).is_relative_to(self.machine.home):
                yield name


def _links(paths: Iterable[Path]) -> Iterator[Path]:
    """List where paths lead that are links: nothing can be mounted upon those."""
    return (path.resolve() for path in paths if path.is_symlink())


def _each(option: str, values: Iterable[str]) -> Iterator[str]:
    return (word for value in values for word in (option, value))


def _in_front(words: tuple[str, ...], step: Step) -> Step:
    return msgspec.structs.replace(step, argv=(*words, *step.argv))


def faulty(outcome: Outcome, folder: Path) -> Outcome:
    """Say that a step could not begin, where its sandbox, or its program in there, was the reason."""
    if outcome.phase is not AttemptPhase.FAILED:
        return outcome
    try:
        with (folder / FAULT).open("rb") as file:
            kind, _, message = file.read(_FAULT_BYTES).decode(errors="replace").partition(" ")
    except OSError:
        return outcome
    return msgspec.structs.replace(outcome, error_type=kind, message=message)
