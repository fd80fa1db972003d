"""The tools that ask something of the run: create, update and cancel tasks, report, ask a person.

Knows the desk. Must not know the SDK: who calls gives a function that tells the client that it goes on.
"""

import time
from collections.abc import Awaitable, Callable

import anyio

from budwood._core.model import TaskId
from budwood._core.state import Question
from budwood.engine.creating import created_id
from budwood.engine.wanted import EVERY_MS, TITLE_CHARS, Asking, ChangedTask, NewTask, Reporting
from budwood.errors import UsageError
from budwood.mcp.arguments import AskHuman, CancelTask, CreateTask, ReportProgress, UpdateTask
from budwood.mcp.desk import Desk, View
from budwood.mcp.looking import Told, time_left_s
from budwood.stores.base import RequestBody

GoesOn = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client how long something has taken, of how long, and what."""
_TELL_EVERY_S = 5.0
_LOOK_AGAIN_S = 0.5
_MARGIN_S = 20.0
"""So long before its time limit an attempt hears that nobody has answered, so that it can end in good order."""


async def create_task(desk: Desk, given: CreateTask) -> Told:
    """Let a task join the run."""
    hard, soft = _dependencies(given.depends_on, given.dependency_type)
    answer = await desk.ask(
        "create",
        lambda by: NewTask(
            by=by,
            description=given.description,
            prompt=given.action,
            run=given.run,
            id=given.id,
            lane=given.lane,
            after=hard,
            prefer_after=soft,
            priority=given.priority,
            agent=given.agent,
            model=given.model,
        ),
    )
    return {"task": created_id(answer), "said": answer}


async def update_task(desk: Desk, given: UpdateTask) -> Told:
    """Change a task that has not begun."""
    hard, soft = (None, None) if given.depends_on is None else _dependencies(given.depends_on, given.dependency_type)
    answer = await desk.ask(
        "update",
        lambda by: ChangedTask(
            by=by,
            task=given.task,
            description=given.description,
            prompt=given.action,
            run=given.run,
            after=hard,
            prefer_after=soft,
            priority=given.priority,
        ),
    )
    return {"task": given.task, "said": answer}


async def cancel_task(desk: Desk, given: CancelTask) -> Told:
    """Give a task up."""
    answer = await desk.ask("cancel", lambda by: RequestBody(tasks=[given.task], by=by))
    return {"task": given.task, "said": answer}


def _dependencies(names: list[TaskId], kind: str) -> tuple[tuple[TaskId, ...], tuple[TaskId, ...]]:
    return (tuple(names), ()) if kind == "hard" else ((), tuple(names))


class Reports:
    """Reports of one client, at most one in a second: the next one waits for its turn."""

    def __init__(self) -> None:
        self._turn = anyio.Lock()
        self._last_s = -EVERY_MS / 1000

    async def report_progress(self, desk: Desk, given: ReportProgress) -> Told:
        """Say how far the attempt has come."""
        text = given.text.strip()
        text = text if len(text) <= TITLE_CHARS else f"{text[: TITLE_CHARS - 1]}…"
        async with self._turn:
            await anyio.sleep(max(0.0, self._last_s + 1.1 * EVERY_MS / 1000 - time.monotonic()))
            answer = await desk.ask("progress", lambda by: Reporting(by=by, text=text, percent=given.percent))
            self._last_s = time.monotonic()
        return {"said": answer}


async def ask_human(desk: Desk, given: AskHuman, goes_on: GoesOn, *, wait_s: float) -> Told:
    """Ask a person, and wait for the answer; the attempt needs input meanwhile, and its time limit goes on."""
    text = given.question
    request = None if text is None else await desk.put("ask", lambda by: Asking(by=by, text=text))
    began_s = told_s = time.monotonic()
    until_s = began_s + min(wait_s, max(0.0, await desk.do(time_left_s) - _MARGIN_S))
    while True:
        if request is not None and request.state == "pending":
            request = await desk.look(request)
        if request is None or request.state == "taken":
            question = await desk.do(_question)
            if question.answer is not None:
                return {"answered": True, "answer": question.answer, "question": question.text}
        now_s = time.monotonic()
        if now_s >= until_s:
            return _unanswered(text)
        if now_s - told_s >= _TELL_EVERY_S:
            told_s = now_s
            await goes_on(now_s - began_s, until_s - began_s, "waiting for a person's answer")
        await anyio.sleep(min(_LOOK_AGAIN_S, until_s - now_s))


def _question(view: View) -> Question:
    assert view.task is not None
    attempt = view.state().tasks[view.task.number].attempt
    if attempt is None or attempt.question is None:
        raise UsageError("this attempt has asked nothing yet; say what you ask")
    return attempt.question


def _unanswered(text: str | None) -> Told:
    return {
        "answered": False,
        "question": text,
        "said": "nobody has answered yet, and the question stays open. Call ask_human without a question to go on "
        "waiting, or go on without an answer.",
    }
