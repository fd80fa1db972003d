"""The graph: ids checked, cycles named, soft edges kept or dropped, batches and paths."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood._core.edges import depths
from budwood._core.graph import Graph, batches, build, critical_path, dependants, paths, widths
from budwood._core.model import LaneSpec, TaskId, TaskSpec
from budwood.errors import PlanError


def task(id: TaskId, *after: TaskId, prefer: Sequence[TaskId] = (), lane: TaskId | None = None) -> TaskSpec:
    return TaskSpec(id=id, run="true", after=after, prefer_after=tuple(prefer), lane=lane)


def ids_of(graph: Graph, numbers: Sequence[int]) -> list[TaskId]:
    return [graph.ids[number] for number in numbers]


def refused(*tasks: TaskSpec, lanes: Sequence[LaneSpec] = ()) -> PlanError:
    with pytest.raises(PlanError) as caught:
        build(tasks, lanes)
    return caught.value


def test_the_example_of_seed_002_gives_its_batches() -> None:
    graph = build([task(1), task(2, 1), task(3, 2), task(4, 2), task(5, 3, 4), task(6), task(7, 3)], ())
    assert [ids_of(graph, batch) for batch in batches(graph)] == [[1, 6], [2], [3, 4], [5, 7]]


def test_an_empty_plan_has_no_batches_and_no_path() -> None:
    graph = build([], ())
    assert batches(graph) == []
    assert paths(graph) == []
    assert critical_path(graph) == []


def test_dependencies_keep_their_order_and_are_counted_once() -> None:
    assert build([task("a"), task("b"), task("c", "b", "a", "b")], ()).hard[2] == [1, 0]


def test_what_is_named_twice_changes_no_other_edges() -> None:
    tasks = [task(1), task(2, 1, 1), task(3), task(4, 3, 1), task(5, 4, 2, 4, 2), task(6, 5)]
    assert build(tasks, ()).hard.lists() == [[], [0], [], [2, 0], [3, 1], [4]]


def test_ids_with_line_breaks_are_told_apart() -> None:
    assert build([task("a\nb"), task("a", "a\nb"), task("b", "a")], ()).hard.lists() == [[], [0], [1]]


def test_an_id_may_be_given_as_number_or_text() -> None:
    graph = build([task(7), task("8", "7"), task(9, 8)], ())
    assert graph.hard.lists() == [[], [0], [1]]
    assert graph.ids == [7, "8", 9]


@pytest.mark.parametrize(
    ("ids", "named"), [((7, 8), "7"), (("7", "8"), 7), ((-7, 8), -7), ((7, 10**15), 7), ((0, 1), 0), ((7, "8"), 7)]
)
def test_an_id_is_found_however_it_is_written_and_however_large(ids: tuple[TaskId, TaskId], named: TaskId) -> None:
    assert build([task(ids[0]), task(ids[1], named, prefer=[named])], ()).hard.lists() == [[], [0]]


@pytest.mark.parametrize("named", [-1, 1, 10**15, "00", "-1", "x"])
def test_an_id_that_only_looks_like_a_place_is_unknown(named: TaskId) -> None:
    error = refused(task(0), task(5, named), task(3))
    assert error.message == f"task '5' has {str(named)!r} in after, but no task is called that"


def test_the_same_text_twice_is_refused_with_both_places() -> None:
    error = refused(task(7), task("a"), task("7"))
    assert error.message == "task id '7' is used 2 times: tasks number 1, 3"


def test_an_unknown_dependency_is_named_with_the_nearest_id() -> None:
    error = refused(task("models"), task("form", "model"))
    assert error.message == "task 'form' has 'model' in after, but no task is called that"
    assert error.hint == "did you mean 'models'?"


def test_an_unknown_soft_dependency_is_refused_too() -> None:
    assert "'x' in prefer_after" in refused(task("a", prefer=["x"])).message


def test_a_task_after_itself_is_refused() -> None:
    assert refused(task("a", "a")).message == "task 'a' comes after itself"


def test_a_task_after_itself_is_told_before_lanes_and_other_circles() -> None:
    tasks = [task("a", "b"), task("b", "a"), task("c", "c"), task("d", lane="nowhere")]
    assert refused(*tasks).message == "task 'c' comes after itself"


def test_a_cycle_is_named_in_depends_on_direction_from_the_smallest_id() -> None:
    error = refused(task("c", "a"), task("b", "c"), task("a", "b"), task("behind", "a"), task("free"))
    assert error.message == "Circular dependencies detected: a -> b -> c -> a"
    assert error.hint == "remove one of these dependencies, or make it prefer_after"


def test_the_smallest_number_is_the_smallest_by_size() -> None:
    assert refused(task(10, 9), task(9, 10)).message == "Circular dependencies detected: 9 -> 10 -> 9"


def test_each_component_is_named_once() -> None:
    error = refused(task("x", "y"), task("y", "x"), task("b", "a", "c"), task("a", "b"), task("c", "b"))
    assert error.message == "Circular dependencies detected: a -> b -> a; x -> y -> x"


def test_a_cycle_of_100_000_is_found_and_told_in_short() -> None:
    count = 100_000
    error = refused(*(task(n, (n + 1) % count) for n in range(count)))
    assert error.message.startswith("Circular dependencies detected: 0 -> 1 -> 2 ->")
    assert error.message.endswith("-> (99981 more) -> 99999 -> 0")


def test_a_chain_of_100_000_given_backwards_needs_no_stack() -> None:
    count = 100_000
    graph = build([task(n, n - 1) if n else task(n) for n in reversed(range(count))], ())
    assert len(batches(graph)) == count
    assert critical_path(graph) == list(reversed(range(count)))


def test_a_soft_edge_that_would_close_a_cycle_is_dropped_and_listed() -> None:
    graph = build([task("a", prefer=["b"]), task("b", "a", prefer=["c"]), task("c", prefer=["c"])], ())
    assert graph.soft == [[], [2], []]
    assert graph.dropped == [(0, 1), (2, 2)]


def test_of_two_soft_edges_that_contradict_the_first_in_task_order_is_kept() -> None:
    graph = build([task("a", prefer=["b"]), task("b", prefer=["a"])], ())
    assert graph.soft == [[1], []]
    assert graph.dropped == [(1, 0)]


def test_a_soft_edge_beside_the_same_hard_one_is_left_out() -> None:
    graph = build([task("a"), task("b", "a", prefer=["a"])], ())
    assert graph.soft == [[], []]
    assert graph.dropped == []


def test_soft_edges_do_not_change_batches() -> None:
    graph = build([task("a"), task("b", prefer=["a"])], ())
    assert batches(graph) == [[0, 1]]


def test_a_lane_after_another_waits_from_its_first_tasks_to_the_last_ones() -> None:
    tasks = [task("a1", lane="a"), task("a2", "a1", lane="a"), task("b1", lane="b"), task("b2", "b1", lane="b")]
    graph = build(tasks, [LaneSpec(id="a"), LaneSpec(id="b", after=("a",))])
    assert graph.hard.lists() == [[], [0], [1], [2]]


def test_a_lane_waits_through_an_empty_one() -> None:
    lanes = [LaneSpec(id="a"), LaneSpec(id="none", after=("a",)), LaneSpec(id="b", after=("none",))]
    assert build([task(1, lane="a"), task(2, lane="b")], lanes).hard.lists() == [[], [0]]


def test_lanes_in_a_circle_are_refused_even_without_tasks() -> None:
    error = refused(lanes=[LaneSpec(id="b", after=("a",)), LaneSpec(id="a", after=("b",))])
    assert error.message == "Circular dependencies detected: a -> b -> a (lanes)"


def test_a_task_against_the_order_of_lanes_is_a_cycle() -> None:
    tasks = [task("x", "y", lane="first"), task("y", lane="second")]
    error = refused(*tasks, lanes=[LaneSpec(id="first"), LaneSpec(id="second", after=("first",))])
    assert error.message == "Circular dependencies detected: x -> y -> x"


@pytest.mark.parametrize(
    ("tasks", "lanes", "message"),
    [
        ([task("t", lane="ap")], [LaneSpec(id="api")], "task 't' is in lane 'ap', but no lane is called that"),
        ([], [LaneSpec(id="a", after=("b",))], "lane 'a' has 'b' in after, but no lane is called that"),
        ([], [LaneSpec(id="a", after=("a",))], "lane 'a' comes after itself"),
        ([], [LaneSpec(id=1), LaneSpec(id="1")], "lane id '1' is used 2 times: lanes number 1, 2"),
    ],
)
def test_wrong_lanes_are_named(tasks: list[TaskSpec], lanes: list[LaneSpec], message: str) -> None:
    assert refused(*tasks, lanes=lanes).message == message


def test_lanes_whose_edges_would_fill_memory_are_refused() -> None:
    tasks = [task(n, lane="a" if n < 4_000 else "b") for n in range(8_000)]
    error = refused(*tasks, lanes=[LaneSpec(id="a"), LaneSpec(id="b", after=("a",))])
    assert "4000 first tasks" in error.message
    assert error.hint is not None


@st.composite
def plans(draw: st.DrawFn) -> list[TaskSpec]:
    """Tasks whose hard edges have no cycle, in any order, with any soft edges."""
    count = draw(st.integers(0, 12))
    rank = draw(st.permutations(range(count)))
    any_task = st.integers(0, max(0, count - 1))
    pairs = draw(st.lists(st.tuples(any_task, any_task), max_size=30)) if count else []
    wishes = draw(st.lists(st.tuples(any_task, any_task), max_size=30)) if count else []
    return [
        task(n, *(d for t, d in pairs if t == n and rank[d] < rank[n]), prefer=[d for t, d in wishes if t == n])
        for n in range(count)
    ]


@given(plans())
def test_every_task_is_in_exactly_one_batch_behind_all_it_needs(tasks: list[TaskSpec]) -> None:
    graph = build(tasks, ())
    place = {number: level for level, batch in enumerate(batches(graph)) for number in batch}
    assert sorted(place) == list(range(len(tasks)))
    assert all(batch == sorted(batch) and batch for batch in batches(graph))
    assert widths(graph) == [len(batch) for batch in batches(graph)]
    for number, needed in enumerate(graph.hard):
        assert place[number] == max((place[d] for d in needed), default=-1) + 1


@given(plans())
def test_the_critical_path_is_a_chain_as_long_as_the_longest_path(tasks: list[TaskSpec]) -> None:
    graph = build(tasks, ())
    path = critical_path(graph)
    assert len(path) == max(paths(graph), default=0) == len(batches(graph))
    assert all(before in graph.hard[after] for before, after in itertools.pairwise(path))


@given(plans())
def test_dependants_are_the_edges_turned_round(tasks: list[TaskSpec]) -> None:
    graph = build(tasks, ())
    assert dependants(dependants(graph.hard)) == [sorted(given) for given in graph.hard]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20))
def test_any_plan_is_either_ordered_or_refused_with_a_true_cycle(pairs: list[tuple[int, int]]) -> None:
    tasks = [task(n, *(d for t, d in pairs if t == n and d != n)) for n in range(7)]
    try:
        graph = build(tasks, ())
    except PlanError as error:
        for told in error.message.removeprefix("Circular dependencies detected: ").split("; "):
            cycle = [int(name) for name in told.split(" -> ")]
            assert cycle[0] == cycle[-1] == min(cycle)
            assert all(after in tasks[before].after for before, after in itertools.pairwise(cycle))
    else:
        assert depths(graph.hard) is not None
        assert sorted(itertools.chain.from_iterable(batches(graph))) == list(range(7))
