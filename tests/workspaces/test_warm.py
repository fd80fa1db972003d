"""A directory that is handed on is looked through quickly, and nothing that was done to it escapes that."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from budwood.testing.workspaces import bytes_in, git
from budwood.workspaces import Clone, Pool, Repository, plan_gc, take_stock
from budwood.workspaces.aside import REMOVED
from budwood.workspaces.laying import INDEX, settle
from budwood.workspaces.survey import Known, Seen, Walk

SECOND_NS = 1_000_000_000
KNOWN = [b".gitignore", b"kept.txt", b"requirements.txt", b"sub/deep.txt"]


@pytest.fixture
def pool(repository: Repository, tmp_path: Path) -> Pool:
    return Pool(tmp_path / "pool", repository, Clone(repository))


@pytest.fixture
def base(repository: Repository) -> str:
    return repository.resolve("HEAD")


def _keep_and_give_back(pool: Pool, number: int) -> str:
    ref = f"refs/budwood/r/{number}"
    candidate = pool.keep(f"r/{number}", ref, message="m").candidate
    pool.hand_back(f"r/{number}", ref)
    return candidate


def _wait_for_removal() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith(REMOVED):
            thread.join()


def _age(path: Path, seconds: int) -> None:
    """Make a file of ours older than it is."""
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - seconds * SECOND_NS))


def _disguise(path: Path, content: bytes) -> None:
    """Change a file, and give it back its size and its time."""
    before = path.stat()
    assert len(content) == before.st_size
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _look(root: Path, seen: Seen) -> list[bytes]:
    walk = Walk(root, skip=None)
    walk.beside(seen)
    return walk.found.files


def _settled(root: Path) -> int:
    """Say what time it is long after a directory was changed."""
    return max(path.stat().st_ctime_ns for path in (root, *root.rglob("*"))) + 10 * SECOND_NS


def test_a_directory_that_is_as_it_was_need_not_be_listed_again(project: Path) -> None:
    seen = Seen(Known(KNOWN))
    assert not seen.has(b"sub", os.lstat(project / "sub"))
    seen.begin(_settled(project))
    assert _look(project, seen) == []
    assert seen.has(b"sub", os.lstat(project / "sub"))
    (project / "sub" / "more.txt").touch()
    assert not seen.has(b"sub", os.lstat(project / "sub"))


def test_a_directory_that_changed_within_a_tick_is_listed_again(project: Path) -> None:
    seen = Seen(Known(KNOWN))
    seen.begin((project / "sub").stat().st_ctime_ns)
    assert _look(project, seen) == []
    assert not seen.has(b"sub", os.lstat(project / "sub"))


@pytest.mark.parametrize("known", [[*KNOWN, b"sub/missing.txt"], KNOWN[:-1]])
def test_a_directory_that_has_other_names_is_listed_again(project: Path, known: list[bytes]) -> None:
    (project / "sub" / "more.txt").touch()
    seen = Seen(Known([*known, b"sub/more.txt"]))
    seen.begin(_settled(project))
    _look(project, seen)
    assert not seen.has(b"sub", os.lstat(project / "sub"))


@pytest.mark.parametrize("deed", ["added", "renamed", "replaced"])
def test_what_comes_into_a_directory_is_found_whatever_its_time_says(project: Path, deed: str) -> None:
    sub = project / "sub"
    seen = Seen(Known(KNOWN))
    seen.begin(_settled(project))
    assert _look(project, seen) == []
    before = sub.stat()
    if deed == "added":
        (sub / "more.txt").write_text("more")
    elif deed == "renamed":
        (sub / "deep.txt").rename(sub / "more.txt")
    else:
        sub.rename(project.parent / "before")
        sub.mkdir()
        (sub / "more.txt").write_text("more")
    os.utime(sub, ns=(before.st_atime_ns, before.st_mtime_ns))
    seen.begin(_settled(project))
    assert _look(project, seen) == [b"sub/more.txt"]


def test_what_a_process_does_that_was_left_behind_is_undone(pool: Pool, base: str) -> None:
    first = pool.hand_out("r/1", base)
    _keep_and_give_back(pool, 1)
    second = pool.hand_out("r/2", base)
    assert second.path == first.path
    (second.path / "kept.txt").write_text("of the attempt\n")
    _keep_and_give_back(pool, 2)
    before = (second.path / "sub").stat()
    (second.path / "sub" / "late.txt").write_text("after it was kept")
    (second.path / "sub" / "late").mkdir()
    os.utime(second.path / "sub", ns=(before.st_atime_ns, before.st_mtime_ns))
    _disguise(second.path / "sub" / "deep.txt", b"DEEP\n")
    third = pool.hand_out("r/3", base)
    assert {path: content for path, content in bytes_in(third.path).items() if "/" in path or "kept" in path} == {
        "kept.txt": b"kept\n",
        "sub/deep.txt": b"deep\n",
    }
    assert not (third.path / "sub" / "late").exists()


def test_files_that_were_laid_out_in_the_second_of_the_index_are_believed_after_one_look(pool: Pool, base: str) -> None:
    made = pool.hand_out("r/1", base)
    index = made.path.parent / INDEX
    for path in (index, made.path.parent / "laid.json"):
        _age(path, 5)
    aged_ns = index.stat().st_mtime_ns
    pool.keep("r/1", "refs/budwood/r/1", message="m")
    assert index.stat().st_mtime_ns > aged_ns
    _disguise(made.path / "kept.txt", b"KEPT\n")
    assert pool.keep("r/1", "refs/budwood/r/1", message="m").candidate != git(
        made.path, "rev-parse", f"{base}^{{tree}}"
    )
    _keep_and_give_back(pool, 1)
    assert bytes_in(pool.hand_out("r/2", base).path)["kept.txt"] == b"kept\n"


def test_they_are_not_while_one_of_them_was_changed_in_that_second(pool: Pool, base: str) -> None:
    made = pool.hand_out("r/1", base)
    folder = made.path.parent
    _disguise(made.path / "kept.txt", b"KEPT\n")
    changed_ns = (made.path / "kept.txt").stat().st_ctime_ns
    for path in (folder / INDEX, folder / "laid.json"):
        os.utime(path, ns=(changed_ns, changed_ns))
    settle(folder, [b"sub/deep.txt", b"kept.txt"], now_ns=changed_ns + 5 * SECOND_NS)
    assert (folder / INDEX).stat().st_mtime_ns == changed_ns
    settle(folder, [], now_ns=changed_ns - changed_ns % SECOND_NS + SECOND_NS - 1)  # nor in that second
    assert (folder / INDEX).stat().st_mtime_ns == changed_ns
    _keep_and_give_back(pool, 1)
    assert bytes_in(pool.hand_out("r/2", base).path)["kept.txt"] == b"kept\n"


def test_what_a_reset_wrote_is_no_older_than_the_index(pool: Pool, base: str) -> None:
    made = pool.hand_out("r/1", base)
    (made.path / "kept.txt").write_text("changed\n")
    _keep_and_give_back(pool, 1)
    again = pool.hand_out("r/2", base)
    assert (again.path / "kept.txt").stat().st_mtime_ns >= (made.path.parent / INDEX).stat().st_mtime_ns
    assert git(again.path, "diff-files", "--name-only") == ""


def test_what_was_moved_aside_is_removed_and_so_is_what_a_killed_driver_left(
    pool: Pool, base: str, repository: Repository, tmp_path: Path
) -> None:
    made = pool.hand_out("r/1", base)
    for number in range(3):
        (made.path / "ignored" / str(number)).mkdir(parents=True)
        (made.path / "ignored" / str(number) / "cache").write_text("much")
    _keep_and_give_back(pool, 1)
    rest = tmp_path / "pool" / f"{REMOVED}w1-killed"
    (rest / "0").mkdir(parents=True)
    (rest / "0" / "file").write_text("left")
    assert str(rest) in [each.where for each in plan_gc(take_stock(tmp_path / "pool", repository), ended=())]
    again = pool.hand_out("r/2", base)
    assert not (again.path / "ignored").exists()
    _wait_for_removal()
    assert not list((tmp_path / "pool").glob(f"{REMOVED}*"))


def test_who_writes_into_what_was_moved_aside_does_not_write_into_the_next_ones_directory(
    pool: Pool, base: str
) -> None:
    made = pool.hand_out("r/1", base)
    (made.path / "ignored").mkdir()
    folder = os.open(made.path / "ignored", os.O_RDONLY)
    try:
        _keep_and_give_back(pool, 1)
        again = pool.hand_out("r/2", base)
        with suppress(FileNotFoundError):  # it may be gone by now
            os.close(os.open("late", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    finally:
        os.close(folder)
    assert not (again.path / "ignored").exists()
    _wait_for_removal()
