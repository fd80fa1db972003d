"""What an attempt wrote into its directory for notes, read from what was kept of it.

Read from git, never from the directory: an agent may have laid a link there that leads elsewhere. Must not judge.
"""

from pathlib import PurePosixPath

import msgspec
from msgspec import UNSET, Raw, UnsetType

from budwood.workspaces.git import Git

_MOST_BYTES = 64 * 1024
_IGNORE = ".gitignore"
_LINK = b"120000"


def read_note(git: Git, commit: str, path: PurePosixPath) -> str | None:
    """Return the text of one file; None if it is not there, is no text or is too large."""
    entry = git.run("ls-tree", "-z", "--long", "--full-tree", commit, "--", str(path)).removesuffix(b"\0")
    mode, kind, blob, size = entry.partition(b"\t")[0].split() if entry else (b"", b"", b"", b"")
    if kind != b"blob" or mode == _LINK or int(size) > _MOST_BYTES:
        return None
    try:
        return git.run("cat-file", "blob", blob.decode()).decode()
    except UnicodeDecodeError:
        return None


def read_notes(git: Git, commit: str, folder: PurePosixPath) -> Raw | UnsetType:
    """Return the text files below a directory, by path, as JSON; what is no text, or too much, is left out."""
    listing = git.run("ls-tree", "-r", "-z", "--long", "--full-tree", commit, "--", f"{folder}/").split(b"\0")
    notes: dict[str, str] = {}
    room = _MOST_BYTES
    for entry in sorted(filter(None, listing), key=lambda line: line.partition(b"\t")[2]):
        about, _, path = entry.partition(b"\t")
        mode, kind, blob, size = about.split()
        name = path.decode(errors="replace").removeprefix(f"{folder}/")
        if kind != b"blob" or mode == _LINK or name == _IGNORE or int(size) > room:
            continue
        try:
            notes[name] = git.run("cat-file", "blob", blob.decode()).decode()
        except UnicodeDecodeError:
            continue
        room -= int(size)
    return Raw(msgspec.json.encode(notes)) if notes else UNSET
