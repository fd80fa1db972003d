"""The program bwrap on this machine: whether it is there, and whether the kernel lets it make a sandbox.

Knows how to try it. Must not read the environment: PATH is given.
"""

import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

ROOM = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    # Root's own would let it mount what was left out; a user has none to begin with.
    *("--cap-drop", "ALL", "--new-session"),
)
"""What every sandbox has of its own. Not --die-with-parent: what a step leaves behind is ended with a grace, by its
supervisor."""
_TRY = ("--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", "exit 42")
_WITHIN_S = 10.0


class Bwrap(Struct, frozen=True, kw_only=True):
    """What is there of bwrap."""

    path: Path | None = None
    version: str = ""
    problem: str = ""
    """Why it cannot be used; empty where it can."""


def find_bwrap(path: str) -> Bwrap:
    """Look for bwrap on this PATH, and try it."""
    found = shutil.which("bwrap", path=path)
    if found is None:
        return Bwrap(problem="there is no program bwrap on the PATH")
    version = _run(found, "--version")
    tried = _run(found, *ROOM, *_TRY)
    problem = "" if tried.returncode == 42 else f"{found} cannot make a sandbox here: {_why(tried)}"
    return Bwrap(path=Path(found), version=version.stdout.strip().removeprefix("bubblewrap "), problem=problem)


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _why(tried: "subprocess.CompletedProcess[str]") -> str:
    said = tried.stderr.strip().splitlines()
    return said[-1].removeprefix("bwrap: ") if said else f"exit code {tried.returncode}"
