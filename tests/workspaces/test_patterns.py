"""Patterns mean what a `.gitignore` would mean by them."""

import pytest

from budwood.errors import UsageError
from budwood.workspaces.patterns import matcher


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
    [
        ("node_modules", ["node_modules", "a/b/node_modules"], ["node_modules2", "a/node_modules/b"]),
        (".venv/", [".venv", "a/.venv"], ["xvenv", ".venvs"]),
        ("/build", ["build"], ["a/build"]),
        ("ignored/deps", ["ignored/deps"], ["a/ignored/deps", "ignored/deps2"]),
        ("requirements*.txt", ["requirements.txt", "a/requirements-dev.txt"], ["requirements/a.txt"]),
        ("a/*/c", ["a/b/c"], ["a/b/b/c", "a/c"]),
        ("a/**/c", ["a/c", "a/b/b/c"], ["ac", "b/a/c"]),
        ("out/**", ["out/a", "out/a/b"], ["out"]),
        ("lib[0-9]?.so", ["lib1x.so"], ["libx1.so", "lib1/.so"]),
        ("[!a]", ["b", "x/c"], ["a"]),
        ("ü(", ["ü("], ["u("]),
    ],
)
def test_a_pattern_means(pattern: str, meant: list[str], not_meant: list[str]) -> None:
    found = matcher([pattern], key="setup_keeps")
    assert all(found.fullmatch(path.encode()) for path in meant)
    assert not any(found.fullmatch(path.encode()) for path in not_meant)


def test_none_means_nothing() -> None:
    assert matcher([], key="setup_keeps").fullmatch(b"") is None


@pytest.mark.parametrize("pattern", ["", "/", "!a", "../a", "a/../b", ".git", ".git/config"])
def test_what_leads_out_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="setup_keeps names"):
        matcher([pattern], key="setup_keeps")
