"""Whether bwrap is there, and whether it can do what it is for."""

from pathlib import Path

import pytest

from budwood.sandbox import find_bwrap


def test_one_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert find_bwrap(str(tmp_path)).problem == "there is no program bwrap on the PATH"


def test_one_that_may_not_make_a_sandbox_is_said_with_its_own_words(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 9 && exit\n'
        "echo 'bwrap: No permissions to create new namespace, likely because …' >&2; exit 1\n"
    )
    program.chmod(0o755)
    found = find_bwrap(str(tmp_path))
    assert (found.path, found.version) == (program, "9")
    assert (
        found.problem
        == f"{program} cannot make a sandbox here: No permissions to create new namespace, likely because …"
    )


@pytest.mark.slow
def test_a_real_one_works(bwrap: Path) -> None:
    found = find_bwrap(str(bwrap))
    assert found.problem == ""
    assert found.version.split(".")[0].isdigit()
