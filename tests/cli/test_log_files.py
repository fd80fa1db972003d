"""`budwood logs --export`: logs as whole files, in a directory that is completed and never loses what is in it."""

import csv
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.support.mounts import mounted
from tests.support.program import MEASURED, Ran, call, in_terminal
from tests.support.scene import Scene
from tests.support.told import Told, ended
from tests.support.unprivileged import needs_root, run_as_nobody

from budwood._core.model import RunSettings, TaskSpec
from budwood._core.rows import TaskRow
from budwood.cli.log_files import COLUMNS, folder_names
from budwood.cli.logs import attempt_dir
from budwood.project.place import run_dir_of

MARK = ".budwood-logs"


def files(folder: Path) -> dict[str, bytes]:
    """Read all files of a directory but the index, by their paths in it."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name not in (MARK, "index.csv")}


def index(folder: Path) -> list[dict[str, str]]:
    with (folder / "index.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def export(root: Path, folder: Path, *words: str) -> Ran:
    return call("logs", "night", *words, "--export", str(folder), cwd=root)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "made" / "out"


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Told]:
    """A run with ids that are hard to tell apart as files, and one that still runs."""
    ids = ("A b", "a-b", "a-b-3", "a_b", "../../etc/passwd", "con", "é" * 80, "=1+1", 7)
    told = Told(tmp_path, [TaskSpec(id=each, run="x") for each in (*ids, "running", "later")])
    for each in ids:
        told.done(each, log=f"log of {each}\n".encode())
    told.start("running")
    yield told
    told.close()


def test_every_attempt_that_has_ended_gets_a_file_and_a_row_in_the_index(over: Told, out: Path) -> None:
    ran = export(over.root, out)
    assert (ran.code, ran.out, ran.err) == (0, "", f"6 logs written to {out}\n")
    assert files(out) == {
        "build/1.log": b"compiling\nall built\n",
        "test/1.log": b"try 101\n1 failed\n",
        "test/2.log": b"try 102\n1 failed\n",
        "docs/1.log": b"",
        "site/1.log": b"",
        "7/1.log": b"",
    }
    rows = index(out)
    assert tuple(rows[0]) == COLUMNS
    assert {row["file"] for row in rows} == set(files(out))
    assert rows[2] == {
        "file": "test/2.log",
        "task": "test",
        "attempt": "2",
        "state": "failed",
        "exit_code": "3",
        "signal": "",
        "started_at": rows[2]["started_at"],
        "finished_at": rows[2]["finished_at"],
        "bytes": "17",
        "dropped_bytes": "0",
    }
    assert rows[2]["started_at"].endswith("Z")


def test_ids_become_safe_names_and_stay_apart(story: Told, out: Path) -> None:
    ran = export(story.root, out)
    assert ran.err == f"9 logs written to {out}; 1 attempt still running, left out\n"
    named = {row["file"]: row["task"] for row in index(out)}
    assert len(named) == 9
    assert {name: data.decode() for name, data in files(out).items()} == {
        name: f"log of {task.removeprefix(chr(39))}\n" for name, task in named.items()
    }
    assert named["a-b/1.log"] == "A b"
    assert named["etc-passwd/1.log"] == "../../etc/passwd"
    assert all(len(name) < 100 and name.count("/") == 1 for name in named)
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]


def test_names_of_folders_never_change_when_a_plan_grows() -> None:
    ids = ["x", "X", "x-1", "x 1", "x-1-3", "", "task", "x!"]
    tasks = [TaskRow(number=n, id=each, key="", phase="done") for n, each in enumerate(ids)]  # type: ignore[arg-type]
    whole = folder_names(tasks)
    assert len(set(whole.values())) == len(ids)
    for length in range(len(ids)):
        assert folder_names(tasks[:length]) == {n: whole[n] for n in range(length)}


def test_one_task_or_one_attempt_can_be_written(over: Told, tmp_path: Path) -> None:
    export(over.root, tmp_path / "task", "test")
    assert set(files(tmp_path / "task")) == {"test/1.log", "test/2.log"}
    export(over.root, tmp_path / "attempt", "test", "--attempt", "2")
    assert set(files(tmp_path / "attempt")) == {"test/2.log"}
    assert [row["file"] for row in index(tmp_path / "attempt")] == ["test/2.log"]


def test_a_directory_of_an_earlier_export_is_completed(night: Told, out: Path) -> None:
    assert export(night.root, out, "build").err == f"1 log written to {out}\n"
    (out / "build" / "1.log").write_bytes(b"changed by its owner")
    (out / "mine.txt").write_text("a file of the user's")
    night.end("docs", log=b"pages\n")
    ran = export(night.root, out)
    assert ran.err == f"2 logs written to {out}; 1 was there; 1 attempt still running, left out\n"
    assert files(out) == {
        "build/1.log": b"changed by its owner",
        "test/1.log": b"1 failed\n",
        "docs/1.log": b"pages\n",
        "mine.txt": b"a file of the user's",
    }
    assert [row["file"] for row in index(out)] == ["build/1.log", "test/1.log", "docs/1.log"]


def test_a_directory_with_other_files_is_refused_and_left_as_it_is(over: Told, out: Path) -> None:
    (out / "build").mkdir(parents=True)
    (out / "build" / "1.log").write_text("mine")
    ran = export(over.root, out)
    hint = "give a new directory, or one of an earlier export"
    assert (ran.code, ran.err) == (2, f"error: {out} has other files in it\n\nhint: {hint}\n")
    assert files(out) == {"build/1.log": b"mine"}
    assert not (out / MARK).exists()


def test_a_directory_of_another_run_is_refused(over: Told, out: Path) -> None:
    other = ended(over.root, name="day", run="0therrun00")
    other.close()
    export(over.root, out)
    before = files(out)
    ran = call("logs", "day", "--export", str(out), cwd=over.root)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: {out} has the logs of another run, {over.run}")
    assert files(out) == before


def test_an_empty_directory_and_one_that_an_export_was_killed_in_are_taken(over: Told, out: Path) -> None:
    out.mkdir(parents=True)
    (out / MARK).touch()  # killed before it could write whose it is
    (out / ".budwood-draft").write_bytes(b"half a lo")
    assert export(over.root, out).code == 0
    assert len(files(out)) == 6


def test_two_exports_into_one_directory_do_not_meet(over: Told, out: Path) -> None:
    export(over.root, out)
    with (out / MARK).open("a") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        ran = export(over.root, out)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: somebody else is writing logs to {out}")


@pytest.mark.parametrize("flag", ["--follow", "--raw"])
def test_flags_that_would_mean_nothing_are_refused(over: Told, out: Path, flag: str) -> None:
    assert export(over.root, out, flag).code == 2
    assert not out.exists()


def test_a_file_in_the_way_is_an_error(over: Told, out: Path) -> None:
    out.parent.mkdir()
    out.write_text("mine")
    ran = export(over.root, out)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: logs cannot be written: {out}: File exists")
    assert out.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; the test below runs this one as nobody")
def test_a_directory_that_cannot_be_written_is_an_error(over: Told, out: Path) -> None:
    out.mkdir(parents=True)
    out.chmod(0o500)
    ran = export(over.root, out)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: logs cannot be written: {out / MARK}: Permission denied")


@needs_root
@pytest.mark.slow
def test_what_cannot_be_written_is_said_to_an_unprivileged_user() -> None:
    run_as_nobody(["tests/cli/test_log_files.py", "tests/cli/test_export.py", "-k", "cannot or directory"])


def test_a_large_log_is_copied_from_its_attempts_directory(over: Told, out: Path) -> None:
    row = over.store.runs()[0]
    attempt = over.store.attempts(over.run, 3)[0]  # of docs, which has no log in the store
    directory = attempt_dir(run_dir_of(row), attempt)
    directory.mkdir(parents=True)
    large = os.urandom(3_000_000)
    (directory / "log").write_bytes(large)
    assert export(over.root, out).code == 0
    assert files(out)["docs/1.log"] == large


def test_a_log_that_is_on_another_machine_is_a_warning_and_a_row_without_a_file(tmp_path: Path, out: Path) -> None:
    command = "head -c 100000 /dev/zero"
    settings = RunSettings(slots=1, output_bytes=200_000)
    scene = Scene(tmp_path, [TaskSpec(id="t", run=command), TaskSpec(id="u", run="echo small")], settings=settings)
    scene.drive()
    with scene.store() as store:
        store_file = Path(store.where)
    _lose_log(store_file, task=0)
    ran = call("logs", "last", "--export", str(out), cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.splitlines() == [
        f"1 log written to {out}",
        "warning: 1 log is too large for the store, and not on this machine",
    ]
    assert [(row["file"], row["task"]) for row in index(out)] == [("", "t"), ("u/1.log", "u")]


def _lose_log(store_file: Path, *, task: int) -> None:
    """Let the store have no log of a task, as of one that was too large."""
    connection = sqlite3.connect(store_file)
    connection.execute("DELETE FROM log WHERE task = ?", (task,))
    connection.commit()
    connection.close()


def test_a_full_disk_leaves_whole_files_and_the_next_export_goes_on(tmp_path: Path) -> None:
    log = os.urandom(300_000)
    big(tmp_path, tasks=6, log=log)
    with mounted(tmp_path / "small", size="3m") as disk:
        filler, out = disk / "filler", disk / "out"
        filler.write_bytes(bytes(2_000_000))
        ran = export(tmp_path, out)
        assert (ran.code, ran.err) == (
            2,
            f"error: logs cannot be written: {out}: No space left on device\n\n"
            "hint: every file that is there is whole; the same command goes on\n",
        )
        whole = files(out)
        assert 0 < len(whole) < 6
        assert set(whole.values()) == {log}
        filler.unlink()
        assert export(tmp_path, out).err == f"{6 - len(whole)} logs written to {out}; {len(whole)} were there\n"
        assert len(index(out)) == 6


def big(root: Path, *, tasks: int, log: bytes) -> None:
    """Tell a run with many logs."""
    told = Told(root, [TaskSpec(id=f"t{n}", run="x") for n in range(tasks)])
    for n in range(tasks):
        told.done(f"t{n}", log=log)
    told.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_who_is_interrupted_in_the_middle_of_a_file_leaves_only_whole_ones(
    over: Told, out: Path, number: signal.Signals
) -> None:
    attempt = over.store.attempts(over.run, 3)[0]  # of docs, which has no log in the store
    directory = attempt_dir(run_dir_of(over.store.runs()[0]), attempt)
    directory.mkdir(parents=True)
    os.mkfifo(directory / "log")  # so that its log comes when we want
    draft = out / ".budwood-draft"
    argv = [sys.executable, "-m", "budwood", "logs", "night", "--export", str(out)]
    process = subprocess.Popen(argv, cwd=over.root, stderr=subprocess.PIPE, text=True)
    with (directory / "log").open("wb", buffering=0) as half:
        half.write(bytes(1_000_000))  # more than a pipe holds: some of it was read
        wait_for(lambda: draft.exists() and draft.stat().st_size > 0, what="half of a file")
        process.send_signal(number)
        with suppress(BrokenPipeError):  # one who waits for more does not notice the signal
            for _ in range(1000):
                if process.poll() is None:
                    half.write(bytes(65536))
        said = process.communicate(timeout=30)[1]
    assert sorted(path.name for path in out.glob("*/*")) == ["1.log", "1.log", "2.log"]
    assert (out / "docs").exists()
    if number is signal.SIGINT:
        assert (process.returncode, said) == (
            130,
            f"\nleft; every file in {out} is whole, and the same command goes on\n",
        )
        assert not draft.exists()
    (directory / "log").unlink()
    (directory / "log").write_bytes(b"whole")
    assert export(over.root, out).err == f"3 logs written to {out}; 3 were there\n"
    assert files(out)["docs/1.log"] == b"whole"
    assert len(files(out)) == len(index(out)) == 6


def test_a_terminal_sees_how_far_it_is(tmp_path: Path, out: Path) -> None:
    big(tmp_path, tasks=5, log=b"x\n")
    code, shown = in_terminal("logs", "night", "--export", str(out), cwd=tmp_path, columns=200)
    assert code == 0
    assert "5/5" in shown
    assert shown.endswith(f"5 logs written to {out}\n")


@pytest.mark.slow
def test_logs_are_not_held_in_memory(tmp_path: Path, out: Path) -> None:
    log = os.urandom(1_000_000)
    big(tmp_path, tasks=100, log=log)
    argv = [sys.executable, "-c", MEASURED, "logs", "night", "--export", str(out)]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    code, most_kb = map(int, ran.stderr.split()[-2:])
    assert (code, len(files(out))) == (0, 100)
    assert most_kb < 90_000


def test_a_run_that_is_driven_meanwhile_can_be_exported(tmp_path: Path, out: Path) -> None:
    tasks = [TaskSpec(id=f"t{n}", run=f"touch begun; echo {n}") for n in range(60)]
    scene = Scene(tmp_path, tasks)
    driving = threading.Thread(target=scene.drive)
    driving.start()
    wait_for((tmp_path / "begun").exists, what="the run to begin")
    while driving.is_alive():
        assert call("logs", "last", "--export", str(out), cwd=tmp_path).code == 0
    driving.join()
    assert call("logs", "last", "--export", str(out), cwd=tmp_path).code == 0
    assert files(out) == {f"t{n}/1.log": f"{n}\n".encode() for n in range(60)}
    assert len(index(out)) == 60
