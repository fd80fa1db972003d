"""The page of candidates: whatever a run has in it, nothing of it is more than text there."""

from html.parser import HTMLParser

from budwood._core.model import TaskPhase
from budwood.cli.page import comparison_page
from budwood.review.changes import Change
from budwood.review.comparing import Compared, Variant

HEAD = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n"


class Seen(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def candidate(number: int, *, why: str = "") -> Compared:
    return Compared(
        task=f"try-{number}",
        attempt=1,
        state=TaskPhase.DONE,
        description="",
        agent="maker",
        model=None,
        decision="kept",
        why=why,
        is_best=number == 2,
        score=None,
        cost_usd=0.0,
        untold=0,
        duration_s=1.0,
        candidate="c" * 40,
        files=[Change(path="x", what="changed", lines_added=1, lines_removed=0)],
        only_here=[],
    )


def page(path: str = "x", *patches: str, why: str = "") -> Seen:
    """Look at the page of twelve candidates that made these of one file."""
    variants = [Variant(tasks=(f"try-{n}",), patch=patch) for n, patch in enumerate(patches, start=1)]
    return Seen(comparison_page("night", [candidate(n, why=why) for n in range(1, 13)], {path: variants}))


def test_what_comes_from_a_run_is_text() -> None:
    evil = '<script>alert("x")</script>'
    seen = page(f"{evil} with spaces.html", f"{HEAD}@@ -0,0 +1 @@\n+{evil}\n", why=evil)
    assert "script" not in seen.tags
    assert f"{evil} with spaces.html " in seen.texts
    assert f"+{evil}" in seen.texts
    assert seen.texts.count(evil) == 12


def test_columns_that_nobody_has_anything_in_are_left_out() -> None:
    assert not {"Model", "Cost", "Score", "Why"} & set(page().texts)
    assert "Why" in page(why="better").texts


def test_a_line_stays_one_whatever_is_in_it() -> None:
    long = "+" + "x" * 5000
    seen = page("x", f"{HEAD}@@ -0,0 +1,2 @@\n{long}\n+a\x0cb\u2028c\r\n")
    assert [text for text in seen.texts if text.startswith("+") and text != "+12 -0"][-2:] == [long, "+a\x0cb\u2028c\r"]


def test_what_has_no_lines_is_told_in_words() -> None:
    seen = page(
        "x",
        "diff --git a/x b/x\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/x differ\n",
        "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        "diff --git a/x b/x\nnew file mode 100644\nindex 0..0\n",
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
    )
    assert seen.texts.count("no text") == 1
    for words in ("new; no text", "new, and empty", "old mode 100644; new mode 100755"):
        assert words in seen.texts
