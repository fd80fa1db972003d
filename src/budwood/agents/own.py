"""The two agents whose programs come with budwood: `script` follows a file of steps, `model` makes one chat call.

Both programs end with one line that says everything (`report.py`), so nothing has to be guessed from wording. The line
of success counts beside exit code 0 only: the output of a step's command could have printed it.
Their interpreter does not look for modules in the workspace (`-P`): a file there may bear the name of one.
Knows the options of both programs and their report; must not know how they do their work.
"""

from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec

from budwood import __version__
from budwood.agents.base import AS_IT_COMES, Ability, Assignment, Launch, Login, OutcomeKind, Overrides, Tokens
from budwood.agents.judging import Told
from budwood.agents.program import Program
from budwood.agents.report import Outcome, Report
from budwood.errors import InternalError, SettingsError, UsageError

_KINDS = {
    Outcome.FAILED: OutcomeKind.FAILED,
    Outcome.AUTH: OutcomeKind.AUTH,
    Outcome.LIMIT: OutcomeKind.LIMIT,
    Outcome.QUOTA: OutcomeKind.QUOTA,
    Outcome.NOT_FOUND: OutcomeKind.FAILED,
    Outcome.CONTEXT: OutcomeKind.CONTEXT,
    Outcome.EMPTY: OutcomeKind.FAILED,
    Outcome.CUT: OutcomeKind.FAILED,
    Outcome.REFUSED: OutcomeKind.REFUSED,
}
_REPORT = msgspec.json.Decoder(Report)


class Own(Program):
    """A program of budwood's own, started by the interpreter that is given."""

    program = "python"
    module: ClassVar[str]
    tried = (__version__,)

    def __init__(self, overrides: Overrides = AS_IT_COMES) -> None:
        if not (overrides.python or overrides.command):
            raise InternalError(f"agent {self.name} was made without an interpreter")
        super().__init__(overrides)

    @property
    def version_argv(self) -> tuple[str, ...]:
        """Let the program itself tell its version, which shows that the interpreter has it."""
        return (*(self.overrides.command or (self.overrides.python,)), "-P", "-m", self.module, "--version")

    def words(self, *more: str) -> tuple[str, ...]:
        """Begin the command line."""
        return (self.overrides.python, "-P", "-m", self.module, *more)

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Read the report."""
        lines = output.strip().splitlines()
        # Of a process that was ended, an earlier line is what something else printed; a left child may print after one.
        report = _last_report(lines if exit_code is not None else lines[-1:], agent=self.name)
        if report is None:
            last = lines[-1].decode("utf-8", "replace") if lines else ""
            return Told(success=False if exit_code else None, message=last)
        split = _split(report)
        is_ok = report.outcome is Outcome.OK
        return Told(
            success=is_ok and exit_code == 0,
            kind=None if is_ok else _KINDS[report.outcome],
            message=report.message,
            until_ms=report.until_ms,
            cost_usd=report.cost_usd,
            split=split,
            by_model={} if split is None or report.model is None else {report.model: split},
        )


class Script(Own):
    """A file of steps, which is the prompt itself; needs no key."""

    name = "script"
    account = "script"
    module = "budwood.agents.script"
    raw_prompt = True

    def arrange(self, assignment: Assignment) -> Launch:
        """Hand over the prompt as the file of steps."""
        return Launch(argv=self.words(str(assignment.prompt_file)))


class Model(Own):
    """One chat call to an OpenAI-compatible endpoint, whose answer is applied to the workspace."""

    name = "model"
    account = "model"
    module = "budwood.agents.model"
    abilities = frozenset((Ability.MODEL,))
    takes_chat = True

    def __init__(self, overrides: Overrides = AS_IT_COMES) -> None:
        if overrides.chat is None:
            raise SettingsError(
                "agent model has no endpoint",
                hint='name it in budwood.toml: [agents.model] base_url = "https://HOST/v1"',
            )
        self.chat = overrides.chat
        # Endpoints have limits of their own, however many agents ask the same one.
        self.account = f"model at {urlsplit(self.chat.base_url).netloc}"
        self.login = Login(keys=(self.chat.api_key_env,) if self.chat.api_key_env else ())
        super().__init__(overrides)

    def arrange(self, assignment: Assignment) -> Launch:
        """Name the prompt, the endpoint, and where the answer to that prompt is kept, so that it is paid for once."""
        model, chat = assignment.model, self.chat
        if model is None:
            raise UsageError("agent model was not told which model", hint='add model = "NAME" to the task or the agent')
        price = chat.prices.get(model)
        options: dict[str, object] = {
            "--prompt-file": assignment.prompt_file,
            # By its prompt: the next attempt has another one, and wants another answer.
            "--answer-file": assignment.state_dir / f"{assignment.prompt_file.stem}.answer.json",
            "--base-url": chat.base_url,
            "--model": model,
            "--api-key-env": chat.api_key_env,
            "--temperature": chat.temperature,
            "--max-tokens": chat.max_tokens,
            "--timeout": chat.timeout_s,
            "--price-in": price and price.input_per_million,
            "--price-out": price and price.output_per_million,
            "--price-cached": price and price.cached_per_million,
        }
        # In one word each: what begins with a dash is no other option.
        given = [f"{name}={value}" for name, value in options.items() if value is not None]
        return Launch(
            argv=self.words(*given, *(f"--files={pattern}" for pattern in chat.files)),
            env_pass=self.login.keys,
        )


def _last_report(lines: Sequence[bytes], *, agent: str) -> Report | None:
    for line in reversed(lines):
        try:
            report = _REPORT.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if report.agent == agent:
            return report
    return None


def _split(report: Report) -> Tokens | None:
    if report.input_tokens is None or report.output_tokens is None:
        return None
    return Tokens(input=report.input_tokens, output=report.output_tokens, cached=report.cached_tokens or 0)
