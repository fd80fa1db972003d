"""opencode, `opencode run`.

It may edit files and run commands without asking. Several of it on one fresh state die in a database migration, so each
attempt gets its own, through XDG_DATA_HOME. A login that `opencode auth login` left lies in that directory and is not
seen: keys come in variables. A session can be gone on with only from the state directory that it was begun in.
It prints no final record: steps are added up, and where one is missing, cost and tokens are unknown.
Knows this program's options and records; must not know how they are weighed.
"""

import math

import msgspec

from budwood.agents.base import Ability, Assignment, Home, Launch, Login, OutcomeKind, Tokens
from budwood.agents.judging import Told
from budwood.agents.limits import kind_of_status
from budwood.agents.program import Program
from budwood.agents.records import Transcript, count_at, number_at, part, text_at, transcribe
from budwood.agents.serving import CALL_S, NAME, Server

_NAMES = {
    "ProviderAuthError": OutcomeKind.AUTH,
    "ContextOverflowError": OutcomeKind.CONTEXT,
    "MessageAbortedError": OutcomeKind.KILLED,
}


class Opencode(Program):
    """Opencode without a terminal."""

    name = "opencode"
    account = "opencode"
    program = "opencode"
    tried = ("1.18.33",)
    login = Login(
        keys=(
            *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
            *("GOOGLE_GENERATIVE_AI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "OPENCODE_API_KEY"),
        )
    )
    home = Home(reads=(".config/opencode",))
    abilities = frozenset((Ability.SESSION, Ability.MODEL, Ability.MCP))
    state_env = "XDG_DATA_HOME"
    shares_state = False

    def arrange(self, assignment: Assignment) -> Launch:
        """Read the prompt on standard input, and tell every step as a record."""
        words = ["opencode", "run", "--format", "json", "--auto"]
        if assignment.model is not None:
            words += ["-m", assignment.model]
        if assignment.session is not None:
            words += ["-s", assignment.session]
        return Launch(
            argv=tuple(words),
            env={
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                **({"OPENCODE_CONFIG_CONTENT": _server(self.overrides.mcp)} if self.overrides.mcp else {}),
            },
            env_pass=(*self.login.keys, "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"),
            stdin=assignment.prompt_file,
        )

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Add up the steps of this invocation."""
        return _told(transcribe(output))


def _server(server: Server) -> str:
    """Add a server to those that the user has; it gets the program's own variables."""
    entry = {"type": "local", "command": server.words, "enabled": True, "timeout": CALL_S * 1000}
    return msgspec.json.encode({"mcp": {NAME: entry}}).decode()


def _told(transcript: Transcript) -> Told:
    records = transcript.records()
    at = transcript.find_last("step_finish", "error")
    last = part(transcript.entries[at]) if at >= 0 else {}
    reason = text_at(last, "part", "reason")
    stopped = last.get("type") == "step_finish" and reason in ("stop", "") and transcript.find_last("step_start") < at
    error = _error(last)
    message = _said(error)
    if last and not message:
        message = f"it ended in the middle of its work{f' ({reason})' if reason else ''}"
    after = transcript.entries[at + 1 :] if stopped else transcript.entries
    steps = [part(each, "part") for each in records if each.get("type") == "step_finish"]
    whole = not transcript.cut and sum(each.get("type") == "step_start" for each in records) <= len(steps)
    split = _tokens(steps) if whole else None
    return Told(
        success=stopped if last else None,
        kind=_NAMES.get(text_at(error, "name")) or kind_of_status(number_at(error, "data", "statusCode")),
        message=message,
        errors=tuple(filter(None, (each if isinstance(each, str) else _said(_error(each)) for each in after))),
        answer=_answer(records) if stopped else "",
        cost_usd=_cost(steps) if split is not None else None,
        split=split,
        turns=len(steps) or None,
        session=next((text_at(each, "sessionID") for each in records if text_at(each, "sessionID")), None),
        denied=_denied(records),
        answered=transcript.has("text", "tool_use", "step_finish"),
    )


def _error(record: dict[str, object]) -> dict[str, object]:
    """Return what an error record holds, whether it wraps it or not."""
    if record.get("type") != "error":
        return {}
    return part(record, "error") or record


def _said(error: dict[str, object]) -> str:
    words = text_at(error, "data", "message") or text_at(error, "message") or text_at(error, "name")
    status = number_at(error, "data", "statusCode")
    return f"{words} (status {status:.0f})" if status is not None and words else words


def _answer(records: list[dict[str, object]]) -> str:
    return next((text_at(each, "part", "text") for each in reversed(records) if each.get("type") == "text"), "")


def _tokens(steps: list[dict[str, object]]) -> Tokens | None:
    """Add up; a step that says it used nothing was cut off before its usage came."""
    total = Tokens()
    for step in steps:
        used = part(step, "tokens")
        cached = count_at(used, "cache", "read")
        tokens = Tokens(
            input=count_at(used, "input") + cached + count_at(used, "cache", "write"),
            output=count_at(used, "output") + count_at(used, "reasoning"),
            cached=cached,
        )
        if not tokens.total:
            return None
        total = total.plus(tokens)
    return total if steps else None


def _cost(steps: list[dict[str, object]]) -> float | None:
    """Add up; nothing at all means that its own table has no price for the model."""
    costs = [number_at(step, "cost") for step in steps]
    return math.fsum(cost for cost in costs if cost is not None) or None if None not in costs else None


def _denied(records: list[dict[str, object]]) -> tuple[str, ...]:
    tools = [part(each, "part") for each in records if each.get("type") == "tool_use"]
    refused = [tool for tool in tools if "rejected permission" in text_at(tool, "state", "error")]
    return tuple(dict.fromkeys(text_at(tool, "tool") or "a tool" for tool in refused))
