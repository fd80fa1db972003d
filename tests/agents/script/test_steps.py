"""A file of steps that is wrong ends with code 2 and one line that names file, step and key; nothing is done."""

import pytest
from tests.agents.script.following import Scene

from budwood.agents.script.__main__ import main

GOOD = '[[step]]\ndo = "write"\npath = "made"\ntext = ""\n'


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ('do = "wirte"', ": unknown step 'wirte'; did you mean 'write'?"),
        ('do = "zzz"', ": unknown step 'zzz'; steps are write, append, edit, "),
        ('path = "x"', ": 'do' says what to do, and is missing; steps are "),
        ("do = 1", ": 'do' says what to do, and is no text"),
        ('do = "write"\npth = "x"\ntext = ""', " (write): unknown key 'pth'; did you mean 'path'?"),
        ('do = "say"\ntext = ""\ncolour = 1', " (say): unknown key 'colour'; say takes "),
        ('do = "write"\npath = "x"', " (write): the key 'text' is missing; add text = …"),
        ('do = "write"\npath = 3\ntext = ""', " (write): 'path' has a wrong value; expected `str`, got `int`"),
        (
            'do = "write"\npath = ""\ntext = ""',
            " (write): 'path' has a wrong value; expected `str` of length >= 1",
        ),
        ('do = "sleep"\nseconds = 3601', " (sleep): 'seconds' has a wrong value; expected `float` <= 3600"),
        ('do = "sleep"\nseconds = nan', " (sleep): 'seconds' has a wrong value; "),
        ('do = "sleep"\nseconds = -1', " (sleep): 'seconds' has a wrong value; expected `float` >= 0"),
        ('do = "fail"\nexit_code = 0', " (fail): 'exit_code' has a wrong value; expected `int` >= 1"),
        ('do = "cost"', " (cost): the key 'usd' is missing, and 'tokens' too; give one of them"),
        ('do = "cost"\nusd = -1', " (cost): 'usd' has a wrong value; expected `float` >= 0"),
        ('do = "cost"\nusd = nan', " (cost): 'usd' has a wrong value; "),
        (
            'do = "cost"\ntokens = 1.5',
            " (cost): 'tokens' has a wrong value; expected `int | null`, got `float`",
        ),
        (
            'do = "crash"\nsignal = "SIGKIL"',
            " (crash): 'signal' is 'SIGKIL', which ends no process; did you mean",
        ),
        ('do = "crash"\nsignal = "SIGCHLD"', " (crash): 'signal' is 'SIGCHLD', which ends no process"),
        ('do = "limit"\nuntil = 2027-01-15T10:00:00', " (limit): 'until' has no time zone; add Z"),
        ('do = "limit"\nuntil = "soon"', " (limit): 'until' has a wrong value; "),
        ('do = "hang"\nonly_attempt = 0', " (hang): 'only_attempt' has a wrong value; expected `int` >= 1"),
        (
            'do = "hang"\nonly_attempt = 1\nfrom_attempt = 1',
            " (hang): 'only_attempt' and 'from_attempt' exclude",
        ),
        (
            'do = "say"\ntext = "{task}"',
            ", text: this needs BUDWOOD_TASK, which is not set; set BUDWOOD_TASK=1",
        ),
        ('do = "hang"\nonly_attempt = 1', ": this needs BUDWOOD_ATTEMPT, which is not set"),
    ],
)
def test_a_step_that_is_wrong_is_named_and_nothing_is_done(scene: Scene, step: str, words: str) -> None:
    ran = scene.follow(f"{GOOD}[[step]]\n{step}\n")
    assert ran.code == 2
    assert ran.err.startswith(f"{scene.file}: step 2{words}")
    assert ran.err.count("\n") == 1
    assert (ran.report["outcome"], ran.report["message"]) == ("failed", ran.err.removesuffix("\n"))
    assert list(scene.workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", " has no steps; add one"),
        ("step = 3", " has no steps; add one"),
        ("[[steps]]", ": unknown key 'steps'; did you mean [[step]]?"),
        ("[[step]", " is no TOML: "),
    ],
)
def test_a_file_that_has_no_steps_is_refused(scene: Scene, text: str, words: str) -> None:
    ran = scene.follow(text)
    assert ran.code == 2
    assert ran.err.startswith(f"{scene.file}{words}")


def test_an_attempt_that_is_no_number_is_refused(scene: Scene) -> None:
    ran = scene.follow('[[step]]\ndo = "hang"\nonly_attempt = 1\n', BUDWOOD_ATTEMPT="first")
    assert (ran.code, "BUDWOOD_ATTEMPT is 'first', no number" in ran.err) == (2, True)


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--help"], ["none.toml"]])
def test_a_call_without_one_file_is_refused(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capfd.readouterr().err
