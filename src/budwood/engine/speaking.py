"""What attempts say and are told while they run: questions, answers, how far they have come.

Knows the state. Must not know who asks, or how the answer reaches them.
"""

from budwood._core.events import External, ProgressReported, QuestionAnswered, QuestionAsked
from budwood._core.state import RunState
from budwood.engine.refusal import Refusal
from budwood.engine.wanted import (
    EVERY_MS,
    TEXT_CHARS,
    TITLE_CHARS,
    Answering,
    Asking,
    Done,
    Reporting,
    find_task,
    open_attempt,
    refuse_long,
)


def ask(state: RunState, asking: Asking, _now_ms: int) -> Done:
    """Note a question of an attempt; the same again is the same question."""
    task, attempt = open_attempt(state, asking.by)
    if not asking.text.strip():
        raise Refusal("a question says what is asked")
    refuse_long(asking.text, what="the question", most=TEXT_CHARS)
    open_one = attempt.asks
    if open_one is not None:
        if open_one.text == asking.text:
            return [], f"question {open_one.number}"
        raise Refusal(f"question {open_one.number} has no answer yet: {open_one.text}")
    number = 1 if attempt.question is None else attempt.question.number + 1
    asked = QuestionAsked(task=task.spec.id, attempt=attempt.number, question=number, text=asking.text)
    return [asked], f"question {number}"


def answer(state: RunState, answering: Answering, _now_ms: int) -> Done:
    """Answer what the attempt at a task asks."""
    if answering.by is not None:
        raise Refusal("an attempt cannot answer questions")
    task = find_task(state, answering.task)
    question = None if task.attempt is None else task.attempt.asks
    if task.attempt is None or question is None:
        raise Refusal(f"task {task.spec.id} asks nothing: it is {task.phase.value}")
    if not answering.text.strip():
        raise Refusal("an answer says something")
    refuse_long(answering.text, what="the answer", most=TEXT_CHARS)
    given = QuestionAnswered(
        task=task.spec.id, attempt=task.attempt.number, question=question.number, text=answering.text
    )
    return [External(cause="answer", task=task.spec.id), given], f"answered {task.spec.id}"


def report(state: RunState, reporting: Reporting, now_ms: int) -> Done:
    """Keep the last word of an attempt about how far it has come."""
    task, attempt = open_attempt(state, reporting.by)
    refuse_long(reporting.text, what="the report", most=TITLE_CHARS)
    if reporting.percent is not None and not 0 <= reporting.percent <= 100:
        raise Refusal(f"percent is {reporting.percent:g}; it takes a number from 0 to 100")
    last = attempt.progress
    if last is not None and 0 <= now_ms - last.at_ms < EVERY_MS:
        raise Refusal("not kept: there was another report less than a second ago")
    event = ProgressReported(task=task.spec.id, attempt=attempt.number, text=reporting.text, percent=reporting.percent)
    return [event], "kept"
