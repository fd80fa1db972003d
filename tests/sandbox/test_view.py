"""What a step sees, as words for bwrap."""

from pathlib import Path

from budwood.sandbox import View, bwrap_words


def view(**keys: object) -> View:
    """Make a view with little in it."""
    given = {"tmp": Path("/t/tmp"), "home": Path("/home/u"), "own_home": Path("/t/home"), "cwd": Path("/w"), **keys}
    return View(**{"network": True, **given})  # type: ignore[arg-type]


def mounts(given: View) -> list[tuple[str, str]]:
    """List options and what they are for, in order, from /tmp on: what is before is the same for all."""
    words = bwrap_words(given)
    takes = {"--bind": 2, "--ro-bind-try": 2, "--tmpfs": 1, "--remount-ro": 1}
    found = [(word, words[at + takes[word]]) for at, word in enumerate(words) if word in takes]
    return [each for each in found if each[1] not in ("/tmp", "/var/tmp", "/home/u")]


def test_what_lies_deeper_comes_later_whatever_may_be_done_with_it() -> None:
    given = view(reads=(Path("/a/b/c"), Path("/a")), writes=(Path("/a/b"),), guarded=(Path("/a/b/g"),))
    assert mounts(given) == [
        ("--ro-bind-try", "/a"),
        ("--bind", "/a/b"),
        ("--ro-bind-try", "/a/b/c"),
        ("--ro-bind-try", "/a/b/g"),
    ]


def test_what_is_there_with_a_directory_above_is_not_mounted_again() -> None:
    assert mounts(view(reads=(Path("/a"), Path("/a/b/c")))) == [("--ro-bind-try", "/a")]


def test_what_is_sealed_is_empty_but_for_what_is_named_of_it_and_shut_at_the_end() -> None:
    given = view(sealed=(Path("/p"),), reads=(Path("/p/objects"),), writes=(Path("/p/state"),))
    assert mounts(given) == [
        ("--tmpfs", "/p"),
        ("--ro-bind-try", "/p/objects"),
        ("--bind", "/p/state"),
        ("--remount-ro", "/p"),
    ]


def test_the_home_directory_is_not_mounted_over_the_root() -> None:
    words = bwrap_words(view(home=Path("/")))
    assert "/t/home" not in words


def test_the_network_is_cut_where_it_is_not_the_machines() -> None:
    assert "--unshare-net" in bwrap_words(view(network=False))
    assert "--unshare-net" not in bwrap_words(view())


def test_no_right_is_kept_and_the_program_comes_behind() -> None:
    words = bwrap_words(view(env={"TMPDIR": "/tmp"}))
    assert words[words.index("--cap-drop") + 1] == "ALL"
    assert "--die-with-parent" not in words
    assert words[-2:] == ("--chdir", "/w")
    assert "--" not in words
