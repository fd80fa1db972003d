"""What of a machine is shown: programs and tools, never what lies beside them."""

from pathlib import Path

import pytest

from budwood.sandbox import Machine
from budwood.sandbox.machine import ETC, gpu_devices


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a home directory with tools and keys."""
    home = tmp_path / "home"
    for name in (
        ".ssh/id",
        ".cargo/bin/cargo",
        ".cargo/registry/x",
        ".cargo/credentials.toml",
        ".local/bin/tool",
        ".local/share/keyrings/k",
        ".nvm/versions/node/v20/bin/node",
        ".nvm/versions/node/v20/lib/x",
        "bin/mine",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    return home


def shown(home: Path, *, path: tuple[Path, ...] = (), **variables: str) -> set[Path]:
    """Tell what is shown below the test's own directory."""
    environ = {"PATH": ":".join(("/usr/bin", "/bin", "relative", "", *map(str, path))), **variables}
    machine = Machine(environ=environ, home=home, own=(), hidden=(home.parent / "project",))
    return {each.relative_to(home.parent) for each in machine.reads if each.is_relative_to(home.parent)}


def test_a_home_directory_shows_tools_and_no_keys(home: Path) -> None:
    names = (".cargo/bin", ".local/bin", ".nvm/versions/node/v20/bin", "bin")
    found = shown(home, path=tuple(home / name for name in names))
    assert {str(each) for each in found} == {
        "home/.cargo/bin",
        "home/.cargo/registry",
        "home/.local/bin",
        "home/.nvm",
        "home/.nvm/versions/node/v20",
        "home/.nvm/versions/node/v20/bin",
        "home/bin",
    }


def test_where_somebody_stands_is_not_shown_for_a_variable_that_is_empty(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.parent / "here" / "relative").mkdir(parents=True)
    monkeypatch.chdir(home.parent / "here")
    assert not any(each.is_relative_to("here") for each in shown(home, LD_LIBRARY_PATH="", NODE_PATH="relative:"))


def test_a_directory_that_holds_the_project_is_not_shown_for_its_programs(home: Path) -> None:
    project = home.parent / "project"
    (project / "bin").mkdir(parents=True)
    (project / ".venv" / "bin").mkdir(parents=True)
    found = shown(home, path=(project / "bin", project / ".venv" / "bin"))
    assert {str(each) for each in found if each.is_relative_to("project")} == {
        "project/bin",
        "project/.venv",
        "project/.venv/bin",
    }


def test_the_home_of_somebody_else_is_not_shown_for_its_programs(home: Path) -> None:
    other = home.parent / "other"
    (other / "bin").mkdir(parents=True)
    (other / ".ssh").mkdir()
    assert Path("other") not in shown(home, path=(other / "bin",))


def test_variables_name_tools_and_where_they_lead(home: Path) -> None:
    real = home.parent / "real"
    real.mkdir()
    (home.parent / "venv").symlink_to(real)
    found = shown(home, VIRTUAL_ENV=str(home.parent / "venv"), JAVA_HOME=str(home.parent / "gone"))
    assert {Path("venv"), Path("real")} <= found
    assert Path("gone") not in found


def test_no_password_and_no_key_of_the_host_is_in_the_list() -> None:
    names = {Path(name).name for name in ETC}
    assert not names & {"shadow", "gshadow", "sudoers", "ssh", "private", "krb5.keytab", "ssl", "environment"}


def test_devices_of_gpus_are_found_by_their_names(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidiactl", "sda", "null"):
        (tmp_path / name).touch()
    assert gpu_devices(tmp_path) == ()  # none of these is below /dev
    assert all(str(path).startswith(("/dev/nvidia", "/dev/dri", "/dev/kfd")) for path in gpu_devices())
