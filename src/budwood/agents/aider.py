"""aider, `aider --message-file`.

It says yes to itself, edits the files that it finds fit, and leaves commits to us: its own are switched off. Histories
go into the attempt's directory, since it would put them into the tree. It prints text only and exits 0 whatever
happened: that an answer came is known from the line on tokens that follows each, that none came from an error behind.
An agent's own words stand in the same text, so an error counts only as a line from its first word on.
Knows this program's options and wording; must not know how they are weighed.
"""

import re

from budwood.agents.base import Ability, Assignment, Home, Launch, Login, OutcomeKind, Tokens
from budwood.agents.judging import Told
from budwood.agents.program import Program
from budwood.agents.records import DROPPED, plain

_AMOUNT = r"([\d,]+(?:\.\d+)?)([kKmM]?)"
_USED = re.compile(rf"Tokens: {_AMOUNT} sent(?P<between>.*?), {_AMOUNT} received\.(?P<rest>.*)")
_CACHED = re.compile(rf"{_AMOUNT} cache hit")
_COST = re.compile(r"Cost: \$(?P<message>[\d,.]+) message, \$(?P<session>[\d,]+(?:\.\d+)?) session")
_ERROR = re.compile(r"litellm\.\w+|The API provider|API provider's servers|Model \S+ has hit a token limit")
_ENOUGH = re.compile(r"Only \d+ reflections allowed, stopping")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


class Aider(Program):
    """Aider with one message, from a file."""

    name = "aider"
    account = "aider"
    program = "aider"
    tried = ("0.86.2",)
    login = Login(
        keys=(
            *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"),
            *("GROQ_API_KEY", "XAI_API_KEY", "AZURE_API_KEY", "COHERE_API_KEY", "MISTRAL_API_KEY"),
        )
    )
    home = Home(reads=(".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"))
    abilities = frozenset((Ability.MODEL,))

    def arrange(self, assignment: Assignment) -> Launch:
        """Let it read the prompt file itself, and answer its own questions."""
        own = assignment.state_dir
        words = ["aider", "--message-file", str(assignment.prompt_file), "--yes-always", "--no-auto-commits"]
        words += ["--no-pretty", "--no-stream", "--no-fancy-input", "--no-gitignore", "--no-detect-urls"]
        words += ["--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable"]
        words += ["--input-history-file", str(own / "aider.input"), "--chat-history-file", str(own / "aider.chat.md")]
        if assignment.model is not None:
            words += ["--model", assignment.model]
        return Launch(
            argv=tuple(words),
            env_pass=(
                *self.login.keys,
                *("OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_API_BASE", "AZURE_API_BASE"),
                *("AZURE_API_VERSION", "AIDER_MODEL"),
            ),
        )

    def tell(self, output: bytes, *, exit_code: int | None, tokens_before: Tokens) -> Told:
        """Read its lines."""
        return _told(output.decode("utf-8", "replace"), exit_code=exit_code)


def _told(text: str, *, exit_code: int | None) -> Told:
    lines = [plain(line) for line in re.split(r"[\r\n]+", text)]
    uses = [(index, match) for index, match in enumerate(map(_USED.match, lines)) if match is not None]
    after = lines[uses[-1][0] + 1 :] if uses else lines
    errors = [line for line in after if _ERROR.match(line)]
    enough = next((line for line in after if _ENOUGH.match(line)), "")
    message = enough or (errors[-1] if errors else "")
    if not message and not uses:
        last = next((line for line in reversed(after) if line), "")
        message = f"no answer came from the model{f': {last}' if last else ''}"
    return Told(
        success=bool(uses) and not errors and exit_code == 0,
        kind=OutcomeKind.TURNS if enough else None,
        message=message,
        errors=tuple(errors),
        cost_usd=_cost([match for _, match in uses]),
        split=_tokens([match for _, match in uses]),
        turns=len(uses) or None,
        answered=True if uses else None if DROPPED.search(text) else False,
    )


def _number(digits: str, factor: str) -> int:
    return round(float(digits.replace(",", "")) * _FACTORS[factor.lower()])


def _tokens(uses: list[re.Match[str]]) -> Tokens | None:
    """Add up what the answers used, which is rounded."""
    total = Tokens()
    for match in uses:
        hit = _CACHED.search(match["between"])
        total = total.plus(
            Tokens(
                input=_number(match[1], match[2]),
                output=_number(match[4], match[5]),
                cached=0 if hit is None else _number(hit[1], hit[2]),
            )
        )
    return total if uses else None


def _cost(uses: list[re.Match[str]]) -> float | None:
    """Take the last sum; a model without a price has none, or one of nothing."""
    costs = [_COST.search(match["rest"]) for match in uses]
    last = costs[-1] if costs else None
    return None if last is None else float(last["session"].replace(",", "")) or None
