"""Steps, done one after the other in the current directory, until one fails or ends the work.

Knows what each step does. Must not know the notation, nor decide anything by chance.
"""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from budwood.agents.report import Outcome, Report, say, write_usage
from budwood.agents.script import steps as s
from budwood.agents.script.steps import AnyStep

AGENT = "script"


class _Ended(Exception):
    """The work ends here, in another way than well."""

    def __init__(self, message: str, *, exit_code: int = 1, outcome: Outcome = Outcome.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.outcome = outcome
        self.until_ms: int | None = None


class Follower:
    """Follows steps, and remembers what they changed and cost."""

    def __init__(self) -> None:
        self._files: dict[str, None] = {}
        self._cost_usd: float | None = None
        self._tokens: int | None = None

    def follow(self, steps: Iterable[tuple[int, AnyStep]]) -> tuple[Report, int]:
        """Do the steps; return the report and the exit code. A crash does not return."""
        for number, step in steps:
            try:
                self._do(step)
            except _Ended as end:
                return self._report(end.outcome, f"step {number}: {end}", until_ms=end.until_ms), end.exit_code
            except OSError as error:
                return self._report(Outcome.FAILED, f"step {number}: {error.filename}: {error.strerror}"), 1
        return self._report(Outcome.OK, ""), 0

    def _report(self, outcome: Outcome, message: str, *, until_ms: int | None = None) -> Report:
        return Report(
            agent=AGENT,
            outcome=outcome,
            message=message,
            until_ms=until_ms,
            # A step tells one number; which of the tokens were asked is not known to it.
            input_tokens=None if self._tokens is None else 0,
            output_tokens=self._tokens,
            cost_usd=self._cost_usd,
            files=tuple(self._files),
        )

    def _do(self, step: AnyStep) -> None:
        match step:
            case s.Write() | s.Append() | s.Edit() | s.Read() | s.Delete():
                self._touch(step)
            case s.Run(command=command):
                _run(["/bin/sh", "-c", command], what="the command")
            case s.Commit(message=message):
                _run(["git", "add", "-A"], what="git add")
                _run(["git", "commit", "-m", message], what="git commit")
            case s.Sleep(seconds=seconds):
                time.sleep(seconds)
            case s.Say(text=text):
                say(text)
            case s.Cost():
                self._spend(step)
            case _:
                _end(step)

    def _touch(self, step: s.Write | s.Append | s.Edit | s.Read | s.Delete) -> None:
        path = Path(step.path)
        match step:
            case s.Write(text=text):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode())
            case s.Append(text=text):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(text.encode())
            case s.Edit(find=find, replace=replace):
                before = path.read_bytes()
                if find.encode() not in before:
                    raise _Ended(f"{step.path} does not contain {find!r}")
                path.write_bytes(before.replace(find.encode(), replace.encode()))
            case s.Read(contains=contains):
                text = path.read_bytes().decode(errors="replace")
                say(text.removesuffix("\n"))
                if contains not in text:
                    raise _Ended(f"{step.path} does not contain {contains!r}")
                return
            case s.Delete():
                path.unlink()
        self._files[step.path] = None

    def _spend(self, step: s.Cost) -> None:
        if step.usd is not None:
            self._cost_usd = (self._cost_usd or 0.0) + step.usd
        if step.tokens is not None:
            self._tokens = (self._tokens or 0) + step.tokens
        write_usage(self._cost_usd, tokens=self._tokens)


def _end(step: AnyStep) -> NoReturn:
    """Do one of the steps that nothing comes after."""
    match step:
        case s.Fail(message=message, exit_code=exit_code):
            raise _Ended(message, exit_code=exit_code)
        case s.Limit(until=until):
            end = _Ended("told to be at a limit", outcome=Outcome.LIMIT)
            if until is not None:
                at_s = until.timestamp() if isinstance(until, datetime) else time.time() + until
                end.until_ms = round(at_s * 1000)
            raise end
        case s.Crash(signal=name):
            _die(signal.Signals[name])
    while True:
        signal.pause()


def _die(number: signal.Signals) -> None:
    """Die by a signal, as a program does that knows nothing of it, and leave no core file in the workspace."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number is not signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def _run(argv: list[str], *, what: str) -> None:
    try:
        code = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    except FileNotFoundError:
        raise _Ended(f"{argv[0]} is not installed", exit_code=127) from None
    if code < 0:
        raise _Ended(f"{what} was ended by {signal.Signals(-code).name}", exit_code=128 - code)
    if code:
        raise _Ended(f"{what} ended with exit code {code}", exit_code=code)
