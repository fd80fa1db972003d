"""Patterns of paths that can mean the same file."""

import fnmatch
import itertools

import pytest

from budwood.plans.overlap import overlap


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.py", "a.py"),
        ("src", "src/a.py"),
        ("src/", "src/deep/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src/**", "src/a/b.py"),
        ("**/a.py", "a.py"),
        ("**/a.py", "x/y/a.py"),
        ("src/*.py", "src/a*"),
        ("src/**/test_*.py", "src/api/**"),
        ("a?c", "ab*"),
        ("[ab].py", "a.py"),
        ("[!]a].py", "b.py"),
        ("a*b*c", "*x*"),
        ("x/**/y", "x/y"),
        ("\\*.py", "[*].py"),
        ("*", "anything/below"),
    ],
)
def test_patterns_that_share_a_path_overlap(one: str, other: str) -> None:
    assert overlap(one, other)
    assert overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.py", "b.py"),
        ("src/a.py", "src2/a.py"),
        ("src/*.py", "src/*.md"),
        ("*.py", "src.d/a.py"),
        ("a?c", "ac"),
        ("docs/**", "src/**"),
        ("\\*.py", "a.py"),
    ],
)
def test_patterns_that_share_none_do_not(one: str, other: str) -> None:
    assert not overlap(one, other)
    assert not overlap(other, one)


def test_no_shared_name_is_ever_missed() -> None:
    names = ["".join(chars) for length in (1, 2, 3) for chars in itertools.product("ab", repeat=length)]
    patterns = ["".join(chars) for length in (1, 2, 3) for chars in itertools.product("ab*?", repeat=length)]
    fits = {pattern: {name for name in names if fnmatch.fnmatchcase(name, pattern)} for pattern in patterns}
    missed = [(a, b) for a in patterns for b in patterns if fits[a] & fits[b] and not overlap(a, b)]
    assert missed == []
