"""The files of a commit, put into a directory that may hold anything: what is as it should be is not written again.

Beside the directory lies an index of ours that knows the files as they were laid out, and a record of which commit that
was. Knows git and directories; must not know leases, or what kind of `.git` a directory has.
"""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from budwood.workspaces.aside import Aside
from budwood.workspaces.changes import Bases, compare, has_attributes
from budwood.workspaces.git import Git, listed
from budwood.workspaces.records import put, read, stamp, take_away
from budwood.workspaces.removal import clear
from budwood.workspaces.survey import Survey, look_through
from budwood.workspaces.whole import give_names_back

INDEX = "index"
_LAID = "laid.json"
_LINK = b"160000"
_SECOND_NS = 1_000_000_000


class Laid(Struct, frozen=True, kw_only=True):
    """What the index of a directory knows."""

    base: str
    cones: str
    converts: bool
    """Whether the base says how files are converted, so that they do not lie there as git has them."""
    links: bool
    """Whether the base knows commits of other repositories, which lie in directories."""
    escaped: bool
    """Whether names are in the base that git refuses."""


def laid_out(folder: Path, base: str, *, cones: str) -> Laid | None:
    """Say what the index of a place knows; None if that is another base, or was not laid out to the end."""
    laid = read(folder / _LAID, Laid)
    fits = laid is not None and (laid.base, laid.cones) == (base, cones) and (folder / INDEX).exists()
    return laid if fits else None


def settle(folder: Path, changed: Iterable[bytes], *, now_ns: int) -> None:
    """Let git believe the files of a place that it has found to be as they were laid out, but for the changed ones.

    Git tells ages in whole seconds, and reads each file that is as old as the index: after a place was laid out, all of
    the last second, every time. They were compared after `now_ns`, in a later second, so whatever happens to one from
    then on shows in its times. Not so for one that was changed in the second of the index: then all stays as it is.
    """
    index, base = folder / INDEX, os.fsencode(folder / "tree") + b"/"
    written_ns, laid_ns = (os.stat(path).st_mtime_ns for path in (index, folder / _LAID))
    second = written_ns // _SECOND_NS
    if written_ns > laid_ns or second >= now_ns // _SECOND_NS:
        return  # it was settled, or written again since; or it is too early
    with suppress(FileNotFoundError):  # somebody still works here
        if all(os.lstat(base + path).st_ctime_ns // _SECOND_NS > second for path in changed):
            os.utime(index, ns=(now_ns, now_ns))


def lay_out(
    git: Git,
    folder: Path,
    base: str,
    *,
    bases: Bases,
    cones: str,
    skip: str | None,
    spare: re.Pattern[bytes],
    raw: bool,
) -> None:
    """Make `tree` in a place hold the files of a commit, what is spared, and nothing else; believe nothing in it.

    `raw` is for what was taken from a directory byte for byte: names that git refuses are given back.
    """
    tree, index = folder / "tree", folder / INDEX
    aimed = git.aimed(work_tree=tree, index=index)
    laid = laid_out(folder, base, cones=cones)
    aside = Aside(folder)
    remove = partial(clear, tree, take=aside.take)
    if laid is None or laid.links or cones:
        laid = _lay_anew(aimed, folder, base, cones=cones, skip=skip, spare=spare, remove=remove)
    else:
        now_ns = stamp(folder)
        seen = bases.seen(folder, base, aimed, now_ns=now_ns)
        changes = compare(git, tree, index, seen=seen, skip=skip, spare=spare, take=remove)
        remove(changes.found)
        settle(folder, changes.changed, now_ns=now_ns)
        wanted = [*changes.changed, *changes.gone]
        if wanted:
            aimed.run("checkout-index", "--force", "--index", "-z", "--stdin", stdin=listed(wanted))
            # Git reads what is as old as the index. A process that was left behind may have changed a file right after
            # it was written, and a new second begun before the index was: so it gets the time before both.
            os.utime(index, ns=(now_ns, now_ns))
    if raw and laid.escaped:
        give_names_back(tree)
    aside.empty()


def _lay_anew(
    git: Git,
    folder: Path,
    base: str,
    *,
    cones: str,
    skip: str | None,
    spare: re.Pattern[bytes],
    remove: Callable[[Survey], None],
) -> Laid:
    """Let git find out what is different; from here until it is done, the index is no one's to believe."""
    take_away(folder / _LAID)
    git.run("read-tree", "--reset", "-u", base)
    # "H 100644 <id> 0\t<path>"; an S stands for a file that is outside of the cones.
    entries = git.run("ls-files", "-z", "-t", "--stage").split(b"\0")[:-1]
    begin = entries[0].index(b"\t") + 1 if entries else 0
    files = [entry[begin:] for entry in entries if entry[:1] != b"S" and entry[2:8] != _LINK]
    remove(look_through(folder / "tree", skip=skip, spare=spare, known=files))
    links = [os.fsdecode(entry[begin:]) for entry in entries if entry[2:8] == _LINK]
    for link in links:
        (folder / "tree" / link).mkdir(parents=True, exist_ok=True)
    laid = Laid(
        base=base,
        cones=cones,
        converts=has_attributes(entry[begin:] for entry in entries),
        links=bool(links),
        escaped=any(b".git%" in entry.lower() for entry in entries),
    )
    put(folder / _LAID, laid)
    return laid
