"""What an attempt left, written into a repository before anything else happens to its directory.

Two trees: the candidate, and everything. The `.git` of the directory is never used for that: whatever an agent wrote
there about filters, hooks and monitors would be run. What was committed or stashed there is brought over as well. Knows
git and directories; must not know runs.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from budwood.workspaces.candidate import INDEX, Candidates
from budwood.workspaces.git import Git, GitFailed
from budwood.workspaces.survey import look_through
from budwood.workspaces.whole import INDEX as WHOLE_INDEX
from budwood.workspaces.whole import Whole, has_attributes

# A name that another file system could not have is kept all the same; who checks it out there is told by git.
_ANY_NAME = (("core.protectNTFS", "false"), ("core.protectHFS", "false"))
_CONVERTS = ("core.autocrlf", "core.eol", "core.attributesfile")
FILE_LIMIT = 256 * 1024 * 1024
"""A file larger than this is named, not kept, and its directory is not handed on."""


class LeftOut(Struct, frozen=True):
    """A file that is too large to be kept."""

    path: str
    size: int


class Kept(Struct, frozen=True, kw_only=True):
    """What an attempt left, safe in a repository."""

    base: str
    """The commit that it began with."""
    candidate: str
    """The tree of what it made, ignore rules honoured; this is the candidate's identity."""
    commit: str
    """A commit whose tree is everything that was there; its first parent is the candidate's commit."""
    left_out: tuple[LeftOut, ...] = ()
    special: tuple[str, ...] = ()
    """Pipes, sockets and devices, which have no bytes to keep."""
    unread: str = ""
    """Why what was committed or stashed there could not be brought over; it lies in the directory alone."""


class Past(Struct, frozen=True):
    """What the git of a directory itself remembers."""

    git: Git
    tips: tuple[str, ...] = ()
    """Commits that may be reachable from nowhere else."""
    problem: str = ""
    """Why they cannot be told."""


class Keeper:
    """Keeps directories in one repository, whose shared directory is `common`."""

    def __init__(self, folder: Path, git: Git, *, common: Path, settings: Sequence[tuple[str, str]]) -> None:
        plain = _prepared(folder / "plain.git", git, common, settings=(*_ANY_NAME, *settings))
        self.whole = Whole(_prepared(folder / "whole.git", git, common, settings=_ANY_NAME))
        self._candidates = Candidates(plain)
        self._converts = any(name.lower() in _CONVERTS for name, _ in settings)
        for name in ("exclude", "attributes"):  # the user's own rules for this repository
            theirs, ours = common / "info" / name, folder / "plain.git" / "info" / name
            if theirs.exists():
                shutil.copyfile(theirs, ours)
                self._converts = self._converts or (name == "attributes" and theirs.stat().st_size > 0)
            else:
                ours.unlink(missing_ok=True)

    def keep(
        self,
        tree: Path,
        folder: Path,
        *,
        base: str,
        message: str,
        past: Past | None,
        skip: str | None,
        spare: Iterable[bytes] = (),
        limit: int = FILE_LIMIT,
    ) -> Kept:
        """Keep what lies in `tree` but for what is spared; `folder` has what is known of it from before, to be quick.

        Writes objects only: who asked makes the ref. May be repeated until that is done, and gives the same trees.
        """
        found = look_through(tree, skip=skip)
        self._begin_with_known(folder)
        news = self.whole.news(tree, folder, found)
        large = _too_large(tree, (*news.new, *found.unnameable), limit)
        without = frozenset((*spare, *(os.fsencode(each.path) for each in large)))
        whole = self.whole.write(tree, folder, found, news=news, without=without)
        candidate = self._candidates.write(tree, folder, found, base=base, without=without)
        made = self._candidates.git.commit(candidate, [base], message)
        tips, unread = ((), "") if past is None else self._bring(past, base)
        return Kept(
            base=base,
            candidate=candidate,
            commit=self.whole.git.commit(whole, [made, *tips], message),
            left_out=tuple(large),
            special=tuple(map(os.fsdecode, found.special)),
            unread=unread,
        )

    def take_in(self, directory: Path, folder: Path, *, skip: str) -> str:
        """Write what a directory outside git holds, but for one name at its top, into a commit to start from."""
        folder.mkdir(parents=True, exist_ok=True)
        found = look_through(directory, skip=skip)
        news = self.whole.news(directory, folder, found)
        tree = self.whole.write(directory, folder, found, news=news, without=frozenset())
        return self.whole.git.commit(tree, [], "what was there at the start\n")

    def _begin_with_known(self, folder: Path) -> None:
        """Let the first keeping of a directory know what git knows of its files, if they lie there as git has them."""
        index = folder / INDEX
        if (folder / WHOLE_INDEX).exists() or not index.exists() or self._converts:
            return
        if not has_attributes(self._candidates.git.aimed(index=index).run("ls-files", "-z").split(b"\0")):
            shutil.copy2(index, folder / WHOLE_INDEX)  # with its time: by that git tells what changed right after

    def _bring(self, past: Past, base: str) -> tuple[tuple[str, ...], str]:
        """Bring over what was committed or stashed; return the commits, and why they could not be, if so."""
        tips = tuple(tip for tip in dict.fromkeys(past.tips) if tip != base)
        if not tips:
            return (), past.problem
        asked = "".join(f"{tip}\n" for tip in tips) + f"^{base}\n"
        try:
            pack = past.git.run("pack-objects", "--revs", "--stdout", "--quiet", "--thin", stdin=asked.encode())
            self.whole.git.run("unpack-objects", "-q", stdin=pack)
        except GitFailed as error:  # damaged, by whoever worked there
            return (), error.message
        return tips, past.problem


def _prepared(folder: Path, git: Git, common: Path, *, settings: tuple[tuple[str, str], ...]) -> Git:
    """Make a repository that has settings of its own and the objects of another."""
    if not folder.exists():
        draft = folder.with_name(f"{folder.name}.new")  # half of one, left by a killed driver, must not be taken for it
        if draft.exists():
            shutil.rmtree(draft)
        form = git.ask("rev-parse", "--show-object-format")
        words = ("init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(draft))
        Git(environ=git.environ).run(*words, cwd=folder.parent)
        (draft / "info").mkdir(exist_ok=True)
        draft.rename(folder)
    return Git(environ=git.environ, git_dir=folder, objects=common / "objects", settings=settings)


def _too_large(tree: Path, paths: Iterable[bytes], limit: int) -> list[LeftOut]:
    base = os.fsencode(tree)
    found = []
    for path in paths:
        size = os.lstat(os.path.join(base, path)).st_size
        if size > limit:
            found.append(LeftOut(os.fsdecode(path), size))
    return found
