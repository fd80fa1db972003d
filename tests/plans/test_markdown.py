"""Lists of tasks in Markdown: what is a task, what it is called, and what is refused."""

from pathlib import Path

import pytest

from budwood.errors import PlanError
from budwood.plans import Plan, parse_plan, read_plan


def page(text: str | bytes) -> Plan:
    return parse_plan(text.encode() if isinstance(text, str) else text, path="tasks.md", notation="markdown")


def refusal(text: str | bytes) -> PlanError:
    with pytest.raises(PlanError) as caught:
        page(text)
    return caught.value


def ids(text: str | bytes) -> list[object]:
    return [task.id for task in page(text).tasks]


def test_each_section_is_a_task_with_its_heading_and_its_whole_text() -> None:
    plan = page(
        "# Goal\n\n## Add a model\n\nWith migrations.\n\n- a\n- b\n\n### Notes\n\nShort.\n\n## Write the form\n"
    )
    assert [(task.id, task.description, task.prompt) for task in plan.tasks] == [
        (
            "add-a-model",
            "Add a model",
            "## Add a model\n\nWith migrations.\n\n- a\n- b\n\n### Notes\n\nShort.",
        ),
        ("write-the-form", "Write the form", "## Write the form"),
    ]
    assert plan.run == {"goal": "Goal"}
    assert (plan.format, plan.left_out) == ("markdown", ())


def test_without_sections_each_outer_bullet_is_a_task_and_nested_ones_are_part_of_it() -> None:
    plan = page(
        "* Add a model\n  - with migrations\n  - and defaults\n\n  A paragraph.\n* Write\n  the form\n\n+ Third\n"
    )
    assert [(task.id, task.description, task.prompt) for task in plan.tasks] == [
        ("add-a-model", "Add a model", "Add a model\n- with migrations\n- and defaults\n\nA paragraph."),
        ("write", "Write", "Write\nthe form"),
        ("third", "Third", "Third"),
    ]


def test_ticked_tasks_are_left_out_and_said() -> None:
    plan = page("- [x] Old\n- [ ] New\n  - [x] inside\n- [X] Older\n")
    assert [(task.id, task.prompt) for task in plan.tasks] == [("new", "New\n- [x] inside")]
    assert plan.left_out == ("2 ticked off and left out: Old; Older",)
    assert page("## [x] Old\n\n## [ ] New\n").tasks[0].description == "New"


def test_code_fences_quotes_and_comments_hold_no_tasks() -> None:
    text = "## One\n\n```md\n## Two\n- x\n```\n\n    ## Three\n\n> ## Four\n\n<!-- ## Five\n## Six -->\n\nEnd.\n"
    [task] = page(text).tasks
    assert task.prompt == ("## One\n\n```md\n## Two\n- x\n```\n\n    ## Three\n\n> ## Four\n\n\nEnd.")


def test_front_matter_holds_the_keys_of_run() -> None:
    plan = page('+++\nagent = "claude"\ngoal = "Mine"\nslots = 2\n+++\n# Theirs\n- a\n')
    assert plan.run == {"agent": "claude", "goal": "Mine", "slots": 2}
    assert refusal("+++\nslot = 2\n+++\n- a\n").hint == "did you mean 'slots'?"
    assert refusal("+++\nslots = \n+++\n- a\n").message.startswith("tasks.md:2:")
    assert "without an end" in refusal("+++\nslots = 2\n- a\n").message
    assert "YAML" in refusal("---\nslots: 2\n---\n- a\n").message


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_change_nothing(end: str, mark: bytes) -> None:
    text = "+++\nslots = 2\n+++\n- a\n  b\n\n- c\n".replace("\n", end)
    plan = page(mark + text.encode())
    assert [(task.id, task.prompt) for task in plan.tasks] == [("a", "a\nb"), ("c", "c")]


def test_an_id_is_safe_and_comes_from_the_tasks_own_words_alone() -> None:
    first = ids("- Fix `app.py`: the *login*\n")
    assert first == ["fix-app-py-the-login"]
    assert ids("- Other\n- Fix `app.py`: the *login*\n- More\n")[1:2] == first
    [long] = ids("- " + "very " * 30 + "long\n")
    [longer] = ids("- " + "very " * 31 + "long\n")
    assert isinstance(long, str)
    assert len(long) <= 55
    assert long != longer
    assert long.startswith("very-very-")
    greek, other = ids("- Διόρθωσε\n- Γράψε\n")
    assert greek != other
    assert str(greek).isascii()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tasks.md is empty"),
        (" \n\t\n", "tasks.md is empty"),
        ("Only words.\n", "tasks.md has no tasks"),
        ("# Only a title\n", "tasks.md has no tasks"),
        ("1. one\n2. two\n", "tasks.md has no tasks"),
        ("- [x] a\n- [x] b\n", "every task of tasks.md is ticked off"),
        ("## Same\n\na\n\n## Same\n", "tasks.md:5: this task and that of line 1 would both be called 'same'"),
        ("- Same!\n- same?\n", "tasks.md:2: this task and that of line 1 would both be called 'same'"),
        ("## \n\ntext\n", "tasks.md:1: a section without a heading"),
        ("- a\n-\n", "tasks.md:2: a bullet that begins with no words"),
        ("- ```\n  x\n  ```\n", "tasks.md:1: a bullet that begins with no words"),
        ("- a\n\n```\n- b\n", "tasks.md:3: a code fence that is never closed"),
        ("- a\n\n<!-- later\n- b\n", "tasks.md:3: a comment that is never closed"),
    ],
)
def test_what_is_no_list_of_tasks_is_refused_with_its_line(text: str, message: str) -> None:
    refused = refusal(text)
    assert refused.message == message
    assert refused.hint


def test_a_numbered_list_is_told_how_to_be_one() -> None:
    assert refusal("1. one\n2. two\n").hint == "numbered items are none: write - before each"


def test_bytes_that_are_no_text_are_refused() -> None:
    assert refusal(b"- a\n- \xff\n").message == "tasks.md:2: not UTF-8 text"


def test_text_in_no_task_is_said() -> None:
    assert page("# T\n\nWords.\nMore.\n\n## A\n").left_out == (
        "line 3 to 4: text that is in no task, so no agent sees it",
    )
    assert page("# T\n\n<!-- a note -->\n\n### Group\n\n- A\n").left_out == ()


@pytest.mark.parametrize("name", ["tasks.md", "TASKS.MD", "tasks.markdown"])
def test_the_suffix_tells_what_a_file_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("- a\n")
    assert read_plan(tmp_path / name).tasks[0].id == "a"
