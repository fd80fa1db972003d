"""Conflicts of a line of history, laid out where they can be solved: a directory for a person, a commit for an agent.

For a person it is a merge as git leaves it half done, with marks in the files: a commit there solves it. What the
user's git remembers of conflicts solved before is used. Knows git and workspaces; must not know the state of the run.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from budwood._core.commands import SolveConflict
from budwood._core.events import ErrandAdded, Event, LaneConflicted, LaneResolved
from budwood._core.ids import safe_name
from budwood._core.model import Errand, TaskSpec
from budwood.errors import WorkspaceError
from budwood.workspaces import Pool, Repository, Workspace
from budwood.workspaces.git import Git
from budwood.workspaces.joining import dates_of, write_commit
from budwood.workspaces.merging import is_ancestor, merge_tree, name_before, named

_MARK = re.compile(rb"^(<{7}|>{7}|\|{7})( |$)", re.MULTILINE)
_THEIRS = "everything-else"
"""What git writes beside its marks, and behind the names of files that it puts aside for a directory."""
_PROMPT = """\
Two lines of work on this repository were merged, and git could not join them everywhere.
Solve the conflicts, so that the result does what both sides were meant to do.

{files}

Where both sides changed the same lines the file holds git's marks (<<<<<<<, =======, >>>>>>>): the upper part is
{line}, the lower part is everything else that the run has made. Leave no mark behind. What git said:

{said}
"""


class Conflicts:
    """Lays out the conflicts of one run; `refs` is where its refs are."""

    def __init__(self, refs: str, *, repository: Repository, pool: Pool, holder: Callable[[str], str]) -> None:
        self._refs = refs
        self._repository = repository
        self._pool = pool
        self._holder = holder

    def lay_out(self, wanted: SolveConflict) -> Event:
        """Make what is needed to solve a conflict; one that git has seen solved before is solved here."""
        if wanted.agent is not None:
            return ErrandAdded(task=self._for_agent(wanted, wanted.agent))
        holder = self._holder(conflict_name(wanted.line))
        found = self._laid_out(holder)
        if found is not None and found.base != wanted.head:
            self._put_by(wanted.line, holder, why="a conflict that is another by now")
        if found is None or found.base != wanted.head:
            found = self._pool.hand_out(holder, wanted.head)
            git = self._git(found.path)
            self._bring_memory(git)
            theirs, settings = wanted.onto, {"rerere.autoupdate": "true", "merge.conflictStyle": "merge"}
            if (found.path / ".git").is_dir():  # else its branches and its memory are the user's
                theirs = _THEIRS
                settings["rerere.enabled"] = "true"
                person = self._repository.identity()  # who commits here is the user
                git.run("config", "user.name", person["GIT_COMMITTER_NAME"])
                git.run("config", "user.email", person["GIT_COMMITTER_EMAIL"])
                git.run("checkout", "--quiet", "-B", wanted.branch)
                git.run("branch", "--quiet", "--force", theirs, wanted.onto)
            merging = git.aimed(settings=tuple(settings.items()))
            merging.run("merge", "--no-ff", "--no-commit", "--no-verify-signatures", "--quiet", theirs, codes=(0, 1))
            self._pool.note_ready(holder)
        git = self._git(found.path)
        files = _unmerged(git)
        if not files:
            return self._solved_before(wanted, holder, git)
        return LaneConflicted(
            line=wanted.line,
            head=wanted.head,
            onto=wanted.onto,
            branch=wanted.branch,
            path=str(found.path),
            files=_called(git, files, wanted),
        )

    def look(self, conflict: LaneConflicted) -> Event:
        """Say whether what somebody committed there solves it; what they left is kept before it is believed."""
        holder = self._holder(conflict_name(conflict.line))
        found = self._laid_out(holder)
        if found is None:
            solved = self._put_by_before(conflict)
            if solved:
                return LaneResolved(line=conflict.line, commit=solved, by="person")
            reason = "its directory is gone; it is laid out again"
            return msgspec.structs.replace(conflict, head="", reason=reason)
        git = self._git(found.path)
        head = git.ask("rev-parse", "--verify", "HEAD^{commit}")
        reason = self._why_not(conflict, git, head)
        if reason:
            return msgspec.structs.replace(conflict, reason=reason)
        self._put_by(conflict.line, holder, why="conflicts solved")
        return LaneResolved(line=conflict.line, commit=head, by="person")

    def give_back(self, lines: Iterable[str]) -> None:
        """Keep what lies where conflicts of these lines were to be solved, which are merged by now, by another way."""
        held = set(self._pool.holders())
        for line in lines:
            holder = self._holder(conflict_name(line))
            if holder in held and self._laid_out(holder) is not None:
                self._put_by(line, holder, why="merged by now")

    def _laid_out(self, holder: str) -> Workspace | None:
        """Find a directory that was laid out to the end: where a driver died over it lies what somebody else made."""
        found = self._pool.find(holder)
        return found if found is not None and found.ready and found.path.is_dir() else None

    def _why_not(self, conflict: LaneConflicted, git: Git, head: str) -> str:
        if _unmerged(git):
            return f"conflicts are not solved yet: {named(_unmerged(git))}"
        if git.run("rev-parse", "--verify", "--quiet", "MERGE_HEAD", codes=(0, 1)):
            return "the merge is not committed yet: git commit"
        if head == conflict.head:
            return f"the merge was given up there; to begin it again, there: git merge --no-ff {conflict.onto[:12]}"
        if not is_ancestor(git, conflict.head, head):
            return f"what was committed there does not hold {conflict.head[:12]}, which it is about"
        marked = marked_files(git, head, conflict.files)
        return f"marks of the conflict were committed: {named(marked)}" if marked else ""

    def _for_agent(self, wanted: SolveConflict, task: TaskSpec) -> TaskSpec:
        """Write the merge with its marks into a commit, and tell an agent what it finds."""
        git = self._repository.git
        merge = merge_tree(git, wanted.head, wanted.onto)
        date = max(dates_of(git, (wanted.head, wanted.onto)).values())
        message = f"Merge into {wanted.line}, with conflicts\n"
        start = write_commit(git, merge.tree, [wanted.head, wanted.onto], message=message, date=date)
        self._repository.set_ref(f"{self._refs}/queue/{_name(wanted.line)}", start)
        errand = Errand(kind="resolve", start=start, line=wanted.line, files=merge.files)
        said = _messages(git, wanted.head, wanted.onto)
        files = "\n".join(f"- {path}" for path in merge.told)
        prompt = _PROMPT.format(files=files, line=wanted.line, said=said)
        return msgspec.structs.replace(task, prompt=prompt, errand=errand)

    def _solved_before(self, wanted: SolveConflict, holder: str, git: Git) -> Event:
        """Commit what git remembered, or what did not conflict after all."""
        if git.run("rev-parse", "--verify", "--quiet", "MERGE_HEAD", codes=(0, 1)):
            git.run("commit", "--quiet", "--no-edit", "--no-verify")
        head = git.ask("rev-parse", "HEAD")
        marked = marked_files(git, head, merge_tree(git, wanted.head, wanted.onto).files)
        if marked:
            what = f"marks of a conflict are in {named(marked)}, though git takes it for solved"
            raise WorkspaceError(f"{what}: {git.work_tree}")
        self._put_by(wanted.line, holder, why="conflicts solved as before")
        return LaneResolved(line=wanted.line, commit=head, by="rerere")

    def _put_by(self, line: str, holder: str, *, why: str) -> None:
        """Keep what lies in a directory, commits included, and give it back."""
        ref = self._ref(line)
        self._pool.keep(holder, ref, message=f"{line}: {why}\n")
        self._pool.hand_back(holder, ref)

    def _put_by_before(self, conflict: LaneConflicted) -> str:
        """Return what somebody committed that solves it and was kept by a driver that died before it could say so."""
        git = self._repository.git
        for ref in reversed(self._kept_for(conflict.line)):
            head = git.ask("rev-parse", f"{ref}^1^1")  # what was there, made a commit on top of what was committed
            solves = head != conflict.head and is_ancestor(git, conflict.head, head)
            if solves and not marked_files(git, head, conflict.files):
                return head
        return ""

    def _bring_memory(self, git: Git) -> None:
        """Copy what the user's git remembers of conflicts."""
        theirs = self._repository.common / "rr-cache"
        ours = Path(git.ask("rev-parse", "--path-format=absolute", "--git-path", "rr-cache"))
        if theirs.is_dir() and theirs != ours:
            shutil.copytree(theirs, ours, dirs_exist_ok=True)

    def _git(self, path: Path) -> Git:
        return Git(environ=self._repository.git.environ, work_tree=path, git_dir=_git_dir(self._repository.git, path))

    def _ref(self, line: str) -> str:
        """Name a new ref for what somebody left: an older one may be the only one that has what it has."""
        return f"{self._refs}/solved/{_name(line)}-{len(self._kept_for(line)) + 1}"

    def _kept_for(self, line: str) -> list[str]:
        """Name the refs of what was put by for a line, the oldest first."""
        below = f"{self._refs}/solved/{_name(line)}-"
        said = self._repository.git.ask("for-each-ref", "--format=%(refname)", f"{self._refs}/solved")
        numbers = sorted(int(name.removeprefix(below)) for name in said.splitlines() if name.startswith(below))
        return [f"{below}{number}" for number in numbers]


def marked_files(git: Git, commit: str, files: Iterable[str]) -> tuple[str, ...]:
    """Name those of the files that hold a mark of a conflict in a commit, also where git had put them aside."""
    found = []
    for path in dict.fromkeys(each for file in files for each in (file, *_put_aside(git, commit, file))):
        entry = git.ask("ls-tree", commit, "--", f":(literal){path}")
        if entry.startswith(("100644", "100755")) and _MARK.search(git.run("cat-file", "blob", entry.split()[2])):
            found.append(path)
    return tuple(found)


def _put_aside(git: Git, commit: str, file: str) -> list[str]:
    """List what lies beside a file under a name that git makes where a directory is in its way: `file~side`."""
    folder = file.rpartition("/")[0]
    below = ("--", f":(literal){folder}/") if folder else ()
    said = git.run("ls-tree", "-z", "--name-only", commit, *below).decode(errors="surrogateescape").split("\0")
    return [name for name in said if name.startswith(f"{file}~")]


def conflict_name(line: str) -> str:
    """Name the conflict of a line where a directory is held for it."""
    return f"merge-{_name(line)}"


def _name(line: str) -> str:
    """Name a line so that git and file systems accept it, and no two are the same: many letters are left out."""
    return f"{safe_name(line, most=40)}-{hashlib.sha256(line.encode()).hexdigest()[:8]}"


def _unmerged(git: Git) -> tuple[str, ...]:
    said = git.run("ls-files", "--unmerged", "-z").decode(errors="surrogateescape").split("\0")
    return tuple(dict.fromkeys(entry.partition("\t")[2] for entry in said if entry))


def _called(git: Git, files: Iterable[str], wanted: SolveConflict) -> tuple[str, ...]:
    """Say what files are called that conflict in a directory, where git has put some aside under other names."""
    known = merge_tree(git, wanted.head, wanted.onto).files
    sides = ("HEAD", _THEIRS, wanted.onto)
    return tuple(dict.fromkeys(file if file in known else name_before(file, sides) for file in files))


def _messages(git: Git, ours: str, theirs: str) -> str:
    words = ("merge-tree", "--write-tree", "--name-only", "--messages", "--allow-unrelated-histories", ours, theirs)
    said = git.run(*words, codes=(0, 1)).decode(errors="replace")
    return "\n".join(line for line in said.splitlines() if line.startswith("CONFLICT"))


def _git_dir(git: Git, path: Path) -> Path:
    found = Git(environ=git.environ).ask("rev-parse", "--absolute-git-dir", cwd=path)
    if not Path(found).is_dir():
        raise WorkspaceError(f"{path} is no working directory of git any more")
    return Path(found)
