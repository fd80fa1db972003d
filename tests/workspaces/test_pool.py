"""The pool: what is handed on, what is shut, what survives."""

import subprocess
import sys
from pathlib import Path

import pytest

from budwood.errors import WorkspaceError
from budwood.testing.workspaces import bytes_in, git
from budwood.workspaces import Clone, Pool, Repository
from budwood.workspaces.escape import escape, unescape
from budwood.workspaces.packing import WORTH_PACKING

REF = "refs/budwood/r/1"


@pytest.fixture
def pool(repository: Repository, tmp_path: Path) -> Pool:
    return Pool(tmp_path / "pool", repository, Clone(repository), file_limit=1000)


@pytest.fixture
def base(repository: Repository) -> str:
    return repository.resolve("HEAD")


def test_a_file_too_large_is_named_and_its_directory_is_left_alone(pool: Pool, base: str, tmp_path: Path) -> None:
    made = pool.hand_out("r/1", base)
    (made.path / "ignored").mkdir()
    (made.path / "ignored" / "huge").write_bytes(b"x" * 5000)
    (made.path / "large").write_bytes(b"y" * 1001)
    (made.path / "small").write_text("kept")
    kept = pool.keep("r/1", REF, message="m")
    assert [(each.path, each.size) for each in sorted(kept.left_out, key=lambda each: each.path)] == [
        ("ignored/huge", 5000),
        ("large", 1001),
    ]
    pool.hand_back("r/1", REF)
    assert pool.hand_out("r/2", base).path != made.path
    assert (made.path / "ignored" / "huge").stat().st_size == 5000
    pool.restore(kept.commit, tmp_path / "back")
    assert "small" in bytes_in(tmp_path / "back")
    assert "large" not in bytes_in(tmp_path / "back")


def test_a_lease_outlives_the_process_that_took_it(
    pool: Pool, base: str, repository: Repository, tmp_path: Path
) -> None:
    code = (
        "import os, sys; from pathlib import Path; from budwood.workspaces import *;"
        "r = find_repository(Path(sys.argv[1]), os.environ);"
        "p = Pool(Path(sys.argv[2]), r, Clone(r));"
        "w = p.hand_out('r/1', sys.argv[3]); (w.path / 'made').write_text('dear'); os._exit(9)"
    )
    words = [sys.executable, "-c", code, str(repository.root), str(tmp_path / "pool"), base]
    assert subprocess.run(words, check=False).returncode == 9
    found = pool.find("r/1")
    assert found is not None
    assert (found.path / "made").read_text() == "dear"
    assert pool.hand_out("r/2", base).path != found.path
    kept = pool.keep("r/1", REF, message="m")
    assert git(repository.root, "show", f"{kept.candidate}:made") == "dear"


def test_one_that_cannot_be_kept_is_shut_and_stays(pool: Pool, base: str, repository: Repository) -> None:
    made = pool.hand_out("r/1", base)
    (made.path / "made").write_text("dear")
    objects = repository.objects
    objects.rename(objects.with_name("away"))
    with pytest.raises(WorkspaceError):
        pool.keep("r/1", REF, message="m")
    objects.with_name("away").rename(objects)
    assert (made.path / "made").read_text() == "dear"
    with pytest.raises(WorkspaceError, match="is not kept"):
        pool.hand_back("r/1", REF)
    kept = pool.keep("r/1", REF, message="m")
    assert git(repository.root, "show", f"{kept.candidate}:made") == "dear"


def test_a_damaged_git_is_said_and_its_directory_is_left_alone(pool: Pool, base: str, repository: Repository) -> None:
    made = pool.hand_out("r/1", base)
    (made.path / "made").write_text("dear")
    git(made.path, "stash", "-u", "-q")
    stash = git(made.path, "rev-parse", "refs/stash")
    (made.path / ".git" / "objects" / stash[:2] / stash[2:]).unlink()
    kept = pool.keep("r/1", REF, message="m")
    assert kept.unread
    assert repository.ref(REF) == kept.commit
    pool.hand_back("r/1", REF)
    assert pool.hand_out("r/2", base).path != made.path
    assert (made.path / ".git" / "refs" / "stash").exists()


def test_a_directory_that_was_removed_by_hand_is_made_again(pool: Pool, base: str) -> None:
    made = pool.hand_out("r/1", base)
    pool.keep("r/1", REF, message="m")
    pool.hand_back("r/1", REF)
    subprocess.run(["rm", "-rf", str(made.path)], check=True)
    again = pool.hand_out("r/2", base)
    assert "kept.txt" in bytes_in(again.path)


def test_nothing_can_be_kept_of_who_has_nothing(pool: Pool) -> None:
    with pytest.raises(WorkspaceError, match="r/7 has no workspace"):
        pool.keep("r/7", REF, message="m")
    pool.hand_back("r/7", REF)


def test_nothing_is_restored_over_what_is_there(pool: Pool, base: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(WorkspaceError, match="is not empty"):
        pool.restore(base, tmp_path / "full")


def test_what_setup_made_can_be_spared(repository: Repository, base: str, tmp_path: Path) -> None:
    pool = Pool(tmp_path / "pool", repository, Clone(repository), setup_keeps=["ignored/deps"])
    made = pool.hand_out("r/1", base)
    (made.path / "ignored" / "deps").mkdir(parents=True)
    (made.path / "ignored" / "deps" / "lib").write_text("took long")
    (made.path / "ignored" / "log").write_text("goes")
    pool.keep("r/1", REF, message="m")
    pool.hand_back("r/1", REF)
    again = pool.hand_out("r/2", base)
    assert (again.path / "ignored" / "deps" / "lib").read_text() == "took long"
    assert not (again.path / "ignored" / "log").exists()


@pytest.mark.parametrize("attributes", ["* text=auto eol=crlf\n", "*.txt text\n*.id ident\n", "*.txt filter=shout\n"])
def test_bytes_are_bytes_whatever_the_attributes_say(
    checkout: Path, repository: Repository, tmp_path: Path, attributes: str
) -> None:
    git(checkout, "config", "filter.shout.clean", "tr a-z A-Z")
    git(checkout, "config", "filter.shout.smudge", "tr A-Z a-z")
    (checkout / ".gitattributes").write_text(attributes)
    (checkout / "some.id").write_text("$Id$\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "with attributes")
    pool = Pool(tmp_path / "pool", repository, Clone(repository))
    base = repository.resolve("HEAD")
    for number in (1, 2):  # a warm one knows files from before
        made = pool.hand_out(f"r/{number}", base)
        (made.path / "kept.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
        (made.path / "new.txt").write_bytes(b"A\r\nb\n")
        left = bytes_in(made.path)
        kept = pool.keep(f"r/{number}", f"refs/budwood/r/{number}", message="m")
        pool.restore(kept.commit, tmp_path / f"back{number}")
        assert bytes_in(tmp_path / f"back{number}") == left
        pool.hand_back(f"r/{number}", f"refs/budwood/r/{number}")


def test_files_of_line_ends_alone_are_seen_to_have_changed(
    checkout: Path, repository: Repository, tmp_path: Path
) -> None:
    (checkout / ".gitattributes").write_text("* text=auto\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "text")
    pool = Pool(tmp_path / "pool", repository, Clone(repository))
    made = pool.hand_out("r/1", repository.resolve("HEAD"))
    (made.path / "kept.txt").write_bytes(b"kept\r\n")
    kept = pool.keep("r/1", REF, message="m")
    pool.restore(kept.commit, tmp_path / "back")
    assert (tmp_path / "back" / "kept.txt").read_bytes() == b"kept\r\n"


@pytest.mark.parametrize("path", [b".git", b"a/.git/b", b".GIT%/x", b"a/.git%%", b"plain", b".gitignore", b"a.git/b"])
def test_names_that_git_refuses_come_back(path: bytes) -> None:
    assert unescape(escape(path)) == path
    assert not any(part.lower() == b".git" for part in escape(path).split(b"/"))


def test_many_new_files_are_kept_as_few_are(pool: Pool, base: str, repository: Repository, tmp_path: Path) -> None:
    made = pool.hand_out("r/1", base)
    (made.path / "ignored").mkdir()
    for number in range(WORTH_PACKING + 50):
        (made.path / "ignored" / f"file{number}").write_bytes(b"done\nblob\ndata 3\n%d\r\n" % number)
    (made.path / "ignored" / "link").symlink_to("file1")
    before = len(list(repository.objects.glob("pack/*.pack")))
    kept = pool.keep("r/1", REF, message="m")
    assert len(list(repository.objects.glob("pack/*.pack"))) == before + 1
    left = bytes_in(made.path)
    pool.restore(kept.commit, tmp_path / "back")
    assert bytes_in(tmp_path / "back") == left
