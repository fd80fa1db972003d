"""Trees of git, made of another and of what is different: only directories in which something changed are written.

Knows git's tree format; must not know directories of the file system.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from budwood.workspaces.git import Git, GitFailed, listed
from budwood.workspaces.packing import Entry, Pack
from budwood.workspaces.removal import folders_of

_TREE = b"40000"
Names = dict[bytes, Entry]


class Trees:
    """The trees of one commit, and what others are made of them."""

    def __init__(self, git: Git, base: str) -> None:
        self._git = git
        self._base = base.encode()
        self._known: dict[bytes, Names] = {}

    def write(self, changes: Mapping[bytes, Entry | None], pack: Pack) -> str:
        """Add the tree that differs so from the commit's; None takes a path away. Return its id."""
        folders = {b"", *folders_of(changes)}
        self._read(folders - self._known.keys())
        made = {folder: dict(self._known[folder]) for folder in folders}
        into: defaultdict[bytes, list[tuple[bytes, Entry]]] = defaultdict(list)
        for path, entry in changes.items():
            folder, _, name = path.rpartition(b"/")
            if entry is None:
                made[folder].pop(name, None)
            else:
                into[folder].append((name, entry))
        # The deepest first; a file may have come where a directory was, so files go in after the directories.
        for folder in sorted(folders, key=lambda path: (path.count(b"/"), path), reverse=True):
            made[folder].update(into.pop(folder, ()))
            if not folder:
                continue
            above, _, name = folder.rpartition(b"/")
            if made[folder]:
                made[above][name] = Entry(_TREE, pack.add(b"tree", _written(made[folder])))
            elif made[above].get(name, (b"",))[0] == _TREE:
                del made[above][name]
        return pack.add(b"tree", _written(made[b""]))

    def _read(self, folders: Iterable[bytes]) -> None:
        wanted = sorted(folders)
        if not wanted:
            return
        names = [self._base + b":" + folder for folder in wanted]
        said = self._git.run("cat-file", "--batch", "-z", stdin=listed(names))
        at = 0
        for folder, name in zip(wanted, names, strict=True):
            missing = name + b" missing\n"
            if said.startswith(missing, at):
                self._known[folder] = {}
                at += len(missing)
                continue
            end = said.index(b"\n", at)
            id_, kind, size = said[at:end].split()
            # What is no directory there is replaced by one.
            content = said[end + 1 : end + 1 + int(size)]
            self._known[folder] = _names(content, len(id_) // 2) if kind == b"tree" else {}
            at = end + int(size) + 2
        if at != len(said):
            raise GitFailed(("cat-file", "--batch"), "it answered more than was asked")


def _names(content: bytes, width: int) -> Names:
    found: Names = {}
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        found[name] = Entry(mode, content[end + 1 : end + 1 + width].hex())
        at = end + 1 + width
    return found


def _written(names: Names) -> bytes:
    order = sorted(names.items(), key=lambda item: item[0] + b"/" if item[1].mode == _TREE else item[0])
    return b"".join(b"%s %s\0%s" % (entry.mode, name, bytes.fromhex(entry.id)) for name, entry in order)
