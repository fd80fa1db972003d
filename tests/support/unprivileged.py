"""Runs suites again as a user without rights: root can write what is read-only, and so hides failures.

Knows Linux: setpriv, and mount namespaces for interpreters that lie where others may not look. Must not know what it
runs.
"""

import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

NOBODY = 65534
ROOT = Path(__file__).resolve().parents[2]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="we are unprivileged already: the suites themselves ran so")


def run_as_nobody(paths: list[str], *, timeout_s: float = 600) -> None:
    """Run these tests, by paths below the repository, as user 65534; fail with their output if they fail."""
    home = Path(tempfile.mkdtemp(prefix="budwood-nobody-", dir="/tmp"))
    try:
        os.chown(home, NOBODY, NOBODY)
        ran = _run(_command(paths, home), home, timeout_s=timeout_s)
    finally:
        shutil.rmtree(home)
    if ran.returncode != 0 or " passed" not in ran.stdout:
        pytest.fail(f"as user {NOBODY} (exit code {ran.returncode}):\n{ran.stdout[-8000:]}", pytrace=False)


def _command(paths: list[str], home: Path) -> list[str]:
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-ra", *paths]
    plain = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *tests]
    hidden = _hidden()
    if not hidden:
        return plain
    script = _opened(hidden, staging=home / "mounts")
    return ["unshare", "--mount", "--propagation=private", "sh", "-ec", f'{script}\nexec "$@"', "sh", *plain]


def _run(command: list[str], home: Path, *, timeout_s: float) -> "subprocess.CompletedProcess[str]":
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(home),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            output, _ = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
            output += f"\nended after {timeout_s} s"
    return subprocess.CompletedProcess(command, child.returncode, output)


def _hidden() -> dict[Path, set[Path]]:
    """Map each directory that only root may enter to what the tests need below it."""
    places = [str(ROOT), sys.prefix, sys.base_prefix, *sys.path]
    needed = {Path(place).resolve() for place in places if Path(place).exists()}
    hidden: dict[Path, set[Path]] = {}
    for place in needed:
        closed = [parent for parent in reversed(place.parents) if not parent.stat().st_mode & stat.S_IXOTH]
        if closed:
            hidden.setdefault(closed[0], set()).add(place)
        elif not place.stat().st_mode & stat.S_IROTH:
            pytest.fail(f"{place} cannot be read by user {NOBODY}: put repository and .venv where others may read")
    return hidden


def _opened(hidden: dict[Path, set[Path]], *, staging: Path) -> str:
    """Write the commands that, in a mount namespace of our own, leave only what is needed of those directories."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        places = ", ".join(map(str, hidden))
        pytest.fail(f"user {NOBODY} cannot enter {places}, where the interpreter lies: use one that others may read")
    lines = []
    for number, (closed, needed) in enumerate(sorted(hidden.items())):
        outermost = [place for place in sorted(needed) if not any(parent in needed for parent in place.parents)]
        for place in outermost:
            stage = f"{staging}/{number}{place}"
            lines.append(
                f"mkdir -p {shlex.quote(stage)} && mount --bind {shlex.quote(str(place))} {shlex.quote(stage)}"
            )
        lines.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(closed))}")
        for place in outermost:
            stage = f"{staging}/{number}{place}"
            lines.append(
                f"mkdir -p {shlex.quote(str(place))} && mount --bind {shlex.quote(stage)} {shlex.quote(str(place))}"
            )
    return "\n".join(lines)
