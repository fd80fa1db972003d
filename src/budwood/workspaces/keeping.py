"""What an attempt left, written into a repository before anything else happens to its directory.

Two trees: the candidate, and everything. The `.git` of the directory is never used for that: whatever an agent wrote
there about filters, hooks and monitors would be run. What was committed or stashed there is brought over as well. Knows
git and directories; must not know runs.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from budwood.workspaces import direct
from budwood.workspaces.candidate import Candidates
from budwood.workspaces.changes import Bases, Changes, compare, has_attributes
from budwood.workspaces.git import Git, GitFailed
from budwood.workspaces.inside import LINK, changed_inside
from budwood.workspaces.laying import INDEX, Laid, laid_out, settle
from budwood.workspaces.merging import is_ancestor
from budwood.workspaces.records import stamp
from budwood.workspaces.repository import Repository
from budwood.workspaces.sparse import FILE as SPARSE_FILE
from budwood.workspaces.sparse import SETTINGS as SPARSE
from budwood.workspaces.survey import NOTHING
from budwood.workspaces.whole import INDEX as WHOLE_INDEX
from budwood.workspaces.whole import Whole

# A name that another file system could not have is kept all the same; who checks it out there is told by git.
_ANY_NAME = (("core.protectNTFS", "false"), ("core.protectHFS", "false"))
_CONVERTS = ("core.autocrlf", "core.eol", "core.attributesfile")
_TELLS = ("core.filemode", "core.symlinks")
_INSIDE = "inside-index"
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
    made: str
    """The commit of that tree."""
    commit: str
    """A commit whose tree is everything that was there; its first parent is the candidate's commit."""
    left_out: tuple[LeftOut, ...] = ()
    special: tuple[str, ...] = ()
    """Pipes, sockets and devices, which have no bytes to keep."""
    adrift: tuple[str, ...] = ()
    """Submodules at a commit that no branch of their origin has: it lies in the directory alone."""
    inside: tuple[str, ...] = ()
    """Files that differ inside of submodules: kept, and no part of the candidate."""
    unread: str = ""
    """Why what was committed or stashed there could not be brought over; it lies in the directory alone."""


class Past(Struct, frozen=True):
    """What the git of a directory itself remembers."""

    git: Git
    tips: tuple[str, ...] = ()
    """Commits that may be reachable from nowhere else."""
    problem: str = ""
    """Why they cannot be told."""
    head: str = ""
    """Where it stands."""


class Keeper:
    """Keeps directories in one repository, with the user's `settings` of how files become objects.

    `cones` are the patterns of what is laid out, where that is not all.
    """

    def __init__(self, folder: Path, repository: Repository, *, cones: str = "") -> None:
        settings, common = repository.settings(), repository.common
        self.cones = cones
        self.bases = Bases()
        name = f"plain-{hashlib.sha256(cones.encode()).hexdigest()[:12]}.git" if cones else "plain.git"
        # What git LFS takes out of a candidate goes to where the user's own will look for it.
        more = (("lfs.storage", str(repository.lfs)), *(SPARSE if cones else ()))
        self.plain = _prepared(folder / name, repository, settings=(*_ANY_NAME, *settings, *more))
        self.whole = Whole(_prepared(folder / "whole.git", repository, settings=_ANY_NAME), form=repository.form)
        self._candidates = Candidates(self.plain)
        self._converts = converts(settings, repository.git.environ)
        for each in ("exclude", "attributes"):  # the user's own rules for this repository
            theirs, ours = common / "info" / each, folder / name / "info" / each
            if theirs.exists():
                shutil.copyfile(theirs, ours)
                self._converts = self._converts or (each == "attributes" and theirs.stat().st_size > 0)
            else:
                ours.unlink(missing_ok=True)
        if cones:
            (folder / name / SPARSE_FILE).write_text(cones)

    def keep(
        self,
        folder: Path,
        *,
        base: str,
        message: str,
        past: Past | None,
        skip: str | None,
        spare: re.Pattern[bytes],
        without: Iterable[bytes] = (),
        limit: int = FILE_LIMIT,
    ) -> Kept:
        """Keep what lies in `tree` in a place, but for what is spared and what is left out.

        Writes objects only: who asked makes the ref. May be repeated until that is done, and gives the same trees.
        """
        tree, laid = folder / "tree", laid_out(folder, base, cones=self.cones)
        leave = frozenset(without)
        changes = None
        if laid is not None and not (laid.links or laid.converts or self._converts or self.cones):
            now_ns = stamp(folder)
            aimed = self.whole.git.aimed(index=folder / INDEX)
            seen = self.bases.seen(folder, base, aimed, now_ns=now_ns)
            changes = compare(self.whole.git, tree, folder / INDEX, seen=seen, skip=skip, spare=spare)
            settle(folder, changes.changed, now_ns=now_ns)
        if changes is not None and not has_attributes(changes.found.files):
            written = direct.write(
                self.whole.git,
                tree,
                changes,
                base=base,
                form=self.whole.form,
                without=leave,
                file_limit=limit,
                plain=self.plain,
            )
        else:
            self._begin_with_known(folder, laid)
            changes = self.whole.compare(tree, folder, skip=skip, spare=spare)
            self._add_spared(changes, tree, base)
            written = self._write_by_index(folder, laid, changes, base=base, without=leave, limit=limit)
        tips, unread = ((), "") if past is None else self._bring(past, base)
        # What was committed on top of the base stays in the history of the candidate.
        grown = past is not None and not unread and past.head and is_ancestor(self.whole.git, base, past.head)
        has_links = laid is not None and laid.links
        made = self.plain.commit(written.candidate, [past.head if past is not None and grown else base], message)
        return Kept(
            base=base,
            candidate=written.candidate,
            made=made,
            commit=self.whole.git.commit(written.whole, [made, *tips], message),
            left_out=tuple(LeftOut(os.fsdecode(path), size) for path, size in sorted(written.too_large.items())),
            special=tuple(map(os.fsdecode, changes.found.special)),
            adrift=self._adrift(tree, base, written.candidate) if has_links else (),
            inside=self._inside(folder, written.candidate) if has_links else (),
            unread=unread,
        )

    def _adrift(self, tree: Path, base: str, candidate: str) -> tuple[str, ...]:
        """Name the submodules whose commit was made here: a link to it leads nowhere from any other place."""
        said = self.plain.run("diff-tree", "-r", "-z", "--no-renames", base, candidate).split(b"\0")
        found = []
        for head, path in zip(said[::2], said[1::2], strict=False):
            _, mode, _, commit, _ = head.decode().split(" ")
            words = ("for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes", "refs/tags")
            theirs = Git(environ=self.plain.environ)
            inside = tree / os.fsdecode(path)
            if mode == LINK and not (inside.is_dir() and theirs.run(*words, cwd=inside, codes=range(256))):
                found.append(os.fsdecode(path))
        return tuple(found)

    def _inside(self, folder: Path, candidate: str) -> tuple[str, ...]:
        return tuple(changed_inside(self.plain, folder / "tree", candidate, index=folder / _INSIDE))

    def _write_by_index(
        self, folder: Path, laid: Laid | None, changes: Changes, *, base: str, without: frozenset[bytes], limit: int
    ) -> direct.Written:
        """Let git write both trees, each by an index: it converts files, or knows commits of other repositories."""
        tree = folder / "tree"
        there = (*changes.changed, *changes.found.files, *changes.found.unnameable)
        large = _too_large(tree, (path for path in there if path not in without), limit)
        leave = without.union(large)
        whole = self.whole.write(tree, folder, changes, without=leave)
        index = None if laid is None else folder / INDEX
        candidate = self._candidates.write(tree, index, changes, base=base, without=leave)
        return direct.Written(candidate, whole, large)

    def take_in(self, directory: Path, folder: Path, *, skip: str) -> str:
        """Write what a directory outside git holds, but for one name at its top, into a commit to start from."""
        folder.mkdir(parents=True, exist_ok=True)
        changes = self.whole.compare(directory, folder, skip=skip, spare=NOTHING)
        tree = self.whole.write(directory, folder, changes, without=frozenset())
        return self.whole.git.commit(tree, [], "what was there at the start\n")

    def _begin_with_known(self, folder: Path, laid: Laid | None) -> None:
        """Let the first keeping of a directory know what git knows of its files, if they lie there as git has them."""
        if (folder / WHOLE_INDEX).exists() or laid is None or laid.links or laid.converts or self._converts:
            return
        if not self.cones:  # what is outside of those is marked as not to be looked at
            shutil.copy2(folder / INDEX, folder / WHOLE_INDEX)  # with its time: by that git tells what changed after

    def _add_spared(self, changes: Changes, tree: Path, base: str) -> None:
        """Add what the base has below a spared directory, and is not known yet: that is no less a file than others."""
        spared = changes.found.spared
        if spared:
            words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", base, "--", *map(os.fsdecode, spared))
            for path in set(self.plain.run(*words).split(b"\0")[:-1]).difference(changes.known):
                is_there = os.path.lexists(os.fsencode(tree) + b"/" + path)
                (changes.found.files if is_there else changes.gone).append(path)

    def _bring(self, past: Past, base: str) -> tuple[tuple[str, ...], str]:
        """Bring over what was committed or stashed; return the commits, and why they could not be, if so."""
        tips = tuple(tip for tip in dict.fromkeys(past.tips) if tip != base)
        if not tips:
            return (), past.problem
        lines = [f"{tip}\n" for tip in tips]
        try:
            there = self.whole.git.ask("cat-file", "--batch-check", stdin="".join(lines).encode()).splitlines()
            asked = [line for line, said in zip(lines, there, strict=True) if said.endswith(" missing")]
            if asked:
                revisions = "".join([*asked, f"^{base}\n"]).encode()
                pack = past.git.run("pack-objects", "--revs", "--stdout", "--quiet", "--thin", stdin=revisions)
                self.whole.git.run("unpack-objects", "-q", stdin=pack)
        except GitFailed as error:  # damaged, by whoever worked there
            return (), error.message
        return tips, past.problem


def converts(settings: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> bool:
    """Say whether files lie in a checkout otherwise than git has them, by the user's settings and attributes."""
    values = {name.lower(): value.lower() for name, value in settings}
    if any(values.get(name, "false") != "false" for name in _CONVERTS):
        return True
    if any(values.get(name, "true") != "true" for name in _TELLS):
        return True
    home = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "/")) / ".config")
    return (home / "git" / "attributes").exists() or Path("/etc/gitattributes").exists()


def _prepared(folder: Path, repository: Repository, *, settings: tuple[tuple[str, str], ...]) -> Git:
    """Make a repository that has settings of its own and the objects of another."""
    environ = repository.git.environ
    if not folder.exists():
        draft = folder.with_name(f"{folder.name}.new")  # half of one, left by a killed driver, must not be taken for it
        if draft.exists():
            shutil.rmtree(draft)
        words = ("init", "--quiet", "--bare", "--template=", f"--object-format={repository.form}", str(draft))
        Git(environ=environ).run(*words, cwd=folder.parent)
        (draft / "info").mkdir(exist_ok=True)
        draft.rename(folder)
    return Git(environ=environ, git_dir=folder, objects=repository.objects, settings=settings)


def _too_large(tree: Path, paths: Iterable[bytes], limit: int) -> dict[bytes, int]:
    base = os.fsencode(tree) + b"/"
    sizes = {path: os.lstat(base + path).st_size for path in paths}
    return {path: size for path, size in sizes.items() if size > limit}
