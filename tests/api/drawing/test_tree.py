"""The drawing of a tree: what is where, what is emphasised, what is left out and said."""

import pytest
from tests.api.drawing.nodes import Seen, node, score, tree

from budwood._core.model import PLAN, TaskPhase
from budwood._core.scores import Judgement
from budwood.api.drawing.tree import draw_tree, word_of
from budwood.project.tree import TreeNode


def judged(number: int, name: str, after: str, value: float, decision: str, *, depth: int = 1) -> TreeNode:
    judgement = Judgement(task=name, decision=decision, why=f"so {decision}")  # type: ignore[arg-type]
    return node(number, name, (after,), depth=depth, scored=score(value), judgement=judgement)


BEAM = [
    node(0, "root", scored=score(10.0)),
    judged(1, "a", "root", 11.5, "promoted"),
    judged(2, "b", "root", 9.0, "rejected"),
    node(3, "c", ("root",), depth=1, phase=TaskPhase.FAILED, error="exit code 1"),
    judged(4, "d", "a", 13.25, "promoted", depth=2),
    judged(5, "e", "a", 12.0, "pruned", depth=2),
]


def test_every_task_is_there_with_its_score_its_decision_and_why() -> None:
    drawing = draw_tree(tree(BEAM, best="d"))
    seen = Seen(drawing)
    assert drawing.text == "Tree of run night (beam): 6 tasks, best d with score 13.25"
    assert seen.texts[:6] == ["root 10", "a 11.5", "b 9", "c", "d 13.25", "e 12"]
    assert seen.texts[6:] == [drawing.text, "best", "promoted", "pruned", "rejected", "done", "failed"]
    assert "e: pruned\nscore 12\nso pruned\n1 attempt, 2.0 s" in seen.titles
    assert "c: failed\nexit code 1\n1 attempt, 2.0 s" in seen.titles
    shapes = [tuple(seen.shapes(f"{name}:")) for name in "abcde"]
    assert shapes == [("circle",), ("polygon",), ("path",), ("polygon",), ("rect",)]
    assert seen.tags == {"svg", "style", "rect", "path", "g", "title", "text", "circle", "polygon"}


def test_depths_are_columns_and_the_way_to_the_best_is_thick() -> None:
    drawing = draw_tree(tree(BEAM, best="d"))
    seen = Seen(drawing)
    x = {name: seen.number(f"{name}:", "text", "x") for name in ("root", *"abcde")}
    assert x["root"] < x["a"] == x["b"] == x["c"] < x["d"] == x["e"]
    assert drawing.svg.count('stroke-width="2.6"') == 2
    assert drawing.svg.count('stroke-width="1.2"') == 3
    assert drawing.svg.count('font-weight="bold"') == 4  # root, a, d, and the sentence
    assert draw_tree(tree(BEAM)).svg.count('stroke-width="2.6"') == 0


def test_a_second_parent_has_a_line_of_its_own() -> None:
    nodes = [node(0, "x"), node(1, "y"), node(2, "both", ("x", "y"), depth=1)]
    assert draw_tree(tree(nodes, strategy="best-of")).svg.count('stroke-dasharray="3 3"') == 1


def test_a_plan_is_drawn_by_what_comes_after_what_in_any_order() -> None:
    nodes = [node(0, "last", ("first",), depth=1, phase=TaskPhase.BLOCKED), node(1, "first", phase=TaskPhase.ACTIVE)]
    drawing = draw_tree(tree(nodes, strategy=PLAN))
    assert drawing.text == "Plan of run night: 2 tasks"
    seen = Seen(drawing)
    assert seen.number("first:", "text", "x") < seen.number("last:", "text", "x")
    assert seen.texts[-2:] == ["running", "to come"]


def test_of_very_many_the_best_is_drawn_with_its_way_and_the_rest_is_counted() -> None:
    nodes = [node(0, "root", scored=score(1.0))]
    nodes += (judged(number, f"t{number}", "root", 1.0, "pruned") for number in range(1, 1001))
    nodes += [judged(1001, "deep", "t900", 2.0, "promoted", depth=2)]
    nodes += (judged(number, f"u{number}", "t1000", 1.0, "pruned", depth=2) for number in range(1002, 1502))
    drawing = draw_tree(tree(nodes, best="deep"))
    seen = Seen(drawing)
    assert seen.texts[-1] == "and 1,202 more"
    assert "and 1,202 more" in seen.root.attrib["aria-label"]
    assert len(seen.titles) == 300
    assert {"root 1 +702", "t900 1", "deep 2", "t1 1"} <= set(seen.texts)
    assert "t1000 1" not in seen.texts
    assert len(drawing.svg) < 200_000


def test_nothing_is_cut_off_and_long_names_are_shortened() -> None:
    nodes = [node(0, "x" * 300), node(1, "日本" * 40, ("x" * 300,), depth=1), node(2, "<b>&", ("x" * 300,), depth=1)]
    seen = Seen(draw_tree(tree(nodes)))
    assert seen.texts[0].endswith("x…")
    assert f"{'x' * 300}: done" in seen.titles[0]
    assert "<b>&" in seen.texts
    assert float(seen.root.attrib["width"]) > max(
        seen.number(f"{each}:", "text", "x") for each in ("日本" * 40, "<b>&")
    )


def test_a_run_without_tasks_says_so() -> None:
    assert "There are no tasks yet." in Seen(draw_tree(tree([]))).texts


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (node(0, "a"), "done"),
        (node(0, "a", scored=score(1.0, valid=False)), "not valid"),
        (judged(0, "a", "r", 1.0, "kept"), "kept"),
        (node(0, "a", phase=TaskPhase.SKIPPED), "skipped"),
        (node(0, "a", phase=TaskPhase.READY), "to come"),
    ],
)
def test_one_word_says_what_became_of_a_task(made: TreeNode, word: str) -> None:
    assert word_of(made, None) == word
    assert word_of(made, "a") == "best"
