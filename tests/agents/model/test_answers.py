"""Edits are found in the text of an answer, however a model writes them down."""

import pytest

from budwood.agents.model.answers import Delete, Replace, Unusable, Whole, read_edits

BLOCK = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
OLD_NEW = ((("old",), ("new",)),)


@pytest.mark.parametrize(
    "text",
    [
        f"app.py\n{BLOCK}",
        f"app.py\r\n{BLOCK}".replace("\n", "\r\n").replace("\r\r", "\r"),
        f"`app.py`:\n{BLOCK}",
        f"**app.py**\n\n{BLOCK}",
        f"### File: app.py\n{BLOCK}",
        f"app.py\n```python\n{BLOCK}```\n",
        f"```python\napp.py\n{BLOCK}```\n",
        f"```js\n// app.py\n{BLOCK}```\n",
        f"```app.py\n{BLOCK}```\n",
        f"```python app.py\n{BLOCK}```\n",
        f"```python:app.py\n{BLOCK}```\n",
        f'~~~python path="app.py"\n{BLOCK}~~~\n',
        f"Change `app.py` like this:\n\n```python\n{BLOCK}```\n",
    ],
)
def test_a_block_has_its_name_wherever_it_stands(text: str) -> None:
    assert read_edits(text) == (Replace(number=1, path="app.py", ways=OLD_NEW),)


def test_blocks_follow_each_other_for_one_file_and_for_several() -> None:
    text = f"a.py\n{BLOCK}and\n{BLOCK}\nMakefile\n{BLOCK}```py\nb.py\n{BLOCK}\n{BLOCK}bin/run\n{BLOCK}```\n"
    assert [(edit.number, edit.path) for edit in read_edits(text)] == [
        (1, "a.py"),
        (2, "a.py"),
        (3, "Makefile"),
        (4, "b.py"),
        (5, "b.py"),
        (6, "bin/run"),
    ]


def test_whole_files_and_deletions_stand_beside_blocks() -> None:
    text = (
        f"First:\n```python pkg/a.py\na = 1\n\n```\n`bin/run`\n```\n#!/bin/sh\n```\nc.py\n{BLOCK}"
        "d.py\n<<<<<<< DELETE\n>>>>>>> DELETE\n"
    )
    assert read_edits(text) == (
        Whole(number=1, path="pkg/a.py", lines=("a = 1", "")),
        Whole(number=2, path="bin/run", lines=("#!/bin/sh",)),
        Replace(number=3, path="c.py", ways=OLD_NEW),
        Delete(number=4, path="d.py"),
    )


def test_fences_inside_a_file_belong_to_it() -> None:
    text = "````md README.md\n```\nx\n```\n````\n```md notes.md\n```sh\nls\n```\nend\n```\n"
    assert read_edits(text) == (
        Whole(number=1, path="README.md", lines=("```", "x", "```")),
        Whole(number=2, path="notes.md", lines=("```sh", "ls", "```", "end")),
    )


def test_a_block_whose_text_has_dividers_can_be_read_in_several_ways() -> None:
    [edit] = read_edits("a.rst\n<<<<<<< SEARCH\nHeading\n=======\n=======\nNew\n>>>>>>> REPLACE\n")
    assert isinstance(edit, Replace)
    assert edit.ways == ((("Heading",), ("=======", "New")), (("Heading", "======="), ("New",)))


@pytest.mark.parametrize(
    "text",
    [
        "Only words, e.g. about app.py.",
        "Run `tests/run.py` like this:\n```bash\npython tests/run.py\n```\n",
        "## Before/After\n```\nnothing\n```\n",
        "https://example.com/a.py\n```\nnothing\n```\n",
        "```python\nx = 1\n```\n",
        "",
    ],
)
def test_what_only_shows_something_is_no_edit(text: str) -> None:
    assert read_edits(text) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BLOCK, "block 1 of the answer.* has no file name"),
        (
            f"a.py\n{BLOCK}\n\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n",
            "block 2 of the answer.* has no file name",
        ),
        ("a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n", "block 1 .* does not end with >>>>>>> REPLACE"),
        (f"a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n{BLOCK}", "block 1 .* does not end with >>>>>>> REPLACE"),
        ("a.py\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n", "block 1 .* has no line of ======="),
        ("```python a.py\nx = 1\n", "the fenced block that opens on line 1 .* is not closed"),
        ("a.py\n<<<<<<< DELETE\n", "block 1 .* does not end with >>>>>>> DELETE"),
    ],
)
def test_what_does_not_end_or_has_no_name_is_refused(text: str, words: str) -> None:
    with pytest.raises(Unusable, match=words):
        read_edits(text)
