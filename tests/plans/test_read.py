"""Reading plan files: what is taken, and how what is wrong is named."""

import json
from pathlib import Path

import pytest

from budwood._core.model import LaneSpec, TaskSpec
from budwood.errors import PlanError
from budwood.plans import Plan, parse_plan, read_plan
from budwood.plans.read import Notation

EXAMPLES = Path(__file__).parents[2] / "examples"
TASK = '[[task]]\nid = "a"\n'


def toml(text: str | bytes) -> Plan:
    return parse_plan(text.encode() if isinstance(text, str) else text, path="night.toml")


def refusal(text: str | bytes, *, notation: Notation = "toml") -> PlanError:
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(PlanError) as caught:
        parse_plan(raw, path=f"night.{notation}", notation=notation)
    return caught.value


def test_every_key_of_a_task_is_read() -> None:
    text = """
        [[lane]]
        id = "api"
        name = "The API"
        after = [2]
        [[lane]]
        id = 2
        [[task]]
        id = 7
        run = ["pytest", "-q"]
        description = "d"
        prompt = "p"
        after = ["b", 3]
        prefer_after = ["c"]
        priority = -4
        timeout = "1h30m"
        retries = 2
        env = { A = "1" }
        env_pass = ["HOME"]
        lane = "api"
        group = "net"
        cpus = 1.5
        gpus = 1
        memory = "2GiB"
        reserve_usd = 0.5
        reserve_tokens = 10
    """
    plan = toml(text)
    assert plan.lanes == (LaneSpec(id="api", name="The API", after=(2,)), LaneSpec(id=2))
    assert plan.tasks == (
        TaskSpec(
            id=7,
            run=("pytest", "-q"),
            description="d",
            prompt="p",
            after=("b", 3),
            prefer_after=("c",),
            priority=-4,
            timeout_s=5400.0,
            retries=2,
            env={"A": "1"},
            env_pass=("HOME",),
            lane="api",
            group="net",
            cpus=1.5,
            gpus=1,
            memory_bytes=2 * 1024**3,
            reserve_usd=0.5,
            reserve_tokens=10,
        ),
    )


def test_the_same_plan_in_json_is_the_same_plan() -> None:
    text = '[run]\nslots = 2\n[[lane]]\nid = 1\n[[task]]\nid = "a"\nrun = "x"\nlane = 1\ntimeout = "5m"\n'
    raw = {"run": {"slots": 2}, "lane": [{"id": 1}], "task": [{"id": "a", "run": "x", "lane": 1, "timeout": "5m"}]}
    given = parse_plan(json.dumps(raw).encode(), path="night.toml", notation="json")
    assert given == toml(text)


def test_a_byte_order_mark_and_crlf_are_fine() -> None:
    assert toml(b'\xef\xbb\xbf[[task]]\r\nid = "a"\r\n').tasks[0].id == "a"
    assert parse_plan(b'\xef\xbb\xbf{"task": [{"id": 1}]}\r\n', path="x", notation="json").tasks[0].id == 1


def test_ids_beyond_ascii_are_kept() -> None:
    assert toml('[[task]]\nid = "größe 日本"\n').tasks[0].id == "größe 日本"


@pytest.mark.parametrize("name", ["every-key.toml", "yokeflow.json"])
def test_the_examples_are_read(name: str) -> None:
    assert read_plan(EXAMPLES / name).tasks


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[run]\nslot = 3\n" + TASK, "unknown key 'slot' in [run] of night.toml", "did you mean 'slots'?"),
        ("slots = 3\n" + TASK, "unknown key 'slots' in night.toml", "it belongs into [run]"),
        ("timeout = 3\n" + TASK, "unknown key 'timeout' in night.toml", "it belongs into [run]"),
        ('prompt = "x"\n' + TASK, "unknown key 'prompt' in night.toml", "it belongs into [[task]]"),
        (
            '[agents.x]\nmodel = "m"\n' + TASK,
            "unknown key 'agents' in night.toml",
            "it belongs into budwood.toml, or into your own settings file",
        ),
        ("[[tasks]]\nid = 1\n", "unknown key 'tasks' in night.toml", "did you mean 'task'?"),
        ("[task]\nid = 1\n", "task in night.toml is not a list of tables", "write [[task]] with two brackets"),
        ("run = 3\n", "run in night.toml is 3; it takes a table", "write [run]; a command stands in a [[task]]"),
        (TASK + "retry = 3", "unknown key 'retry' in task 'a' of night.toml", "did you mean 'retries'?"),
        (TASK + "slots = 3", "unknown key 'slots' in task 'a' of night.toml", "it belongs into [run]"),
        ('[[lane]]\nid = 1\nrun = "x"\n', "unknown key 'run' in lane '1' of night.toml", "it belongs into [[task]]"),
        (
            '[[task]]\nrun = "x"\n',
            "task number 1 of night.toml has no id",
            'add id = "…": every task needs one',
        ),
        (
            TASK + "env = { A = 1 }",
            "env of task 'a' in night.toml sets A to 1, which is not text",
            'write A = "1"',
        ),
        (
            TASK + "env = { A = true }",
            "env of task 'a' in night.toml sets A to True, which is not text",
            'write A = "true"',
        ),
        (
            TASK + 'after = "b"',
            "after of task 'a' in night.toml is 'b'; it takes a list of ids: [\"a\", 7]",
            'write after = ["b"]',
        ),
        ("", "night.toml has no tasks", 'add one: [[task]] with id = "hello" and run = "echo hello"'),
    ],
)
def test_what_does_not_belong_is_named_with_what_was_meant(text: str, message: str, hint: str) -> None:
    error = refusal(text)
    assert (error.message, error.hint) == (message, hint)


@pytest.mark.parametrize(
    ("line", "wants"),
    [
        ('timeout = "10x"', "a duration"),
        ("timeout = 0", "a duration"),
        ("timeout = -1", "a duration"),
        ('memory = "lots"', "a size"),
        ("memory = 0", "a size"),
        ('run = ""', "a command"),
        ('run = "  "', "a command"),
        ("run = []", "a command"),
        ('run = [""]', "a command"),
        ("run = [1]", "a command"),
        ("run = 3", "a command"),
        ('run = "a\\u0000b"', "a command"),
        ("retries = -1", "a whole number"),
        ('retries = "2"', "a whole number"),
        ("cpus = 0", "a number above 0"),
        ("cpus = nan", "a number above 0"),
        ("cpus = inf", "a number above 0"),
        ("gpus = -1", "a whole number"),
        ("gpus = 1.5", "a whole number"),
        ("priority = 1.5", "a whole number"),
        ("priority = 10000000000", "a whole number"),
        ('env_pass = "X"', "a list of variable names"),
        ('env_pass = ["A=1"]', "a list of variable names"),
        ('env = { "A=B" = "1" }', "a table of text"),
        ("env = 3", "a table of text"),
        ("after = [1.5]", "a list of ids"),
        ("lane = true", "the id of a lane"),
        ('group = ""', "text that is not empty"),
        ("reserve_usd = -1", "a number"),
        ("reserve_tokens = -1", "a whole number"),
        ("description = 1", "text"),
        ("prompt = 2020-01-01", "text"),
    ],
)
def test_a_wrong_value_names_key_task_and_what_is_taken(line: str, wants: str) -> None:
    message = refusal(TASK + line).message
    key = line.partition(" ")[0]
    assert message.startswith(f"{key} of task 'a' in night.toml is ")
    assert f"; it takes {wants}" in message


@pytest.mark.parametrize(
    ("id_", "message"),
    [
        ('""', "a task in night.toml has an empty id"),
        ('" "', "a task in night.toml has an empty id"),
        ('"a\\n"', "task id 'a\\n' in night.toml has control characters"),
        ('"\\u009b1m"', "task id '\\x9b1m' in night.toml has control characters"),
        ("true", "id of task number 1 in night.toml is True; it takes text or a whole number"),
        ("1.5", "id of task number 1 in night.toml is 1.5; it takes text or a whole number"),
        ("99999999999999999999", "task id 99999999999999999999 in night.toml is too large a number"),
    ],
)
def test_ids_that_cannot_be_are_refused(id_: str, message: str) -> None:
    assert refusal(f"[[task]]\nid = {id_}\n").message == message


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[run]\nslots 3\n", "night.toml:2:7: not TOML: expected '='"),
        ("[[task]]\nid = ", "night.toml:2:5: not TOML: invalid value"),
        (b"a = 1\n\xff\n", "night.toml:2: not UTF-8 text"),
        (b"\xff\xfe[\x00", "night.toml:1: not UTF-8 text"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_place(text: str | bytes, start: str) -> None:
    assert refusal(text).message.startswith(start)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ('{"task": [\n {"id": 1,}]}', "night.json:2:11: not JSON: trailing comma in object"),
        ('{"task": [', "night.json:1:11: not JSON: input data was truncated"),
        ("", "night.json:1:1: not JSON: input data was truncated"),
        (b'{"task": [\n{"id": "\xff"}]}', "night.json:2: not UTF-8 text"),
        ("3", "night.json is not a plan"),
        ("[" * 100_000, "night.json: nested too deeply"),
        ('{"task": ["a"]}', "task number 1 in night.json is 'a'; it takes a table"),
        ('{"task": [{"id": 1, "rnu": "x"}]}', "unknown key 'rnu' in task '1' of night.json"),
        ('{"task": [{"id": 1, "env": {"A": null}}]}', "env of task '1' in night.json sets A to None"),
    ],
)
def test_what_is_wrong_in_json_is_refused_as_in_toml(text: str | bytes, start: str) -> None:
    assert refusal(text, notation="json").message.startswith(start)


def test_a_missing_file_and_another_kind_of_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "night.toml").write_text(TASK)
    (tmp_path / "night.yaml").write_text("a: 1")
    with pytest.raises(PlanError) as caught:
        read_plan(tmp_path / "nigth.toml")
    assert caught.value.hint == "did you mean 'night.toml'?"
    with pytest.raises(PlanError, match=r"neither \.toml, \.json nor \.md"):
        read_plan(tmp_path / "night.yaml")
    with pytest.raises(PlanError, match="is a directory"):
        read_plan(tmp_path)
    assert read_plan(tmp_path / "night.toml").tasks[0].id == "a"


@pytest.mark.parametrize(
    "text",
    [
        '{"task": [{"id": "a", "run": "x", "id": "b"}]}',
        '{"task": [{"id": "a", "run": "x"}], "task": []}',
        '{"task": [{"id": "a", "run": "x", "env": {"A": "1", "A": "2"}}]}',
        '{"run": {"slots": 1, "slots": 2}, "task": [{"id": "a", "run": "x"}]}',
        '{"tasks": [{"id": 1, "action": "x", "id": 2}]}',
        '[{"id": 1, "action": "x", "action": "y"}]',
    ],
)
def test_a_key_that_is_there_twice_is_refused(text: str) -> None:
    assert "is there twice in one object: " in refusal(text, notation="json").message
    assert refusal('{"task": [{"id": "a", "id": "b"}]}', notation="json").message == (
        "night.json: the key 'id' is there twice in one object: 'a' and 'b'"
    )


def test_large_json_is_not_read_a_second_time_for_that() -> None:
    from budwood.plans.twins import MOST_BYTES

    text = '{"task": [{"id": "a", "run": "x", "id": "b"}]}' + " " * MOST_BYTES
    assert [task.id for task in parse_plan(text.encode(), path="night.json", notation="json").tasks] == ["b"]


def test_huge_numbers_are_no_reason_to_read_it_otherwise() -> None:
    digits = "9" * 5000
    assert "is there twice" not in refusal('{"task": [{"id": ' + digits + "}]}", notation="json").message
