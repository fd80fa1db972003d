"""The program as a user calls it: in this process, which is quick, or as one of its own in a terminal of 80 columns."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import msgspec

from budwood.cli import app

MEASURED = """
import sys
from budwood.cli.app import _run
sys.argv[0] = "budwood"
code = _run()
sys.stdout.flush()
with open("/proc/self/status") as status:
    [most] = [line.split()[1] for line in status if line.startswith("VmHWM")]
print(code, most, file=sys.stderr)
"""
"""The program for `python -c`; at its end it says on standard error how it ended and how much memory it took, in kB."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a call left."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.raw.decode()

    @property
    def json(self) -> dict[str, object]:
        """Standard output as one JSON object."""
        return msgspec.json.decode(self.raw, type=dict[str, object])


def call(*arguments: str, cwd: Path, stdin: bytes = b"") -> Ran:
    """Call the program here; exceptions end as they do for a user."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin))
    with (
        chdir(cwd),
        patch.dict(os.environ, _environment(), clear=True),
        patch.object(sys, "argv", ["budwood", *arguments]),
        patch.object(sys, "stdin", given),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = app._run()
    return Ran(code, _bytes(out), _bytes(err).decode())


def _environment() -> dict[str, str]:
    """Leave out what would change the output: the user's own settings, colours, widths."""
    gone = ("NO_COLOR", "COLUMNS", "LINES", "CI")
    kept = {name: value for name, value in os.environ.items() if name not in gone and not name.startswith("BUDWOOD_")}
    return {**kept, "XDG_CONFIG_HOME": "/nonexistent", "TZ": "UTC"}


def _bytes(stream: io.TextIOWrapper) -> bytes:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def in_terminal(
    *arguments: str, cwd: Path, columns: int = 80, env: Mapping[str, str] | None = None, limit_s: float = 30
) -> tuple[int, str]:
    """Call the program in a terminal; return its exit code and what the screen got, both streams together."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "budwood", *arguments],
        cwd=cwd,
        env={**_environment(), "TERM": "xterm", **(env or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = _read_all(ours)
        code = process.wait(limit_s)
    os.close(ours)
    return code, shown.decode(errors="replace").replace("\r\n", "\n")


def _read_all(descriptor: int) -> bytes:
    shown = b""
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # Linux says so when the other side is closed
            return shown
        if not chunk:
            return shown
        shown += chunk


def golden(text: str) -> str:
    """Take a block as it is written in a test, four columns in."""
    return "\n".join(line.removeprefix("    ") for line in text.strip("\n").split("\n")).rstrip() + "\n"
