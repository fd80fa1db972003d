"""A file of steps and the program that follows it, called here, which is quick, or as an attempt does."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from budwood.agents.script.__main__ import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What the program left."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """Its last line."""
        return msgspec.json.decode(self.out.splitlines()[-1], type=dict[str, Any])

    @property
    def end(self) -> tuple[int, str, str]:
        """Its exit code, its outcome and its message."""
        return self.code, self.report["outcome"], self.report["message"]


class Scene:
    """A workspace, and beside it a file of steps."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.file = folder / "steps.toml"
        self.usage = folder / "usage.json"

    def follow(self, steps: str, **env: str) -> Ran:
        """Follow steps here."""
        self.file.write_text(steps)
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with (
            chdir(self.workspace),
            patch.dict(os.environ, self.environ(env), clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main([str(self.file)])
        said = [text.buffer.getvalue().decode() for text in (out, err)]
        return Ran(code, *said)

    def start(self, steps: str, **env: str) -> Ran:
        """Follow steps as an attempt does."""
        with self.open(steps, **env) as process:
            out, err = process.communicate(timeout=30)
        return Ran(process.returncode, out, err)

    def open(self, steps: str, **env: str) -> subprocess.Popen[str]:
        """Begin to follow steps."""
        self.file.write_text(steps)
        return subprocess.Popen(
            [sys.executable, "-m", "budwood.agents.script", str(self.file)],
            cwd=self.workspace,
            env=self.environ(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environ(self, env: dict[str, str]) -> dict[str, str]:
        """Return what the program finds around it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BUDWOOD_")}
        return {**kept, "BUDWOOD_USAGE": str(self.usage), **env}
