"""Plans of YokeFlow, as they are."""

import json
from pathlib import Path

import pytest

from budwood._core.graph import batches, build
from budwood._core.model import LaneSpec, TaskSpec
from budwood.errors import PlanError
from budwood.formats.aliases import YOKEFLOW_EPIC, YOKEFLOW_TASK, YOKEFLOW_TOP, Alias
from budwood.plans import Plan, parse_plan, read_plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "yokeflow.json"
SAMPLES: dict[str, object] = {
    "id": 1,
    "epic_id": 4,
    "description": "d",
    "action": "do it",
    "depends_on": [2],
    "depends_on_epics": [2],
    "dependency_type": "soft",
    "priority": 10,
    "name": "n",
    "done": False,
}
MEANT: dict[str, object] = {
    "id": 1,
    "lane": 4,
    "description": "d",
    "prompt": "do it",
    "after": (2,),
    "prefer_after": (2,),
    "priority": -10,
    "name": "n",
}


def read(raw: object) -> Plan:
    return parse_plan(json.dumps(raw).encode(), path="tasks.json", notation="json")


def refusal(raw: object) -> PlanError:
    with pytest.raises(PlanError) as caught:
        read(raw)
    return caught.value


def test_the_example_of_the_seed_gives_its_batches() -> None:
    plan = read_plan(EXAMPLE)
    graph = build(plan.tasks, plan.lanes)
    assert [[graph.ids[number] for number in batch] for batch in batches(graph)] == [[1, 6], [2], [3, 4], [5, 7]]
    assert plan.format == "yokeflow"
    assert [lane.name for lane in plan.lanes] == ["Backend Infrastructure", "Authentication", "Frontend"]


def test_a_bare_list_makes_a_lane_of_each_epic() -> None:
    plan = read([{"id": 1, "epic_id": 5, "description": "x"}, {"id": 2, "epic_id": 3}, {"id": 3, "epic_id": 5}])
    assert plan.lanes == (LaneSpec(id=5), LaneSpec(id=3))
    assert plan.tasks[0] == TaskSpec(id=1, lane=5, description="x")


@pytest.mark.parametrize("row", YOKEFLOW_TASK, ids=lambda row: row.theirs)
def test_every_key_of_a_task_goes_where_the_table_says(row: Alias) -> None:
    given = {"id": 1, row.theirs: SAMPLES.get(row.theirs, "anything")}
    if row.theirs == "dependency_type":
        given["depends_on"] = [2]
    task = read([given]).tasks[0]
    if row.ours is None:
        assert task == TaskSpec(id=1)
    else:
        assert getattr(task, row.ours) == MEANT[row.ours]


@pytest.mark.parametrize("row", YOKEFLOW_EPIC, ids=lambda row: row.theirs)
def test_every_key_of_an_epic_goes_where_the_table_says(row: Alias) -> None:
    lane = read({"tasks": [{"id": 1}], "epics": [{"id": 1, row.theirs: SAMPLES.get(row.theirs, "anything")}]}).lanes[0]
    if row.ours is None:
        assert lane == LaneSpec(id=1)
    else:
        assert getattr(lane, row.ours) == MEANT[row.ours]


@pytest.mark.parametrize("row", [row for row in YOKEFLOW_TOP if row.ours is None], ids=lambda row: row.theirs)
def test_what_an_export_adds_at_the_top_is_left_out(row: Alias) -> None:
    assert len(read({"tasks": [{"id": 1}], row.theirs: "anything"}).tasks) == 1


def test_soft_dependencies_are_wishes() -> None:
    task = read([{"id": 1}, {"id": 2, "depends_on": [1], "dependency_type": "soft"}]).tasks[1]
    assert (task.after, task.prefer_after) == ((), (1,))


def test_what_is_done_is_left_out_and_nobody_waits_for_it() -> None:
    epics = [{"id": 1}, {"id": 2, "depends_on": [1]}, {"id": 3, "depends_on": [2]}]
    tasks = [
        {"id": 1, "epic_id": 1, "done": True},
        {"id": 2, "epic_id": 2, "depends_on": [1]},
        {"id": 3, "epic_id": 3, "depends_on": [1, 2], "done": False},
        {"id": 4, "epic_id": 3, "depends_on": [1, 3], "dependency_type": "soft"},
    ]
    plan = read({"tasks": tasks, "epics": epics})
    assert [(task.id, task.after, task.prefer_after) for task in plan.tasks] == [
        (2, (), ()),
        (3, (2,), ()),
        (4, (), (3,)),
    ]
    assert plan.lanes == (LaneSpec(id=2), LaneSpec(id=3, after=(2,)))
    assert plan.left_out == ("1 done and left out: 1",)
    build(plan.tasks, plan.lanes)
    many = [{"id": number, "done": number < 12} for number in range(13)]
    assert read(many).left_out == ("12 done and left out: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more",)


def test_a_table_of_dependencies_adds_to_what_tasks_say() -> None:
    edges = [{"task_id": 3, "depends_on": 1}, {"task_id": 3, "depends_on": 2, "dependency_type": "soft"}]
    task = read({"tasks": [{"id": 1}, {"id": 2}, {"id": 3, "depends_on": [0]}, {"id": 0}], "task_dependencies": edges})
    assert (task.tasks[2].after, task.tasks[2].prefer_after) == ((0, 1), (2,))


def test_the_lower_priority_comes_first_as_it_does_there() -> None:
    plan = read([{"id": 1, "priority": 20}, {"id": 2, "priority": 10}, {"id": 3}])
    assert [task.priority for task in plan.tasks] == [-20, -10, 0]


def test_null_is_not_said() -> None:
    given = {"id": 1, "epic_id": None, "action": None, "depends_on": None, "dependency_type": None, "priority": None}
    assert read([given]).tasks == (TaskSpec(id=1),)


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        (
            [{"id": 1, "depend_on": [2]}],
            "unknown key 'depend_on' in task '1' of tasks.json",
            "did you mean 'depends_on'?",
        ),
        (
            [{"id": 1, "dependency_type": "x"}],
            "dependency_type in task '1' of tasks.json is 'x'; it takes \"hard\" or \"soft\"",
            None,
        ),
        ([{"action": "x"}], "task number 1 of tasks.json has no id", 'add id = "…": every task needs one'),
        (
            {"tasks": [{"id": 1}], "epics": [{"id": 1, "nam": "x"}]},
            "unknown key 'nam' in epic '1' of tasks.json",
            "did you mean 'name'?",
        ),
        ({"tasks": [{"id": 1}], "epic": []}, "unknown key 'epic' in tasks.json", "did you mean 'epics'?"),
        ([{"id": 1, "priority": "high"}], None, None),
        ([{"id": 1, "done": "yes"}], "done in task '1' of tasks.json is 'yes'; it takes true or false", None),
        ([{"id": 1, "done": True}], "every task of tasks.json is done", '"done": false lets one be done again'),
        (
            {"tasks": [{"id": 1}], "task_dependencies": [{"task_id": 9, "depends_on": 1}]},
            "task_dependencies number 1 of tasks.json is about task '9', but no task is called that",
            None,
        ),
        (
            {"tasks": [{"id": 1}], "task_dependencies": [{"task": 1}]},
            "unknown key 'task' in task_dependencies number 1 of tasks.json",
            "did you mean 'task_id'?",
        ),
    ],
)
def test_what_is_wrong_is_named(raw: object, message: str | None, hint: str | None) -> None:
    error = refusal(raw)
    assert message is None or (error.message, error.hint) == (message, hint)


def test_our_own_keys_in_such_a_list_are_answered_with_our_own_shape() -> None:
    error = refusal([{"id": 1, "run": "x"}])
    assert error.message == "unknown key 'run' in task '1' of tasks.json"
    assert error.hint is not None
    assert '"task": [' in error.hint


def test_an_epic_that_is_not_listed_is_refused_by_the_graph() -> None:
    plan = read({"tasks": [{"id": 1, "epic_id": 9}], "epics": [{"id": 1}]})
    with pytest.raises(PlanError, match="in lane '9'"):
        build(plan.tasks, plan.lanes)


def test_two_different_lists_of_epics_are_refused() -> None:
    epics = [{"id": 1, "depends_on": [2], "depends_on_epics": [3]}, {"id": 2}, {"id": 3}]
    assert "differ" in refusal({"tasks": [{"id": 1}], "epics": epics}).message
