"""The proof that workspaces keep their promises.

    class TestMyWorkspaces(WorkspaceConformance):
        @pytest.fixture
        def ground(self, tmp_path): return Ground(repository, workspaces, base)

Knows the contract of workspaces and git; must not know any kind.
"""

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from budwood.errors import WorkspaceError
from budwood.workspaces.base import Workspaces
from budwood.workspaces.repository import Repository

__all__ = ["Ground", "WorkspaceConformance", "bytes_in"]

HOLDER, REF = "night/3.1", "refs/budwood/night/3.1"
BASE = {"kept.txt", "sub/deep.txt", "requirements.txt", ".gitignore"}


@dataclass
class Ground:
    """Workspaces to try, and the repository whose files they hand out."""

    repository: Repository
    workspaces: Workspaces
    base: str
    has_git: bool = True
    """Whether a workspace is a checkout; otherwise what an agent does with git there is files like others."""
    shares_git: bool = False
    """Whether branches and the stash of a workspace are the repository's own."""
    with_setup: Workspaces | None = None
    """The same with a `setup`, whose keeps are ignored/deps and tools."""
    with_cones: Workspaces | None = None
    """The same with the one cone `elsewhere`, which the base does not have."""


def bytes_in(root: Path) -> dict[str, bytes]:
    """Read every file and link below a directory, but for its own `.git`."""
    found: dict[str, bytes] = {}
    for folder, folders, files in os.walk(root):
        if Path(folder) == root and ".git" in folders:
            folders.remove(".git")
        for name in (*files, *(each for each in folders if (Path(folder) / each).is_symlink())):
            path = Path(folder) / name
            if path.is_symlink():
                found[str(path.relative_to(root))] = b"-> " + os.fsencode(os.readlink(path))
            elif path.is_file() and name != ".git":
                found[str(path.relative_to(root))] = path.read_bytes()
    return found


def git(where: Path, *words: str) -> str:
    """Run git as an agent would, in a workspace."""
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(
        ["git", *words], cwd=where, env={**os.environ, **identity}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _commit(tree: Path) -> None:
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
    "commit": _commit,
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


class WorkspaceConformance:
    """Every rule of `budwood.workspaces.base`; inherit, and supply the fixture `ground`, whose base has kept.txt,
    sub/deep.txt, requirements.txt and a .gitignore that names ignored/."""

    def test_a_workspace_has_the_files_of_its_base_and_is_outside_the_checkout(self, ground: Ground) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        assert set(bytes_in(made.path)) == BASE
        assert not made.path.is_relative_to(ground.repository.root)
        assert (made.holder, made.base, made.warm) == (HOLDER, ground.base, False)
        _check_clean(ground, made.path)

    def test_a_holder_keeps_its_directory_until_it_is_given_back(self, ground: Ground) -> None:
        first = ground.workspaces.hand_out(HOLDER, ground.base)
        other = ground.workspaces.hand_out("night/4.1", ground.base)
        assert first.path != other.path
        found = ground.workspaces.find(HOLDER)
        assert found is not None
        assert found.path == first.path
        ground.workspaces.keep(HOLDER, REF, message="m")
        ground.workspaces.hand_back(HOLDER, REF)
        ground.workspaces.hand_back(HOLDER, REF)
        assert ground.workspaces.find(HOLDER) is None
        assert ground.workspaces.hand_out("night/5.1", ground.base).path == first.path

    def test_nothing_is_given_back_that_was_not_kept(self, ground: Ground) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        (made.path / "made").write_text("dear")
        with pytest.raises(WorkspaceError, match="is not kept"):
            ground.workspaces.hand_back(HOLDER, REF)
        assert (made.path / "made").read_text() == "dear"
        assert ground.workspaces.find(HOLDER) is not None

    @pytest.mark.parametrize("deed", sorted(DEEDS))
    def test_every_byte_comes_back_and_the_next_one_finds_the_base(
        self, ground: Ground, deed: str, tmp_path: Path
    ) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        if not ground.has_git:
            git(made.path, "init", "-q")
            git(made.path, "add", "-A")
            git(made.path, "commit", "-qm", "begun")
        DEEDS[deed](made.path)
        before = None if deed == "locked out" else bytes_in(made.path)
        kept = ground.workspaces.keep(HOLDER, REF, message="night 3.1\n")
        assert ground.repository.ref(REF) == kept.commit
        left = bytes_in(made.path)
        assert before in (None, left)
        assert deed != "locked out" or left["closed/file"] == b"inside"
        assert not list(made.path.glob("ran-*"))
        assert ground.workspaces.keep(HOLDER, REF, message="again").candidate == kept.candidate
        ground.workspaces.restore(kept.commit, tmp_path / "back")
        assert bytes_in(tmp_path / "back") == left
        ground.workspaces.hand_back(HOLDER, REF)
        after = ground.workspaces.hand_out("night/6.1", ground.base)
        assert (after.path, after.warm) == (made.path, True)
        assert set(bytes_in(after.path)) == BASE
        assert {str(path.relative_to(after.path)) for path in after.path.rglob(".git")} <= {".git"}
        assert not (after.path / "empty").exists()
        _check_clean(ground, after.path)

    def test_the_candidate_honours_ignore_rules_and_is_named_by_its_content(self, ground: Ground) -> None:
        trees = []
        for number in (1, 2):
            made = ground.workspaces.hand_out(f"night/{number}.1", ground.base)
            (made.path / "made").write_text("the same")
            (made.path / "ignored").mkdir()
            (made.path / "ignored" / "log").write_text(f"of {number}")
            kept = ground.workspaces.keep(f"night/{number}.1", f"refs/budwood/night/{number}.1", message=str(number))
            trees.append(kept.candidate)
        assert trees[0] == trees[1]
        names = ground.repository.git.ask("ls-tree", "-r", "--name-only", trees[0]).splitlines()
        assert names == [".gitignore", "kept.txt", "made", "requirements.txt", "sub/deep.txt"]

    def test_what_was_committed_or_stashed_is_reachable(self, ground: Ground) -> None:
        if not ground.has_git:
            pytest.skip("there is no history in a copy")
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        _commit(made.path)
        own = git(made.path, "rev-parse", "HEAD")
        (made.path / "kept.txt").write_text("stashed first, and known by the log of the stash alone\n")
        git(made.path, "stash", "-q")
        older = git(made.path, "rev-parse", "refs/stash")
        (made.path / "made").write_text("then stashed")
        git(made.path, "stash", "-q")
        stash = git(made.path, "rev-parse", "refs/stash")
        git(made.path, "reset", "-q", "--hard", ground.base)
        kept = ground.workspaces.keep(HOLDER, REF, message="m")
        shared = ["--reflog"] if ground.shares_git else []  # there, the stash is the repository's own, and stays
        reachable = ground.repository.git.ask("rev-list", kept.commit, *shared).splitlines()
        assert {own, older, stash, ground.base} <= set(reachable)
        assert own in ground.repository.git.ask("rev-list", kept.commit).splitlines()
        assert ground.repository.git.ask("show", f"{stash}:made") == "then stashed"

    def test_a_pinned_directory_stays_as_it_is_and_its_holder_gets_another(self, ground: Ground) -> None:
        made = ground.workspaces.hand_out(HOLDER, ground.base)
        (made.path / "made").write_text("to look at")
        ground.workspaces.pin(HOLDER)
        ground.workspaces.keep(HOLDER, REF, message="m")
        assert ground.workspaces.hand_out(HOLDER, ground.base).path != made.path
        ground.workspaces.hand_back(HOLDER, REF)
        assert ground.workspaces.hand_out("night/4.1", ground.base).path != made.path
        assert (made.path / "made").read_text() == "to look at"
        ground.workspaces.unpin(HOLDER)
        ground.workspaces.unpin(HOLDER)
        assert ground.workspaces.hand_out("night/5.1", ground.base).path == made.path
        assert set(bytes_in(made.path)) == BASE

    def test_setup_is_due_once_in_a_directory(self, ground: Ground) -> None:
        assert not ground.workspaces.hand_out(HOLDER, ground.base).setup_due
        spaces = ground.with_setup
        if spaces is None:
            pytest.skip("these have no setup")
        first = spaces.hand_out(HOLDER, ground.base)
        assert first.setup_due
        (first.path / "ignored" / "deps").mkdir(parents=True)
        (first.path / "ignored" / "deps" / "lib").write_text("took long")
        (first.path / "ignored" / "log").write_text("goes")
        assert spaces.hand_out(HOLDER, ground.base).setup_due  # it did not succeed
        spaces.note_setup(HOLDER)
        found = spaces.find(HOLDER)
        assert found is not None
        assert not found.setup_due
        spaces.keep(HOLDER, REF, message="m")
        spaces.hand_back(HOLDER, REF)
        second = spaces.hand_out("night/4.1", ground.base)
        assert (second.path, second.setup_due) == (first.path, False)
        assert (second.path / "ignored" / "deps" / "lib").read_text() == "took long"
        assert not (second.path / "ignored" / "log").exists()
        assert spaces.hand_out("night/5.1", ground.base).setup_due  # another directory
        (second.path / "ignored" / "deps" / "lib").unlink()
        (second.path / "ignored" / "deps").rmdir()
        spaces.keep("night/4.1", "refs/budwood/night/4.1", message="m")
        spaces.hand_back("night/4.1", "refs/budwood/night/4.1")
        assert spaces.hand_out("night/6.1", ground.base).setup_due  # what it made was taken away

    def test_what_setup_made_is_not_what_an_attempt_left(self, ground: Ground, tmp_path: Path) -> None:
        spaces = ground.with_setup
        if spaces is None:
            pytest.skip("these have no setup")
        made = spaces.hand_out(HOLDER, ground.base)
        for name in ("ignored/deps/lib", "tools/saw", "sub/tools/plane", "ignored/log"):
            (made.path / name).parent.mkdir(parents=True, exist_ok=True)
            (made.path / name).write_text(name)
        kept = spaces.keep(HOLDER, REF, message="m")
        names = ground.repository.git.ask("ls-tree", "-r", "--name-only", kept.candidate).splitlines()
        assert set(names) == BASE
        spaces.restore(kept.commit, tmp_path / "back")
        assert set(bytes_in(tmp_path / "back")) == {*BASE, "ignored/log"}
        assert (made.path / "tools" / "saw").exists()

    def test_cones_are_laid_out_and_the_rest_is_as_the_base_has_it(self, ground: Ground, tmp_path: Path) -> None:
        spaces = ground.with_cones
        if spaces is None:
            pytest.skip("these have no cones")
        for number in (1, 2):
            holder, ref = f"night/{number}.1", f"refs/budwood/night/{number}.1"
            made = spaces.hand_out(holder, ground.base)
            assert set(bytes_in(made.path)) == BASE - {"sub/deep.txt"}
            _check_clean(ground, made.path)
            (made.path / "kept.txt").write_text("changed\n")
            (made.path / "elsewhere").mkdir()
            (made.path / "elsewhere" / "new").write_text("in the cone")
            (made.path / "sub").mkdir()
            (made.path / "sub" / "new").write_text("outside, and new")
            (made.path / "sub" / "deep.txt").write_text("outside, and written over\n")
            left = bytes_in(made.path)
            kept = spaces.keep(holder, ref, message="m")
            names = ground.repository.git.ask("ls-tree", "-r", "--name-only", kept.candidate).splitlines()
            assert set(names) == {*BASE, "elsewhere/new", "sub/new"}
            said = ground.repository.git.ask("show", f"{kept.candidate}:sub/deep.txt")
            assert said == "outside, and written over"
            spaces.restore(kept.commit, tmp_path / f"back{number}")
            assert bytes_in(tmp_path / f"back{number}") == left
            spaces.hand_back(holder, ref)

    def test_sixteen_at_once_are_sixteen(self, ground: Ground) -> None:
        paths: list[Path] = []
        failures: list[BaseException] = []

        def take(number: int) -> None:
            try:
                paths.append(ground.workspaces.hand_out(f"night/{number}.1", ground.base).path)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=take, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(set(paths)) == 16
        assert all((path / "kept.txt").exists() for path in paths)


def _check_clean(ground: Ground, tree: Path) -> None:
    """See that git finds a workspace as it should be handed out."""
    if not ground.has_git:
        assert not (tree / ".git").exists()
        return
    # An agent's monitor may be in the user's own settings by now, where those are shared.
    assert git(tree, "-c", "core.fsmonitor=false", "status", "--porcelain", "--ignored") == ""
    assert git(tree, "rev-parse", "HEAD") == ground.base
    assert ground.shares_git or git(tree, "stash", "list") == ""
