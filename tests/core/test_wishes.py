"""Soft edges: none that is kept closes a circle, none is dropped without need, and what comes later decides nothing."""

from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from budwood._core.edges import depths
from budwood._core.graph import build
from budwood._core.model import TaskId, TaskSpec
from budwood._core.wishes import keep

Lists = list[list[int]]


def task(id: TaskId, *after: TaskId, prefer: Sequence[TaskId] = ()) -> TaskSpec:
    return TaskSpec(id=id, run="true", after=after, prefer_after=tuple(prefer))


@st.composite
def edges(draw: st.DrawFn, *, most: int = 14) -> tuple[Lists, Lists]:
    """Hard edges without a cycle, and any wishes."""
    count = draw(st.integers(1, most))
    number = st.integers(0, count - 1)
    rank = draw(st.permutations(range(count)))
    hard: Lists = [[] for _ in range(count)]
    soft: Lists = [[] for _ in range(count)]
    for one, other in draw(st.lists(st.tuples(number, number), max_size=30, unique=True)):
        if rank[other] < rank[one]:
            hard[one].append(other)
    for one, other in draw(st.lists(st.tuples(number, number), max_size=40, unique=True)):
        if other not in hard[one]:
            soft[one].append(other)
    return hard, soft


def joined(hard: Lists, soft: Lists) -> Lists:
    return [[*needed, *wished] for needed, wished in zip(hard, soft, strict=True)]


@given(edges())
def test_what_is_kept_has_no_circle_and_each_dropped_wish_would_close_one(given_edges: tuple[Lists, Lists]) -> None:
    hard, soft = given_edges
    kept, dropped = keep(hard, soft)
    both = joined(hard, kept)
    assert depths(both) is not None
    for number, wish in dropped:
        both[number].append(wish)
        assert depths(both) is None, f"{number} could have come after {wish}"
        both[number].pop()


@given(edges())
def test_every_wish_is_kept_or_dropped_in_the_order_given(given_edges: tuple[Lists, Lists]) -> None:
    hard, soft = given_edges
    kept, dropped = keep(hard, soft)
    gone = set(dropped)
    assert kept == [[wish for wish in given if (number, wish) not in gone] for number, given in enumerate(soft)]
    assert dropped == [(n, wish) for n, given in enumerate(soft) for wish in given if (n, wish) in gone]


@given(edges(), edges(most=6))
def test_numbers_that_are_added_behind_change_nothing_before_them(
    first: tuple[Lists, Lists], more: tuple[Lists, Lists]
) -> None:
    (hard, soft), (new_hard, new_soft) = first, more
    kept, dropped = keep(hard, soft)
    count = len(hard)
    later_hard = [[*(n + count for n in given), index % count] for index, given in enumerate(new_hard)]
    later_soft = [
        [n + count for n in given] + ([] if index % count == 0 else [0]) for index, given in enumerate(new_soft)
    ]
    all_kept, all_dropped = keep([*hard, *later_hard], [*soft, *later_soft])
    assert all_kept[:count] == kept
    assert [each for each in all_dropped if each[0] < count] == dropped
    alone = keep(new_hard, new_soft)[1]
    assert [(n - count, wish - count) for n, wish in all_dropped if n >= count] == alone


def test_of_two_that_wish_to_come_after_each_other_the_first_is_heard() -> None:
    graph = build([task("a", prefer=["b"]), task("b", prefer=["a"])], ())
    assert graph.soft == [[1], []]
    assert graph.dropped == [(1, 0)]


def test_a_wish_against_a_chain_of_hard_edges_is_dropped() -> None:
    tasks = [task("a", prefer=["d"]), task("b", "a"), task("c", "b"), task("d", "c")]
    assert build(tasks, ()).dropped == [(0, 3)]


def test_a_wish_to_come_after_oneself_is_dropped() -> None:
    assert build([task("a", prefer=["a", "b"]), task("b")], ()).dropped == [(0, 0)]


def test_wishes_between_knots_are_kept() -> None:
    tasks = [task(0, prefer=[1, 2]), task(1, prefer=[0]), task(2, prefer=[3]), task(3, prefer=[2])]
    graph = build(tasks, ())
    assert graph.dropped == [(1, 0), (3, 2)]
    assert graph.soft == [[1, 2], [], [3], []]


def test_a_chain_of_wishes_against_numbers_of_100_000_needs_no_stack() -> None:
    count = 100_000
    graph = build([task(n, prefer=[(n + 1) % count]) for n in range(count)], ())
    assert graph.dropped == [(count - 1, 0)]


def test_tens_of_thousands_of_random_contradictions_are_untied() -> None:
    chance, count = Random(5), 30_000
    tasks = [
        task(n, *([chance.randrange(n)] if n % 3 == 1 else []), prefer=[chance.randrange(count) for _ in range(3)])
        for n in range(count)
    ]
    graph = build(tasks, ())
    assert depths(joined(graph.hard.lists(), graph.soft)) is not None
    assert len(graph.dropped) > count // 2
    assert build(tasks, ()).dropped == graph.dropped


def test_wishes_of_all_that_a_long_chain_stands_on_are_decided() -> None:
    half = 15_000
    tasks = [task(n, prefer=[2 * half - 1]) for n in range(half)]
    tasks += [task(half, *range(half)), *(task(n, n - 1) for n in range(half + 1, 2 * half))]
    assert len(build(tasks, ()).dropped) == half
