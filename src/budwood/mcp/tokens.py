"""Who asks: an attempt that shows its token, or a person.

Knows the variables that an attempt has, and the file that they lead to. Must not open a store.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from budwood.errors import UsageError
from budwood.executors.local.access import read_access

ACCESS, TOKEN = "BUDWOOD_ACCESS", "BUDWOOD_TOKEN"
_HINT = "start the server inside the attempt, with its environment as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """An attempt that has proved who it is."""

    run: str
    """The id of its run."""
    store: str
    task: int
    """The number of its task."""
    attempt: int


def read_bearer(environ: Mapping[str, str]) -> Bearer | None:
    """Read who asks from its environment; None is a person. A token that proves nothing is refused."""
    token = environ.get(TOKEN)
    if token is None:
        if "BUDWOOD_ATTEMPT" in environ:
            raise UsageError(f"this is inside an attempt, and it has no {TOKEN}", hint=_HINT)
        return None
    try:
        access = read_access(Path(environ.get(ACCESS, "")))
    except (OSError, ValueError):
        raise UsageError(f"{TOKEN} is set, and {ACCESS} leads to no run of this machine", hint=_HINT) from None
    if not access.fits(token):
        raise UsageError(f"{TOKEN} is none that run {access.run} has given out", hint=_HINT)
    _, work_id, _ = token.split(":")
    task, attempt = map(int, work_id.split(".")[:2])  # behind it, what is done about what the attempt made
    return Bearer(run=access.run, store=access.store, task=task, attempt=attempt)
