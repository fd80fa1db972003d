"""Bad processes: whatever they do, the attempt ends as it should and nothing of it survives."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.executors.looks import PYTHON, SETTINGS, only, printed, ran
from tests.support.scene import Scene, survivors

from budwood._core.events import AttemptEnded, AttemptStarted, Recorded
from budwood._core.model import AttemptPhase, TaskSpec
from budwood._core.state import RunState
from budwood.engine.verdict import Exit

# The program goes when the process between has gone and the daemon ignores signals: exactly one is left.
DAEMON = """
import os, signal, sys, time
heard, told = os.pipe()
between = os.fork()
if between:
    os.waitpid(between, 0)
    os.read(heard, 1)
    sys.exit(0)
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.write(told, b"1")
os.chdir("/")
for fd in range(1024):
    try: os.close(fd)
    except OSError: pass
time.sleep(300)
"""


@pytest.mark.parametrize(
    "command",
    [
        "setsid sleep 300 >/dev/null 2>&1 & true",
        "(sleep 300 &) ; true",
        "nohup sleep 300 >/dev/null 2>&1 & true",
        "sh -c 'sleep 300 & sleep 300 & exit 0' ; setsid setsid sleep 300 & true",
    ],
)
def test_what_it_leaves_behind_is_ended(tmp_path: Path, command: str) -> None:
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=command))
    assert verdict.exit_code == Exit.GOAL_MET
    assert _ended_processes(scene) >= 1


def test_a_daemon_in_due_form_that_ignores_signals_is_ended(tmp_path: Path) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON)
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=(PYTHON, "daemon.py")))
    assert verdict.exit_code == Exit.GOAL_MET
    assert _ended_processes(scene) == 1


def test_the_next_attempt_begins_when_nothing_is_left_of_the_one_before(tmp_path: Path) -> None:
    stubborn = "(trap '' TERM; while :; do sleep 0.05; done) & echo $! > child"
    look = 'if kill -0 "$(cat child)" 2>/dev/null; then echo alive; else echo gone; fi'
    scene, _ = ran(tmp_path, TaskSpec(id="a", run=stubborn), TaskSpec(id="b", run=look, after=("a",)))
    assert printed(scene, 1) == b"gone\n"


def test_what_ignores_term_is_killed_at_its_time_limit(tmp_path: Path) -> None:
    command = "trap '' TERM INT HUP; echo begun; while :; do sleep 0.05; done"
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=command, timeout_s=0.3))
    attempt = only(scene)
    assert attempt.phase is AttemptPhase.TIMED_OUT
    assert attempt.error is not None
    assert (attempt.error.type, attempt.error.timed_out) == ("timeout", True)
    assert attempt.wall_s is not None
    assert 0.3 <= attempt.wall_s < 5
    assert printed(scene) == b"begun\n"
    assert verdict.externals == {"timeout (task a)": 1}


def test_a_time_limit_ends_the_whole_tree(tmp_path: Path) -> None:
    command = "setsid sleep 300 & sh -c 'sleep 300 & sleep 300' & wait"
    scene, _ = ran(tmp_path, TaskSpec(id="a", run=command, timeout_s=0.3))
    assert only(scene).phase is AttemptPhase.TIMED_OUT


def test_a_time_limit_is_tried_again_like_any_failure(tmp_path: Path) -> None:
    command = "[ -e again ] || { touch again; sleep 300; }"
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=command, timeout_s=0.3, retries=1))
    assert verdict.exit_code == Exit.GOAL_MET
    assert verdict.attempts == 2
    assert scene.state().task("a").tries == 2


def test_it_may_close_its_descriptors(tmp_path: Path) -> None:
    scene, _ = ran(tmp_path, TaskSpec(id="a", run="echo said; exec 0<&- 1>&- 2>&-; sleep 0.1; exit 5"))
    attempt = only(scene)
    assert (attempt.phase, attempt.exit_code) == (AttemptPhase.FAILED, 5)
    assert printed(scene) == b"said\n"


def test_it_may_leave_its_session_and_its_exit_code_counts(tmp_path: Path) -> None:
    code = "import os, sys; os.fork() and os._exit(os.waitstatus_to_exitcode(os.wait()[1])); os.setsid(); sys.exit(6)"
    scene, _ = ran(tmp_path, TaskSpec(id="a", run=(PYTHON, "-c", code)))
    assert only(scene).exit_code == 6


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("TERM", 15), ("INT", 2)])
def test_it_may_kill_its_own_group_and_no_other(tmp_path: Path, name: str, number: int) -> None:
    scene, verdict = ran(
        tmp_path,
        TaskSpec(id="a", run=f"sleep 300 & kill -{name} 0; sleep 300"),
        TaskSpec(id="b", run="true"),
        slots=2,
    )
    with scene.store() as store:
        killed, fine = store.attempts(scene.run_id)
    assert (killed.phase, killed.signal) == (AttemptPhase.FAILED, number)
    assert killed.error is not None
    assert killed.error.message == f"ended by signal SIG{name}"
    assert fine.phase is AttemptPhase.SUCCEEDED
    assert verdict.failed == ("a",)


def test_too_much_memory_ends_it(tmp_path: Path) -> None:
    code = "import time; hog = b'x' * 300_000_000; time.sleep(60)"
    scene, verdict = ran(tmp_path, TaskSpec(id="a", run=(PYTHON, "-c", code), memory_bytes=100_000_000))
    attempt = only(scene)
    assert attempt.error is not None
    assert attempt.error.type == "memory"
    assert attempt.peak_memory_bytes is not None
    assert attempt.peak_memory_bytes > 100_000_000
    assert verdict.externals == {"memory (task a)": 1}


def test_the_memory_of_the_whole_tree_counts(tmp_path: Path) -> None:
    hog = f"{PYTHON} -c \"import time; hog = b'x' * 60_000_000; time.sleep(60)\""
    scene, _ = ran(tmp_path, TaskSpec(id="a", run=f"{hog} & {hog} & {hog} & wait", memory_bytes=120_000_000))
    attempt = only(scene)
    assert attempt.error is not None
    assert attempt.error.type == "memory"


def test_enough_memory_ends_nothing(tmp_path: Path) -> None:
    code = "hog = b'x' * 30_000_000"
    _, verdict = ran(tmp_path, TaskSpec(id="a", run=(PYTHON, "-c", code), memory_bytes=200_000_000))
    assert verdict.exit_code == Exit.GOAL_MET


def test_a_cancelled_attempt_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    command = "setsid sleep 300 & trap '' TERM; while :; do sleep 0.05; done"
    tasks = [TaskSpec(id="a", run=command), TaskSpec(id="b", run="true", after=("a",))]
    scene = Scene(tmp_path, tasks, settings=SETTINGS)

    def cancel(events: Sequence[Recorded], _: RunState) -> None:
        if any(isinstance(recorded.event, AttemptStarted) for recorded in events):
            with scene.store() as store:
                store.ask(scene.run_id, "cancel", key="1")

    verdict = scene.drive(listener=cancel)
    assert verdict.exit_code == Exit.NOT_MET
    assert only(scene).phase is AttemptPhase.CANCELLED
    assert survivors(scene) == []


def _ended_processes(scene: Scene) -> int:
    [ended] = [recorded.event for recorded in scene.events() if isinstance(recorded.event, AttemptEnded)]
    return ended.measure.ended_processes
