"""Gemini CLI, without a terminal.

It may edit files and run commands without asking, in a folder that nobody has called trusted. Its cap on turns and its
reports to its maker are settings, not options: they come in files of the attempt, the cap as system settings, which
count before the user's, the rest as system defaults, which the user's settings replace. Its retries cannot be switched
off, and it waits longer than it is told to. An error goes to standard error, standard output stays empty, and the exit
code is an HTTP status modulo 256 or a number of its own.
Knows this program's options and records; must not know how they are weighed.
"""

from pathlib import Path

import msgspec

from budwood.agents.base import Ability, Assignment, Home, Launch, Login, OutcomeKind, Tokens, sum_tokens
from budwood.agents.judging import Told
from budwood.agents.limits import kind_of_status
from budwood.agents.program import Program
from budwood.agents.records import Transcript, count_at, number_at, part, text_at, transcribe
from budwood.agents.serving import CALL_S, NAME, Server

_EXITS = {
    41: (OutcomeKind.AUTH, "it has no login"),
    42: (OutcomeKind.FAILED, "it did not accept its input"),
    52: (OutcomeKind.FAILED, "its settings are wrong"),
    53: (OutcomeKind.TURNS, "it reached its cap on turns"),
}
_QUIET = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}


class Gemini(Program):
    """Gemini CLI without a terminal."""

    name = "gemini"
    account = "gemini"
    program = "gemini"
    tried = ("0.61.0",)
    login = Login(keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"), files=("oauth_creds.json",), directory=".gemini")
    home = Home(
        writes=(".gemini",),
        reads=tuple(f".gemini/{name}" for name in ("settings.json", "GEMINI.md", "commands", "extensions", "policies")),
    )
    abilities = frozenset((Ability.SESSION, Ability.MODEL, Ability.TURNS, Ability.MCP))

    def arrange(self, assignment: Assignment) -> Launch:
        """Read the prompt on standard input, and print one record at the end."""
        words = ["gemini", "-o", "json", "--approval-mode", "yolo", "--skip-trust"]
        if assignment.model is not None:
            words += ["-m", assignment.model]
        if assignment.session is not None:
            words += ["-r", assignment.session]
        files = {"GEMINI_CLI_SYSTEM_DEFAULTS_PATH": _settings(assignment, "defaults.json", content=_QUIET)}
        firm = {
            **({} if assignment.max_turns is None else {"model": {"maxSessionTurns": assignment.max_turns}}),
            **({"mcpServers": {NAME: _server(self.overrides.mcp)}} if self.overrides.mcp else {}),
        }
        if firm:
            files["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = _settings(assignment, "settings.json", content=firm)
        return Launch(
            argv=tuple(words),
            env={name: str(path) for name, (path, _) in files.items()},
            env_pass=(
                *self.login.keys,
                *(
                    "GOOGLE_GEMINI_BASE_URL",
                    "GOOGLE_VERTEX_BASE_URL",
                    "GOOGLE_GENAI_USE_VERTEXAI",
                    "GOOGLE_GENAI_USE_GCA",
                ),
                *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_CLI_HOME"),
            ),
            stdin=assignment.prompt_file,
            files=dict(files.values()),
        )

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Read the record at the end, from whichever stream; else what the exit code stands for."""
        return _told(transcribe(output), exit_code=exit_code)


def _server(server: Server) -> dict[str, object]:
    """Describe the server; variables are filled in by the program, which hands on none that looks like a secret."""
    program, *args = server.words
    env = {name: f"${name}" for name in server.variables}
    return {"command": program, "args": args, "env": env, "timeout": CALL_S * 1000, "trust": True}


def _settings(assignment: Assignment, name: str, *, content: object) -> tuple[Path, str]:
    return assignment.state_dir / "gemini" / name, msgspec.json.encode(content).decode()


def _told(transcript: Transcript, *, exit_code: int | None) -> Told:
    at, last = _last(transcript)
    error = part(last, "error")
    by_model = _by_model(last)
    split = _total(last, by_model)
    answered = bool(text_at(last, "response")) or (split is not None and split.output > 0)
    success = (not error and last.get("status") in (None, "success") and answered) if last else None
    kind, message = _coded(error, exit_code) if not success else (None, "")
    # A cap that was reached is as good as success for what it says of the account before.
    lines = transcript.lines(after=at if success or kind is OutcomeKind.TURNS else -1)
    said = text_at(error, "message")
    if last and not success and not error:
        message = message or "it answered nothing"
    return Told(
        success=success,
        kind=kind,
        message=said or message,
        answer=text_at(last, "response") if success else "",
        errors=(*lines, *([said] if said else [])),
        split=split,
        by_model=by_model,
        turns=_requests(last),
        session=next(
            (text_at(each, "session_id") for each in transcript.records() if text_at(each, "session_id")), None
        ),
        denied=_denied(last),
        # A record of an error has nothing of what was before it; without a login nothing was.
        answered=True if answered else False if kind is OutcomeKind.AUTH and not transcript.cut else None,
    )


def _last(transcript: Transcript) -> tuple[int, dict[str, object]]:
    """Find the record that says how it ended."""
    for index in range(len(transcript.entries) - 1, -1, -1):
        entry = transcript.entries[index]
        if isinstance(entry, dict) and (entry.get("type") == "result" or ("type" not in entry and _is_end(entry))):
            return index, entry
    return -1, {}


def _is_end(entry: dict[str, object]) -> bool:
    return "response" in entry or isinstance(entry.get("error"), dict)


def _coded(error: dict[str, object], exit_code: int | None) -> tuple[OutcomeKind | None, str]:
    """Say what its code stands for: that in the record, else the exit code."""
    code = number_at(error, "code")
    code = exit_code if code is None else int(code)
    if code is None or code == 0:
        return None, ""
    if code in _EXITS:
        kind, message = _EXITS[code]
        return (None, message) if kind is OutcomeKind.FAILED else (kind, message)
    # 400 to 511, modulo 256; what lies below are shells' numbers for signals.
    status = code + 256 if 144 <= code <= 255 else code
    return kind_of_status(status), f"the service answered {status}" if 400 <= status < 600 else f"exit code {code}"


def _by_model(last: dict[str, object]) -> dict[str, Tokens]:
    used = {}
    for name, model in part(last, "stats", "models").items():
        tokens = part(model, "tokens")
        used[name] = Tokens(
            input=count_at(tokens, "prompt") + count_at(tokens, "tool"),
            output=count_at(tokens, "candidates") + count_at(tokens, "thoughts"),
            cached=count_at(tokens, "cached"),
        )
    return used if any(tokens.total for tokens in used.values()) else {}


def _total(last: dict[str, object], by_model: dict[str, Tokens]) -> Tokens | None:
    if by_model:
        return sum_tokens(by_model.values())
    stats = part(last, "stats")
    if number_at(stats, "input_tokens") is None:
        return None
    inputs, outputs = count_at(stats, "input_tokens"), count_at(stats, "output_tokens")
    return Tokens(input=inputs, output=outputs, cached=count_at(stats, "cached"))


def _requests(last: dict[str, object]) -> int | None:
    models = part(last, "stats", "models").values()
    return sum(count_at(model, "api", "totalRequests") for model in models) or None


def _denied(last: dict[str, object]) -> tuple[str, ...]:
    tools = part(last, "stats", "tools", "byName")
    return tuple(name for name, tool in tools.items() if count_at(tool, "decisions", "reject"))
