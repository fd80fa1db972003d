"""What is to go from a workspace and takes long to remove: moved aside at once, removed when nobody waits for it.

Thousands of files that an attempt left take a tenth of a second to remove, and their directory one call to move. What
is left of them when a driver is killed goes with the next reset, or by `gc`. Knows directories; must not know git, or
decide what may go.
"""

import os
import stat
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from budwood.workspaces.removal import remove_tree

REMOVED = "removed-"
"""How the names of directories of a pool begin whose removal was begun."""


class Aside:
    """Room beside one directory of a pool, on the same file system, for what is to go."""

    def __init__(self, place: Path) -> None:
        self._pool = place.parent
        self._prefix = f"{REMOVED}{place.name}-"
        self._room: bytes | None = None
        self._count = 0

    def take(self, folder: bytes) -> None:
        """Move a directory here; whoever still writes into it writes here."""
        if self._room is None:
            self._room = os.fsencode(tempfile.mkdtemp(prefix=self._prefix, dir=self._pool))
        target = b"%s/%d" % (self._room, self._count)
        self._count += 1
        try:
            os.rename(folder, target)
        except PermissionError:  # it takes the right to write to the directory itself as well
            for each in (os.path.dirname(folder), folder):
                os.chmod(each, stat.S_IRWXU)
            os.rename(folder, target)

    def empty(self) -> None:
        """Begin to remove what was moved here, and what others left here who were killed."""
        rests = sorted(self._pool.glob(f"{self._prefix}*"))
        if rests:
            threading.Thread(target=_remove, args=(rests,), name=f"{self._prefix}remover").start()


def _remove(rests: list[Path]) -> None:
    for rest in rests:
        with suppress(OSError):  # somebody still writes there; the next one tries again, and gc names it
            remove_tree(rest)
