"""Help: grouped, with an example each; near misses and guesses are answered with the right name."""

import re
from pathlib import Path

import click
import pytest
from tests.support.program import call

from budwood.cli.app import GUESSES, NAMES, SECTIONS, app


def every_command() -> list[tuple[str, click.Command]]:
    """List all commands with their paths, groups and what is in them."""
    found: list[tuple[str, click.Command]] = []
    stack: list[tuple[str, click.Command]] = [("", app)]
    while stack:
        path, command = stack.pop()
        if path:
            found.append((path, command))
        if isinstance(command, click.Group):
            ctx = click.Context(command)
            for name in command.list_commands(ctx):
                inner = command.get_command(ctx, name)
                assert inner is not None
                stack.append((f"{path} {name}".strip(), inner))
    return sorted(found, key=lambda each: each[0])


COMMANDS = every_command()
PATHS = [path for path, _ in COMMANDS]


def test_help_is_grouped(tmp_path: Path) -> None:
    out = call("--help", cwd=tmp_path).out
    headings = [line[:-1] for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert [heading for heading in headings if heading != "Options"] == list(SECTIONS)
    commands = re.findall(r"^  ([a-z-]+)  ", out, re.MULTILINE)
    listed = [name for name in commands if name in NAMES]
    assert listed == list(NAMES)
    assert max(map(len, out.splitlines())) <= 80
    assert call("-h", cwd=tmp_path).out == out


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=PATHS)
def test_every_command_says_what_it_does_and_gives_an_example(
    path: str, command: click.Command, tmp_path: Path
) -> None:
    assert command.help
    assert f"Example: budwood {path}" in command.help.split("\n", 1)[1]
    assert not command.get_short_help_str(90).endswith("...")
    ran = call(*path.split(), "--help", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: budwood {path}")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert call(*path.split(), "-h", cwd=tmp_path).out == ran.out


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=PATHS)
def test_every_option_is_explained(path: str, command: click.Command) -> None:
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize(("guess", "meant"), GUESSES.items())
def test_guesses_are_answered_with_the_right_name(tmp_path: Path, guess: str, meant: str) -> None:
    ran = call(guess, cwd=tmp_path)
    assert ran.code == 2
    assert ran.err == f"error: there is no command {guess!r}\n\nhint: did you mean budwood {meant}?\n"
    assert meant in PATHS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("statsu", "status"), ("lgos", "logs"), ("resum", "resume"), ("docter", "doctor"), ("LS", "ls")],
)
def test_near_misses_are_answered_with_the_right_name(tmp_path: Path, typed: str, meant: str) -> None:
    assert f"did you mean budwood {meant}?" in call(typed, cwd=tmp_path).err


def test_what_is_like_nothing_is_sent_to_the_help(tmp_path: Path) -> None:
    ran = call("xyzzy", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: there is no command 'xyzzy'\n\nhint: budwood --help lists the commands\n"


def test_an_unknown_option_is_answered_with_help(tmp_path: Path) -> None:
    ran = call("ls", "--jsno", cwd=tmp_path)
    assert ran.code == 2
    assert "--jsno" in ran.err
    assert "--json" in ran.err or "hint: budwood ls --help" in ran.err


def test_a_missing_argument_names_it(tmp_path: Path) -> None:
    ran = call("plan", "show", cwd=tmp_path)
    assert ran.code == 2
    assert "FILE" in ran.err
    assert "hint: budwood plan show --help" in ran.err


def test_the_version_is_told(tmp_path: Path) -> None:
    from budwood import __version__

    assert call("--version", cwd=tmp_path).out == f"budwood {__version__}\n"


@pytest.mark.parametrize("group", ["plan", "store", "config"])
def test_a_group_alone_shows_its_help(tmp_path: Path, group: str) -> None:
    ran = call(group, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == call(group, "--help", cwd=tmp_path).out
