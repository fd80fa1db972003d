"""Pictures of a plan."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood._core.graph import build
from budwood._core.model import LaneSpec, TaskSpec
from budwood.errors import NoSuchId
from budwood.plans import BatchRow, Plan, batch_rows, to_ascii, to_mermaid

PLAN = Plan(
    tasks=(
        TaskSpec(id="models", run="x", lane="api"),
        TaskSpec(id=2, run="x", lane="api", after=("models",), description="The form"),
        TaskSpec(id="free", run="x", prefer_after=("models",)),
        TaskSpec(id="last", run="x", after=(2, "free")),
    ),
    lanes=(LaneSpec(id="api", name="The API"), LaneSpec(id="none")),
    path="night.toml",
)
GRAPH = build(PLAN.tasks, PLAN.lanes)


def test_mermaid_shows_lanes_as_boxes_and_wishes_dashed() -> None:
    assert to_mermaid(GRAPH, PLAN) == (
        "flowchart TD\n"
        '  subgraph lane0["The API"]\n'
        '    t0["models"]\n'
        '    t1["2: The form"]\n'
        "  end\n"
        '  t2["free"]\n'
        '  t3["last"]\n'
        "  t0 --> t1\n"
        "  t1 --> t3\n"
        "  t2 --> t3\n"
        "  t0 -.-> t2\n"
    )


def test_mermaid_of_one_batch_or_lane_shows_only_that() -> None:
    assert (
        to_mermaid(GRAPH, PLAN, batch=2) == 'flowchart TD\n  subgraph lane0["The API"]\n    t1["2: The form"]\n  end\n'
    )
    assert "free" not in to_mermaid(GRAPH, PLAN, lane="api")


def test_text_shows_what_each_task_waits_for() -> None:
    assert to_ascii(GRAPH, PLAN) == (
        "Batch 1\n"
        "  models [api]\n"
        "  free <~ models\n"
        "\n"
        "Batch 2\n"
        "  2 [api] <- models\n"
        "\n"
        "Batch 3\n"
        "  last <- 2, free\n"
        "\n"
        "<~ prefers to come after, but does not wait\n"
    )


def test_long_lists_are_wrapped_between_ids() -> None:
    tasks = [TaskSpec(id=f"a task {n}", run="x") for n in range(30)]
    tasks.append(TaskSpec(id="last", run="x", after=tuple(task.id for task in tasks)))
    drawn = to_ascii(build(tasks, ()), Plan(tasks=tuple(tasks)), batch=2)
    lines = drawn.splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 80
    assert not any(line.rstrip().endswith(("a", "task")) for line in lines)


def test_rows_count_batches_from_1() -> None:
    assert batch_rows(GRAPH, PLAN) == [
        BatchRow(1, ["models", "free"], ["api"]),
        BatchRow(2, [2], ["api"]),
        BatchRow(3, ["last"], []),
    ]
    assert batch_rows(GRAPH, PLAN, lane="api", batch=2) == [BatchRow(2, [2], ["api"])]
    assert batch_rows(GRAPH, PLAN, lane="none") == []


def test_a_lane_or_batch_that_is_not_there_is_named() -> None:
    with pytest.raises(NoSuchId) as caught:
        to_ascii(GRAPH, PLAN, lane="apo")
    assert caught.value.hint == "did you mean 'api'?"
    with pytest.raises(NoSuchId) as caught:
        to_mermaid(GRAPH, PLAN, batch=4)
    assert caught.value.hint == "its batches are 1 to 3"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('say "hi"', "say #34;hi#34;"),
        ("a[1] {b} (c)", "a#91;1#93; #123;b#125; #40;c#41;"),
        ("#35; & <b>", "#35;35#59; #38; #60;b#62;"),
        ("`x`", "#96;x#96;"),
        ("1. first", "#49;. first"),
        ("- dash", "#45; dash"),
        ("größe → 日本", "größe → 日本"),
    ],
)
def test_labels_are_escaped_for_mermaid(text: str, label: str) -> None:
    plan = Plan(tasks=(TaskSpec(id=text, run="x"),))
    assert to_mermaid(build(plan.tasks, ()), plan) == f'flowchart TD\n  t0["{label}"]\n'


@given(st.text(min_size=1), st.text())
def test_no_text_leaves_its_label(name: str, about: str) -> None:
    plan = Plan(
        tasks=(TaskSpec(id=name, run="x", description=about, lane=name),), lanes=(LaneSpec(id=name, name=about),)
    )
    lines = to_mermaid(build(plan.tasks, plan.lanes), plan).split("\n")
    assert len(lines) == 5
    assert re.fullmatch(r'  subgraph lane0\["[^"\[\]]+"\]', lines[1])
    assert re.fullmatch(r'    t0\["[^"\[\]]+"\]', lines[2])
