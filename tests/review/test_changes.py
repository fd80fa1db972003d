"""What differs between two commits, whatever the user's settings are."""

from tests.review.conftest import Ground

from budwood.review.changes import changes, patch_id, patch_ids, write_out
from budwood.testing.workspaces import git


def test_every_file_is_listed_with_its_lines(ground: Ground) -> None:
    made = ground.made({"a.txt": "one\nTWO\nthree\nfour\n", "b.txt": None, "new/c.txt": "c\n", "x.bin": "\0\1"})
    found = [
        (each.path, each.what, each.lines_added, each.lines_removed)
        for each in changes(ground.repository.git, ground.base, made)
    ]
    assert found == [
        ("a.txt", "changed", 2, 1),
        ("b.txt", "deleted", 0, 1),
        ("new/c.txt", "added", 1, 0),
        ("x.bin", "added", None, None),
    ]


def test_a_patch_is_the_same_whatever_the_user_has_set(ground: Ground) -> None:
    made = ground.made({"a.txt": "one\nTWO\nthree\n"})
    plain = write_out(ground.repository.git, ground.base, made)
    assert plain.startswith(b"diff --git a/a.txt b/a.txt\n")
    git(ground.root, "config", "diff.external", "false")
    git(ground.root, "config", "diff.noprefix", "true")
    git(ground.root, "config", "color.ui", "always")
    assert write_out(ground.repository.git, ground.base, made) == plain
    assert write_out(ground.repository.git, ground.base, made, form="names") == b"a.txt\n"
    assert b"\x1b[" in write_out(ground.repository.git, ground.base, made, colour=True)


def test_a_name_that_is_no_text_can_be_told(ground: Ground) -> None:
    made = ground.made({"caf\udce9.txt": "x\n"})
    assert [each.path for each in changes(ground.repository.git, ground.base, made)] == ["caf\\xe9.txt"]


def test_the_same_change_has_the_same_id_elsewhere(ground: Ground) -> None:
    made = ground.made({"a.txt": "one\nTWO\nthree\n"})
    elsewhere = ground.made({"b.txt": "other\n"})
    again = ground.made({"a.txt": "one\nTWO\nthree\n"}, on=elsewhere)
    git_ = ground.repository.git
    assert patch_id(git_, ground.base, made) in patch_ids(git_, [elsewhere, again])
    assert patch_id(git_, ground.base, made) not in patch_ids(git_, [elsewhere])
    assert patch_id(git_, made, made) == ""
