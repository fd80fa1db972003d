"""Where things go: nothing lies upon another, and the same is always at the same place."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood.api.drawing.layout import TimeScale, arrange, drawn_first, seconds_between, ticks


def forest(seed: int, size: int) -> tuple[list[int | None], list[int]]:
    """Grow a forest in which a child may be several depths behind its parent."""
    chance = Random(seed)
    parents: list[int | None] = []
    depths: list[int] = []
    for number in range(size):
        parent = chance.randrange(number) if number and chance.random() < 0.9 else None
        parents.append(parent)
        depths.append(chance.randrange(2) if parent is None else depths[parent] + chance.choice((1, 1, 1, 2)))
    return parents, depths


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_nodes_of_one_depth_are_a_row_apart_and_children_keep_their_order_around_their_parent(
    seed: int, size: int
) -> None:
    parents, depths = forest(seed, size)
    rows = arrange(parents, depths)
    assert min(rows) == 0
    for depth in set(depths):
        there = sorted(row for row, each in zip(rows, depths, strict=True) if each == depth)
        assert all(later - earlier > 0.999 for earlier, later in pairwise(there))
    for parent in range(size):
        below = [rows[number] for number in range(size) if parents[number] == parent]
        assert below == sorted(below)
        if below:
            assert rows[parent] == pytest.approx((below[0] + below[-1]) / 2)


def test_a_small_tree_lies_as_one_would_draw_it() -> None:
    #   root -> a -> (c, d), root -> b
    assert arrange([None, 0, 0, 1, 1], [0, 1, 1, 2, 2]) == [1.0, 0.5, 1.5, 0.0, 1.0]
    assert arrange([], []) == []


def test_a_long_chain_needs_no_deep_stack() -> None:
    size = 1500
    assert set(arrange([None, *range(size - 1)], list(range(size)))) == {0.0}


def test_scales_have_round_numbers_between_their_ends() -> None:
    assert ticks(0.0, 10.0) == [0, 2, 4, 6, 8, 10]
    assert ticks(-0.31, 0.29) == pytest.approx([-0.2, 0.0, 0.2])
    assert ticks(3.0, 3.0) == [3.0]
    assert [seconds_between(each) for each in (0.0, 5.0, 200.0, 4000.0, 86400.0 * 30)] == [0.01, 1, 60, 900, 5 * 86400]


def test_what_is_wanted_first_is_drawn_with_all_that_it_grew_from() -> None:
    parents = {0: None, 1: 0, 2: 1, 3: 0, 4: None}
    assert drawn_first(parents, [2, 3, 4], 3) == {0, 1, 2}
    assert drawn_first(parents, [2, 3, 4], 4) == {0, 1, 2, 3}
    assert drawn_first(parents, [2, 4], 2) == {4}


def test_a_long_pause_takes_little_room_and_a_short_one_its_own() -> None:
    scale = TimeScale([(0, 10), (12, 20), (1000, 1010)], left=100, width=280, pause_px=20)
    assert [(gap.begin, gap.end) for gap in scale.pauses] == [(20, 1000)]
    assert scale.segments == [(0, 20), (1000, 1010)]
    places = [scale.at(time) for time in (0, 10, 20, 510, 1000, 1010)]
    per_unit = (280 - 20) / 30
    assert places == pytest.approx([100, 100 + 10 * per_unit, 100 + 20 * per_unit, 283.333, 293.333, 380], abs=0.01)


def test_many_pauses_leave_room_for_what_happened_between() -> None:
    scale = TimeScale([(1000 * day, 1000 * day + 1) for day in range(100)], left=0, width=300, pause_px=26)
    assert len(scale.pauses) == 99
    assert scale.at(99_001) == pytest.approx(300)
    assert scale.at(1) - scale.at(0) == pytest.approx(2)


def test_what_took_no_time_can_be_placed() -> None:
    assert TimeScale([(5, 5)], left=7, width=100, pause_px=20).at(5) == 7
    assert TimeScale([], left=7, width=100, pause_px=20).at(0) == 7
