"""What an attempt gets and what becomes of what it says: command, environment, descriptors, output, usage."""

import os
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.executors.looks import SETTINGS, attempts_of, only, printed, ran

from budwood._core.model import AttemptPhase, RunSettings, TaskSpec
from budwood.engine.verdict import Exit

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("no-such-command-7", "x"), "not_found"),
        ("no-such-command-7 x", "not_found"),
        (("./not-executable",), "denied"),
        ("./not-executable", "denied"),
    ],
    ids=str,
)
def test_a_command_that_cannot_be_run_is_a_fault_of_set_up(
    tmp_path: Path, command: str | tuple[str, ...], kind: str
) -> None:
    (tmp_path / "not-executable").write_text("#!/bin/sh\ntrue\n")
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=command))
    attempt = only(scene)
    assert attempt.phase is AttemptPhase.FAILED
    assert attempt.error is not None
    assert attempt.error.type == kind
    assert attempt.error.message
    assert verdict.exit_code == Exit.NOT_MET


def test_tasks_whose_command_does_not_exist_open_the_breaker(tmp_path: Path) -> None:
    tasks = [TaskSpec(id=n, run=("no-such-command-7",)) for n in range(6)]
    scene, verdict = ran(tmp_path, *tasks, breaker=3)
    assert (verdict.exit_code, scene.state().pause_kind) == (Exit.WAITS, "breaker")
    assert len(attempts_of(scene)) == 3


def test_a_hundred_megabytes_are_counted_and_head_and_tail_kept(tmp_path: Path) -> None:
    command = "echo first; head -c 104857600 /dev/zero | tr '\\0' x; echo; echo last"
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=command))
    assert verdict.exit_code == Exit.GOAL_MET
    attempt, log = only(scene), printed(scene)
    assert attempt.output_bytes == 100 * MIB + len("first\n\nlast\n")
    assert attempt.dropped_bytes == attempt.output_bytes - 4 * MIB
    assert log.startswith(b"first\nxxx")
    assert log.endswith(b"xxx\nlast\n")
    marker = f"\n[budwood: {attempt.dropped_bytes} bytes dropped here]\n".encode()
    assert marker in log
    assert len(log) == 4 * MIB + len(marker)
    assert attempt.peak_memory_bytes is not None
    assert attempt.peak_memory_bytes < 64 * MIB


def test_a_log_that_is_too_large_for_the_store_stays_in_its_directory(tmp_path: Path) -> None:
    scene, _ = ran(tmp_path, TaskSpec(id="a", run="head -c 9437184 /dev/zero"), output_bytes=16 * MIB)
    assert printed(scene) == b""
    [log] = tmp_path.glob(".budwood/runs/*/attempts/0.1/log")
    assert log.stat().st_size == 9 * MIB


def test_small_logs_leave_no_directories_behind(tmp_path: Path) -> None:
    scene, _ = ran(tmp_path, *(TaskSpec(id=n, run="echo hello") for n in range(3)))
    assert [printed(scene, n) for n in range(3)] == [b"hello\n"] * 3
    left = ".budwood/runs/*/attempts/*"  # supervisors take the last away when their driver has left
    wait_for(lambda: not list(tmp_path.glob(left)), what="directories to be gone")


@pytest.mark.parametrize("count", [1, 40_000])
def test_bytes_come_back_as_they_were(tmp_path: Path, count: int) -> None:
    """Below and above the size up to which a log travels as text."""
    piece = b"a\0b\xff\xfe\xc3 \xed\xa0\x80\n"
    (tmp_path / "piece").write_bytes(piece * count)
    scene, _ = ran(tmp_path, TaskSpec(id="a", run="cat piece"))
    assert printed(scene) == piece * count


def test_both_outputs_are_kept_in_their_order(tmp_path: Path) -> None:
    scene, _ = ran(tmp_path, TaskSpec(id="a", run="echo one; echo two >&2; echo three"))
    assert printed(scene) == b"one\ntwo\nthree\n"


def test_a_secret_does_not_arrive_and_what_is_named_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MY_SECRET": "s3cret", "MY_KEY": "k", "AWS_ONE": "1", "AWS_TWO": "2", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, value)
    scene, _ = ran(
        tmp_path,
        TaskSpec(id="plain", run="env"),
        TaskSpec(id="named", run="env", env_pass=("MY_KEY", "AWS_*", "NOT_THERE")),
        TaskSpec(id="given", run="env", env={"MY_KEY": "mine", "PATH": "/usr/bin:/bin"}, env_pass=("MY_KEY",)),
    )
    plain, named, given = (_environment(printed(scene, n)) for n in range(3))
    assert not {"MY_SECRET", "MY_KEY", "AWS_ONE"} & plain.keys()
    assert (plain["PATH"], plain["LC_ALL"]) == (os.environ["PATH"], "C")
    assert plain.keys() >= {"HOME", "BUDWOOD_RUN", "BUDWOOD_TASK", "BUDWOOD_ATTEMPT", "BUDWOOD_MARK", "TMPDIR"}
    assert {name: named.get(name) for name in ("MY_KEY", "AWS_ONE", "AWS_TWO")} == {
        "MY_KEY": "k",
        "AWS_ONE": "1",
        "AWS_TWO": "2",
    }
    assert "MY_SECRET" not in named
    assert (given["MY_KEY"], given["PATH"]) == ("mine", "/usr/bin:/bin")


def _environment(text: bytes) -> dict[str, str]:
    return dict(line.partition("=")[::2] for line in text.decode().splitlines())


def test_standard_input_is_empty_and_no_other_file_is_open(tmp_path: Path) -> None:
    command = "readlink /proc/$$/fd/0; cat | wc -c; ls -m /proc/$$/fd"  # no pipe: its ends would be the shell's own
    scene, _ = ran(tmp_path, TaskSpec(id="a", run=("/bin/sh", "-c", command)))
    null, size, files = printed(scene).decode().splitlines()
    assert (null, size.strip()) == ("/dev/null", "0")
    assert set(files.split(", ")) <= {"0", "1", "2", "10", "255"}  # the last two are a shell's own


def test_the_temporary_directory_is_private_and_emptied_for_the_next_attempt(tmp_path: Path) -> None:
    fill = 'mkdir -p "$TMPDIR/a/b" && echo x > "$TMPDIR/a/b/c" && echo x > "$TMPDIR/.hidden" && echo "$TMPDIR"'
    scene, _ = ran(
        tmp_path,
        TaskSpec(id="fill", run=fill),
        TaskSpec(id="look", run='ls -A "$TMPDIR"; stat -c %a "$TMPDIR/.."', after=("fill",)),
    )
    assert printed(scene, 1) == b"700\n"
    assert not os.path.exists(printed(scene).decode().strip())


def test_what_an_attempt_says_that_it_cost_settles_the_budget(tmp_path: Path) -> None:
    spend = 'echo "{\\"cost_usd\\": 0.7, \\"tokens\\": 5}" > "$BUDWOOD_USAGE"'
    tasks = [TaskSpec(id=n, run=spend, reserve_usd=0.4) for n in range(3)]
    scene, verdict = ran(tmp_path, *tasks, budget_usd=1.0)
    assert (verdict.exit_code, verdict.cost_usd, verdict.tokens) == (Exit.BUDGET, 0.7, 5)
    assert only(scene).cost_usd == 0.7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{",
        "null",
        '{"cost_usd": -5}',
        '{"cost_usd": "x"}',
        '{"cost_usd": NaN}',
        '{"cost_usd": 1e999}',
        '{"cost_usd": 1e300}',
        '{"tokens": 1.5}',
        '{"tokens": 99999999999999999999}',
    ],
)
def test_nonsense_about_the_cost_is_unknown_and_counts_as_reserved(tmp_path: Path, text: str) -> None:
    (tmp_path / "said").write_text(text)
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run='cp said "$BUDWOOD_USAGE"', reserve_usd=0.4, reserve_tokens=9))
    assert verdict.exit_code == Exit.GOAL_MET
    assert (verdict.cost_usd, verdict.tokens) == (0.4, 9)
    assert only(scene).cost_usd is None


def test_each_attempt_sees_its_own_gpus_and_nobody_elses(tmp_path: Path) -> None:
    show = 'echo "[$CUDA_VISIBLE_DEVICES]"'
    tasks = [TaskSpec(id=n, run=show, gpus=gpus) for n, gpus in enumerate((1, 1, 2, 0))]
    scene, _ = ran(tmp_path, *tasks, settings=RunSettings(slots=4, gpus=("3", "GPU-5"), grace_s=0.5))
    shown = [printed(scene, n) for n in range(4)]
    assert sorted(shown[:2]) in ([b"[3]\n", b"[GPU-5]\n"], [b"[3]\n", b"[3]\n"], [b"[GPU-5]\n", b"[GPU-5]\n"])
    assert shown[2:] == [b"[3,GPU-5]\n", b"[]\n"]


def test_without_gpus_in_the_settings_the_variable_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    scene, _ = ran(tmp_path, TaskSpec(id="a", run="echo $CUDA_VISIBLE_DEVICES"), settings=SETTINGS)
    assert printed(scene) == b"7\n"
