"""What attempts do to their directories, from nothing at all to the worst that was seen.

Knows git and files; must not know workspaces.
"""

import os
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from budwood.testing.workspace_world import git


def commit(tree: Path) -> None:
    (tree / "made").write_text("committed")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "mine")


def _stash(tree: Path) -> None:
    (tree / "made").write_text("stashed")
    git(tree, "stash", "-u", "-q")


def _half_merge(tree: Path) -> None:
    git(tree, "checkout", "-q", "-b", "side")
    (tree / "kept.txt").write_text("ours\n")
    git(tree, "commit", "-qam", "ours")
    git(tree, "checkout", "-q", "-b", "other", "HEAD~1")
    (tree / "kept.txt").write_text("theirs\n")
    git(tree, "commit", "-qam", "theirs")
    subprocess.run(["git", "merge", "-q", "side"], cwd=tree, check=False, capture_output=True)


def _nested(tree: Path, *, commits: bool) -> None:
    inside = tree / "vendor" / "lib"
    inside.mkdir(parents=True)
    (inside / "code.c").write_text("int main;\n")
    git(inside, "init", "-q")
    if commits:
        git(inside, "add", "-A")
        git(inside, "commit", "-qm", "theirs")


def _broken_nested(tree: Path) -> None:
    (tree / "src" / ".git").mkdir(parents=True)
    (tree / "src" / ".git" / "notes").write_text("in a directory that is no repository")
    (tree / "src" / ".git%").write_text("so called")


def _monitor(tree: Path) -> None:
    git(tree, "config", "core.hooksPath", str(tree / "hooks"))
    git(tree, "config", "core.fsmonitor", f"touch {tree}/ran-monitor #")
    git(tree, "config", "filter.evil.clean", f"touch {tree}/ran-filter; cat")
    (tree / ".gitattributes").write_text("*.txt filter=evil\n")
    (tree / "hooks").mkdir()
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (tree / "hooks" / name).write_text(f"#!/bin/sh\ntouch '{tree}/ran-hook'\n")
        (tree / "hooks" / name).chmod(0o755)
    (tree / "kept.txt").write_text("changed\n")


def _special(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.getcwd()
        os.chdir(tree)  # the path of a socket is short
        try:
            listener.bind("ear")
        finally:
            os.chdir(before)


def _odd_names(tree: Path) -> None:
    for name in ("new\nline", 'quo"te', "back\\slash", " space ", "ünïcode", "-dash", ":(top)magic", "git~1"):
        (tree / name).write_text(name)
    (Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe"))).write_text("no text")


def _replaced(tree: Path) -> None:
    (tree / "kept.txt").unlink()
    (tree / "kept.txt").mkdir()
    (tree / "kept.txt" / "now").write_text("a directory")
    (tree / "sub" / "deep.txt").unlink()
    (tree / "sub").rmdir()
    (tree / "sub").symlink_to("/nowhere")


def _locked_out(tree: Path) -> None:
    (tree / "secret").write_text("mine alone")
    (tree / "secret").chmod(0)
    (tree / "closed").mkdir()
    (tree / "closed" / "file").write_text("inside")
    (tree / "closed").chmod(0)


def _without_git(tree: Path) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=tree, check=True)
    (tree / "made").write_text("all the same")


def _locked(tree: Path) -> None:
    (tree / "made").write_text("while another git holds the index")
    (Path(git(tree, "rev-parse", "--absolute-git-dir")) / "index.lock").write_text("")


def _binary(tree: Path) -> None:
    (tree / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (tree / "mixed.txt").write_bytes(b"one\r\ntwo\n\r")
    (tree / "bytes").write_bytes(bytes(range(256)) * 10)
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o755)
    (tree / "ignored").mkdir(exist_ok=True)
    (tree / "ignored" / "cache").write_bytes(b"\0ignored\r\n")


def _repository_in_base(tree: Path) -> None:
    git(tree / "sub", "init", "-q")
    (tree / "sub" / "more.txt").write_text("beside what the base has")


def _read_only(tree: Path) -> None:
    (tree / "cache" / "module").mkdir(parents=True)
    (tree / "cache" / "module" / "code").write_text("as package managers leave it")
    (tree / "cache" / "module" / "code").chmod(0o444)
    (tree / "cache" / "module").chmod(0o555)
    (tree / "cache").chmod(0o555)


def _disguised(tree: Path) -> None:
    before = (tree / "kept.txt").stat()
    (tree / "kept.txt").write_bytes(b"KEPT\n")
    os.utime(tree / "kept.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tree / "sub" / "deep.txt").chmod(0o755)


def _attributes(tree: Path) -> None:
    (tree / ".gitattributes").write_text("* text=auto eol=crlf\n")
    (tree / "lines.txt").write_bytes(b"one\r\ntwo\n")


def _many(tree: Path) -> None:
    for number in range(150):
        folder = tree / ("ignored" if number % 2 else "made") / str(number % 7)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}").write_bytes(b"%d\r\n" % (number % 100))
    (tree / "empty" / "inside").mkdir(parents=True)


DEEDS: Mapping[str, Callable[[Path], None]] = {
    "attributes": _attributes,
    "binary": _binary,
    "broken nested": _broken_nested,
    "commit": commit,
    "disguised": _disguised,
    "half merge": _half_merge,
    "index locked": _locked,
    "locked out": _locked_out,
    "many": _many,
    "monitor and hooks": _monitor,
    "nested with a commit": lambda tree: _nested(tree, commits=True),
    "nested without": lambda tree: _nested(tree, commits=False),
    "no .git": _without_git,
    "nothing": lambda tree: None,
    "odd names": _odd_names,
    "read-only": _read_only,
    "replaced": _replaced,
    "repository in the base": _repository_in_base,
    "special files": _special,
    "stash": _stash,
}
"""What attempts do to their directories."""
