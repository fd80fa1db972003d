"""`budwood ls` and bare `budwood`."""

from pathlib import Path

import pytest
from tests.support.program import call, golden, in_terminal
from tests.support.told import Told, ended

from budwood._core.events import RunPaused
from budwood._core.model import TaskSpec


def test_runs_are_listed_newest_last_with_counts_cost_age_and_driver(night: Told, now: int) -> None:
    other = ended(night.root, name="earlier", run="earl1er000")
    other.close()
    ran = call("ls", cwd=night.root)
    assert ran.out == golden("""
    RUN      STATE     DONE  FAILED  ATTEMPTS   COST    CREATED  DRIVER
    night    active     1/7                 4  $0.25  2 min ago  pid 4242 on host
    earlier  finished   4/7       1         6  $0.25  2 min ago
    """)
    assert (ran.code, ran.err) == (0, "")


def test_only_the_newest_are_listed_unless_all_are_wanted(tmp_path: Path) -> None:
    for number in range(23):
        Told(tmp_path, [TaskSpec(id=1, run="true")], name="many", run=f"run{number}").close()
    short, full, data = (call("ls", *flags, cwd=tmp_path) for flags in ([], ["--all"], ["--json"]))
    assert len(short.out.splitlines()) == 21
    assert short.err == "3 older; budwood ls --all lists them\n"
    assert "many-23" in short.out.splitlines()[-1]
    assert len(full.out.splitlines()) == 24
    runs = data.json["runs"]
    assert isinstance(runs, list)
    assert len(runs) == 23


def test_json_has_iso_times_and_the_driver(night: Told) -> None:
    runs = call("ls", "--json", cwd=night.root).json["runs"]
    assert isinstance(runs, list)
    assert runs[0] | {"updated_at": "", "last_event": 0} == {
        "id": "n1ght00000",
        "name": "night",
        "state": "active",
        "goal": "Ship it",
        "reason": "",
        "source": "/plans/night.toml",
        "cwd": str(night.root),
        "made_by": "0.1.0",
        "seed": 7,
        "slots": 2,
        "created_at": "2026-09-21T14:13:21.000Z",
        "updated_at": "",
        "ended_at": None,
        "last_event": 0,
        "fence": 1,
        "tasks": 7,
        "done": 1,
        "failed": 0,
        "skipped": 0,
        "cancelled": 0,
        "active": 2,
        "attempts": 4,
        "cost_usd": 0.25,
        "tokens": 0,
        "driver": "pid 4242 on host",
    }


def test_a_run_whose_driver_is_gone_says_so(night: Told) -> None:
    night.leave()
    assert call("ls", cwd=night.root).out.rstrip().endswith("none")


def test_without_a_store_nothing_is_made_and_the_error_says_how_to_begin(tmp_path: Path) -> None:
    ran = call("ls", cwd=tmp_path)
    assert ran.code == 2
    assert "there is no store" in ran.err
    assert "hint: budwood run FILE" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_at_80_columns_long_names_are_cut_and_nothing_wraps(tmp_path: Path) -> None:
    Told(
        tmp_path, [TaskSpec(id=1, run="true")], name="a-name-that-is-rather-long-for-a-table-of-eighty-columns"
    ).close()
    code, shown = in_terminal("ls", cwd=tmp_path)
    assert code == 0
    assert "…" in shown
    lines = in_terminal("ls", cwd=tmp_path, env={"NO_COLOR": "1"})[1].splitlines()
    assert "\x1b" not in "".join(lines)
    assert max(map(len, lines)) <= 80
    assert "eighty-columns" in call("ls", cwd=tmp_path).out


def test_colours_are_for_terminals_only(over: Told) -> None:
    assert "\x1b[32mfinished" in in_terminal("ls", cwd=over.root)[1]
    assert "\x1b" not in in_terminal("ls", cwd=over.root, env={"NO_COLOR": "1"})[1]
    assert "\x1b" not in call("ls", cwd=over.root).out


class TestOverview:
    def test_without_runs_it_says_how_to_begin(self, tmp_path: Path) -> None:
        ran = call(cwd=tmp_path)
        assert ran.out.startswith("No runs here yet.")
        assert "budwood init" in ran.out
        assert "budwood demo" in ran.out
        assert ran.code == 0
        assert list(tmp_path.iterdir()) == []

    def test_what_needs_somebody_comes_first(self, night: Told, now: int) -> None:
        other = ended(night.root, name="earlier", run="earl1er000")
        other.close()
        night.tell(RunPaused(kind="person", reason="paused by request"))
        assert call(cwd=night.root).out == golden("""
    Needs you
      RUN    STATE   DONE  ATTEMPTS   COST    CREATED  DRIVER
      night  paused   1/7         4  $0.25  2 min ago  pid 4242 on host
      night: paused: paused by request; budwood resume night

    Ended
      RUN      STATE     DONE  FAILED  ATTEMPTS   COST    CREATED
      earlier  finished   4/7       1         6  $0.25  2 min ago

    budwood status earlier shows one run; budwood --help lists all commands.
    """)

    def test_a_run_that_is_driven_runs_and_one_that_is_not_needs_you(self, night: Told) -> None:
        assert call(cwd=night.root).out.startswith("Runs\n")
        night.leave()
        assert "night: nobody drives it; budwood resume night" in call(cwd=night.root).out

    @pytest.mark.parametrize("broken", [b"this is no database at all, but it is long enough to be one" * 20])
    def test_a_damaged_store_is_an_error_not_a_beginning(self, tmp_path: Path, broken: bytes) -> None:
        (tmp_path / ".budwood").mkdir()
        (tmp_path / ".budwood" / "store.db").write_bytes(broken)
        ran = call(cwd=tmp_path)
        assert ran.code == 4
        assert "is damaged" in ran.err
        assert (tmp_path / ".budwood" / "store.db").read_bytes() == broken
