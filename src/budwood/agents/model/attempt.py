"""One attempt by a model: an answer, taken from an earlier start or asked for, kept, and applied to the workspace.

Knows the order in which this survives a kill: kept before it is read, noted before it is applied. Must not know the
command line.
"""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from budwood.agents.base import Price, Tokens
from budwood.agents.model import changes
from budwood.agents.model.answers import Unusable, read_edits
from budwood.agents.model.chat import Arrived, Question, ask
from budwood.agents.model.completion import Completion, Consumed, judge, read_completion, text_of
from budwood.agents.model.edits import plan
from budwood.agents.model.endpoint import Endpoint
from budwood.agents.model.prompt import RULES, find_files, read_prompt, write_prompt
from budwood.agents.model.refusals import Refusal
from budwood.agents.prices import cost_of
from budwood.agents.report import Outcome, Report, say, write_usage
from budwood.durable import write_whole

AGENT = "model"


class Order(Struct, frozen=True, kw_only=True):
    """What is wanted of a model."""

    prompt_file: Path
    answer_file: Path
    model: str
    endpoint: Endpoint
    scope: str
    key_problem: str = ""
    """Why nothing can be asked; an answer that is there is applied all the same."""
    files: tuple[str, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float = 600.0
    price: Price | None = None

    @property
    def journal(self) -> Path:
        """The file that says which changes the answer makes."""
        return self.answer_file.with_name(f"{self.answer_file.name}.edits")


def make_attempt(order: Order, *, root: Path) -> Report:
    """Ask, unless an answer is there, and apply; the report says how it went."""
    kept = _kept(order.answer_file)
    if kept is not None:
        say(f"the answer is in {order.answer_file.name} from an earlier start; the model is not asked again")
        return _finish(order, kept, root=root, request_id=None)
    answered = _ask(order, root=root)
    if isinstance(answered, Refusal):
        if answered.is_unpaid:
            write_usage(0.0, tokens=0)
        return Report(
            agent=AGENT,
            outcome=answered.outcome,
            message=answered.message,
            until_ms=answered.until_ms,
            cost_usd=0.0 if answered.is_unpaid else None,
            model=order.model,
            request_id=answered.request_id,
        )
    return _finish(order, answered.completion, root=root, request_id=answered.request_id)


def _ask(order: Order, *, root: Path) -> Arrived | Refusal:
    if order.key_problem:
        return Refusal(outcome=Outcome.AUTH, message=order.key_problem, is_unpaid=True)
    shown = find_files(order.files, root=root)
    prompt = write_prompt(read_prompt(order.prompt_file), shown, root=root)
    say(f"prompt: {len(prompt)} characters, {len(shown)} files; model {order.model} at {order.endpoint.shown}")
    question = Question(
        model=order.model,
        rules=RULES,
        prompt=prompt,
        temperature=order.temperature,
        max_tokens=order.max_tokens,
    )
    order.journal.unlink(missing_ok=True)  # it belongs to an answer that is not there
    return ask(
        question,
        order.endpoint,
        within_s=order.timeout_s,
        scope=order.scope,
        keep=lambda body: write_whole(order.answer_file, body),
    )


def _kept(file: Path) -> Completion | None:
    """Read the answer of an earlier start; None if there is none that is whole."""
    try:
        return read_completion(file.read_bytes())
    except FileNotFoundError:
        return None


def _finish(order: Order, completion: Completion, *, root: Path, request_id: str | None) -> Report:
    consumed = completion.consumed
    used = _tokens(consumed)
    # Not known, and never 0, if a price or a number is missing.
    cost_usd = None if used is None or order.price is None else cost_of(used, order.price)
    write_usage(cost_usd, tokens=None if used is None else used.total)
    report = Report(
        agent=AGENT,
        outcome=Outcome.OK,
        input_tokens=consumed.prompt_tokens,
        output_tokens=consumed.completion_tokens,
        cached_tokens=consumed.prompt_tokens_details.cached_tokens if consumed.prompt_tokens_details else None,
        cost_usd=cost_usd,
        model=completion.model or order.model,
        request_id=request_id if completion.id is None else str(completion.id),
    )
    text = text_of(completion)
    say(order.endpoint.hide("".join(f"| {line}\n" for line in text.splitlines())).removesuffix("\n"))
    outcome, message = judge(completion)
    if outcome is not Outcome.OK:
        return msgspec.structs.replace(report, outcome=outcome, message=message)
    try:
        files = _apply(text, journal=order.journal, root=root)
    except Unusable as problem:
        message = f"{problem}; nothing was written"
        return msgspec.structs.replace(report, outcome=Outcome.FAILED, message=message)
    message = f"{len(files)} files changed" if len(files) != 1 else "1 file changed"
    return msgspec.structs.replace(report, message=message, files=files)


def _tokens(consumed: Consumed) -> Tokens | None:
    asked, answered, details = consumed.prompt_tokens, consumed.completion_tokens, consumed.prompt_tokens_details
    if asked is None or answered is None:
        return None
    return Tokens(input=asked, output=answered, cached=(details.cached_tokens if details else None) or 0)


def _apply(text: str, *, journal: Path, root: Path) -> tuple[str, ...]:
    """Make the changes of an answer; a second time it makes those that are missing."""
    made = changes.noted(journal, root=root)
    if made is None:
        edits = read_edits(text)
        if not edits:
            raise Unusable("the answer has no edit: no SEARCH block, and no fenced block with a path")
        made = plan(edits, root=root)
        changes.note(made, journal)
    try:
        changes.write(made, root=root)
    except OSError as error:
        raise Unusable(
            f"{os.path.relpath(error.filename or root, root)} cannot be written: {error.strerror}"
        ) from error
    return tuple(each.path for each in made)
