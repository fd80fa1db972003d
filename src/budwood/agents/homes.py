"""Where on this machine the things are that an agent's program needs of the home directory.

Knows agents' own data and the variables that move it. Must not read the environment: variables and HOME are given.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from budwood.agents.base import Agent


class Places(Struct, frozen=True, kw_only=True):
    """What a program reads and changes."""

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()


def places_of(agent: Agent, environ: Mapping[str, str], *, home: Path) -> Places:
    """Return what of the home directory an agent needs, as it is here; nothing where its state is the attempt's own."""
    if agent.overrides.own_state:
        return Places()
    login = agent.login
    moved = environ.get(login.directory_env) if login.directory_env else None

    def at(name: str) -> Path:
        inside = Path(name).parts[:1] == (login.directory,)
        return Path(moved, *Path(name).parts[1:]) if moved and inside else home / name

    needs = agent.home
    return Places(reads=tuple(map(at, needs.reads)), writes=tuple(map(at, needs.writes)))
