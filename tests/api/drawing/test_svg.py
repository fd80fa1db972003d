"""A document holds any text, needs nothing from outside, and has colours for light and for dark."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood import UsageError
from budwood.api.drawing import Drawing
from budwood.api.drawing.marks import MARKS, draw_legend, draw_mark
from budwood.api.drawing.svg import cut, document, element, title, width_of, words

EVIL = "<script>alert(1)</script>\"'&]]>\x00\x1b[31m\ud800\uffff"


@given(st.text(st.characters(codec=None)))
def test_whatever_is_written_it_is_text(said: str) -> None:
    svg = document(100, 50, words(1, 2, said), element("g", title(said, said)), label=said)
    assert len(list(ElementTree.fromstring(svg).iter())) == 6


def test_markup_stays_text_and_what_xml_cannot_hold_is_replaced() -> None:
    svg = document(100, 50, words(1, 2, EVIL), label=EVIL)
    assert "<script" not in svg
    [text] = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    assert text.text == "<script>alert(1)</script>\"'&]]>\ufffd\ufffd[31m\ufffd\ufffd"
    svg.encode("utf-8")


def test_every_colour_has_another_where_it_is_dark_and_the_panel_is_opaque() -> None:
    drawn = "".join(draw_mark(word, 9, 9) for word in MARKS)
    svg = document(100, 50, drawn, draw_legend(MARKS, 0, 20), words(1, 2, "x"), label="x")
    used = {name for classes in re.findall(r' class="([fs]-[^"]+)"', svg) for name in classes.split()}
    assert len(used) > 10
    assert [name for name in used if f".budwood-drawing .{name}{{" not in svg] == []
    assert '<rect x="0.5" y="0.5" width="99" height="49" rx="6" fill="#ffffff"' in svg


def test_no_two_marks_of_one_drawing_look_alike_without_their_colours() -> None:
    in_trees = ("best chosen promoted kept pruned rejected failed skipped cancelled running", "to come", "not valid")
    in_timelines = ("succeeded failed cancelled abandoned running", "timed out")
    for group in (in_trees, in_timelines):
        known = [MARKS[word] for word in (*group[0].split(), *group[1:])]
        looks = {(mark.shape, mark.filled) for mark in known}
        assert len(looks) == len(known)


def test_text_is_cut_to_its_room() -> None:
    assert cut("a  short\nname", 100) == "a short name"
    assert cut("abcdefghij", width_of("abcde")) == "abcd…"
    assert width_of(cut("日本語のタスク", 40)) <= 40
    assert cut("abc", 1) == ""


def test_a_drawing_is_saved_as_it_is_and_only_as_svg(tmp_path: Path) -> None:
    drawing = Drawing(svg="<svg>ü</svg>", text="Tree of run night")
    drawing.save(tmp_path / "tree.svg")
    drawing.save(str(tmp_path / "tree.svg"))
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == drawing.svg == drawing._repr_svg_()
    assert repr(drawing) == "<Tree of run night>"
    with pytest.raises(UsageError, match=r"tree\.png is no name for a drawing"):
        drawing.save(tmp_path / "tree.png")
    assert [each.name for each in tmp_path.iterdir()] == ["tree.svg"]
