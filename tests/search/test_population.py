"""Populations: who is let in, who leaves, who is chosen; with a fixed size, by generations, and on a grid."""

from random import Random

import pytest

from budwood.strategies.population import Archipelago, Feature, Island, Member, cell_of


def member(number: int, rank: float, *, tree: str = "", cell: tuple[int, ...] = ()) -> Member:
    return Member(f"e{number}", number, rank, tree, cell)


def names(island: Island) -> list[str]:
    return [each.name for each in island.members]


def island(*ranks: float, capacity: int | None = 3, elites: int = 1) -> Island:
    made = Island(capacity, elites)
    for number, rank in enumerate(ranks):
        made.admit(member(number, rank))
    return made


def test_a_better_one_takes_the_place_of_the_worst() -> None:
    there = island(1.0, 3.0, 2.0)
    changes = there.admit(member(3, 1.5))
    assert names(there) == ["e1", "e2", "e3"]
    assert [(each.name, why) for each, why in changes.left] == [("e0", "e3 is better")]


def test_one_that_is_as_good_as_the_worst_is_refused() -> None:
    there = island(1.0, 3.0, 2.0)
    changes = there.admit(member(3, 1.0))
    assert names(there) == ["e0", "e1", "e2"]
    assert [(each.name, why) for each, why in changes.refused] == [("e3", "e0 is as good or better")]


def test_of_equals_the_later_one_leaves() -> None:
    there = island(1.0, 1.0, 1.0)
    there.admit(member(3, 2.0))
    assert names(there) == ["e0", "e1", "e3"]


def test_what_is_there_already_is_not_let_in_again() -> None:
    there = island()
    there.admit(member(0, 1.0, tree="aaa"))
    [(_, why)] = there.admit(member(1, 2.0, tree="aaa")).refused
    assert (names(there), why) == (["e0"], "it is what e0 is")


def test_a_generation_replaces_all_but_the_elites() -> None:
    there = island(5.0, 4.0, 3.0)
    changes = there.turn_over([member(3, 1.0), member(4, 2.0), member(5, 0.5)])
    assert names(there) == ["e0", "e3", "e4"]
    assert [each.name for each, _ in changes.left] == ["e1", "e2"]
    assert [each.name for each, _ in changes.refused] == ["e5"]


def test_where_a_generation_is_small_the_next_best_of_old_stay() -> None:
    there = island(5.0, 4.0, 3.0)
    there.turn_over([member(3, 1.0)])
    assert names(there) == ["e0", "e1", "e3"]
    there.turn_over([])
    assert names(there) == ["e0", "e1", "e3"]


def test_twins_of_one_generation_are_one() -> None:
    there = island(5.0)
    changes = there.turn_over([member(1, 1.0, tree="t"), member(2, 1.0, tree="t")])
    assert names(there) == ["e0", "e1"]
    assert [(each.name, why) for each, why in changes.refused] == [("e2", "it is what e1 is")]


@pytest.mark.parametrize("by_generation", [False, True])
def test_a_grid_keeps_the_best_of_every_cell_however_bad_that_is(*, by_generation: bool) -> None:
    there = Island(None, 0)
    born = [member(0, 9.0, cell=(0,)), member(1, 1.0, cell=(1,)), member(2, 8.0, cell=(0,)), member(3, 2.0, cell=(1,))]
    if by_generation:
        there.turn_over(born)
    else:
        for each in born:
            there.admit(each)
    assert names(there) == ["e0", "e3"]


def test_a_tournament_prefers_the_better_and_a_larger_one_more_so() -> None:
    there = island(*range(10), capacity=10)
    means = []
    for size in (1, 2, 8):
        random = Random(1)
        chosen = [there.parent(random, tournament=size) for _ in range(500)]
        means.append(sum(each.rank for each in chosen if each is not None) / 500)
    assert 4.0 < means[0] < 5.0 < means[1] < 6.5
    assert means[2] > 7.5


def test_a_second_parent_is_another_one() -> None:
    there = island(1.0, 2.0)
    first = there.best()
    assert {there.parent(Random(n), tournament=2, but=first) for n in range(20)} == {there.members[0]}
    alone = island(1.0)
    assert alone.parent(Random(0), tournament=2, but=alone.best()) is None


def test_the_best_of_each_island_goes_to_the_next_and_stays_at_home() -> None:
    all_of_them = Archipelago(3, capacity=2, elites=1)
    for place, island in enumerate(all_of_them.islands):
        island.admit(member(place, float(place)))
    all_of_them.migrate()
    assert [sorted(names(island)) for island in all_of_them.islands] == [["e0", "e2"], ["e0", "e1"], ["e1", "e2"]]
    assert all_of_them.has("e1")
    assert not all_of_them.has("e3")


@pytest.mark.parametrize(
    ("value", "bin"), [(-5.0, 0), (0.0, 0), (2.4, 0), (2.5, 1), (9.99, 3), (10.0, 3), (1e300, 3), (float("inf"), 3)]
)
def test_a_value_falls_into_its_part_and_what_lies_outside_into_the_ends(value: float, bin: int) -> None:
    assert Feature("size", 0.0, 10.0, 4).bin(value) == bin


def test_a_candidate_without_the_metric_has_no_cell() -> None:
    features = (Feature("size", 0.0, 10.0, 4), Feature("speed", 0.0, 1.0, 2))
    assert cell_of(features, {"size": 3.0, "speed": 0.9, "score": 1.0}) == (1, 1)
    assert cell_of(features, {"size": 3.0}) == "speed"
    assert cell_of(features, {"size": float("nan"), "speed": 0.9}) == "size"
    assert cell_of((), {}) == ()
