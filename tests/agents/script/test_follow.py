"""Steps do real work, and the last line says how it went."""

import json
import signal
import subprocess
import time

import pytest
from tests.agents.script.following import Scene

WORK = """
[[step]]
do = "write"
path = "notes/{task}.txt"
text = "attempt {attempt} of {task}, seed {seed}, {other}\\n"

[[step]]
do = "append"
path = "notes/{task}.txt"
text = "and more\\n"

[[step]]
do = "edit"
path = "notes/{task}.txt"
find = "more"
replace = "{attempt} more"

[[step]]
do = "read"
path = "notes/{task}.txt"
contains = "and 2 more"

[[step]]
do = "run"
command = "echo made by a command > made; echo printed"

[[step]]
do = "write"
path = "gone"
text = ""

[[step]]
do = "delete"
path = "gone"

[[step]]
do = "sleep"
seconds = 0

[[step]]
do = "say"
text = "all done: ü {seed}"
"""


def test_an_attempt_does_what_the_steps_say(scene: Scene) -> None:
    ran = scene.start(WORK, BUDWOOD_TASK="form", BUDWOOD_ATTEMPT="2", BUDWOOD_ATTEMPT_SEED="77")
    assert (scene.workspace / "notes/form.txt").read_text() == ("attempt 2 of form, seed 77, {other}\nand 2 more\n")
    assert (scene.workspace / "made").read_text() == "made by a command\n"
    assert not (scene.workspace / "gone").exists()
    assert ran.out.splitlines()[:-1] == [
        "attempt 2 of form, seed 77, {other}",
        "and 2 more",
        "printed",
        "all done: ü 77",
    ]
    assert ran.report == {
        "type": "result",
        "agent": "script",
        "outcome": "ok",
        "message": "",
        "until_ms": None,
        "input_tokens": None,
        "output_tokens": None,
        "cached_tokens": None,
        "cost_usd": None,
        "model": None,
        "files": ["notes/form.txt", "gone"],
        "request_id": None,
    }
    assert (ran.code, ran.err) == (0, "")
    assert not scene.usage.exists()


@pytest.mark.parametrize(
    ("step", "code", "message"),
    [
        ('do = "fail"', 1, "step 2: told to fail"),
        ('do = "fail"\nmessage = "no {task}"\nexit_code = 7', 7, "step 2: no luck"),
        ('do = "run"\ncommand = "exit 9"', 9, "step 2: the command ended with exit code 9"),
        ('do = "run"\ncommand = "kill -9 $$"', 137, "step 2: the command was ended by SIGKILL"),
        ('do = "read"\npath = "none"', 1, "step 2: none: No such file or directory"),
        ('do = "read"\npath = "there"\ncontains = "y"', 1, "step 2: there does not contain 'y'"),
        ('do = "edit"\npath = "there"\nfind = "y"\nreplace = "z"', 1, "step 2: there does not contain 'y'"),
        ('do = "delete"\npath = "none"', 1, "step 2: none: No such file or directory"),
        ('do = "write"\npath = "there/below"\ntext = ""', 1, "step 2: there: File exists"),
        ('do = "commit"\nmessage = "m"', 128, "step 2: git add ended with exit code 128"),
    ],
)
def test_a_step_that_fails_ends_the_work(scene: Scene, step: str, code: int, message: str) -> None:
    first = '[[step]]\ndo = "write"\npath = "there"\ntext = "x"\n'
    steps = f'{first}[[step]]\n{step}\n[[step]]\ndo = "delete"\npath = "there"\n'
    ran = scene.follow(steps, BUDWOOD_TASK="luck", GIT_CEILING_DIRECTORIES=str(scene.workspace.parent))
    assert ran.end == (code, "failed", message)
    assert ran.report["files"] == ["there"]
    assert (scene.workspace / "there").read_text() == "x"


def test_retries_can_differ(scene: Scene) -> None:
    steps = (
        '[[step]]\ndo = "fail"\nonly_attempt = 1\n[[step]]\ndo = "write"\npath = "late"\ntext = ""\nfrom_attempt = 3\n'
    )
    ends = [scene.follow(steps, BUDWOOD_ATTEMPT=str(number)) for number in (1, 2, 3, 4)]
    assert [(ran.code, ran.report["files"]) for ran in ends] == [(1, []), (0, []), (0, ["late"]), (0, ["late"])]


def test_costs_add_up_and_count_for_an_attempt_that_dies(scene: Scene) -> None:
    steps = '[[step]]\ndo = "cost"\nusd = 0.5\n[[step]]\ndo = "cost"\nusd = 0.25\ntokens = 30\n'
    ran = scene.follow(steps)
    assert (ran.report["cost_usd"], ran.report["input_tokens"], ran.report["output_tokens"]) == (0.75, 0, 30)
    assert json.loads(scene.usage.read_text()) == {"cost_usd": 0.75, "tokens": 30}
    scene.usage.unlink()
    died = scene.start('[[step]]\ndo = "cost"\ntokens = 5\n[[step]]\ndo = "crash"\n')
    assert (died.code, died.out) == (-signal.SIGKILL, "")
    assert json.loads(scene.usage.read_text()) == {"cost_usd": None, "tokens": 5}


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGINT", "SIGTERM"])
def test_a_crash_is_one_by_the_signal_and_leaves_nothing(scene: Scene, name: str) -> None:
    ran = scene.start(f'[[step]]\ndo = "crash"\nsignal = "{name}"\n')
    assert (ran.code, ran.out, ran.err) == (-signal.Signals[name], "", "")
    assert list(scene.workspace.iterdir()) == []


def test_a_limit_says_until_when(scene: Scene) -> None:
    ran = scene.follow('[[step]]\ndo = "limit"\nuntil = 2027-01-15T10:00:00+02:00\n')
    assert ran.end == (1, "limit", "step 1: told to be at a limit")
    assert ran.report["until_ms"] == 1_800_000_000_000
    before_ms = time.time() * 1000
    soon = scene.follow('[[step]]\ndo = "limit"\nuntil = 60\n').report["until_ms"]
    assert 60_000 <= soon - before_ms + 1 < 90_000
    assert scene.follow('[[step]]\ndo = "limit"\n').report["until_ms"] is None


def test_what_hangs_can_be_ended(scene: Scene) -> None:
    with scene.open('[[step]]\ndo = "say"\ntext = "now"\n[[step]]\ndo = "hang"\n') as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        assert process.poll() is None
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM


def test_everything_is_committed(scene: Scene) -> None:
    git = ["git", "-C", str(scene.workspace), "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], check=True)
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    steps = '[[step]]\ndo = "write"\npath = "new"\ntext = "x"\n[[step]]\ndo = "commit"\nmessage = "by {task}"\n'
    assert scene.follow(steps, BUDWOOD_TASK="t", **who).end == (0, "ok", "")
    log = subprocess.run([*git, "log", "--name-only", "--format=%s"], check=True, capture_output=True, text=True)
    assert log.stdout.split("\n") == ["by t", "", "new", ""]
    again = scene.follow('[[step]]\ndo = "commit"\nmessage = "nothing"\n', **who)
    assert again.end == (1, "failed", "step 1: git commit ended with exit code 1")
