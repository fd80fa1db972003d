"""Edits fit the workspace's files, or nothing is written; and they never leave the workspace."""

import os
from pathlib import Path

import pytest

from budwood.agents.model import changes
from budwood.agents.model.answers import Unusable, read_edits
from budwood.agents.model.edits import plan


def block(path: str, search: str, replace: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def apply(text: str, root: Path) -> list[str]:
    made = plan(read_edits(text), root=root)
    changes.write(made, root=root)
    return [change.path for change in made]


@pytest.mark.parametrize(
    ("before", "search", "replace", "after"),
    [
        ("a\nb\nc\n", "b\n", "B\nB\n", "a\nB\nB\nc\n"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\nb", "b\n", "B\n", "a\nB"),
        ("a  \nb\n", "a\nb\n", "c\n", "c\n"),
        ("if x:\n    a\n\n    b\n", "a\n\nb\n", "a\n  c\n\nd\n", "if x:\n    a\n      c\n\n    d\n"),
        ("a\nb\n", "  a\n  b\n", "  a\n    c\n", "a\n  c\n"),
        ("\ta\n\tb\n", "a\nb\n", "c\n", "\tc\n"),
        ("  x\nx\n", "x\n", "y\n", "  x\ny\n"),
        ("a\r\nb\r\nc\r\n", "b\n", "B\nB\n", "a\r\nB\r\nB\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "c\n", "C\n", "a\r\nb\nC\r\n"),
        ("\ufeffa\nb\n", "a\n", "A\n", "\ufeffA\nb\n"),
        ("a\x0cb\n\u2028\n", "a\x0cb\n", "c\n", "c\n\u2028\n"),
        ("Heading\n=======\ntext\n", "Heading\n=======\n", "Other\n=====\n", "Other\n=====\ntext\n"),
    ],
)
def test_a_block_is_found_and_the_rest_keeps_every_byte(
    tmp_path: Path, before: str, search: str, replace: str, after: str
) -> None:
    (tmp_path / "a.txt").write_bytes(before.encode())
    assert apply(block("a.txt", search, replace), tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes().decode() == after


def test_files_are_made_changed_replaced_and_deleted_in_one_answer(tmp_path: Path) -> None:
    for name in ("a.sh", "whole.txt", "gone.txt"):
        (tmp_path / name).write_bytes(b"1\r\n2\r\n")
    (tmp_path / "a.sh").chmod(0o755)
    text = block("a.sh", "1\n", "one\n") + block("a.sh", "one\n2\n", "both\n") + block("new/deep/n.py", "", "n\n")
    text += "```whole.txt\nW\n```\ngone.txt\n<<<<<<< DELETE\n>>>>>>> DELETE\n"
    assert apply(text, tmp_path) == ["a.sh", "new/deep/n.py", "whole.txt", "gone.txt"]
    found = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"a.sh": b"both\r\n", "new/deep/n.py": b"n\n", "whole.txt": b"W\r\n"}
    assert (tmp_path / "a.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (block("a.py", "nowhere\n", "x\n"), r"\(a\.py\): the text to search for is not in the file; .* 'nowhere'"),
        (block("a.py", "same\n", "x\n"), r"is there 2 times \(lines 2, 3\)"),
        (block("none.py", "x\n", "y\n"), "there is no such file to search in"),
        (block("a.py", "", "y\n"), "the file is there already"),
        (block("a.py", "  first\n", "less\n"), "indented less in the file"),
        (block("binary.dat", "x\n", "y\n"), "binary.dat is binary"),
        (block("latin.txt", "x\n", "y\n"), r"latin\.txt is no UTF-8 text \(byte 1\)"),
        (block("huge.txt", "x\n", "y\n"), r"huge\.txt is larger than 4 MiB"),
        (block("folder.d", "x\n", "y\n"), "folder.d is no regular file"),
        (block("a.py/b.py", "", "y\n"), "a.py, which is a file"),
        (block("pipe.p", "x\n", "y\n"), "pipe.p is no regular file"),
        ("none.py\n<<<<<<< DELETE\n>>>>>>> DELETE\n", "no such file to delete"),
        ("inner.py\n<<<<<<< DELETE\n>>>>>>> DELETE\n", "a symbolic link, which is not deleted"),
        (block("../out.py", "", "y\n"), "no path inside the workspace"),
        (block("x/../../out.py", "", "y\n"), "no path inside the workspace"),
        (block("/tmp/out.py", "", "y\n"), "no path inside the workspace"),
        (block("leads.out/out.py", "", "y\n"), "out of the workspace by a symbolic link"),
        (block("link.py", "secret\n", "y\n"), "out of the workspace by a symbolic link"),
        (block(".git/config", "", "y\n"), "belongs to git"),
        (block("sub/.GIT/hooks/x.sh", "", "y\n"), "belongs to git"),
        (block("hidden.d/config", "", "y\n"), "into .git by a symbolic link"),
        (block("..\\out.py", "", "y\n"), "is no name of a file"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(tmp_path: Path, text: str, words: str) -> None:
    root = tmp_path / "workspace"
    for folder in (root / ".git", root / "folder.d", tmp_path / "outside"):
        folder.mkdir(parents=True)
    (root / "a.py").write_text("first\nsame\nsame\n")
    (root / "good.py").write_text("good\n")
    (root / "binary.dat").write_bytes(b"x\0")
    (root / "latin.txt").write_bytes(b"x\xe4\n")
    (root / "huge.txt").touch()
    os.truncate(root / "huge.txt", (4 << 20) + 1)
    (tmp_path / "outside/secret.py").write_text("secret\n")
    os.mkfifo(root / "pipe.p")
    for name, target in (("leads.out", "../outside"), ("link.py", "../outside/secret.py"), ("hidden.d", ".git")):
        (root / name).symlink_to(target)
    (root / "inner.py").symlink_to("a.py")
    with pytest.raises(Unusable, match=rf"^block 3 of the answer .*{words}"):
        apply(block("good.py", "good\n", "bad\n") + block("new.py", "", "n\n") + text, root)
    assert (root / "good.py").read_text() == "good\n"
    assert not (root / "new.py").exists()
    assert sorted(os.listdir(tmp_path / "outside")) == ["secret.py"]
    assert os.listdir(root / ".git") == []


def test_a_link_inside_the_workspace_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("a\n")
    (tmp_path / "link.py").symlink_to("real.py")
    assert apply(block("link.py", "a\n", "b\n") + block("real.py", "b\n", "c\n"), tmp_path) == ["real.py"]
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "c\n"


MARKED = "head\n# EVOLVE-BLOCK-START\nold\n# EVOLVE-BLOCK-END\ntail\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (block("m.py", "old\n", "new\nmore\n"), MARKED.replace("old", "new\nmore")),
        (block("m.py", "old\n", ""), MARKED.replace("old\n", "")),
        (block("m.py", "old\n# EVOLVE-BLOCK-END\n", "new\n# EVOLVE-BLOCK-END\n"), MARKED.replace("old", "new")),
        (f"```m.py\n{MARKED.replace('old', 'new')}```\n", MARKED.replace("old", "new")),
        (block("m.py", "head\n", "changed\n"), None),
        (block("m.py", "tail\n", "tail\nmore\n"), None),
        (block("m.py", "# EVOLVE-BLOCK-END\n", ""), None),
        (block("m.py", "old\n", "x\n# EVOLVE-BLOCK-END\ny\n# EVOLVE-BLOCK-START\nz\n"), None),
        ("```m.py\nall new\n```\n", None),
        ("m.py\n<<<<<<< DELETE\n>>>>>>> DELETE\n", None),
    ],
)
def test_only_text_between_markers_may_change(tmp_path: Path, text: str, after: str | None) -> None:
    (tmp_path / "m.py").write_text(MARKED)
    if after is None:
        with pytest.raises(
            Unusable, match=r"block 1 of the answer \(m\.py\): it changes text outside of the file's EVOLVE"
        ):
            apply(text, tmp_path)
    else:
        apply(text, tmp_path)
    assert (tmp_path / "m.py").read_text() == (after or MARKED)


def test_markers_that_do_not_pair_are_refused_and_text_about_them_is_not(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("EVOLVE-BLOCK-START\nold\n")
    with pytest.raises(Unusable, match="markers do not pair, on line 2"):
        apply(block("m.py", "old\n", "new\n"), tmp_path)
    (tmp_path / "m.py").write_text("between EVOLVE-BLOCK-START and EVOLVE-BLOCK-END\nold\n")
    assert apply(block("m.py", "old\n", "new\n"), tmp_path) == ["m.py"]
