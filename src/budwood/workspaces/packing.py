"""New objects of git, many at once, as one pack: a file each would take longer to make than all of them to read.

Git itself reads the pack, checks every object, writes it to its place and syncs it. Knows git's pack format; must not
know which objects are wanted.
"""

import hashlib
import os
import stat
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from budwood.workspaces.git import Git
from budwood.workspaces.survey import make_readable

WORTH_PACKING = 100
"""So many objects become a pack; fewer a file each, since thousands of small packs slow every git."""
_MOST_BYTES = 64 * 1024 * 1024
_LARGE = _MOST_BYTES // 8
_TINY = 128
_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_KINDS = {b"tree": 2, b"blob": 3}


class Entry(NamedTuple):
    """What a tree says of a name."""

    mode: bytes
    id: str


class Pack:
    """Objects that are to be written to a repository; they are there only after `store`."""

    def __init__(self, git: Git, *, form: str, file_limit: int | None = None) -> None:
        self.too_large: dict[bytes, int] = {}
        """Files above the limit, with their sizes; they were not added."""
        self._git = git
        self._file_limit = file_limit
        self._hash = hashlib.sha256 if form == "sha256" else hashlib.sha1
        self._begin()

    def _begin(self) -> None:
        self._parts: list[bytes] = []
        self._ids: set[str] = set()
        self._size = 0

    def add(self, kind: bytes, content: bytes) -> str:
        """Add an object; return its id."""
        name = self._hash(b"%s %d\0%s" % (kind, len(content), content)).hexdigest()
        if name not in self._ids:  # one that the pack before had may come again
            self._ids.add(name)
            packed = _header(_KINDS[kind], len(content)) + _deflated(content)
            self._parts.append(packed)
            self._size += len(packed)
            if self._size > _MOST_BYTES:
                self.store()
        return name

    def add_files(self, tree: Path, paths: Iterable[bytes]) -> dict[bytes, Entry]:
        """Add what files and links hold, byte for byte; return what a tree is to say of each."""
        root = os.fsencode(tree) + b"/"
        found = {}
        for path in paths:
            entry = self._add_file(root + path)
            if isinstance(entry, Entry):
                found[path] = entry
            else:
                self.too_large[path] = entry
        return found

    def _add_file(self, whole: bytes) -> Entry | int:
        """Add a file; return its size instead if it is too large."""
        try:
            descriptor = os.open(whole, _TO_READ)
        except PermissionError:
            make_readable([whole])
            descriptor = os.open(whole, _TO_READ)
        except OSError:
            return Entry(b"120000", self.add(b"blob", os.readlink(whole)))
        try:
            status = os.fstat(descriptor)
            mode = b"100755" if status.st_mode & stat.S_IXUSR else b"100644"
            if self._file_limit is not None and status.st_size > self._file_limit:
                return status.st_size
            if status.st_size > _LARGE:
                words = ("hash-object", "-w", "--no-filters", "--", os.fsdecode(whole))
                return Entry(mode, self._git.ask(*words))
            return Entry(mode, self.add(b"blob", _read(descriptor, status.st_size)))
        finally:
            os.close(descriptor)

    def store(self) -> None:
        """Write what was added to the repository, synced."""
        if not self._parts:
            return
        pack = b"".join((b"PACK", struct.pack(">II", 2, len(self._parts)), *self._parts))
        words = ("index-pack", "--stdin") if len(self._parts) >= WORTH_PACKING else ("unpack-objects", "-q")
        self._git.run(*words, stdin=pack + self._hash(pack).digest())
        self._begin()


def _read(descriptor: int, size: int) -> bytes:
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    with os.fdopen(os.dup(descriptor), "rb") as rest:  # it is longer than it was, or came in parts
        return content + rest.read()


def _deflated(content: bytes) -> bytes:
    if len(content) > _TINY:
        return zlib.compress(content, 1)
    # A stored block, by RFC 1950 and 1951: for these, making a compressor takes longer than all the rest.
    sizes = struct.pack("<HH", len(content), len(content) ^ 0xFFFF)
    return b"\x78\x01\x01" + sizes + content + struct.pack(">I", zlib.adler32(content))


def _header(kind: int, size: int) -> bytes:
    """Write an object's kind and size as packs do: four bits, then seven at a time, the lowest first."""
    byte, size = (kind << 4) | (size & 0xF), size >> 4
    found = bytearray()
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    found.append(byte)
    return bytes(found)
