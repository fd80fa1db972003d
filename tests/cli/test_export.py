"""`budwood export`: a run as a table that spreadsheets take, and as the stream that everybody gets."""

import csv
import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.world import Budwood, task, wait_for
from tests.support.mounts import mounted
from tests.support.program import MEASURED, call
from tests.support.scene import Scene
from tests.support.told import LANES, TASKS, Told

from budwood._core.events import PlanRevised
from budwood._core.judge import judge
from budwood._core.model import AttemptPhase, LaneSpec, Outcome, TaskSpec
from budwood._core.replay import fold_rows
from budwood._core.rows import AttemptRow
from budwood.cli import moment
from budwood.cli.csv_rows import COLUMNS
from budwood.cli.moment import read_moment
from budwood.stores.sqlite import SqliteStore

NIGHT = """
build  | ---  | 1 | done    | 1   | succeeded | 14:13:24 | 14:13:26 | 1.5 | 0.25 | 0   | ---  | ---         | 0.25 | 20
test   | ---  | 2 | ready   | 1   | failed    | 14:13:27 | 14:13:29 | 1.5 | ---  | 3   | exit | exit code 3 | 0.25 | 9
deploy | ---  | 3 | blocked | --- | ---       | ---      | ---      | --- | ---  | --- | ---  | ---         | ---  | ---
docs   | web  | 1 | active  | 1   | running   | 14:13:30 | ---      | --- | ---  | --- | ---  | ---         | ---  | ---
site   | web  | 1 | ready   | --- | ---       | ---      | ---      | --- | ---  | --- | ---  | ---         | ---  | ---
7      | ---  | 1 | active  | 1   | running   | 14:13:32 | ---      | --- | ---  | --- | ---  | ---         | ---  | ---
end    | ---  | 4 | blocked | --- | ---       | ---      | ---      | --- | ---  | --- | ---  | ---         | ---  | ---
"""
SHOWN = (
    *("task", "lane", "batch", "state", "attempt", "attempt_state", "started_at", "finished_at", "duration_s"),
    *("cost_usd", "exit_code", "error_type", "error_message", "cpu_s", "output_bytes"),
)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def _short(cell: str) -> str:
    return cell[11:19] if cell.endswith("Z") else cell or "---"


def exported(root: Path, *words: str) -> list[dict[str, str]]:
    ran = call("export", *words, "--csv", cwd=root)
    assert (ran.code, ran.err) == (0, "")
    return table(ran.raw.decode("utf-8"))


class TestCsv:
    def test_every_attempt_has_a_row_and_so_has_a_task_that_was_never_tried(self, night: Told) -> None:
        wanted = [[cell.strip() for cell in line.split("|")] for line in NIGHT.strip().splitlines()]
        rows = exported(night.root)
        assert [[_short(row[column]) for column in SHOWN] for row in rows] == wanted
        assert tuple(rows[0]) == COLUMNS
        assert {row["run"] for row in rows} == {"night"}
        assert rows[0]["queued_at"] == "2026-09-21T14:13:24.000Z"

    def test_rows_end_as_the_standard_says(self, night: Told) -> None:
        lines = call("export", "night", "--csv", cwd=night.root).raw.split(b"\r\n")
        assert lines[-1] == b""
        assert len(lines) == len(TASKS) + 2

    def test_attempts_stand_by_task_and_number_also_if_they_did_not_end_so(self, over: Told) -> None:
        places = [(row["task"], row["attempt"]) for row in exported(over.root)]
        assert places[:3] == [("build", "1"), ("test", "1"), ("test", "2")]
        assert [row["because"] for row in exported(over.root) if row["state"] == "skipped"] == ["test", "test"]

    def test_any_text_comes_back_as_it_was(self, tmp_path: Path) -> None:
        ids = ['say "hello", then\nleave', "naïve – 日本", "a;b", " x ", "\x01\x7f", "l" * 200]
        told = Told(tmp_path, [TaskSpec(id=each, run="x") for each in ids])
        told.start(ids[0])
        told.end(ids[0], exit_code=1, message='line 1\r\nline 2, "quoted"\0')
        told.close()
        rows = exported(tmp_path)
        assert [row["task"] for row in rows] == ids
        assert rows[0]["error_message"] == 'line 1\r\nline 2, "quoted"\0'

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
    def test_no_spreadsheet_calculates_what_somebody_else_wrote(self, tmp_path: Path, start: str) -> None:
        evil = f'{start}cmd|" /C calc"!A0'
        tasks = [TaskSpec(id=evil, run="x", group=evil, lane=evil), TaskSpec(id=-7, run="x")]
        told = Told(tmp_path, tasks, [LaneSpec(id=evil)])
        told.start(evil)
        told.end(evil, exit_code=1, message=evil, error_type=evil)
        told.close()
        row, number = exported(tmp_path)
        for column in ("task", "lane", "group", "error_type", "error_message"):
            assert row[column] == f"'{evil}", column
        assert number["task"] == "-7"

    @pytest.mark.parametrize("in_memory", [None, 10])
    def test_what_a_function_returned_is_there_as_json(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int | None
    ) -> None:
        if in_memory is not None:
            monkeypatch.setattr(moment, "_IN_MEMORY", in_memory)
        results: list[Any] = [{"x": [1, 2.5, None], "t": 'a "b", c\n'}, -5, "=1+1", None, "é" * 1000, []]
        told = Told(tmp_path, [TaskSpec(id=n, run="x") for n in range(len(results) + 1)])
        for n, result in reversed(list(enumerate(results))):
            told.start(n)
            raw = msgspec.Raw(msgspec.json.encode(result))
            told.tell(judge(told.state, told.state.task(n), Outcome(phase=AttemptPhase.SUCCEEDED, result=raw)))
        told.done(len(results))
        told.close()
        *returned, nothing = exported(tmp_path)
        assert [msgspec.json.decode(row["result"]) for row in returned] == results
        assert nothing["result"] == ""
        assert not any(row["result"].startswith(("=", "+", "@")) for row in returned)

    def test_tasks_that_the_plan_lost_say_so(self, night: Told) -> None:
        night.tell(PlanRevised(removed=("end",), lanes=LANES))
        assert {row["task"]: row["removed"] for row in exported(night.root)}["end"] == "true"

    def test_a_run_that_has_not_begun_is_a_header(self, night: Told) -> None:
        night.store.claim("0therrun00", name="early", source="", fresh=True)
        assert call("export", "early", "--csv", cwd=night.root).out == ",".join(COLUMNS) + "\r\n"
        assert call("export", "early", "--jsonl", cwd=night.root).raw == b""

    def test_the_newest_run_is_meant_where_none_is_named(self, night: Told) -> None:
        assert {row["run"] for row in exported(night.root)} == {"night"}


class Racing(SqliteStore):
    """A store in which something happens while its tables are read."""

    told: Told

    def attempts(self, run: str, task: int | None = None) -> list[AttemptRow]:
        self.told.end("docs", log=b"x\n")
        self.told.start("site")
        return super().attempts(run, task)


class TestOneMoment:
    def test_what_happens_meanwhile_is_left_out(self, night: Told) -> None:
        before = fold_rows(night.store.read(night.run))
        with Racing(Path(night.store.where)) as racing:
            racing.told = night
            read = read_moment(racing, racing.runs()[0])
        assert (read.run, read.tasks, read.attempts) == (before.run, list(before.tasks), list(before.attempts))
        assert night.state.number > before.run.last_event

    def test_a_run_that_is_driven_never_contradicts_itself(self, tmp_path: Path) -> None:
        tasks = [TaskSpec(id=n, run="touch begun", after=(n - 1,) if n % 4 else ()) for n in range(120)]
        scene = Scene(tmp_path, tasks)
        driving = threading.Thread(target=scene.drive)
        driving.start()
        wait_for((tmp_path / "begun").exists, what="the run to begin")
        seen = set()
        while driving.is_alive():
            rows = exported(tmp_path)
            seen.add(sum(row["state"] == "done" for row in rows))
            assert len(rows) == 120
            expected = {"done": ("succeeded",), "active": ("running", "queued"), "ready": ("",), "blocked": ("",)}
            assert [row for row in rows if row["attempt_state"] not in expected[row["state"]]] == []
        driving.join()
        assert len(seen) > 1, "the run was over before it was looked at twice"


class TestJsonLines:
    def test_they_are_the_bytes_of_watch(self, over: Told) -> None:
        assert call("export", "--jsonl", cwd=over.root).raw == call("watch", "--jsonl", cwd=over.root).raw != b""

    @pytest.mark.slow
    def test_they_are_the_bytes_of_run(self, budwood: Budwood) -> None:
        budwood.plan(task("a"), task("b", "exit 3"))
        said = budwood.call("run", "plan.toml", "--jsonl", code=1)
        assert budwood.call("export", "plan", "--jsonl").out == said.out


class TestFile:
    def test_a_file_gets_what_standard_output_would(self, over: Told, tmp_path: Path) -> None:
        for form in ("--csv", "--jsonl"):
            ran = call("export", "night", form, "-o", str(tmp_path / form), cwd=over.root)
            assert (ran.code, ran.raw) == (0, b"")
            assert ran.err == f"run night written to {tmp_path / form}: {over.state.number} events\n"
            assert (tmp_path / form).read_bytes() == call("export", "night", form, cwd=over.root).raw
            assert call("export", "night", form, "-o", "-", cwd=over.root).raw == (tmp_path / form).read_bytes()

    def test_a_file_that_is_there_is_left_alone(self, over: Told, tmp_path: Path) -> None:
        (tmp_path / "mine").write_text("mine")
        (tmp_path / "link").symlink_to("nowhere")
        for name in ("mine", "link"):
            ran = call("export", "--csv", "--output", str(tmp_path / name), cwd=over.root)
            assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: {tmp_path / name} is there already")
        assert (tmp_path / "mine").read_text() == "mine"
        assert (tmp_path / "link").is_symlink()

    def test_a_directory_that_is_not_there_is_named(self, over: Told, tmp_path: Path) -> None:
        ran = call("export", "--csv", "-o", str(tmp_path / "no" / "file"), cwd=over.root)
        assert ran.code == 2
        assert "cannot be written: No such file or directory" in ran.err

    def test_a_full_disk_leaves_nothing_half_written(self, tmp_path: Path) -> None:
        told = Told(tmp_path, [TaskSpec(id=n, run="x" * 1000) for n in range(3000)])
        told.close()
        with mounted(tmp_path / "small", size="64k") as disk:
            for form in ("--csv", "--jsonl"):
                ran = call("export", form, "-o", str(disk / "file"), cwd=tmp_path)
                assert ran.code == 2
                assert "cannot be written: No space left on device" in ran.err
                assert list(disk.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--csv", "--jsonl")])
def test_one_form_must_be_chosen(over: Told, words: tuple[str, ...]) -> None:
    ran = call("export", "night", *words, cwd=over.root)
    assert (ran.code, ran.raw) == (2, b"")
    assert ran.err == "error: export writes --csv or --jsonl\n\nhint: budwood export night --csv\n"


def test_a_run_that_is_not_there_is_named(over: Told) -> None:
    assert call("export", "nigth", "--csv", cwd=over.root).err.endswith("hint: did you mean night?\n")


@pytest.mark.parametrize("form", ["--csv", "--jsonl"])
def test_a_reader_that_has_enough_is_no_failure(tmp_path: Path, form: str) -> None:
    told = Told(tmp_path, [TaskSpec(id=n, run="x" * 100) for n in range(5000)])
    for n in range(100):
        told.done(n)
    told.close()
    argv = [sys.executable, "-m", "budwood", "export", form]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


@pytest.mark.slow
def test_results_are_not_held_in_memory(tmp_path: Path) -> None:
    told = Told(tmp_path, [TaskSpec(id=n, run="x") for n in range(60)])
    large = msgspec.Raw(b'"' + os.urandom(1_000_000).hex().encode() + b'"')
    for n in range(60):
        told.start(n)
        told.tell(judge(told.state, told.state.task(n), Outcome(phase=AttemptPhase.SUCCEEDED, result=large)))
    told.close()
    argv = [sys.executable, "-c", MEASURED, "export", "--csv"]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    code, most_kb = map(int, ran.stderr.split())
    assert code == 0
    assert len(ran.stdout) > 120_000_000
    assert most_kb < 250_000


@pytest.mark.parametrize("words", [("export", "night", "--csv", "-o"), ("store", "export", "night")])
def test_a_file_that_cannot_be_made_is_named_as_it_was_asked_for(night: Told, words: tuple[str, ...]) -> None:
    ran = call(*words, "/nonexistent/a.csv", cwd=night.root)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: /nonexistent/a.csv cannot be written: No such file or directory\n"
