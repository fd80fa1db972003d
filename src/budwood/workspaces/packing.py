"""Many new files at once, as one pack: a file each would take longer to make than all of them to read.

Knows git's import stream; must not know which files are wanted.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from budwood.workspaces.git import Git

WORTH_PACKING = 200
_MOST_BYTES = 64 * 1024 * 1024


def pack(git: Git, tree: Path, paths: Sequence[bytes]) -> None:
    """Write the contents of files into the objects; who adds the files finds them there."""
    base = os.fsencode(tree)
    for stream in _streams(base, paths):
        git.run("fast-import", "--quiet", "--done", stdin=stream)


def _streams(base: bytes, paths: Sequence[bytes]) -> Iterator[bytes]:
    """Write import streams of bounded size; what is large, no plain file or not to be read is left to others."""
    parts: list[bytes] = []
    size = 0
    for path in paths:
        content = _content(os.path.join(base, path))
        if content is None:
            continue
        parts.append(b"blob\ndata %d\n%s\n" % (len(content), content))
        size += len(content)
        if size > _MOST_BYTES:
            yield b"".join([*parts, b"done\n"])
            parts, size = [], 0
    if parts:
        yield b"".join([*parts, b"done\n"])


def _content(path: bytes) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES // 8:
            return None
        return file.read()
