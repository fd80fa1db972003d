"""The program asks a real server, applies the answer, and says in its last line how it went."""

import json
import sys
import time

import pytest
from tests.agents.model.stub import EDIT, KEY, Desk, Got, Reply, Stub, completion, refusal
from tests.support.receiver import free_port

pytestmark = pytest.mark.timeout(60, method="thread")  # the program uses the timer of the other method itself


def test_an_answer_is_applied_and_everything_is_said_in_the_last_line(desk: Desk) -> None:
    with Stub(completion(f"Done:\n{EDIT}")) as stub:
        ran = desk.start(
            f"{stub.base_url}/?version=1",
            *("--temperature", "0.5", "--max-tokens", "77", "--price-in", "2", "--price-out", "10", "--files", "*.py"),
        )
    assert desk.app.read_text() == "x = 2\ny = 1\n"
    assert list(ran.report.items()) == [
        ("type", "result"),
        ("agent", "model"),
        ("outcome", "ok"),
        ("message", "1 file changed"),
        ("until_ms", None),
        ("input_tokens", 1000),
        ("output_tokens", 100),
        ("cached_tokens", 600),
        ("cost_usd", 0.003),
        ("model", "m-2"),
        ("files", ["app.py"]),
        ("request_id", "chatcmpl-7"),
    ]
    assert ran.code == 0
    assert ran.out.splitlines()[1:3] == ["| Done:", "| app.py"]
    assert ran.out.startswith("prompt: ")
    assert json.loads(desk.usage.read_text()) == {"cost_usd": 0.003, "tokens": 1100}
    [got] = stub.got
    assert got.target == "/v1/chat/completions?version=1"
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert {key: got.json[key] for key in ("model", "temperature", "max_tokens")} == {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 77,
    }
    system, user = got.json["messages"]
    assert "<<<<<<< SEARCH" in system["content"]
    assert user["content"] == "Make x two.\n\n``` app.py\nx = 1\ny = 1\n```\n"
    assert sorted(path.name for path in desk.workspace.iterdir()) == ["app.py"]


def test_what_is_not_given_is_not_sent_and_a_cost_without_prices_is_unknown(desk: Desk) -> None:
    with Stub(completion(EDIT)) as stub:
        ran = desk.run(stub.base_url, "--price-in", "2")
    assert (ran.report["cost_usd"], ran.report["input_tokens"]) == (None, 1000)
    assert json.loads(desk.usage.read_text()) == {"cost_usd": None, "tokens": 1100}
    assert set(stub.got[0].json) == {"model", "messages", "stream"}


@pytest.mark.parametrize(
    ("reply", "outcome", "words"),
    [
        (refusal(401, f"Incorrect API key provided: {KEY}"), "auth", "Incorrect API key provided: ***"),
        (refusal(404, "The model m does not exist"), "not_found", "404: The model m does not exist"),
        (refusal(429, "Slow down", Retry_After="3600"), "limit", "429: Slow down"),
        (refusal(429, "You have spent it", code="insufficient_quota", Retry_After="1"), "quota", "You have spent it"),
        (refusal(400, "too much", code="context_length_exceeded"), "context", "too much"),
        (refusal(500, "oops"), "failed", "500: oops"),
        (completion("", reason="length"), "context", "no token was left"),
        (completion(None), "empty", "no text"),
        (completion(EDIT, reason="length"), "cut", "stops in the middle"),
        (completion(None, refusal="I will not"), "refused", "I will not"),
        (Reply(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}), "failed", "no chat completion (text/html"),
        (Reply(302, b"", {"Location": "http://127.0.0.1:1/elsewhere"}), "failed", "302, which leads elsewhere"),
        (Reply(None), "failed", "gave no answer"),
        (Reply(200, completion(EDIT).body, cut=True), "failed", "gave no answer"),
    ],
)
def test_every_other_end_has_its_outcome_is_asked_once_and_changes_nothing(
    desk: Desk, reply: Reply, outcome: str, words: str
) -> None:
    with Stub(reply) as stub:
        ran = desk.run(stub.base_url)
    assert ran.outcome == (outcome, 1)
    assert words in ran.report["message"]
    assert len(stub.got) == 1
    assert desk.app.read_text() == "x = 1\ny = 1\n"
    assert (ran.report["until_ms"] is not None) == (outcome == "limit")
    unpaid = reply.status is not None and 300 <= reply.status < 500
    assert (ran.report["cost_usd"] == 0.0) == unpaid  # else somebody may have worked on it, and that is not known
    assert (desk.usage.exists() and json.loads(desk.usage.read_text())["cost_usd"] == 0.0) == unpaid


@pytest.mark.parametrize(
    "usage", [b"null", b'"free"', b'{"prompt_tokens": -5, "completion_tokens": 1}', b'{"prompt_tokens": 1}']
)
def test_an_answer_counts_though_what_it_consumed_is_not_known(desk: Desk, usage: bytes) -> None:
    body, _, _ = completion(EDIT).body.partition(b'"usage":')
    with Stub(Reply(200, body + b'"usage":' + usage + b"}")) as stub:
        ran = desk.run(stub.base_url, "--price-in", "1", "--price-out", "1")
    assert ran.outcome == ("ok", 0)
    assert ran.report["cost_usd"] is None


def test_edits_among_the_thoughts_before_an_answer_are_not_meant(desk: Desk) -> None:
    with Stub(completion(f"<think>\n{EDIT}</think>\n```app.py\nother\n```\n")) as stub:
        assert desk.run(stub.base_url).outcome == ("ok", 0)
    assert desk.app.read_text() == "other\n"


def test_what_may_be_asked_again_is_and_no_more_than_three_times(desk: Desk) -> None:
    with Stub(refusal(503, "away"), refusal(429, "wait", Retry_After="0"), completion(EDIT)) as stub:
        assert desk.run(stub.base_url).outcome == ("ok", 0)
    assert len(stub.got) == 3
    [key] = {got.headers["idempotency-key"] for got in stub.got}
    desk.answer.unlink()
    with Stub(refusal(502, "away")) as stub:
        assert desk.run(stub.base_url, env={"BUDWOOD_ATTEMPT": "2"}).outcome == ("failed", 1)
    assert len(stub.got) == 3
    with Stub(refusal(502, "away"), refusal(401, "no")) as stub:
        refused = desk.run(stub.base_url, env={"BUDWOOD_ATTEMPT": "3"})
    assert (refused.outcome, refused.report["cost_usd"]) == (("auth", 1), None)  # the first may have been answered
    assert key not in {got.headers["idempotency-key"] for got in stub.got}


def test_a_server_that_is_not_there_is_named(desk: Desk) -> None:
    ran = desk.run(f"http://127.0.0.1:{free_port()}/v1")
    assert ran.outcome == ("failed", 1)
    assert "cannot be reached" in ran.report["message"]
    assert ran.report["cost_usd"] == 0.0


@pytest.mark.parametrize("reply", [Reply(None, hang=True), Reply(200, b'{"choices": [', hang=True)])
def test_a_server_that_drips_for_ever_is_left_at_the_time_limit(desk: Desk, reply: Reply) -> None:
    began = time.monotonic()
    with Stub(reply) as stub:
        ran = desk.start(stub.base_url, "--timeout", "0.3")
    assert ran.outcome == ("failed", 1)
    assert time.monotonic() - began < 10
    assert not desk.answer.exists()


def test_an_answer_of_ten_megabytes_in_the_wrong_type_is_applied(desk: Desk) -> None:
    big = f"z = '{'z' * 92}'\n" * 100_000
    answer = completion(f"```python big.py\n{big}```\n")
    with Stub(Reply(200, answer.body, {"Content-Type": "text/plain"})) as stub:
        assert desk.run(stub.base_url).outcome == ("ok", 0)
    assert (desk.workspace / "big.py").read_text() == big


def test_an_answer_may_come_in_chunks(desk: Desk) -> None:
    with Stub(Reply(200, completion(EDIT).body, chunked=True)) as stub:
        assert desk.run(stub.base_url).outcome == ("ok", 0)


def test_proxies_of_the_environment_are_not_used_for_this_machine(desk: Desk) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with Stub(completion(EDIT)) as stub:
        env = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), nobody)
        assert desk.run(stub.base_url, env={**env, "no_proxy": "", "NO_PROXY": ""}).outcome == ("ok", 0)


def test_a_key_that_the_server_echoes_is_nowhere_to_be_seen(desk: Desk) -> None:
    def echo(got: Got) -> Reply:
        said = got.headers["authorization"]
        reply = completion(f"You sent {said}.\n{EDIT}")
        return Reply(200, reply.body.replace(b"chatcmpl-7", said.encode()), {"X-Request-Id": said})

    with Stub(echo) as stub:
        ran = desk.run(stub.base_url)
    assert ran.outcome == ("ok", 0)
    assert "| You sent Bearer ***." in ran.out
    assert ran.report["request_id"] == "Bearer ***"


@pytest.mark.parametrize(
    ("value", "words"),
    [("", "THE_KEY, which should hold the key, is not set"), (f"{KEY}\n", "THE_KEY holds characters that no key has")],
)
def test_a_key_that_is_missing_or_cannot_be_sent_is_a_matter_of_login(desk: Desk, value: str, words: str) -> None:
    ran = desk.run("http://127.0.0.1:1/v1", env={"THE_KEY": value})
    assert ran.outcome == ("auth", 1)
    assert words in ran.report["message"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--timeout", "-1"), "argument --timeout: '-1' is no number of at least 0"),
        (("--max-tokens", "x"), "argument --max-tokens: 'x' is no whole number"),
        (("--files", "a**b/["), "--files"),
        (("--price-in", "nan"), "argument --price-in"),
        (("--files", "*.md"), "'*.md' names no file"),
        (("--files", "../*"), "no pattern inside the workspace"),
        (("--base-url", "http://me:hunter2@host/v1"), "contains a user or a password"),
        (("--prompt-file", "none.md"), "none.md cannot be read: No such file"),
    ],
)
def test_what_is_asked_for_in_a_wrong_way_ends_with_code_2(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    ran = desk.run("http://127.0.0.1:1/v1", *arguments)
    assert ran.outcome == ("failed", 2)
    assert words in ran.report["message"]
    assert ran.report["message"] in ran.err
    assert "hunter2" not in ran.out + ran.err


def test_without_httpx_it_says_what_to_install(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    ran = desk.run("http://127.0.0.1:1/v1")
    assert ran.outcome == ("failed", 2)
    assert "pip install 'budwood[model]'" in ran.report["message"]
