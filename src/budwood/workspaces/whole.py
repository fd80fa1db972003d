"""Everything that lies in a directory, as one tree: ignored files, exact bytes, repositories inside as plain files.

Attributes are off, so that line ends and filters change nothing, and names that git refuses are escaped. What was
hashed once is known by an index of its own beside the directory. Knows git and directories; must not know candidates.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from budwood.workspaces.changes import Changes, compare
from budwood.workspaces.escape import escape, unescape
from budwood.workspaces.git import Git, GitFailed, listed
from budwood.workspaces.packing import WORTH_PACKING, Pack
from budwood.workspaces.survey import make_readable

INDEX = "kept-index"
_UNCHANGED = "* -text -filter -ident -working-tree-encoding\n"
_ADD = ("update-index", "-z", "--add", "--replace", "--stdin")


class Whole:
    """Writes directories into trees and trees into directories."""

    def __init__(self, git: Git, *, form: str) -> None:
        assert git.git_dir is not None
        (git.git_dir / "info" / "attributes").write_text(_UNCHANGED)
        self.git = git.aimed(settings=(*git.settings, ("core.autocrlf", "false")))
        self.form = form

    def compare(self, tree: Path, folder: Path, *, skip: str | None, spare: re.Pattern[bytes]) -> Changes:
        """Compare a directory with what is known of it, by times and sizes."""
        index = folder / INDEX
        return compare(self.git, tree, index if index.exists() else None, skip=skip, spare=spare)

    def write(self, tree: Path, folder: Path, changes: Changes, *, without: frozenset[bytes]) -> str:
        """Write what was found into a tree; return its id."""
        git = self.git.aimed(work_tree=tree, index=folder / INDEX)
        gone = [*changes.gone, *without]
        if gone:  # by force: where the directory was that held it, there may be a link by now
            git.run("update-index", "-z", "--force-remove", "--stdin", stdin=listed(gone))
        wanted = [path for path in (*changes.changed, *changes.found.files) if path not in without]
        if len(wanted) >= WORTH_PACKING:
            pack = Pack(git, form=self.form)
            pack.add_files(tree, wanted)
            pack.store()  # git finds them there
        try:
            git.run(*_ADD, stdin=listed(wanted))
        except GitFailed:
            base = os.fsencode(tree)
            make_readable(base + b"/" + path for path in wanted)
            git.run(*_ADD, stdin=listed(wanted))
        odd = [path for path in changes.found.unnameable if path not in without]
        return self._with_odd(git, tree, odd) if odd else git.ask("write-tree")

    def _with_odd(self, git: Git, tree: Path, paths: Sequence[bytes]) -> str:
        """Add what git would not take under its name, in an index that nobody sees again."""
        base = os.fsencode(tree)
        make_readable(base + b"/" + path for path in paths)
        links = {path: os.readlink(os.path.join(base, path)) for path in paths if os.path.islink(base + b"/" + path)}
        files = [path for path in paths if path not in links]
        said = git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=b"".join(map(_line, files)))
        entries = [
            _entry(_mode(base + b"/" + path), blob, path) for path, blob in zip(files, said.split(), strict=True)
        ]
        for path, target in links.items():
            blob = git.run("hash-object", "-w", "--stdin", stdin=target).strip()
            entries.append(_entry(b"120000", blob, path))
        assert git.index is not None
        scratch = git.index.with_name("scratch-index")
        shutil.copy2(git.index, scratch)
        once = git.aimed(index=scratch)
        once.run("update-index", "-z", "--index-info", stdin=b"".join(entries))
        return once.ask("write-tree")

    def write_out(self, commit: str, into: Path, *, index: Path) -> None:
        """Write a tree into an empty directory, byte for byte and under its own names."""
        git = self.git.aimed(work_tree=into, index=index)
        git.run("read-tree", commit)
        git.run("checkout-index", "--all", "--force")
        give_names_back(into)


def give_names_back(root: Path) -> None:
    """Rename what lies here under an escaped name; the deepest first."""
    for folder, folders, files in os.walk(os.fsencode(root), topdown=False):
        for name in (*folders, *files):
            if unescape(name) != name:
                os.rename(os.path.join(folder, name), os.path.join(folder, unescape(name)))


def _entry(mode: bytes, blob: bytes, path: bytes) -> bytes:
    return b"%s %s\t%s\0" % (mode, blob, escape(path))


def _mode(path: bytes) -> bytes:
    return b"100755" if os.access(path, os.X_OK) else b"100644"


def _line(path: bytes) -> bytes:
    """Write a path for a list with one a line, as git does: in quotes where it has such characters itself."""
    if any(char in path for char in (b"\n", b'"', b"\\")):
        path = b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    return path + b"\n"
