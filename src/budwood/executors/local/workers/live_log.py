"""What a running call prints, where readers look for it: in its attempt's directory, as links into its worker's.

Knows the names of those files; must not know when calls begin and end. Only a call that has run for a while has links.
"""

from contextlib import suppress

from budwood.executors.local.paths import RunPaths
from budwood.executors.local.workers.identity import CALL_LOG

_LINKS = {"log": CALL_LOG, "spec.json": "spec.json"}
"""The second says how much of the first is kept."""


def show(paths: RunPaths, call: str, *, worker: str) -> None:
    """Let readers find what a call prints; a log that is there already is the call's whole one, and stays."""
    directory = paths.attempt(call)
    with suppress(OSError):  # of a full disk: then it cannot be looked at, and nothing else is wrong
        directory.mkdir(exist_ok=True)
        for name, target in _LINKS.items():
            (directory / name).symlink_to(f"../{worker}/{target}")


def hide(paths: RunPaths, call: str) -> None:
    """Take the links away; the worker's next call is another one."""
    directory = paths.attempt(call)
    for name in _LINKS:
        if (directory / name).is_symlink():
            (directory / name).unlink()
    with suppress(OSError):  # a large log is filed in it
        directory.rmdir()
