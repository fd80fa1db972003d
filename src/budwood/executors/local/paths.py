"""Where the local executor keeps things.

The run's directory holds what must survive; sockets and temporary directories lie below a short path of the machine,
because a Unix socket's path may not pass 108 bytes. Must not create what it only names, but for the runtime
directory.
"""

import os
import shutil
import stat
import sysconfig
from contextlib import suppress
from pathlib import Path
from sys import executable

from budwood.errors import ExecutorError

BINARY = "budwood-supervisor"


class RunPaths:
    """The files of one run, as the supervisor protocol names them."""

    def __init__(self, run_dir: Path, *, runtime: Path) -> None:
        self.run_dir = run_dir
        self.runtime = runtime
        self.fence = run_dir / "fence"
        self.slots = run_dir / "slots"
        self.attempts = run_dir / "attempts"

    def slot(self, name: str) -> Path:
        """Return the directory of one slot's supervisor: by its number for commands, as `w` and number for calls."""
        return self.slots / name

    def attempt(self, work_id: str) -> Path:
        """Return the directory of one attempt."""
        return self.attempts / work_id

    def socket(self, name: str) -> Path:
        """Return the socket of one supervisor."""
        return self.runtime / f"s{name}"

    def tmp(self, name: str) -> Path:
        """Return the temporary directory that the attempts of one supervisor use in turn."""
        return self.runtime / f"t{name}"

    def door(self, name: str) -> Path:
        """Return the socket that a worker of one supervisor looks for its driver at."""
        return self.runtime / f"d{name}"


def make_runtime(root: Path, run_id: str) -> Path:
    """Create the short directory of one run below a root that must belong to this user alone."""
    for path in (root, root / run_id):
        status = _make_directory(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ExecutorError(
                f"{path} does not belong to you alone, so sockets in it are not safe",
                hint="remove it; if it is another user's, ask them or whoever is root here to",
            )
    return root / run_id


def _make_directory(path: Path) -> os.stat_result:
    while True:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700, parents=True)
        with suppress(FileNotFoundError):  # the last supervisor of an earlier drive removes it when it exits, maybe now
            return path.lstat()


def clear_runtime(paths: RunPaths, name: str) -> None:
    """Remove what a killed supervisor left below the short path; one that exits in good order does so itself."""
    paths.socket(name).unlink(missing_ok=True)
    paths.door(name).unlink(missing_ok=True)
    shutil.rmtree(paths.tmp(name), ignore_errors=True)
    with suppress(OSError):  # another slot has something in it
        paths.runtime.rmdir()


def find_binary() -> Path:
    """Find the supervisor that was installed with this package."""
    for folder in (Path(sysconfig.get_path("scripts")), Path(executable).parent, Path(executable).resolve().parent):
        if (folder / BINARY).is_file():
            return folder / BINARY
    raise ExecutorError(
        f"{BINARY} is missing from this installation",
        hint="pip install --force-reinstall budwood; on Windows use WSL",
    )
