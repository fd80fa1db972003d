"""What an attempt says while it runs: questions to people, and how far it has come.

Called by the machine only. Knows the state; must not know who hears it.
"""

from budwood._core.events import ProgressReported, QuestionAnswered, QuestionAsked
from budwood._core.state import AttemptState, Progress, Question, TaskState
from budwood.errors import UnknownEvent


def asked(task: TaskState, event: QuestionAsked, at_ms: int) -> AttemptState:
    """Note a question."""
    attempt = _open_attempt(task, event.attempt)
    attempt.question = Question(event.question, event.text, at_ms)
    return attempt


def replied(task: TaskState, event: QuestionAnswered) -> AttemptState:
    """Note the answer to the last question."""
    attempt = _open_attempt(task, event.attempt)
    if attempt.question is None or attempt.question.number != event.question:
        raise UnknownEvent(f"attempt {event.attempt} of task {task.spec.id} has not asked question {event.question}")
    attempt.question = attempt.question._replace(answer=event.text)
    return attempt


def progressed(task: TaskState, event: ProgressReported, at_ms: int) -> None:
    """Keep the last word."""
    _open_attempt(task, event.attempt).progress = Progress(event.text, event.percent, at_ms)


def _open_attempt(task: TaskState, number: int) -> AttemptState:
    attempt = task.attempt
    if attempt is None or attempt.number != number:
        raise UnknownEvent(f"attempt {number} of task {task.spec.id} does not run")
    return attempt
