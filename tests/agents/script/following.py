"""A file of steps and the program that follows it, called here, which is quick, or as an attempt does."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from tests.agents.ran import Ran

from budwood.agents.script.__main__ import main


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
