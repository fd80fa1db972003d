"""The sha256 of what a tree in git holds: the same for the same files, whichever hash git itself names them by.

Knows git; must not know what a tree is of.
"""

from hashlib import sha256

from budwood.workspaces.git import Git


class Contents:
    """Computes it for many trees of one repository; each file is read once."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._blobs: dict[bytes, str] = {}

    def sha256(self, treeish: str) -> str:
        """Hash the modes, names and contents of all files of a tree; GitFailed if it, or one of them, is not there."""
        listing = self._git.run("ls-tree", "-r", "-z", "--full-tree", treeish).split(b"\0")[:-1]
        entries = [(*about.split(), path) for about, _, path in (line.partition(b"\t") for line in listing)]
        self._read({name for _, kind, name, _ in entries if kind == b"blob"} - self._blobs.keys())
        whole = sha256()
        for mode, _, name, path in entries:
            content = self._blobs.get(name, name.decode())  # a commit of another repository is known by its name
            whole.update(b"%s %s\t%s\0" % (mode, content.encode(), path))
        return whole.hexdigest()

    def _read(self, names: set[bytes]) -> None:
        wanted = sorted(names)
        said = self._git.run("cat-file", "--batch", stdin=b"".join(name + b"\n" for name in wanted)) if wanted else b""
        at = 0
        for name in wanted:
            head = said[at : said.index(b"\n", at)]
            size = int(head.split()[2])
            at += len(head) + 1
            self._blobs[name] = sha256(said[at : at + size]).hexdigest()
            at += size + 1
