"""Codex, `codex exec`.

It may edit files and run commands inside its workspace, in its own sandbox, and never asks. Its retries (about 8 s
for a refused key) can be switched off only for a provider that the user defines, since a built-in one cannot be
changed: in `args`, `-c model_providers.NAME.request_max_retries=0` and the same for `stream_max_retries`.
Errors are prose without codes, and usage counts on over a thread that is resumed.
Knows this program's options and records; must not know how they are weighed.
"""

import msgspec

from budwood.agents.base import Ability, Assignment, Home, Launch, Login, Tokens
from budwood.agents.judging import Told
from budwood.agents.program import Program
from budwood.agents.records import Transcript, count_at, part, text_at, transcribe
from budwood.agents.serving import CALL_S, NAME, START_S, Server


class Codex(Program):
    """Codex without a terminal."""

    name = "codex"
    account = "codex"
    program = "codex"
    tried = ("0.166.0",)
    login = Login(
        keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
        files=("auth.json",),
        directory=".codex",
        directory_env="CODEX_HOME",
    )
    home = Home(
        writes=(".codex",),
        reads=tuple(f".codex/{name}" for name in ("config.toml", "AGENTS.md", "prompts", "rules", "skills")),
    )
    abilities = frozenset((Ability.SESSION, Ability.MODEL, Ability.MCP))
    state_env = "CODEX_HOME"

    def arrange(self, assignment: Assignment) -> Launch:
        """Read the prompt on standard input, and tell every step as a record."""
        words = ["codex", "exec", "--json", "--color", "never", "--skip-git-repo-check"]
        words += ["-s", "workspace-write", "-c", 'approval_policy="never"']
        words += ["--disable", "plugins", "-c", "analytics.enabled=false"]
        if assignment.model is not None:
            words += ["-m", assignment.model]
        if self.overrides.mcp:
            words += _server(self.overrides.mcp)
        if assignment.session is not None:
            words += ["resume", assignment.session]
        return Launch(
            argv=(*words, "-"),
            env_pass=(
                *self.login.keys,
                *("OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "AZURE_OPENAI_API_KEY", "CODEX_HOME"),
            ),
            stdin=assignment.prompt_file,
        )

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Read the last turn; what the thread had used before is taken off."""
        return _told(transcribe(output), before=tokens_before)


def _server(server: Server) -> list[str]:
    """Add a server to those that the user has; a value is TOML, which text and lists of it share with JSON."""
    program, *args = server.words
    values: dict[str, object] = {
        "command": program,
        "args": args,
        "env_vars": server.variables,
        "startup_timeout_sec": START_S,
        "tool_timeout_sec": CALL_S,
        "default_tools_approval_mode": "approve",
    }
    given = [f"mcp_servers.{NAME}.{key}={msgspec.json.encode(value).decode()}" for key, value in values.items()]
    return [word for each in given for word in ("-c", each)]


def _told(transcript: Transcript, *, before: Tokens) -> Told:
    records = transcript.records()
    at = transcript.find_last("turn.completed", "turn.failed")
    last = part(transcript.entries[at]) if at >= 0 else {}
    success = last.get("type") == "turn.completed" if last else None
    after = transcript.entries[at + 1 :] if success else transcript.entries
    errors = [entry if isinstance(entry, str) else _error(entry) for entry in after]
    return Told(
        success=success,
        message=text_at(last, "error", "message"),
        answer=_answer(records) if success else "",
        errors=tuple(text for text in errors if text),
        split=_since(records, before),
        turns=sum(each.get("type") in ("turn.completed", "turn.failed") for each in records) or None,
        session=next((text_at(each, "thread_id") for each in records if each.get("type") == "thread.started"), None),
        denied=tuple(
            dict.fromkeys(text_at(item, "type") for item in _items(records) if item.get("status") == "declined")
        ),
        answered=_answered(transcript),
    )


def _answered(transcript: Transcript) -> bool | None:
    """Say whether anything came of a turn; what an error makes of one is an item as well."""
    items = (part(each, "item") for each in transcript.records())
    if any(item.get("type", "error") != "error" for item in items):
        return True
    return transcript.has("turn.completed")


def _items(records: list[dict[str, object]]) -> list[dict[str, object]]:
    return [part(each, "item") for each in records if each.get("type") == "item.completed"]


def _error(record: dict[str, object]) -> str:
    if record.get("type") == "turn.failed":
        return text_at(record, "error", "message")
    if record.get("type") == "error":
        return text_at(record, "message")
    item = part(record, "item")
    return text_at(item, "message") if item.get("type") == "error" else ""


def _answer(records: list[dict[str, object]]) -> str:
    return next(
        (text_at(each, "text") for each in reversed(_items(records)) if each.get("type") == "agent_message"), ""
    )


def _since(records: list[dict[str, object]], before: Tokens) -> Tokens | None:
    """Return what was used since then; where the thread counts less than that, it has begun to count anew."""
    usages = [part(each, "usage") for each in records if each.get("type") == "turn.completed" and part(each, "usage")]
    if not usages:
        return None
    inputs, outputs, cached = (
        count_at(usages[-1], name) for name in ("input_tokens", "output_tokens", "cached_input_tokens")
    )
    if inputs < before.input or outputs < before.output:
        before = Tokens()
    return Tokens(input=inputs - before.input, output=outputs - before.output, cached=max(0, cached - before.cached))
