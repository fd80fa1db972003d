"""`budwood init`: a project with settings and a plan that really runs."""

import os
from collections.abc import Iterable
from pathlib import Path

import click

from budwood.cli.looking import note
from budwood.cli.templates import PLAN_FILE, TEMPLATES
from budwood.errors import UsageError
from budwood.project.detecting import detect
from budwood.project.place import STATE_DIR, make_state_dir


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    help="Prompts for agents (plan), several attempts at one task (best-of), a search (beam, mcts, evolve), or "
    "commands; default: plan inside git, commands elsewhere.",
)
def command(directory: Path, template: str | None) -> None:
    """Make DIRECTORY (default: here) a project: settings, and a plan to try.

    Inside git it looks for agents, tests and lock files, and writes what it found into the settings, with comments.
    Files that are there are never overwritten.

    \b
    Example: budwood init && budwood run plan.toml
    """
    chosen = template or ("plan" if _in_git(directory) else "commands")
    texts = {directory / name: text for name, text in TEMPLATES[chosen](detect(directory, os.environ)).items()}
    there = [path for path in texts if path.exists()]
    if there:
        raise UsageError(
            f"{' and '.join(map(str, there))} {'is' if len(there) == 1 else 'are'} there already; nothing was written",
            hint="budwood init DIRECTORY makes a project elsewhere",
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        make_state_dir(directory / STATE_DIR)
        for path, text in texts.items():
            path.parent.mkdir(exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise UsageError(f"{error.filename or directory} cannot be written: {error.strerror}") from error
    _tell(directory, texts)


def _in_git(directory: Path) -> bool:
    here = directory.resolve()
    return any(os.path.exists(folder / ".git") for folder in (here, *here.parents))


def _tell(directory: Path, files: Iterable[Path]) -> None:
    plan = directory / PLAN_FILE
    note(
        f"made {', '.join(map(str, files))} and {directory / STATE_DIR}, which git ignores\n\n"
        f"  budwood plan show {plan}   draws the plan\n"
        f"  budwood run {plan}         runs it\n"
        f"  budwood status{' ' * len(str(plan))}       shows what runs and what ended"
    )
