"""Places that refuse: read-only, full, of another user, gone. Each is an error that a person can act on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.world import Budwood, task
from tests.support.mounts import mounted, remount_read_only
from tests.support.program import call
from tests.support.told import Told, ended
from tests.support.unprivileged import needs_root, run_as_nobody

from budwood.errors import StoreUnwritable
from budwood.project.place import make_state_dir

without_rights = pytest.mark.skipif(os.geteuid() == 0, reason="rights do not apply to root; the last test runs this")


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Told]:
    """A project whose state directory may not be entered."""
    told = ended(tmp_path)
    told.close()
    folder = tmp_path / ".budwood"
    folder.chmod(0)
    yield told
    folder.chmod(0o755)


@without_rights
@pytest.mark.parametrize("words", [(), ("status",), ("ls",), ("run", "plan.toml"), ("cancel", "night")])
def test_a_state_directory_that_may_not_be_entered_is_named(closed: Told, words: tuple[str, ...]) -> None:
    (closed.root / "plan.toml").write_text(task("a"))
    ran = call(*words, cwd=closed.root)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"error: {closed.root}/.budwood/")
    assert ".budwood" in ran.err.partition("\n\nhint: check who owns")[2]


@without_rights
def test_doctor_tells_of_it_and_looks_at_the_rest(closed: Told) -> None:
    ran = call("doctor", cwd=closed.root)
    assert ran.code == 1
    assert "missing  store" in ran.out
    assert "Permission denied" in ran.out


@without_rights
def test_a_project_that_cannot_be_written_gets_no_run(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(task("a"))
    tmp_path.chmod(0o555)
    ran = call("run", "plan.toml", cwd=tmp_path)
    tmp_path.chmod(0o755)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith(f"error: {tmp_path}/.budwood cannot be used: Permission denied")


@without_rights
def test_a_home_that_may_not_be_entered_has_no_settings(
    tmp_path: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "budwood").mkdir()
    (there / "budwood" / "budwood.toml").write_text("[run]\nslots = 3\n")
    monkeypatch.setattr("budwood.project.place.user_file", lambda: there / "budwood" / "budwood.toml")
    assert call("config", "show", cwd=tmp_path).out.count("\nslots") == 1
    there.chmod(0)
    ran = call("config", "show", "--origin", cwd=tmp_path)
    there.chmod(0o755)
    assert (ran.code, ran.err) == (0, "")
    assert str(there) not in ran.out


@without_rights
def test_a_settings_file_that_is_there_and_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.touch(mode=0)
    monkeypatch.setattr("budwood.project.place.user_file", lambda: file)
    ran = call("config", "show", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, f"error: {file} cannot be read: Permission denied\n")


def test_a_read_only_disk_is_named(budwood: Budwood, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="1m") as disk:
        (disk / "plan.toml").write_text(task("a"))
        remount_read_only(disk)
        said = budwood.call("run", str(disk / "plan.toml"), code=4)
    assert said.err.startswith(f"error: {disk}/.budwood cannot be used: Read-only file system\n\nhint: check who owns")


def test_a_full_disk_is_named_and_leaves_nothing_that_git_would_see(budwood: Budwood, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="64k") as disk:
        (disk / "plan.toml").write_text(task("a"))
        with pytest.raises(OSError, match="No space"):
            (disk / "ballast").write_bytes(b"x" * 100_000)
        said = budwood.call("run", str(disk / "plan.toml"), code=4)
        assert "No space left on device" in said.err
        assert "hint: check who owns" in said.err
        (disk / "ballast").unlink()
        make_state_dir(disk / ".budwood")
        assert {path.name for path in (disk / ".budwood").iterdir()} == {".gitignore"}
        assert (disk / ".budwood" / ".gitignore").read_text() == "*\n"


def test_an_empty_gitignore_is_filled_and_one_of_the_users_own_kept(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").touch()
    make_state_dir(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / ".gitignore").write_text("# mine\n")
    make_state_dir(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "# mine\n"
    assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]


def test_a_file_where_the_state_directory_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / ".budwood").touch()
    with pytest.raises(StoreUnwritable, match="File exists"):
        make_state_dir(tmp_path / ".budwood")


def test_a_current_directory_that_is_gone_is_an_error(budwood: Budwood) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" -P -m budwood ls'
    ran = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=budwood.root, env=budwood.env, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (
        2,
        b"error: the current directory is gone\n\nhint: cd to one that is there\n",
    )


@needs_root
@pytest.mark.slow
def test_the_same_as_a_user_without_rights() -> None:
    run_as_nobody(["tests/cli/test_places.py"])
