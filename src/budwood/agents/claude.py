"""Claude Code, `claude -p`.

It may edit files and run commands without asking: `--permission-mode bypassPermissions`. The program refuses that mode
to root unless IS_SANDBOX=1 says that it is in a sandbox. Whether it is in one that is not ours, the user knows and we
do not: the variable is handed on where it is set, and set by our own sandbox alone; without it, root is told so by the
program itself. Whoever wants less
gives another `--permission-mode` in `args`: the last one counts.
Its own retries are off, because it repeats a refused key for minutes; its session can be gone on with.
Knows this program's options and records; must not know how they are weighed.
"""

import msgspec

from budwood.agents.base import Ability, Assignment, Home, Launch, Login, OutcomeKind, Tokens, sum_tokens
from budwood.agents.judging import Told
from budwood.agents.limits import kind_of_status
from budwood.agents.program import Program
from budwood.agents.records import Transcript, count_at, items_at, number_at, part, text_at, transcribe
from budwood.agents.serving import CALL_S, NAME, START_S, Server

_SUBTYPES = {
    "error_max_turns": (OutcomeKind.TURNS, "it reached its cap on turns"),
    "error_max_budget_usd": (OutcomeKind.BUDGET, "it reached its cap on money"),
}


class Claude(Program):
    """Claude Code without a terminal."""

    name = "claude"
    account = "claude"
    program = "claude"
    tried = ("2.1.197",)
    login = Login(
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        files=(".credentials.json",),
        directory=".claude",
        directory_env="CLAUDE_CONFIG_DIR",
    )
    home = Home(
        writes=(".claude", ".claude.json"),
        reads=tuple(
            f".claude/{name}"
            for name in ("settings.json", "CLAUDE.md", "agents", "commands", "hooks", "plugins", "rules", "skills")
        ),
    )
    abilities = frozenset(Ability)
    state_env = "CLAUDE_CONFIG_DIR"

    def arrange(self, assignment: Assignment) -> Launch:
        """Read the prompt on standard input, and tell every step as a record."""
        words, files = ["claude", "-p"], {}
        if self.overrides.mcp:  # an option that takes all words up to the next one
            files[assignment.state_dir / "mcp.json"] = _servers(self.overrides.mcp)
            words += ["--mcp-config", str(assignment.state_dir / "mcp.json")]
        words += ["--output-format", "stream-json", "--verbose"]
        words += ["--permission-mode", "bypassPermissions"]
        if assignment.model is not None:
            words += ["--model", assignment.model]
        if assignment.max_turns is not None:
            words += ["--max-turns", str(assignment.max_turns)]
        if assignment.budget_usd is not None:
            words += ["--max-budget-usd", f"{assignment.budget_usd:.6f}"]
        if assignment.session is not None:
            words += ["--resume", assignment.session]
        return Launch(
            argv=tuple(words),
            files=files,
            env={
                "CLAUDE_CODE_MAX_RETRIES": "0",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                **({"MCP_TIMEOUT": f"{START_S}000", "MCP_TOOL_TIMEOUT": f"{CALL_S}000"} if self.overrides.mcp else {}),
            },
            env_pass=(
                *self.login.keys,
                *("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CONFIG_DIR", "IS_SANDBOX"),
                *(
                    "CLAUDE_CODE_USE_BEDROCK",
                    "CLAUDE_CODE_USE_VERTEX",
                    "ANTHROPIC_VERTEX_PROJECT_ID",
                    "CLOUD_ML_REGION",
                ),
                *("AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
                *("AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_APPLICATION_CREDENTIALS"),
            ),
            stdin=assignment.prompt_file,
        )

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Read the result record, which counts this invocation only."""
        return _told(transcribe(output))


def _servers(server: Server) -> str:
    """Write the file of servers, beside those that the user has; variables are filled in by the program."""
    program, *args = server.words
    env = {name: f"${{{name}}}" for name in server.variables}
    # Without `alwaysLoad` the first turn does not wait for it.
    entry = {"type": "stdio", "command": program, "args": args, "env": env, "alwaysLoad": True}
    return msgspec.json.encode({"mcpServers": {NAME: entry}}).decode()


def _told(transcript: Transcript) -> Told:
    at = transcript.find_last("result")
    session = next((text_at(each, "session_id") for each in transcript.records() if text_at(each, "session_id")), None)
    until_ms = _rejected_until(transcript)
    if at < 0:
        return Told(
            errors=tuple(transcript.lines()), until_ms=until_ms, session=session, answered=_answered(transcript)
        )
    result = part(transcript.entries[at])
    text = text_at(result, "result")
    kind, message = _SUBTYPES.get(text_at(result, "subtype"), (None, text))
    # `subtype` may say success beside `is_error: true`.
    success = text_at(result, "subtype") == "success" and result.get("is_error") is False
    if not success and kind is None:
        kind = kind_of_status(number_at(result, "api_error_status"))
    if success and text_at(result, "stop_reason") == "refusal":
        success, kind, message = False, OutcomeKind.REFUSED, text or "the model refused"
    said = [str(each) for each in items_at(result, "errors")]
    # A cap that was reached is as good as success for what it says of the account before.
    lines = transcript.lines(after=at if success or text_at(result, "subtype") in _SUBTYPES else -1)
    by_model = {name: _tokens_of_model(used) for name, used in part(result, "modelUsage").items()}
    return Told(
        success=success,
        kind=kind,
        message=message or (said[-1] if said else text_at(result, "subtype")),
        answer=text if success else "",
        errors=tuple(lines) if success else (*lines, *said, *([text] if text else [])),
        until_ms=until_ms,
        cost_usd=number_at(result, "total_cost_usd"),
        split=_tokens(result, by_model),
        by_model=by_model,
        turns=count_at(result, "num_turns") or None,
        session=text_at(result, "session_id") or session,
        denied=tuple(
            dict.fromkeys(text_at(each, "tool_name") or "a tool" for each in items_at(result, "permission_denials"))
        ),
        answered=_answered(transcript),
    )


def _answered(transcript: Transcript) -> bool | None:
    """Say whether a model spoke; what the program says itself of an error looks the same but for the model's name."""
    messages = (part(each, "message") for each in transcript.records() if each.get("type") == "assistant")
    if any(text_at(message, "model") != "<synthetic>" for message in messages):
        return True
    return None if transcript.cut else False


def _rejected_until(transcript: Transcript) -> int | None:
    """Return when the limit ends that a record of the stream says was met, in milliseconds."""
    until_ms = None
    for record in transcript.records():
        limit = part(record, "rate_limit_info")
        if text_at(limit, "status") == "rejected":
            until_ms = count_at(limit, "resetsAt") * 1_000 or until_ms
    return until_ms


def _tokens(result: dict[str, object], by_model: dict[str, Tokens]) -> Tokens | None:
    """Add up all models, the small ones that it uses for itself included; else take what the last one used."""
    if by_model:
        return sum_tokens(by_model.values())
    usage = part(result, "usage")
    if not usage:
        return None
    read, written = count_at(usage, "cache_read_input_tokens"), count_at(usage, "cache_creation_input_tokens")
    inputs = count_at(usage, "input_tokens") + read + written
    return Tokens(input=inputs, output=count_at(usage, "output_tokens"), cached=read)


def _tokens_of_model(used: object) -> Tokens:
    read, written = count_at(used, "cacheReadInputTokens"), count_at(used, "cacheCreationInputTokens")
    inputs = count_at(used, "inputTokens") + read + written
    return Tokens(input=inputs, output=count_at(used, "outputTokens"), cached=read)
