"""A candidate's files in the user's checkout: all or none, and never over what the user changed."""

import os
from pathlib import Path

import pytest
from tests.review.conftest import Ground

from budwood.review.applying import Applied, FilesChanged, apply
from budwood.testing.workspaces import git
from budwood.workspaces.fingerprint import Watch, differences


def put(ground: Ground, made: str, tmp_path: Path, *, base: str | None = None) -> Applied:
    folder = tmp_path / "scratch"
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    return apply(ground.repository, base or ground.base, made, folder=str(folder))


def test_files_are_written_and_deleted_and_the_index_stays(ground: Ground, tmp_path: Path) -> None:
    made = ground.made({"a.txt": "one\nTWO\nthree\n", "b.txt": None, "new/deep/c.txt": "c\n"})
    index = git(ground.root, "ls-files", "--stage")
    done = put(ground, made, tmp_path)
    assert (done.written, done.deleted, done.there) == (["a.txt", "new/deep/c.txt"], ["b.txt"], [])
    assert (ground.root / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert (ground.root / "new/deep/c.txt").read_text() == "c\n"
    assert not (ground.root / "b.txt").exists()
    assert git(ground.root, "ls-files", "--stage") == index
    again = put(ground, made, tmp_path)
    assert (again.written, again.deleted, len(again.there)) == ([], [], 3)


def test_every_file_that_changed_since_is_named_and_nothing_is_written(ground: Ground, tmp_path: Path) -> None:
    made = ground.made({"a.txt": "1\n", "b.txt": None, "new.txt": "n\n", "free.txt": "f\n"})
    (ground.root / "a.txt").write_text("the user's\n")
    (ground.root / "b.txt").chmod(0o755)
    (ground.root / "new.txt").write_text("the user's\n")
    watch = Watch(ground.repository)
    before = watch.look()
    with pytest.raises(FilesChanged) as caught:
        put(ground, made, tmp_path)
    assert caught.value.paths == ["a.txt", "b.txt", "new.txt"]
    assert caught.value.exit_code == 4
    assert watch.look() == before
    assert not (ground.root / "free.txt").exists()


def test_a_link_in_the_way_is_not_followed(ground: Ground, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (ground.root / "docs").symlink_to(elsewhere)
    (ground.root / "b.txt").unlink()
    (ground.root / "b.txt").symlink_to(elsewhere / "b.txt")
    with pytest.raises(FilesChanged) as caught:
        put(ground, ground.made({"docs/x.txt": "x\n", "b.txt": "B\n"}), tmp_path)
    assert caught.value.paths == ["b.txt", "docs/x.txt"]
    assert list(elsewhere.iterdir()) == []


def test_a_directory_in_the_way_stays(ground: Ground, tmp_path: Path) -> None:
    (ground.root / "new.txt").mkdir()
    (ground.root / "new.txt" / "mine").write_text("mine\n")
    with pytest.raises(FilesChanged):
        put(ground, ground.made({"new.txt": "n\n"}), tmp_path)
    assert (ground.root / "new.txt" / "mine").exists()


def test_a_directory_becomes_a_file_and_a_file_a_directory(ground: Ground, tmp_path: Path) -> None:
    base = ground.commit({"folder/x": "x\n", "file": "f\n"})
    made = ground.made({"folder/x": None, "file": None}, on=base)
    made = ground.made({"folder": "now a file\n", "file/y": "y\n"}, on=made)
    put(ground, made, tmp_path, base=base)
    assert (ground.root / "folder").read_text() == "now a file\n"
    assert (ground.root / "file" / "y").read_text() == "y\n"


def test_line_ends_of_the_checkout_are_no_change_and_are_kept(ground: Ground, tmp_path: Path) -> None:
    git(ground.root, "config", "core.autocrlf", "true")
    (ground.root / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    put(ground, ground.made({"a.txt": "one\nTWO\nthree\n"}), tmp_path)
    assert (ground.root / "a.txt").read_bytes() == b"one\r\nTWO\r\nthree\r\n"


def test_names_of_all_kinds_are_written(ground: Ground, tmp_path: Path) -> None:
    names = ["sp ace.txt", "ü.txt", 'quo"te.txt', '"first.txt', "new\nline.txt", os.fsdecode(b"caf\xe9.txt")]
    made = ground.made(dict.fromkeys(names, "1\n"))
    assert sorted(put(ground, made, tmp_path).written) == sorted(names)
    assert all((ground.root / name).read_text() == "1\n" for name in names)
    second = ground.made(dict.fromkeys(names, "2\n"), on=made)
    assert sorted(put(ground, second, tmp_path, base=made).written) == sorted(names)


def test_a_submodule_is_left_to_git(ground: Ground, tmp_path: Path) -> None:
    index = tmp_path / "sub-index"
    one = ground.repository.git.aimed(index=index)
    one.run("read-tree", ground.base)
    one.run("update-index", "--add", "--cacheinfo", f"160000,{ground.base},module")
    made = one.commit(one.ask("write-tree"), [ground.base], "module\n")
    with pytest.raises(FilesChanged, match="module"):
        put(ground, made, tmp_path)


def test_nothing_else_of_the_users_is_touched(ground: Ground, tmp_path: Path) -> None:
    (ground.root / "b.txt").write_text("the user's\n")
    git(ground.root, "add", "b.txt")
    watch = Watch(ground.repository)
    before = watch.look()
    put(ground, ground.made({"a.txt": "1\n"}), tmp_path)
    assert differences(before, watch.look()) == ["file a.txt"]
