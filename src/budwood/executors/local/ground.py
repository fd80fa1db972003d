"""What all slots of one driver stand on: its places, its fencing number, whom it tells.

Knows how the parts are put together; must not know slots or attempts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from budwood.executors.base import Loop, Sink
from budwood.executors.environment import passed
from budwood.executors.local.paths import RunPaths
from budwood.executors.local.sweep import Sweeper


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is on this machine, whoever drives it."""

    paths: RunPaths
    run_id: str
    binary: Path
    environ: Mapping[str, str]
    base_env: Mapping[str, str]
    """The part of `environ` that every program may see."""

    def mark(self, work_id: str) -> str:
        """Return what every process of an attempt carries in its environment."""
        return f"{self.run_id}:{work_id}"

    def environment(self, env_pass: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
        """Make the environment of an attempt: what every program may see, what is passed by name, what is given."""
        return {**self.base_env, **passed(self.environ, env_pass), **env}


@dataclass(frozen=True, slots=True)
class Ground:
    """A place under one driver."""

    place: Place
    fence: int
    loop: Loop
    sink: Sink
    sweeper: Sweeper
