"""Commits merged with the first having its way: whole files of it where they conflict, all of the other elsewhere."""

import pytest
from tests.review.conftest import Ground

from budwood.testing.workspaces import git
from budwood.workspaces.merging import Conflict, merge_all


def merged(ground: Ground, *commits: str) -> dict[str, str]:
    """Merge, and read the files of what came of it."""
    commit = merge_all(ground.repository.git, commits[0], commits[1:], message="together\n", first_wins=True)
    names = [name for name in git(ground.root, "ls-tree", "-r", "-z", "--name-only", commit).split("\0") if name]
    return {name: git(ground.root, "show", f"{commit}:{name}") for name in names}


def test_where_they_conflict_the_first_has_its_way_and_elsewhere_both_are_there(ground: Ground) -> None:
    ours = ground.made({"a.txt": "one\nOURS\nthree\n", "ours.txt": "o\n"})
    theirs = ground.made({"a.txt": "one\nTHEIRS\nthree\n", "b.txt": "B\n"})
    assert merged(ground, ours, theirs) == {
        ".gitignore": "*.log",
        "a.txt": "one\nOURS\nthree",
        "b.txt": "B",
        "ours.txt": "o",
    }
    assert merged(ground, theirs, ours)["a.txt"] == "one\nTHEIRS\nthree"
    with pytest.raises(Conflict):
        merge_all(ground.repository.git, ours, [theirs], message="together\n")


def test_what_the_first_has_deleted_stays_deleted_and_what_it_has_kept_stays(ground: Ground) -> None:
    deletes, changes = ground.made({"a.txt": None}), ground.made({"a.txt": "changed\n"})
    assert "a.txt" not in merged(ground, deletes, changes)
    assert merged(ground, changes, deletes)["a.txt"] == "changed"


def test_both_may_have_added_a_file_of_any_name(ground: Ground) -> None:
    name = "caf\u00e9 * [x]\t.txt"
    ours, theirs = ground.made({name: "ours\n", "x.txt": "x\n"}), ground.made({name: "theirs\n", "y.txt": "y\n"})
    found = merged(ground, ours, theirs)
    assert found[name] == "ours"
    assert (found["x.txt"], found["y.txt"]) == ("x", "y")


def test_three_are_merged_in_their_order(ground: Ground) -> None:
    first, second, third = (ground.made({"a.txt": f"{n}\n", f"{n}.txt": f"{n}\n"}) for n in range(3))
    assert {name: text for name, text in merged(ground, first, second, third).items() if name[0] not in ".b"} == {
        "0.txt": "0",
        "1.txt": "1",
        "2.txt": "2",
        "a.txt": "0",
    }


def test_a_file_where_the_other_has_a_directory_cannot_be_merged(ground: Ground) -> None:
    file, folder = ground.made({"new": "a file\n"}), ground.made({"new/inside.txt": "inside\n"})
    with pytest.raises(Conflict) as caught:
        merged(ground, file, folder)
    assert caught.value.files == ("new",)  # not new~COMMIT, as git puts it aside
    with pytest.raises(Conflict):
        merged(ground, folder, file)
