"""Prompts of attempts: every part in its place, nothing where there is nothing, and no part without an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood.agents.base import Overrides
from budwood.agents.prompts import (
    DEFAULT_TEMPLATE,
    DEPENDENCIES,
    FILES,
    NAMES,
    NOTE_BYTES,
    NOTES,
    OTHERS_BYTES,
    TASK_BYTES,
    Briefing,
    Note,
    Result,
    check_prompt_template,
    cut,
    prompt_for,
)
from budwood.agents.registry import agent_named
from budwood.agents.template import check_template, fill
from budwood.errors import SettingsError

CLAUDE = agent_named("claude")
WHOLE = Briefing(
    task="Add a form.\n",
    goal="Ship the settings page",
    results=(Result(task="models", description="Add\nmodels", files=("a.py", "b.py")), Result(task="7")),
    notes=(
        Note(attempt=1, ended="the check failed: exit code 1", output="\x1b[31mE\x1b[0m assert 1 == 2\n  at x\n"),
        Note(attempt=2, ended="it reached its time limit"),
    ),
    revision="Use a table.",
    check="pytest -q\nruff check",
)
WRITTEN = """\
Add a form.

# What it is part of

Ship the settings page

# What was done before, and is in the working directory

- models: Add models
  - a.py
  - b.py
- 7

# Earlier attempts at this task, which failed

The working directory may hold nothing of them.

Attempt 1: the check failed: exit code 1

    E assert 1 == 2
      at x

Attempt 2: it reached its time limit

# What a person wants changed

Use a table.

# When it is done

- Everything that the task asks for is in files of the working directory. Leave your changes there; whether they are
  committed does not matter.
- This command, run in the working directory after you have ended, ends with exit code 0:

    pytest -q
    ruff check

- Do not push, and change nothing outside the working directory.
- Nobody answers questions. Decide what is left open, and end when you are done.
"""


def write(briefing: Briefing, template: str | None = None) -> str:
    return prompt_for(CLAUDE, briefing, template=template)


def test_every_part_is_in_its_place() -> None:
    assert write(WHOLE) == WRITTEN


def test_where_there_is_nothing_nothing_is_said() -> None:
    text = write(Briefing(task="Do it."))
    assert text.startswith("Do it.\n\n# When it is done\n\n- Everything")
    assert text.count("#") == 1
    assert "exit code" not in text


def test_an_agent_that_follows_its_prompt_gets_the_task_alone() -> None:
    script = agent_named("script", Overrides(python="python3"))
    steps = '\n[[step]]\ndo = "say"\ntext = "{{task}}"\n\n'
    assert prompt_for(script, Briefing(task=steps, goal="g", check="c")) == steps


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    assert write(Briefing(task="{{goal}} {{#nonsense}}", goal="{{task}}"), "{{task}}|{{goal}}") == (
        "{{goal}} {{#nonsense}}|{{task}}\n"
    )


def test_parts_have_ends() -> None:
    huge = "ä" * TASK_BYTES
    note = Note(attempt=1, ended=huge, output=f"first\n{huge}\nlast")
    result = Result(task="t", description=huge, files=tuple(f"f{n}" for n in range(FILES + 3)))
    text = write(
        Briefing(
            task=f"begin {huge} end",
            goal=huge,
            revision=huge,
            check=huge,
            notes=(*(Note(attempt=n, ended="e") for n in range(9)), note),
            results=(result,) * (DEPENDENCIES + 2),
        )
    )
    assert len(text.encode()) < TASK_BYTES + 4 * NOTE_BYTES * (DEPENDENCIES + NOTES + 20)
    for words in (
        *("begin ä", "ä end", "    first\n", "    last\n", "bytes are left out here]"),
        *("  - and 3 more files\n", "- and 2 more tasks\n", "(5 attempts before these are left out.)\n"),
    ):
        assert words in text
    assert "Attempt 4: e" not in text
    assert "Attempt 5: e" in text


@given(st.text(max_size=300), st.integers(8, 200))
def test_a_text_that_is_cut_keeps_both_ends_and_says_how_much_is_gone(text: str, most: int) -> None:
    raw = text.encode()
    got = cut(text, most)
    if len(raw) <= most:
        assert got == text
        return
    head, _, tail = got.partition("\n[")
    number, _, rest = tail.partition(" bytes are left out here]\n")
    if "\n[" not in text:
        assert text.startswith(head)
        assert text.endswith(rest)
        assert len(head.encode()) + int(number) + len(rest.encode()) == len(raw)
        assert len(head.encode()) + len(rest.encode()) <= most


def test_the_template_of_budwood_is_one() -> None:
    check_prompt_template(DEFAULT_TEMPLATE, where="default")
    assert [name for name in NAMES if f"{{{{{name}}}}}" not in DEFAULT_TEMPLATE] == []


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("{{task}}\n{{gaol}}", "t.md:2: unknown name 'gaol'", "did you mean 'goal'?"),
        ("{{task}} {{xyzzy}}", "t.md:1: unknown name 'xyzzy'", f"names are {', '.join(NAMES)}"),
        ("{{task}} {{#nots}}x{{/nots}}", "t.md:1: unknown name 'nots'", "did you mean 'notes'?"),
        (
            "{{task}} {{ secrets.X }}",
            "t.md:1: '{{ secrets.X }}' is no placeholder",
            "write {{name}}, {{#name}} or {{/name}}",
        ),
        ("{{task}}{{#goal}}", "t.md: {{#goal}} is never closed", "close it: {{/goal}}"),
        ("{{task}}{{/goal}}", "t.md:1: {{/goal}} closes a part that is not open", "open it: {{#goal}}"),
        ("{{task}}{{#goal}}{{/notes}}", "t.md:1: {{/notes}} closes a part that is not open", "open it: {{#notes}}"),
        ("{{#goal}}{{#notes}}", "t.md:1: {{#notes}} stands inside {{#goal}}", "close that first: {{/goal}}"),
        ("{{goal}}", "t.md has no {{task}}", "put {{task}} where it belongs"),
        ("{{#task}}x{{/task}}", "t.md has no {{task}}", "put {{task}} where it belongs"),
        ("x" * (TASK_BYTES + 1), "t.md is larger than 256 KiB", "a template holds no task"),
    ],
)
def test_a_template_that_means_nothing_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_prompt_template(text, where="t.md")
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_parts_vanish_with_their_lines() -> None:
    text = "a\n  {{# b }}\nB: {{ b }}\n{{/b}}  \nc {{#b}}yes{{/b}}.\n"
    check_template(text, ["b"], where="t", needs="b")
    assert fill(text, {"b": ""}) == "a\nc .\n"
    assert fill(text, {"b": "x"}) == "a\nB: x\nc yes.\n"


def test_what_others_changed_is_set_in_and_shares_the_room() -> None:
    patch = "diff --git a/x b/x\n+# not a heading\n"
    written = prompt_for(CLAUDE, Briefing(task="Judge.", others={"try-1": patch, "try-2": ""}))
    assert "# What others have changed, which is not in the working directory\n\ntry-1:\n\n    diff --git" in written
    assert "\n    +# not a heading\n\ntry-2:\n\n    nothing\n" in written
    long = prompt_for(CLAUDE, Briefing(task="Judge.", others=dict.fromkeys("abcd", "x\n" * OTHERS_BYTES)))
    assert OTHERS_BYTES < len(long) < 4 * OTHERS_BYTES
    assert long.count("bytes are left out here") == 4
