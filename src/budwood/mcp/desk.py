"""Where tools meet a run: who asks, what the run has come to, and requests that its driver answers.

The store is used by one thread at a time, and never by the one that serves messages. Knows stores and requests; must
not know the SDK's messages.
"""

import secrets
import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec

from budwood._core.model import ENDED_RUN, OPEN_ATTEMPT
from budwood._core.replay import fold
from budwood._core.rows import RunRow, TaskRow
from budwood._core.state import RunState
from budwood.errors import UsageError
from budwood.mcp.tokens import Bearer
from budwood.project.asking import ANSWER_WITHIN_S
from budwood.stores import Request, Store
from budwood.stores.base import Asker

Result = TypeVar("Result")
_LOOK_AGAIN_S = 0.03


class Desk:
    """One run, for one who asks: an attempt at one of its tasks, or a person."""

    def __init__(self, store: Store, run: str, *, bearer: Bearer | None) -> None:
        self._store = store
        self._run = run
        self._bearer = bearer
        self._task: TaskRow | None = None
        self._state = RunState()
        self._one = anyio.CapacityLimiter(1)

    @property
    def is_attempt(self) -> bool:
        """Say whether an attempt asks."""
        return self._bearer is not None

    async def do(self, look: Callable[["View"], Result]) -> Result:
        """Look at the run in a thread; an attempt that has ended, or that was never one of it, is refused."""

        def step() -> Result:
            return look(View(self._store, self._row(), self._own_task(), self._bearer, self._fold))

        return await anyio.to_thread.run_sync(step, limiter=self._one)

    async def put(self, kind: str, body: Callable[[Asker | None], object]) -> Request:
        """Put a request on the table; `body` is made with who asks."""

        def step(view: View) -> Request:
            if view.row.phase in ENDED_RUN and view.store.holder(view.row.id) is None:
                raise UsageError(f"run {view.row.name} is {view.row.phase.value}")
            text = msgspec.json.encode(body(view.asker)).decode()
            return view.store.ask(view.row.id, kind, body=text, key=secrets.token_hex(8))

        return await self.do(step)

    async def look(self, request: Request) -> Request:
        """Read a request back; a refusal is raised."""
        found = await self.do(lambda view: view.store.request(view.row.id, request.id))
        if found.state == "refused":
            raise UsageError(found.answer)
        return found

    async def ask(self, kind: str, body: Callable[[Asker | None], object]) -> str:
        """Put a request on the table and return the answer; say so if nobody is there to give one."""
        request = await self.put(kind, body)
        until_s = time.monotonic() + ANSWER_WITHIN_S
        while True:
            request = await self.look(request)
            if request.state == "taken":
                return request.answer
            driver = await self.do(lambda view: view.store.holder(view.row.id))
            if driver is None or time.monotonic() > until_s:
                raise UsageError(self.waits(request, driver))
            await anyio.sleep(_LOOK_AGAIN_S)

    def waits(self, request: Request, driver: str | None) -> str:
        """Say that a request has no answer yet, and who would give it."""
        if driver is None:
            return (
                f"nobody drives the run; request {request.id} ({request.kind}) is kept, and answered when somebody "
                "resumes it. Do not ask again"
            )
        return (
            f"its driver ({driver}) has not answered yet; request {request.id} ({request.kind}) is kept. "
            "Do not ask again"
        )

    def _row(self) -> RunRow:
        row = next((row for row in self._store.runs() if row.id == self._run), None)
        if row is None:
            raise UsageError(f"the run is no longer in {self._store.where}")
        return row

    def _own_task(self) -> TaskRow | None:
        """Find the task that asks, and refuse one whose attempt is over."""
        bearer = self._bearer
        if bearer is None:
            return None
        attempts = self._store.attempts(self._run, bearer.task)
        if not any(row.number == bearer.attempt and row.phase in OPEN_ATTEMPT for row in attempts):
            raise UsageError(f"attempt {bearer.attempt} has ended, and its token with it")
        if self._task is None:  # only its id is of use, which never changes, and listing many tasks takes long
            self._task = self._store.tasks(self._run)[bearer.task]
        return self._task

    def _fold(self) -> RunState:
        """Fold what was written since the last look."""
        fold(self._store.read(self._run, self._state.number), self._state)
        return self._state


class View:
    """The run at one moment, in the thread that may use the store."""

    def __init__(
        self, store: Store, row: RunRow, task: TaskRow | None, bearer: Bearer | None, state: Callable[[], RunState]
    ) -> None:
        self.store = store
        self.row = row
        self.task = task
        """The task whose attempt asks; None where a person does."""
        self._bearer = bearer
        self.state = state

    @property
    def asker(self) -> Asker | None:
        """Name the attempt that asks."""
        if self.task is None or self._bearer is None:
            return None
        return Asker(task=self.task.id, attempt=self._bearer.attempt)
