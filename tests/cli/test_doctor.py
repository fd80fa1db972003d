"""`budwood doctor`: what is there, what is missing, what would go wrong."""

from pathlib import Path

import pytest
from tests.support.program import call, in_terminal
from tests.support.told import Told

from budwood.cli import checkup
from budwood.cli.containment import Probe, containment, kills_user_processes
from budwood.errors import ExecutorError
from budwood.project.place import find_project

NAMES = ["system", "python", "supervisor", "sh", "git", "store", "sockets", "disk"]
MORE = ["processes", "namespaces", "memory", "sandbox", "logout", "open files", "inotify"]


def states(cwd: Path) -> dict[str, str]:
    checks = call("doctor", "--json", cwd=cwd).json["checks"]
    assert isinstance(checks, list)
    return {check["name"]: check["state"] for check in checks}


def test_everything_essential_is_here(tmp_path: Path) -> None:
    ran = call("doctor", cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("budwood can run here")
    told = call("doctor", "--json", cwd=tmp_path).json
    assert told["ok"] is True
    slots = told["slots"]
    assert isinstance(slots, dict)
    assert slots["commands"] >= slots["agents"] >= 1
    assert list(states(tmp_path)) == NAMES + MORE
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_well_has_a_fix(tmp_path: Path) -> None:
    checks = call("doctor", "--json", cwd=tmp_path).json["checks"]
    assert isinstance(checks, list)
    assert [check["name"] for check in checks if check["state"] in ("warning", "missing") and not check["fix"]] == []


def test_a_missing_supervisor_is_essential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise ExecutorError("budwood-supervisor is missing from this installation", hint="pip install budwood")

    monkeypatch.setattr("budwood.cli.containment.find_binary", gone)
    ran = call("doctor", cwd=tmp_path)
    assert ran.code == 1
    assert "missing  supervisor  budwood-supervisor is missing from this installation" in ran.out
    assert ran.out.splitlines()[-1] == "budwood cannot run here: 1 thing missing"


def test_a_supervisor_that_does_not_run_is_essential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budwood.cli.containment.find_binary", lambda: tmp_path / "nothing")
    assert states(tmp_path)["supervisor"] == "missing"


def test_without_git_there_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budwood.cli.checkup.shutil.which", lambda name, path=None: None)
    assert states(tmp_path)["git"] == "warning"


def test_a_network_file_system_is_no_place_for_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budwood.cli.checkup.file_system_of", lambda path: "nfs4")
    found = checkup.store(find_project(tmp_path), None)
    assert (found.state, "nfs4" in found.text) == ("missing", True)


def test_a_store_is_opened_and_a_damaged_one_reported(over: Told) -> None:
    assert states(over.root)["store"] == "ok"
    (over.root / ".budwood" / "store.db").write_bytes(b"no database " * 100)
    for path in (over.root / ".budwood").glob("store.db-*"):
        path.unlink()
    ran = call("doctor", cwd=over.root)
    assert ran.code == 1
    assert "is damaged" in ran.out


@pytest.mark.parametrize(
    ("probe", "states"),
    [
        (Probe(subreaper=True, namespace=True, cgroup="/sys/fs/cgroup/x", pidfd=True), ["ok", "ok", "ok"]),
        (Probe(subreaper=False, namespace=False, cgroup=None, pidfd=False), ["warning", "warning", "ok"]),
    ],
)
def test_containment_is_told_in_words(probe: Probe, states: list[str]) -> None:
    found = containment(probe)
    assert [finding.state for finding in found] == states
    assert all(finding.fix for finding in found if finding.state == "warning")


@pytest.mark.parametrize(
    ("files", "user", "kills"),
    [
        ([], "me", None),
        (["[Login]\n#KillUserProcesses=no\n"], "me", False),
        (["[Login]\n#KillUserProcesses=yes\n"], "me", True),
        (["[Login]\n#KillUserProcesses=yes\n"], "root", False),
        (["#KillUserProcesses=no\n", "KillUserProcesses=yes\n"], "me", True),
        (["KillUserProcesses=yes\n", "KillUserProcesses=no\n"], "me", False),
        (["KillUserProcesses=yes\nKillExcludeUsers=root me\n"], "me", False),
    ],
)
def test_what_logind_does_at_logout_is_read_from_its_files(files: list[str], user: str, kills: bool | None) -> None:
    assert kills_user_processes(files, user=user) is kills


def test_it_fits_into_80_columns(tmp_path: Path) -> None:
    code, shown = in_terminal("doctor", cwd=tmp_path, env={"NO_COLOR": "1"})
    assert code == 0
    wide = [line for line in shown.splitlines() if len(line) > 80 and str(tmp_path) not in line]
    assert wide == []


@pytest.mark.parametrize("made", ["nothing", "directory", "open", "file", "dangling link", "closed", "no parent"])
def test_where_sockets_go_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str) -> None:
    root = tmp_path / "budwood-0"
    match made:
        case "directory" | "open" | "closed":
            root.mkdir()
            root.chmod({"directory": 0o700, "open": 0o755, "closed": 0o500}[made])
        case "file":
            root.touch(mode=0o600)
        case "dangling link":
            root.symlink_to("nowhere")
        case "no parent":
            root = tmp_path / "gone" / "budwood-0"
    monkeypatch.setattr("budwood.cli.checkup.runtime_root", lambda: root)
    found = checkup.runtime()
    assert found.state == ("ok" if made in ("nothing", "directory") else "missing"), found
    assert str(root) in found.text
    assert found.fix or found.state == "ok"
