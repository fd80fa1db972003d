"""Tasks made in Python: what they say, what they are called, and what is refused at once."""

import functools
import inspect
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from tests.api import work

import budwood
from budwood import PlanError, SettingsError, TaskSpec, UsageError

MODULE = "tests.api.work"


def test_a_decorated_function_is_as_it_was() -> None:
    function: object = work.square
    assert work.square(3) == 9
    assert inspect.isfunction(function)
    assert pickle.loads(pickle.dumps(function)) is function
    assert str(inspect.signature(work.square)) == "(number: int) -> int"
    assert function.__doc__ == "Multiply a number by itself."


def test_a_task_is_a_call_with_its_arguments() -> None:
    assert work.square.task(3) == TaskSpec(id="square-3", function=f"{MODULE}:square", args=(3,))


def test_keys_of_the_decorator_are_those_of_every_task_and_options_add_to_them() -> None:
    assert work.power.task(2.0) == TaskSpec(
        id="power-2.0", function=f"{MODULE}:power", args=(2.0,), retries=2, timeout_s=10.0
    )
    made = work.power.options(id="a", after=["b"], retries=0, priority=3).task(2.0, exponent=8)
    assert made == TaskSpec(
        id="a",
        function=f"{MODULE}:power",
        args=(2.0,),
        kwargs={"exponent": 8},
        after=("b",),
        timeout_s=10.0,
        priority=3,
    )


def test_arguments_that_are_called_like_keys_of_tasks_are_the_functions() -> None:
    made = work.shout.options(id="task").task(id="argument", after="all")
    assert (made.id, made.after, made.kwargs) == ("task", (), {"id": "argument", "after": "all"})


def test_after_takes_tasks_and_ids() -> None:
    first = work.nothing.task()
    assert work.square.options(after=[first, "other", 7]).task(1).after == ("nothing", "other", 7)
    assert budwood.command("true", after=[first]).after == ("nothing",)


@pytest.mark.parametrize("after", ["first", work.nothing.task()])
def test_after_without_brackets_is_refused(after: str) -> None:
    with pytest.raises(UsageError, match="list of tasks or ids"):
        budwood.command("true", after=after)


def test_a_function_needs_no_decorator() -> None:
    made = budwood.call(work.plain, args=["hello"], id="hi", retries=1)
    assert made == TaskSpec(id="hi", function=f"{MODULE}:plain", args=("hello",), retries=1)
    assert budwood.call(math.sqrt, args=[2]).function == "math:sqrt"
    assert work.Thing.still.task(3).function == f"{MODULE}:Thing.still"


def test_a_function_can_be_named_without_being_imported() -> None:
    made = budwood.call("not.there:work", args=[1], kwargs={"deep": True}, id="x")
    assert made == TaskSpec(id="x", function="not.there:work", args=(1,), kwargs={"deep": True})


@pytest.mark.parametrize("name", ["not.there.work", "not there:work", "a:", ":b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="module:name"):
        budwood.call(name)


def test_a_command_is_text_or_words() -> None:
    assert budwood.command("pytest -q", id="test", lane="a") == TaskSpec(id="test", run="pytest -q", lane="a")
    assert budwood.command(["echo", "a b"], id="say").run == ("echo", "a b")


# --- ids ---


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (work.nothing.task(), "nothing"),
        (work.square.task(-3), "square--3"),
        (work.power.task(0.5, exponent=3), "power-0.5-exponent=3"),
        (budwood.call(work.plain, args=["word"]), "plain-word"),
        (budwood.command("pytest -q tests"), "pytest-q-tests"),
        (budwood.command(["make", "all"]), "make-all"),
        (budwood.command("!!!"), "command"),
    ],
)
def test_an_id_that_nobody_gave_tells_the_call(made: TaskSpec, name: str) -> None:
    assert made.id == name


def test_ids_of_different_calls_differ_whatever_the_arguments_look_like() -> None:
    arguments = [1, 1.0, True, None, "1", "True", "None", "a", "a-b", ["a", "b"], {"a": "b"}, "x" * 100, "x" * 101, ""]
    ids = [str(budwood.call(work.plain, args=[argument]).id) for argument in arguments]
    assert len(set(ids)) == len(ids)
    assert max(map(len, ids)) <= 40


def test_the_id_of_a_call_is_the_same_in_every_process(tmp_path: Path) -> None:
    code = "import budwood; print(budwood.call('a:b', args=[{'x': 1, 'ä': [2]}]).id)"
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.strip() == budwood.call("a:b", args=[{"ä": [2], "x": 1}]).id


# --- what a worker could not do ---


def local_function() -> object:
    def inner() -> None: ...

    return inner


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda: None, "a lambda"),
        (local_function(), "inner is defined inside another function"),
        (work.Thing().method, "method of an object"),
        (functools.partial(work.square, 3), "no name that a worker could import"),
    ],
)
def test_what_a_worker_cannot_import_is_refused_at_once(function: object, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        budwood.call(function)  # type: ignore[arg-type]
    assert "module" in (caught.value.hint or "")


def test_a_function_whose_name_means_another_by_now_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    old = work.plain
    monkeypatch.setattr(work, "plain", work.nothing)
    with pytest.raises(UsageError, match="is not this function"):
        budwood.call(old, args=["a"])


def test_a_function_under_another_decorator_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "square", functools.cache(work.square))
    assert budwood.call(work.square, args=[3]).function == f"{MODULE}:square"


def test_only_functions_are_decorated() -> None:
    with pytest.raises(UsageError, match="is for functions"):
        budwood.task(work.Thing)


@pytest.mark.parametrize(
    "value", [{1, 2}, (1, 2), Path("a"), math.nan, math.inf, b"bytes", {1: "a"}, "\ud800", object(), [1, {"a": {2}}]]
)
def test_arguments_that_are_no_json_are_refused_by_name(value: object) -> None:
    with pytest.raises(UsageError, match=r"argument number of tests\.api\.work:square is .*no JSON"):
        work.square.task(value)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"argument exponent of tests\.api\.work:power"):
        work.power.task(1, exponent=value)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="argument 1 of a:b"):
        budwood.call("a:b", args=[value])


def test_a_call_that_the_function_would_refuse_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="too many positional arguments") as caught:
        work.square.task(1, 2)  # type: ignore[call-arg]
    assert caught.value.hint == "it takes (number: int) -> int"
    with pytest.raises(UsageError, match="missing a required argument: 'number'"):
        work.square.task()  # type: ignore[call-arg]


# --- keys ---


def test_a_key_that_no_task_has_is_refused_with_a_suggestion() -> None:
    for made in (
        lambda: budwood.task(retires=2),  # type: ignore[call-overload]
        lambda: work.square.options(retires=2),  # type: ignore[call-arg]
        lambda: budwood.command("true", retires=2),  # type: ignore[call-arg]
    ):
        with pytest.raises(SettingsError, match="unknown key 'retires' of a task") as caught:
            made()
        assert caught.value.hint == "did you mean 'retries'?"


def test_a_value_that_a_key_cannot_have_is_refused_as_in_a_plan() -> None:
    with pytest.raises(PlanError, match="timeout of task 'a' in Python is 'soon'; it takes a duration"):
        budwood.command("true", id="a", timeout="soon")
    with pytest.raises(PlanError, match="retries of task 'a' in Python is -1"):
        budwood.command("true", id="a", retries=-1)
    with pytest.raises(PlanError, match="empty id"):
        budwood.command("true", id="")
