"""One thing has one name: second words for it appear neither in the documentation nor in the program's help."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.docs.pages import page_name, pages, without_code

from budwood.cli.app import app

SECOND_WORDS = {
    "job": "task",
    "trial": "attempt",
    "epic": "lane",
    "session": "run",
    "study": "run",
    "experiment": "run",
    "workflow": "plan",
    "pipeline": "plan",
    "orchestrator": "driver",
    "coordinator": "driver",
    "dispatcher": "driver",
}
_FORMS = {word: re.compile(rf"\b{word[:-1]}(?:{word[-1]}s?|ies)\b", re.IGNORECASE) for word in SECOND_WORDS}

FREE = {
    "docs/explanation/glossary.md": set(SECOND_WORDS),  # it lists them
    "docs/how-to/coming-from-make.md": set(SECOND_WORDS),  # it translates
    "docs/how-to/coming-from-yokeflow.md": set(SECOND_WORDS),
    "docs/how-to/coming-from-axiom.md": set(SECOND_WORDS),
    "docs/how-to/coming-from-tree-runner.md": set(SECOND_WORDS),
    "docs/reference/plan-file.md": {"epic"},  # of another program's files
    # A session is also what POSIX calls a set of processes.
    "docs/reference/supervisor-protocol.md": {"session", "worker"},
    "docs/reference/functions.md": {"worker"},  # the process that calls functions
    "docs/reference/commands.md": {"session"},
    "docs/explanation/architecture.md": {"session"},
    "docs/explanation/limits.md": {"session"},
    "docs/explanation/decisions/0002-a-supervisor-per-slot.md": {"session"},
}
PAGES = pages("README.md", "examples/README.md", "docs")


def second_words(text: str, *, free: set[str]) -> list[str]:
    return [
        f"{match.group()}: say {SECOND_WORDS[word]}"
        for word, form in _FORMS.items()
        if word not in free
        for match in form.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_has_no_second_word_for_what_has_a_name(page: Path) -> None:
    text = without_code(page.read_text(encoding="utf-8"))
    assert second_words(text, free=FREE.get(page_name(page), set())) == []


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, click.Context(inner, info_name=name, parent=context))


def test_the_help_of_the_commands_has_no_second_word_for_what_has_a_name() -> None:
    # With the settings of the program: click remembers which help options a command was first asked with.
    helps = commands(app, click.Context(app, info_name="budwood", **app.context_settings))
    assert [f"{name}: {word}" for name, text in helps for word in second_words(text, free=set())] == []


def test_plurals_are_found_and_longer_words_are_not() -> None:
    assert second_words("Jobs, studies, networkers", free=set()) == ["Jobs: say task", "studies: say run"]
