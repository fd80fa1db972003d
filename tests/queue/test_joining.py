"""Lines merged one after another, beside what `git merge` makes of the same, one after another in a checkout."""

import subprocess
import time
from pathlib import Path
from random import Random

import pytest
from tests.queue.histories import Histories

from budwood.workspaces import find_repository
from budwood.workspaces.git import Git
from budwood.workspaces.joining import Chain, Joiner, Tip, conflicts_among


@pytest.fixture
def histories(tmp_path: Path) -> Histories:
    return Histories(tmp_path / "repository")


def objects(histories: Histories) -> Git:
    """Return git as budwood uses it."""
    found = find_repository(histories.root, {"PATH": "/usr/bin:/bin", "HOME": str(histories.root)})
    assert found is not None
    return found.git


def join(histories: Histories, base: str, heads: list[str], *, squash: bool = False, shadow: str = "") -> Chain:
    """Merge heads in their order."""
    groups = [[Tip(f"lane {n}", head, f"Merge lane {n}\n")] for n, head in enumerate(heads)]
    return Joiner(objects(histories), squash=squash).join(base, groups, shadow=shadow)


def merged_by_git(histories: Histories, base: str, heads: list[str]) -> tuple[str, list[int]]:
    """Merge the same in a checkout; what conflicts is left out and tried once more. Return the tree, and who is out."""
    histories.git("checkout", "-q", "--force", "--detach", base)
    left: list[int] = []
    for turn in (list(range(len(heads))), left):
        refused = []
        for number in list(turn):
            words = ["git", "-c", "merge.directoryRenames=conflict", "merge", "-q", "--no-ff", "-m", "x", heads[number]]
            if subprocess.run(words, cwd=histories.root, capture_output=True, check=False).returncode:
                histories.git("reset", "-q", "--hard")
                histories.git("clean", "-qffdx")
                refused.append(number)
        left[:] = refused
    return histories.git("rev-parse", "HEAD^{tree}"), left


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_it_makes_of_random_histories_what_git_merge_makes(histories: Histories, *, torture: bool) -> None:
    chance, clean, refused = Random(20261118), 0, 0
    for number in range(1000 if torture else 25):
        base, heads = histories.make(chance)
        chain = join(histories, base, heads)
        tree, left = merged_by_git(histories, base, heads)
        made = chain.links[-1].commit if chain.links else base
        assert histories.git("rev-parse", f"{made}^{{tree}}") == tree, number
        assert [each.line for each in chain.left] == [f"lane {n}" for n in left], number
        clean += not left
        refused += len(left)
    assert clean
    assert refused
    print(f"\nmerged: {number + 1} histories as git merge does, {clean} without a conflict; {refused} lanes left out")


def test_it_gives_the_same_commits_whenever_it_is_repeated(histories: Histories) -> None:
    base, heads = histories.make(Random(3))
    first = join(histories, base, heads)
    time.sleep(1.1)
    assert join(histories, base, heads) == first


def test_history_is_kept_or_squashed(histories: Histories) -> None:
    base, heads = histories.make(Random(5))
    regular, squashed = join(histories, base, heads), join(histories, base, heads, squash=True)
    last = regular.links[-1].commit
    merged = [head for head, link in zip(heads, range(len(heads)), strict=True) if f"lane {link}" in _lines(regular)]
    assert all(histories.git("merge-base", head, last) == head for head in merged)
    one = squashed.links[-1].commit
    assert histories.git("rev-parse", f"{one}^{{tree}}") == histories.git("rev-parse", f"{last}^{{tree}}")
    count = int(histories.git("rev-list", "--count", f"{base}..{one}"))
    assert count == len(squashed.links)


def _lines(chain: Chain) -> set[str]:
    return {line for link in chain.links for line in link.lines}


def test_what_was_squashed_before_is_not_merged_against_again(histories: Histories) -> None:
    """A lane that goes on after it was squashed changes its own lines again: without its history that is a conflict."""
    write = "M 100644 inline f\ndata {size}\n{text}\n"

    def commit(mark: int, text: str, parent: int | None) -> str:
        head = f"commit refs/made/x{mark}\nmark :{mark}\ncommitter s <s@h> {1700000000 + mark} +0000\ndata 1\nx\n"
        above = "" if parent is None else f"from :{parent}\n"
        return head + above + write.format(size=len(text), text=text) + "\n"

    stream = commit(1, "a\nb\nc\n", None) + commit(2, "a\nlane\nc\n", 1) + commit(3, "a\nlane again\nc\n", 2)
    histories.git("fast-import", "--quiet", stdin=stream)
    base, early, late = (histories.git("rev-parse", f"refs/made/x{n}") for n in (1, 2, 3))
    first = join(histories, base, [early], squash=True).links[-1]
    assert join(histories, first.commit, [late], squash=True).left, "the test needs a conflict without the shadow"
    second = join(histories, first.commit, [late], squash=True, shadow=first.shadow)
    assert not second.left
    assert histories.git("show", f"{second.links[-1].commit}:f") == "a\nlane again\nc"
    assert histories.git("rev-list", "--count", f"{base}..{second.links[-1].commit}") == "2"


def test_a_group_is_merged_whole_or_not_at_all(histories: Histories) -> None:
    def commit(mark: int, path: str, text: str, parent: int | None) -> str:
        head = f"commit refs/made/x{mark}\nmark :{mark}\ncommitter s <s@h> {1700000000 + mark} +0000\ndata 1\nx\n"
        above = "" if parent is None else f"from :{parent}\n"
        return f"{head}{above}M 100644 inline {path}\ndata {len(text)}\n{text}\n\n"

    stream = (
        commit(1, "f", "a\n", None) + commit(2, "f", "b\n", 1) + commit(3, "g", "g\n", 1) + commit(4, "f", "c\n", 1)
    )
    histories.git("fast-import", "--quiet", stdin=stream)
    base, b, g, c = (histories.git("rev-parse", f"refs/made/x{n}") for n in (1, 2, 3, 4))
    groups = [[Tip("lane b", b, "b\n")], [Tip("lane g", g, "g\n"), Tip("lane c", c, "c\n")]]
    chain = Joiner(objects(histories), squash=False).join(base, groups)
    assert [link.lines for link in chain.links] == [("lane b",)]
    assert [(left.line, left.files) for left in chain.left] == [("lane c", ("f",))]
    assert "g" not in histories.git("ls-tree", "--name-only", chain.links[-1].commit).split()


def test_commits_of_submodules_conflict_like_files(histories: Histories) -> None:
    def commit(mark: int, sub: str, parent: int | None) -> str:
        head = f"commit refs/made/x{mark}\nmark :{mark}\ncommitter s <s@h> {1700000000 + mark} +0000\ndata 1\nx\n"
        above = "" if parent is None else f"from :{parent}\n"
        return f"{head}{above}M 160000 {sub * 40} sub\n\n"

    histories.git("fast-import", "--quiet", stdin=commit(1, "1", None) + commit(2, "2", 1) + commit(3, "3", 1))
    base, x, y = (histories.git("rev-parse", f"refs/made/x{n}") for n in (1, 2, 3))
    chain = join(histories, base, [x, y])
    assert [(left.line, left.files) for left in chain.left] == [("lane 1", ("sub",))]


def test_the_matrix_names_every_pair_that_conflicts(histories: Histories) -> None:
    _, heads = histories.make(Random(11))
    names = {f"lane {n}": head for n, head in enumerate(heads)}
    found = conflicts_among(objects(histories), names)
    for (a, b), files in found.items():
        histories.git("checkout", "-q", "--force", "--detach", names[a])
        words = ["git", "merge", "-q", "--no-ff", "-m", "x", names[b]]
        assert subprocess.run(words, cwd=histories.root, capture_output=True, check=False).returncode == 1
        assert files
        histories.git("reset", "-q", "--hard")
        histories.git("clean", "-qffdx")
    assert found
    assert conflicts_among(objects(histories), {}) == {}
