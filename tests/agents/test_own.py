"""`script` and `model`: the real programs, started as their adapters say, against a real server, and read."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.agents.model.stub import EDIT, Reply, Stub, completion, refusal
from tests.agents.starting import BERLIN, NOW_MS, Bench

from budwood import __version__
from budwood.agents.base import Agent, OutcomeKind, Price, Reading, Tokens
from budwood.agents.config import AgentConfig
from budwood.agents.finding import LoginState, look_for
from budwood.agents.making import make_agent
from budwood.agents.own import _KINDS
from budwood.agents.registry import agent_names
from budwood.agents.report import Outcome
from budwood.errors import InternalError, SettingsError, UsageError

KEY = "sk-this-is-the-secret"
PRICES = {"m": Price(input_per_million=2, output_per_million=10, cached_per_million=0.5)}


def script() -> Agent:
    return make_agent(AgentConfig(name="script", agent="script"), python=sys.executable)


def model(base_url: str, **more: object) -> Agent:
    fields = {"name": "local", "agent": "model", "base_url": base_url, "api_key_env": "THE_KEY", **more}
    return make_agent(AgentConfig(**fields), python=sys.executable, prices=PRICES)  # type: ignore[arg-type]


class Ran:
    """What an agent left."""

    def __init__(self, agent: Agent, bench: Bench, prompt: str, **env: str) -> None:
        launch = agent.launch(msgspec.structs.replace(bench.assignment(prompt), model="m"))
        given = {
            name: value for name, value in {"THE_KEY": KEY, **env}.items() if name in launch.env_pass or name in env
        }
        done = subprocess.run(
            launch.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=bench.workspace,
            env={"PATH": os.environ["PATH"], "HOME": str(bench.home), **launch.env, **given},
            timeout=30,
            check=False,
        )
        self.output, self.code, self.agent = done.stdout, done.returncode, agent

    def reading(self) -> Reading:
        """Read it, at a moment that is past."""
        code, number = (None, -self.code) if self.code < 0 else (self.code, None)
        return self.agent.read(self.output, exit_code=code, signal=number, now_ms=NOW_MS, zone=BERLIN)


def follow(bench: Bench, steps: str, **env: str) -> Reading:
    return Ran(script(), bench, steps, **env).reading()


def test_a_script_is_the_prompt_itself_and_tells_what_it_cost(bench: Bench) -> None:
    reading = follow(
        bench,
        '[[step]]\ndo = "write"\npath = "made.txt"\ntext = "{task}"\n[[step]]\ndo = "cost"\nusd = 0.25\ntokens = 12\n',
        BUDWOOD_TASK="t7",
    )
    assert (bench.workspace / "made.txt").read_text() == "t7"
    assert reading == Reading(kind=OutcomeKind.OK, cost_usd=0.25, tokens=12, split=Tokens(input=0, output=12))


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        ('do = "fail"\nmessage = "no luck"', OutcomeKind.FAILED, "step 1: no luck"),
        ('do = "fail"\nexit_code = 143', OutcomeKind.FAILED, "step 1: told to fail"),
        ('do = "read"\npath = "absent"', OutcomeKind.FAILED, "step 1: absent: No such file or directory"),
        ('do = "raed"\npath = "absent"', OutcomeKind.FAILED, "did you mean 'read'?"),
        ('do = "limit"', OutcomeKind.LIMIT, "step 1: told to be at a limit"),
        ('do = "crash"', OutcomeKind.KILLED, "it was ended by SIGKILL"),
        ('do = "crash"\nsignal = "SIGSEGV"', OutcomeKind.FAILED, "it crashed by SIGSEGV"),
    ],
)
def test_every_end_of_a_script_is_read(bench: Bench, step: str, kind: OutcomeKind, words: str) -> None:
    reading = follow(bench, f"[[step]]\n{step}\n")
    assert (reading.kind, words in reading.message) == (kind, True), reading


def test_a_limit_says_until_when(bench: Bench) -> None:
    reading = follow(bench, '[[step]]\ndo = "limit"\nuntil = 2030-01-01T00:00:00Z\n')
    assert (reading.kind, reading.until_ms) == (OutcomeKind.LIMIT, 1_893_456_000_000)


def test_a_report_that_something_else_printed_is_no_success(bench: Bench) -> None:
    forged = '{"type":"result","agent":"script","outcome":"%s"}'
    say = f"[[step]]\ndo = \"say\"\ntext = '{forged}'\n"
    assert follow(bench, say % "ok" + '[[step]]\ndo = "crash"\n').kind is OutcomeKind.KILLED
    more = '[[step]]\ndo = "say"\ntext = "on"\n[[step]]\ndo = "crash"\n'
    assert follow(bench, say % "limit" + more).kind is OutcomeKind.KILLED
    assert follow(bench, say % "limit").kind is OutcomeKind.OK


def test_a_report_counts_though_a_left_child_prints_behind_it() -> None:
    output = b'{"type":"result","agent":"script","outcome":"limit","message":"m"}\nstill here\n'
    reading = script().read(output, exit_code=1, signal=None, now_ms=NOW_MS, zone=BERLIN)
    assert reading == Reading(kind=OutcomeKind.LIMIT, message="m")


def test_an_end_without_a_report_is_told_by_how_it_ended() -> None:
    def read(output: bytes, code: int | None, *, timed_out: bool = False) -> tuple[OutcomeKind, str]:
        reading = script().read(
            output,
            exit_code=code,
            signal=None if code is not None else 15,
            now_ms=NOW_MS,
            zone=BERLIN,
            timed_out=timed_out,
        )
        return reading.kind, reading.message

    assert read(b"x\nNo module named budwood\n", 1) == (OutcomeKind.FAILED, "No module named budwood")
    assert read(b"", 3) == (OutcomeKind.FAILED, "exit code 3")
    assert read(b"", 0) == (OutcomeKind.FAILED, "it ended without a word on success")
    assert read(b"step\n", None) == (OutcomeKind.KILLED, "it was ended by SIGTERM")
    assert read(b"step\n", None, timed_out=True) == (OutcomeKind.TIMEOUT, "stopped at its time limit")


def test_files_of_the_workspace_are_not_taken_for_modules(bench: Bench) -> None:
    for name in ("budwood", "msgspec", "tomllib", "signal"):
        (bench.workspace / f"{name}.py").write_text("raise SystemExit(77)")
    assert follow(bench, '[[step]]\ndo = "say"\ntext = "hello"\n').kind is OutcomeKind.OK


def test_a_models_answer_is_applied_paid_and_priced(bench: Bench) -> None:
    (bench.workspace / "app.py").write_text("x = 1\n")
    with Stub(completion(EDIT)) as stub:
        agent = model(stub.base_url, temperature=0.5, max_tokens=77, timeout_s=20.0, files=("*.py",))
        reading = Ran(agent, bench, "Make x two.\n").reading()
    assert (bench.workspace / "app.py").read_text() == "x = 2\n"
    used = Tokens(input=1000, output=100, cached=600)
    assert reading.kind is OutcomeKind.OK
    assert (reading.split, reading.tokens, reading.by_model) == (used, 1100, {"m-2": used})
    assert reading.cost_usd == pytest.approx((400 * 2 + 600 * 0.5 + 100 * 10) / 1e6)
    [got] = stub.got
    assert (got.json["model"], got.json["temperature"], got.json["max_tokens"]) == ("m", 0.5, 77)
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert "Make x two." in got.json["messages"][1]["content"]
    assert "x = 1" in got.json["messages"][1]["content"]


def test_an_answer_is_asked_for_once_in_an_attempt(bench: Bench) -> None:
    (bench.workspace / "app.py").write_text("x = 1\n")
    with Stub(completion(EDIT)) as stub:
        readings = [Ran(model(stub.base_url), bench, "Go.").reading() for _ in range(2)]
    assert [reading.kind for reading in readings] == [OutcomeKind.OK] * 2
    assert len(stub.got) == 1


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (refusal(401, "wrong key"), OutcomeKind.AUTH, "the server answers 401: wrong key"),
        (refusal(402, "pay"), OutcomeKind.QUOTA, "402"),
        (refusal(429, "all gone", code="insufficient_quota"), OutcomeKind.QUOTA, "all gone"),
        (refusal(429, "slow down", Retry_After="3600"), OutcomeKind.LIMIT, "slow down"),
        (refusal(400, "long", code="context_length_exceeded"), OutcomeKind.CONTEXT, "long"),
        (refusal(404, "no such model"), OutcomeKind.FAILED, "no such model"),
        (refusal(400, "bad", code="content_filter"), OutcomeKind.REFUSED, "bad"),
        (completion(EDIT, reason="length"), OutcomeKind.FAILED, "stops in the middle"),
        (completion(""), OutcomeKind.FAILED, "no text"),
        (completion(None, refusal="I will not"), OutcomeKind.REFUSED, "I will not"),
        (completion("You've hit your limit, resets 6pm"), OutcomeKind.FAILED, "the answer has no edit"),
    ],
)
def test_every_end_of_a_model_is_read(bench: Bench, reply: Reply, kind: OutcomeKind, words: str) -> None:
    before_ms = time.time_ns() // 1_000_000
    with Stub(reply) as stub:
        ran = Ran(model(stub.base_url), bench, "Go.")
    reading = ran.reading()
    assert (reading.kind, words in reading.message) == (kind, True), reading
    assert KEY.encode() not in ran.output
    if kind is OutcomeKind.LIMIT:
        assert reading.until_ms is not None
        assert reading.until_ms >= before_ms + 3_600_000
    else:
        assert reading.until_ms is None


def test_a_missing_key_is_a_matter_of_login(bench: Bench) -> None:
    agent = model("http://127.0.0.1:9/v1")
    assert Ran(agent, bench, "Go.", THE_KEY="").reading().kind is OutcomeKind.AUTH
    assert look_for(agent, {}, home=bench.home).login.state is LoginState.NONE
    assert look_for(agent, {"THE_KEY": "k"}, home=bench.home).login.at == "THE_KEY"


def test_every_outcome_of_a_program_has_its_kind() -> None:
    assert {*_KINDS, Outcome.OK} == {*Outcome}


def test_what_is_not_configured_is_not_asked_for(bench: Bench) -> None:
    plain = model("https://h/v1", api_key_env=None).launch(msgspec.structs.replace(bench.assignment(), model="other"))
    assert plain.argv == (
        *(sys.executable, "-P", "-m", "budwood.agents.model", f"--prompt-file={bench.prompt_file}"),
        *(f"--answer-file={bench.state / 'prompt.answer.json'}", "--base-url=https://h/v1", "--model=other"),
    )
    assert (plain.env_pass, plain.stdin) == ((), None)


def test_endpoints_have_accounts_of_their_own() -> None:
    assert model("https://one.example/v1").account == "model at one.example"
    assert model("https://one.example/v1", account="team").account == "team"


def test_what_is_missing_is_said(bench: Bench) -> None:
    with pytest.raises(SettingsError, match="agent model has no endpoint"):
        make_agent(AgentConfig(name="model", agent="model"), python=sys.executable)
    with pytest.raises(UsageError, match="was not told which model"):
        model("https://h/v1").launch(bench.assignment())
    with pytest.raises(InternalError, match="without an interpreter"):
        make_agent(AgentConfig(name="script", agent="script"), python="")


@pytest.mark.parametrize("make", [script, lambda: model("http://127.0.0.1:9/v1")], ids=["script", "model"])
def test_their_interpreter_tells_that_it_has_them(make: Callable[[], Agent], tmp_path: Path) -> None:
    seen = look_for(make(), {}, home=tmp_path)
    assert (seen.version, seen.is_tried, seen.problem) == (__version__, True, "")


def test_they_are_agents_by_name() -> None:
    assert {"model", "script"} < {*agent_names()}
