"""Other processes, for tests that race, kill or outlive them: small scripts, bounded in time, none left behind."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Process = subprocess.Popen[str]


@contextmanager
def scripts(count: int, code: str, arguments: Sequence[str] = ()) -> Iterator[list[Process]]:
    """Start Python processes that run `code`, with pipes to talk to them; kill what is left at the end."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    started: list[Process] = []
    try:
        for number in range(count):
            command = [sys.executable, "-c", code, *arguments, str(number)]
            pipe = subprocess.PIPE
            started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment))
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def say(process: Process, line: str) -> None:
    """Send a line to a script."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def hear(process: Process) -> str:
    """Wait for a line from a script; empty if it ended. The test's own time limit bounds this."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")
