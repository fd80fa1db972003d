"""A project for programs that use budwood from Python: in this process, or scripts of their own.

Tasks are held and let go by files, as in the command line's tests, so that no test has to guess how long something
takes.
"""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from tests.cli.world import HELD, QUICK, WITHIN_S, Budwood, Said

import budwood
from budwood import TaskSpec
from budwood.api import process


def held(name: str, **keys: str) -> TaskSpec:
    """Make a task that waits until the test lets it go."""
    return budwood.command(HELD, id=name, **keys)  # type: ignore[arg-type]


def quick(name: str, **keys: object) -> TaskSpec:
    """Make a task that does next to nothing."""
    return budwood.command(QUICK, id=name, **keys)  # type: ignore[arg-type]


class World(Budwood):
    """One project."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.env["PYTHONWARNINGS"] = "error"

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def script(self, text: str, *arguments: str, name: str = "program.py") -> "subprocess.Popen[str]":
        """Start a program; `finish` waits for it."""
        path = self.write(name, text)
        process = subprocess.Popen(
            [sys.executable, str(path), *arguments],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run_script(self, text: str, *arguments: str, code: int = 0, name: str = "program.py") -> Said:
        """Run a program to its end."""
        process = self.script(text, *arguments, name=name)
        out, err = process.communicate(timeout=WITHIN_S)
        said = Said(process.returncode, out, err)
        assert said.code == code, said
        return said

    def end(self) -> None:
        """End everything, the drives of this process first."""
        self.let_go()
        for driving in tuple(process._live):
            driving.stop(now="the test is over")
            assert driving.join(10.0), driving
        super().end()
