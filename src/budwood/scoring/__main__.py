"""The scoring program: reads what is wanted from stdin, runs the commands, prints what it found as its last line.

Each command runs in a session of its own with a time limit; what it prints on stdout is its answer, and is shown on
stderr beside all else, for the log. Must not know runs, stores or git.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from budwood._core.scores import Stage
from budwood._core.seeds import derive
from budwood.scoring.paper import Found, Wanted
from budwood.scoring.reading import Unreadable, read_metrics
from budwood.scoring.rows import read_rows
from budwood.scoring.staged import Failed, score

_SHELL = ("/bin/sh", "-c")
_GRACE_S = 2.0


class Commands:
    """Runs the commands of stages in this directory."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, stage: Stage, *, setting: str | None, repeat: int) -> list[dict[str, float]]:
        """Run one; return its rows."""
        results = Path(stage.results) if stage.results else None
        if results is not None:
            results.unlink(missing_ok=True)  # rows of another setting, or of an earlier candidate, are none of its own
        printed = self._run(stage, setting=setting, repeat=repeat)
        if setting is not None and results is None and not printed.strip():
            return []  # a row of the sweep that is missing
        try:
            return [read_metrics(printed)] if results is None else read_rows(results)
        except Unreadable as error:
            raise Failed(f"{_name(stage, setting)}: {error}") from error

    def _run(self, stage: Stage, *, setting: str | None, repeat: int) -> str:
        environ = {
            **os.environ,
            "BUDWOOD_SCORE_SEED": str(derive(self._seed, f"repeat {repeat}", purpose="score")),
            "BUDWOOD_SCORE_REPEAT": str(repeat),
            **({} if setting is None else {"BUDWOOD_SCORE_SETTING": setting}),
        }
        process = subprocess.Popen(
            (*_SHELL, stage.run), env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
        )
        try:
            printed, _ = process.communicate(timeout=stage.timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # what left its session may hold the pipe; it is not waited for
                process.communicate(timeout=_GRACE_S)
            raise Failed(f"{_name(stage, setting)} took more than {stage.timeout_s:g} s") from None
        sys.stderr.buffer.write(printed)
        sys.stderr.flush()
        if process.returncode:
            how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
            raise Failed(f"{_name(stage, setting)} failed: {how}")
        return printed.decode("utf-8", "replace")


def _name(stage: Stage, setting: str | None) -> str:
    name = f"score {stage.name}" if stage.name else "score"
    return name if setting is None else f"{name} with {setting}"


def main() -> int:
    """Score what lies in this directory."""
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=Wanted)
    try:
        said = Found(score=score(wanted.scoring, Commands(wanted.seed), bar=wanted.bar))
    except (Failed, OSError) as error:
        said = Found(failed=str(error))
    sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
    return 1 if said.failed else 0


if __name__ == "__main__":
    sys.exit(main())
