"""The drawing of scores: every candidate, the best so far, what is not valid, and where there is nothing."""

import math

import pytest
from tests.api.drawing.nodes import SVG, Seen, node, score, tree

from budwood._core.scores import Score
from budwood.api.drawing.scores import draw_scores


def line(seen: Seen, title: str) -> list[tuple[float, float]]:
    """Read the points of the line that has a title."""
    [data] = [
        each.attrib["d"]
        for each in seen.root.iter(f"{SVG}path")
        if (said := each.find(f"{SVG}title")) is not None and said.text == title
    ]
    return [(float(x), float(y)) for x, y in (point.split() for point in data[1:].split("L"))]


SOME = [
    node(0, "root", scored=score(10.0)),
    node(1, "worse", ("root",), scored=score(8.0)),
    node(2, "better", ("root",), scored=score(12.0)),
    node(3, "cheat", ("root",), scored=score(99.0, valid=False, why="rows are missing")),
    node(4, "nothing", ("root",), scored=score(None, valid=False, why="no number")),
    node(5, "nan", ("root",), scored=score(math.nan)),
    node(6, "thinker", ("root",)),
    node(7, "best", ("root",), scored=Score(value=14.0, metrics={"score": 14.0}, low=13.0, high=15.0)),
]


def test_every_candidate_is_a_mark_and_the_best_so_far_is_a_line() -> None:
    drawing = draw_scores(tree(SOME, best="best"))
    seen = Seen(drawing)
    assert drawing.text == "Scores of run night: 7 candidates, best score 14, the root has 10"
    assert {
        "root 10",
        "best",
        "scored",
        "not valid",
        "score (higher is better) over task number; line: the best so far",
    } <= set(seen.texts)
    assert seen.shapes("worse:") == ["circle"]
    assert seen.shapes("cheat:") == seen.shapes("nothing:") == seen.shapes("nan:") == ["circle", "path"]
    assert seen.shapes("best:") == ["path", "polygon"]  # where its mean lies, and its star
    assert "cheat: done\nscore 99\nnot valid\nrows are missing\n1 attempt, 2.0 s" in seen.titles
    points = line(seen, "best so far")
    x = {name: seen.number(f"{name}:", "circle", "cx") for name in ("root", "worse", "better", "cheat")}
    y = {name: seen.number(f"{name}:", "circle", "cy") for name in ("root", "worse", "better", "cheat")}
    assert x["root"] < x["worse"] < x["better"] < x["cheat"]
    assert y["cheat"] < y["better"] < y["root"] < y["worse"]
    assert points[:3] == [(x["root"], y["root"]), (x["better"], y["root"]), (x["better"], y["better"])]
    assert points[-1][1] < y["better"]
    assert {height for _, height in line(seen, "root 10")} == {y["root"]}


def test_where_lower_is_better_the_line_goes_down() -> None:
    seen = Seen(draw_scores(tree(SOME[:3], direction="min")))
    heights = [y for _, y in line(seen, "best so far")]
    assert heights[0] < heights[-1]
    assert any("lower is better" in text for text in seen.texts)


@pytest.mark.parametrize("values", [[3.0], [0.0, 0.0], [1.7e308, -1.7e308], [1e-12, 2e-12], [-5.0, -5.0]])
def test_any_numbers_can_be_drawn(values: list[float]) -> None:
    nodes = [node(number, f"t{number}", scored=score(value)) for number, value in enumerate(values)]
    drawing = draw_scores(tree(nodes))
    assert len(Seen(drawing).titles) == len(values) + 1
    assert not {"nan", "inf"} & set(drawing.svg.replace('"', " ").split())


def test_a_candidate_that_is_far_off_does_not_squash_the_others() -> None:
    values = [1.0, 1.1, 1.2, 0.9, -500.0, 1.3, 1.25]
    nodes = [
        node(number, "root" if not number else f"t{number}", scored=score(value)) for number, value in enumerate(values)
    ]
    nodes.append(node(7, "cheat", scored=score(1e9, valid=False)))
    seen = Seen(draw_scores(tree(nodes)))
    assert seen.number("t3:", "circle", "cy") - seen.number("t5:", "circle", "cy") > 60
    assert seen.shapes("t4:") == ["polygon"]
    assert "t4: done\nscore -500\n1 attempt, 2.0 s" in seen.titles
    assert seen.number("cheat:", "circle", "cy") < seen.number("t5:", "circle", "cy")
    assert {"off the scale", "not valid"} <= set(seen.texts)
    assert "off the scale" not in Seen(draw_scores(tree(nodes[:4]))).texts


def test_where_none_is_valid_there_is_no_line() -> None:
    drawing = draw_scores(tree(SOME[4:6]))
    assert drawing.text == "Scores of run night: 2 candidates, none of them valid"
    assert "best so far" not in Seen(drawing).titles


def test_where_nothing_is_scored_it_says_so() -> None:
    assert "Nothing in it is scored." in Seen(draw_scores(tree([node(0, "a")]))).texts
    assert "Nothing in it is scored." in Seen(draw_scores(tree([]))).texts


def test_of_very_many_those_that_made_a_difference_are_drawn() -> None:
    better = {0: 1.0, 777: 2.0, 1499: 3.0}
    nodes = [node(number, f"t{number}", scored=score(better.get(number, 0.5))) for number in range(1500)]
    drawing = draw_scores(tree(nodes, best="t1499"))
    seen = Seen(drawing)
    drawn = {each.partition(":")[0] for each in seen.titles}
    assert {"t0", "t777", "t1499"} <= drawn
    assert seen.texts[-1] == "and 1,200 more"
    assert len(drawing.svg) < 100_000
