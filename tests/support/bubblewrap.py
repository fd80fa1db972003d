"""bubblewrap for tests: the machine's own, or the distribution's package, unpacked where nobody else looks.

Nothing is installed. Where there is neither, tests that need it are skipped with the reason. Knows pytest, and apt.
"""

import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

_WITHIN_S = 180


@pytest.fixture(scope="session")
def bwrap() -> Path:
    """Give the directory that holds bwrap, for a PATH."""
    found = shutil.which("bwrap")
    if found is not None:
        return Path(found).parent
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("there is no bwrap on the PATH, and no apt-get to fetch it with")
    folder = _cache()
    with (folder / "lock").open("w") as lock:  # other processes of these tests want it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = folder / "usr" / "bin" / "bwrap"
        if not program.exists():
            _fetch(folder)
    return program.parent


def _cache() -> Path:
    """Make a directory that others may read and only we may write: what is in it will be run."""
    folder = Path(tempfile.gettempdir()) / f"budwood-test-bwrap-{os.geteuid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        pytest.skip(f"{folder} is not ours alone, so no bwrap is fetched into it")
    return folder


def _fetch(folder: Path) -> None:
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    own = ["-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    said = ""
    for words in (["download", "bubblewrap"], [*own, "update"], [*own, "download", "bubblewrap"]):
        said += _run(["apt-get", *words], folder)
        package = next(folder.glob("bubblewrap_*.deb"), None)
        if package is not None:
            said += _run(["dpkg-deb", "-x", package.name, "."], folder)
            return
    pytest.skip(f"there is no bwrap on the PATH, and apt-get could not fetch it: {said[-500:]}")


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr
