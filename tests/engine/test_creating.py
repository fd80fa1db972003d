"""What agents ask of a run: which events that becomes, and what is refused, by name."""

from collections.abc import Callable, Iterator

import msgspec
import pytest
from tests.core.bench import BAD, Bench, task
from tests.engine.stage import Stage, at
from tests.engine.test_requests import Desk

from budwood._core import events as e
from budwood._core.model import AgentTerms, AttemptPhase, Errand, LaneSpec, RunSettings, TaskSpec, WorkspaceTerms
from budwood.engine.wanted import Answering, Asking, ChangedTask, NewTask, Reporting
from budwood.stores.base import Asker, Request, RequestBody
from budwood.testing.executors import succeeded

A = Asker(task="a", attempt=1)


def running(*tasks: TaskSpec, settings: RunSettings | None = None, lanes: tuple[LaneSpec, ...] = ()) -> Desk:
    """A runs; what else is given has not begun."""
    bench = Bench(task("a", priority=9), *tasks, settings=settings, lanes=lanes)
    bench.record(e.AttemptQueued(task="a", attempt=1, slot=0))
    bench.begin("a")
    return Desk(bench)


def ask(desk: Desk, kind: str, body: msgspec.Struct) -> tuple[list[e.Event], Request]:
    return desk.ask(kind, body=msgspec.json.encode(body).decode())


def create(desk: Desk, **keys: object) -> tuple[list[e.Event], Request]:
    given: dict[str, object] = {"by": A, "description": "Do it", "run": "true"}
    return ask(desk, "create", NewTask(**(given | keys)))  # type: ignore[arg-type]


def test_a_created_task_is_recorded_with_who_asked_and_takes_over_what_its_parent_has() -> None:
    desk = running()
    parent = desk.state.task("a")
    parent.spec = msgspec.structs.replace(parent.spec, timeout_s=9.0, check="make test", env={"K": "v"}, group="g")
    events, request = create(desk, description="Write the form", priority=3)
    spec = TaskSpec(
        id="write-the-form",
        description="Write the form",
        run="true",
        priority=3,
        timeout_s=9.0,
        check="make test",
        env={"K": "v"},
    )
    assert events[1:] == [e.External(cause="created", task=spec.id), e.TaskCreated(task=spec, parent="a")]
    assert (request.state, request.answer) == ("taken", "created write-the-form")


def test_the_same_asked_for_twice_by_attempts_at_one_task_is_one_task() -> None:
    desk = running()
    create(desk)
    events, request = create(desk)
    assert [e.kind_of(event) for event in events] == ["request_taken"]
    assert request.answer == "there is already do-it"


def test_other_tasks_of_the_same_description_get_ids_of_their_own() -> None:
    desk = running()
    answers = [create(desk, run=command)[1].answer for command in ("one", "two")]
    assert answers == ["created do-it", "created do-it-2"]


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "an unknown dependency": (
        {"after": ("build",)},
        "depends_on names build, and no task is called that; did you mean 'biuld'?",
    ),
    "an id that is taken": ({"id": "b"}, "there is already a task b; give it another id, or none"),
    "an id that is none": ({"id": "x\n"}, "'x\\n' cannot be a task's id: at most 100 letters, digits, - and _"),
    "an unknown lane": ({"lane": "web"}, "run night has no lane web; it has none"),
    "nothing to do": ({"run": None}, "a task has either an action, for an agent, or run, a shell command"),
    "two things to do": ({"prompt": "x"}, "a task has either an action, for an agent, or run, a shell command"),
    "no description": ({"description": " "}, "a task needs a description"),
    "a long description": (
        {"description": "x" * 501},
        "the description has 501 characters; at most 500 are kept",
    ),
    "a priority out of bounds": (
        {"priority": 10**10},
        "priority is 10000000000; it takes a whole number between -1000000000 and 1000000000",
    ),
    "an action where there are no agents": (
        {"run": None, "prompt": "x"},
        "run night has no agents, so nobody could take an action; give run, a shell command",
    ),
    "an attempt that never was": ({"by": Asker(task="a", attempt=7)}, "task a has had no attempt 7"),
    "an attempt at a task that has not begun": (
        {"by": Asker(task="b", attempt=1)},
        "task b has had no attempt 1",
    ),
    "a task that is none": ({"by": Asker(task="q", attempt=1)}, "run night has no task q"),
}


@pytest.mark.parametrize(("keys", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_join_is_refused_by_name(keys: dict[str, object], why: str) -> None:
    desk = running(task("b"), task("biuld"))
    events, request = create(desk, **keys)
    assert events == [e.RequestRefused(request=1, kind="create", reason=why)]
    assert (request.state, request.answer) == ("refused", why)


def test_a_dependency_that_will_never_be_done_is_refused() -> None:
    bench = Bench(task("a"), task("b"))
    bench.fill()
    bench.begin("a")
    bench.end("b", BAD)
    assert create(Desk(bench), after=("b",))[1].answer == "depends_on names b, which is failed and will not be done"


def test_a_task_may_depend_on_the_one_that_creates_it() -> None:
    desk = running()
    create(desk, after=("a",))
    assert desk.state.task("do-it").phase.value == "blocked"


def test_attempts_at_one_task_create_no_more_than_the_fan_out() -> None:
    desk = running(settings=RunSettings(slots=8, cpus=8.0, mcp_fan_out=2))
    answers = [create(desk, run=f"echo {number}")[1] for number in range(3)]
    assert [answer.state for answer in answers] == ["taken", "taken", "refused"]
    assert answers[-1].answer == "task a has created 2 tasks; mcp_fan_out allows 2"


def test_created_tasks_lead_no_further_away_than_the_depth() -> None:
    bench = Bench(task("a"), settings=RunSettings(slots=8, cpus=8.0, mcp_depth=1))
    bench.fill()
    bench.begin("a")
    bench.record(e.TaskCreated(task=task("x"), parent="a"))
    bench.fill()
    bench.begin("x")
    answer = create(Desk(bench), by=Asker(task="x", attempt=1))[1].answer
    assert answer == "task x is 1 away from the plan, and mcp_depth is 1: it cannot create further tasks"


def test_a_person_is_not_held_to_the_fan_out() -> None:
    desk = running(settings=RunSettings(slots=8, cpus=8.0, mcp_fan_out=0))
    assert create(desk, by=None)[1].state == "taken"
    assert create(desk)[1].state == "refused"


def test_a_lane_that_others_have_begun_behind_takes_no_more_tasks() -> None:
    lanes = (LaneSpec(id="one"), LaneSpec(id="two", after=("one",)))
    bench = Bench(task("a"), task("b", lane="two"), lanes=lanes)
    bench.fill()
    bench.begin("a")
    answer = create(Desk(bench), lane="one")[1].answer
    assert answer == "lane one comes before lane two, and task b of that has begun without it"


def test_a_cycle_through_lanes_is_refused_with_its_name() -> None:
    lanes = (LaneSpec(id="one"), LaneSpec(id="two", after=("one",)))
    desk = running(task("b", lane="two"), lanes=lanes)
    answer = create(desk, id="x", lane="one", after=("b",))[1].answer
    assert answer == "Circular dependencies detected: b -> x -> b"


def test_under_strict_nothing_joins_after_a_failure() -> None:
    bench = Bench(task("a"), task("b"), settings=RunSettings(slots=8, cpus=8.0, strict=True))
    bench.fill()
    bench.begin("a")
    bench.end("b", BAD)
    assert create(Desk(bench))[1].answer == "a task has failed, and under strict nothing new starts"


def agents(*names: str) -> RunSettings:
    return RunSettings(
        slots=8,
        cpus=8.0,
        workspace=WorkspaceTerms(kind="clone", base="c"),
        agents={name: AgentTerms(account=name) for name in names},
    )


def test_an_action_goes_to_the_agents_of_its_parent() -> None:
    desk = running(settings=agents("claude", "codex"))
    parent = desk.state.task("a")
    parent.spec = msgspec.structs.replace(parent.spec, run=None, agent=("codex",), model="m", timeout_s=60.0, retries=3)
    events, _ = create(desk, run=None, prompt="Write it.")
    made = events[-1]
    assert isinstance(made, e.TaskCreated)
    assert (made.task.agent, made.task.model, made.task.timeout_s, made.task.retries) == (("codex",), "m", 60.0, 3)


def test_an_action_of_a_command_goes_to_the_agent_of_the_run() -> None:
    desk = running(settings=agents("claude", "codex"))
    assert create(desk, run=None, prompt="x")[1].answer == "who is to do it? name an agent: claude, codex"
    assert create(desk, run=None, prompt="x", agent="gemini")[1].answer == (
        "run night has no agent gemini; it has claude, codex"
    )
    desk.state.task_defaults = {"agent": ["codex"]}
    made = create(desk, run=None, prompt="x")[0][-1]
    assert isinstance(made, e.TaskCreated)
    assert (made.task.agent, made.task.timeout_s, made.task.retries) == (("codex",), 3600.0, 1)


def test_a_created_task_can_be_changed_until_it_begins() -> None:
    desk = running(task("b"))
    create(desk)
    events, request = ask(desk, "update", ChangedTask(by=A, task="do-it", after=("b",), priority=4, run="echo"))
    made = events[-1]
    assert isinstance(made, e.TaskUpdated)
    assert (made.task.after, made.task.priority, made.task.run) == (("b",), 4, "echo")
    assert request.answer == "updated do-it"
    assert ask(desk, "update", ChangedTask(by=A, task="do-it", priority=4))[1].answer == "nothing to change about do-it"


def test_a_cycle_is_refused_with_its_name() -> None:
    desk = running()
    create(desk, id="x")
    create(desk, id="y", run="y", after=("x",))
    answer = ask(desk, "update", ChangedTask(by=A, task="x", after=("y",)))[1].answer
    assert answer == "Circular dependencies detected: x -> y -> x"
    assert create(desk, id="z", run="z", after=("z",))[1].answer == "depends_on names z, the task itself"


def test_dependencies_of_what_runs_or_is_done_are_refused() -> None:
    desk = running()
    create(desk, id="x")
    desk.journal.record(e.AttemptQueued(task="x", attempt=1, slot=1))
    answer = ask(desk, "update", ChangedTask(by=A, task="x", after=("a",)))[1].answer
    assert answer == "task x is running; only what has not begun can be changed, its dependencies included"
    desk.journal.record(e.AttemptEnded(task="x", attempt=1, phase=AttemptPhase.SUCCEEDED))
    assert "task x is done" in ask(desk, "update", ChangedTask(by=A, task="x", after=("a",)))[1].answer


def test_a_task_of_the_plan_is_changed_in_the_plan() -> None:
    desk = running(task("b"))
    assert "task b is the plan's" in ask(desk, "update", ChangedTask(task="b", priority=1))[1].answer


def test_what_merges_is_nothing_to_depend_on_and_nothing_to_change() -> None:
    desk = running()
    desk.journal.record(e.ErrandAdded(task=TaskSpec(id="verify-1", run="t", errand=Errand(kind="verify", start="c"))))
    why = "depends_on names verify-1, which merges what tasks made; nothing can depend on that"
    for keys in ({"after": ("verify-1",)}, {"prefer_after": ("verify-1",)}):
        assert create(desk, **keys)[1].answer == why
    create(desk)
    assert ask(desk, "update", ChangedTask(by=A, task="do-it", after=("verify-1",)))[1].answer == why
    answer = ask(desk, "update", ChangedTask(task="verify-1", priority=1))[1].answer
    assert answer == "task verify-1 is the merge queue's, which alone says what it does"
    assert create(desk, id="verify-1", run="x")[1].state == "refused"


def test_an_attempt_touches_only_what_its_task_has_created() -> None:
    desk = running(task("b"))
    create(desk, by=None, id="x")
    for kind, body in (
        ("update", ChangedTask(by=A, task="x", priority=1)),
        ("cancel", RequestBody(tasks=["b"], by=A)),
    ):
        assert "was not created by task a, which may not touch it" in ask(desk, kind, body)[1].answer
    create(desk, id="y", run="y")
    assert ask(desk, "cancel", RequestBody(tasks=["y"], by=A))[1].state == "taken"


def test_a_question_is_asked_once_and_answered_once() -> None:
    desk = running()
    events, _ = ask(desk, "ask", Asking(by=A, text="which?"))
    assert events[-1] == e.QuestionAsked(task="a", attempt=1, question=1, text="which?")
    assert ask(desk, "ask", Asking(by=A, text="which?"))[1].answer == "question 1"
    assert ask(desk, "ask", Asking(by=A, text="or?"))[1].answer == "question 1 has no answer yet: which?"
    events, _ = ask(desk, "answer", Answering(task="a", text="that"))
    assert events[1:] == [
        e.External(cause="answer", task="a"),
        e.QuestionAnswered(task="a", attempt=1, question=1, text="that"),
    ]
    assert ask(desk, "answer", Answering(task="a", text="that"))[1].answer == "task a asks nothing: it is active"
    assert ask(desk, "ask", Asking(by=A, text="or?"))[1].answer == "question 2"


def test_what_an_attempt_asked_for_before_it_ended_is_done_after_it_has() -> None:
    desk = running()
    desk.journal.record(e.AttemptEnded(task="a", attempt=1, phase=AttemptPhase.SUCCEEDED))
    assert create(desk)[1].answer == "created do-it"
    assert ask(desk, "ask", Asking(by=A, text="which?"))[1].answer == "attempt 1 at task a has ended"


def test_an_attempt_cannot_answer_itself() -> None:
    desk = running()
    ask(desk, "ask", Asking(by=A, text="which?"))
    assert ask(desk, "answer", Answering(by=A, task="a", text="that"))[1].state == "refused"


def test_reports_that_come_too_often_leave_nothing() -> None:
    desk = running()
    events, request = ask(desk, "progress", Reporting(by=A, text="half", percent=50))
    assert events == [e.ProgressReported(task="a", attempt=1, text="half", percent=50)]
    assert request.state == "taken"
    events, request = ask(desk, "progress", Reporting(by=A, text="more"))
    assert (events, request.state) == ([], "refused")
    attempt = desk.state.task("a").attempt
    assert attempt is not None
    assert attempt.progress is not None
    assert attempt.progress.words == "50 %, half"


def test_a_body_that_is_none_is_refused() -> None:
    desk = running()
    for kind in ("create", "update", "ask", "answer", "progress"):
        _, request = desk.ask(kind, body='{"by": 7}')
        assert request.state == "refused"


class _Killed(BaseException):
    """As by kill -9: nothing is tidied up."""


def _asked(probe: Callable[[str], None]) -> Stage:
    """Drive a run that is asked for a further task when it has begun, up to where it is killed."""
    stage = Stage(task("a"))
    stage.machine.script = lambda work: succeeded()
    body = msgspec.json.encode(NewTask(description="Next", run="true")).decode()

    def ask_once() -> None:
        stage.ask("create", body=body, key="once")

    try:
        stage.drive(on=at(e.TasksAdded, ask_once), probe=probe)
    except _Killed:
        ask_once()  # the same request, if it was asked before
    return stage


def test_a_driver_killed_at_any_point_creates_a_task_once_and_does_it() -> None:
    points: list[str] = []
    _asked(points.append)
    for number in range(len(points)):
        left = iter(range(number))

        def probe(_: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise _Killed

        stage = _asked(probe)
        stage.drive()
        if stage.answers()[0][1] == "refused":  # it was killed when the run was over, before it was ever asked
            assert stage.answers()[0][2] == "run night is finished"
            continue
        assert stage.phases() == {"a": "done", "next": "done"}, points[number]
        assert len(stage.of_kind(e.TaskCreated)) == 1
        stage.check_sound()
