"""Fake agents as real processes: started as `launch` says, read as `read` does."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from budwood.agents.base import NO_TOKENS, Agent, Assignment, Launch, Overrides, Reading, Tokens
from budwood.agents.registry import agent_named

FAKES = Path(__file__).parent / "fakes"
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 6, 8, 20, 0, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1_000)


def moment(year: int, month: int, day: int, hour: int = 0, minute: int = 0, *, zone: ZoneInfo = BERLIN) -> int:
    """Write a moment down as a reading does."""
    return int(datetime(year, month, day, hour, minute, tzinfo=zone).timestamp() * 1_000)


def write_python(folder: Path) -> None:
    """Lay down the python3 that the fakes ask for: one that looks for no packages starts in a third of the time."""
    python = folder / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)


class Bench:
    """A place with a prompt, a workspace, a home and a state directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.state = root / "state"
        self.workspace = root / "workspace"
        self.prompt_file = root / "prompt.md"
        self.programs = root / "programs"
        for directory in (self.home, self.state, self.workspace, self.programs):
            directory.mkdir()
        write_python(self.programs)

    def assignment(self, prompt: str = "Do it.") -> Assignment:
        """Write the prompt down."""
        self.prompt_file.write_text(prompt)
        return Assignment(prompt_file=self.prompt_file, state_dir=self.state, prompt=prompt)

    def environ(self, launch: Launch | None = None) -> dict[str, str]:
        """Make an environment in which the fakes are found first."""
        path = os.pathsep.join((str(FAKES), str(self.programs), os.environ.get("PATH", "")))
        return {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": path,
            "HOME": str(self.home),
            **({} if launch is None else launch.env),
        }

    def start(self, launch: Launch) -> "subprocess.CompletedProcess[bytes]":
        """Start what a launch says, with both streams in one."""
        for path, text in launch.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with (launch.stdin or Path(os.devnull)).open("rb") as stdin:
            return subprocess.run(
                launch.argv,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.workspace,
                env=self.environ(launch),
                timeout=30,
                check=False,
            )

    def reading(self, agent: Agent | str, behaviour: str, *, before: Tokens = NO_TOKENS, **changes: object) -> Reading:
        """Let an agent behave in a certain way, and read it."""
        agent = agent_named(agent, Overrides()) if isinstance(agent, str) else agent
        given = self.assignment(f"Please behave: {behaviour}\n")
        fields = {name: getattr(given, name) for name in given.__struct_fields__}
        done = self.start(agent.launch(Assignment(**{**fields, **changes})))
        assert done.returncode != 99, done.stdout.decode()
        code = done.returncode
        return agent.read(
            done.stdout,
            exit_code=None if code < 0 else code,
            signal=-code if code < 0 else None,
            now_ms=NOW_MS,
            zone=BERLIN,
            tokens_before=before,
        )
