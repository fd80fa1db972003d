"""One chat completion: asked for once, paid for once, and asked for again only where nobody can have answered.

Knows the form of the request and which replies may be waited for. Must not know files, edits or where keys come from.
"""

import hashlib
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from budwood.agents.model.completion import Completion, read_completion
from budwood.agents.model.endpoint import Endpoint
from budwood.agents.model.refusals import Refusal, explain, retry_after
from budwood.agents.model.wire import Broken, Reply, Unsent, post
from budwood.agents.report import Outcome

TRIES = 3
LONGEST_WAIT_S = 20.0
"""A limit that ends sooner is waited for here; a later one is told, so that others can use the time."""
_FIRST_WAIT_S = 0.25
_AWAY = (502, 503)


class Question(Struct, frozen=True, kw_only=True):
    """What a model is asked."""

    model: str
    rules: str
    """How the answer has to look."""
    prompt: str
    temperature: float | None = None
    max_tokens: int | None = None

    def body(self) -> bytes:
        """Write the request; what was not given is left to the server."""
        messages = [{"role": "system", "content": self.rules}, {"role": "user", "content": self.prompt}]
        body: dict[str, object] = {"model": self.model, "messages": messages, "stream": False}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        return msgspec.json.encode(body)


class Arrived(Struct, frozen=True, kw_only=True):
    """A completion, and what the server calls the request."""

    completion: Completion
    request_id: str | None = None


def ask(
    question: Question, endpoint: Endpoint, *, within_s: float, scope: str, keep: Callable[[bytes], None]
) -> Arrived | Refusal:
    """Ask for one completion, within this time for all tries together.

    What arrives is given to `keep` before it is looked at. `scope` is the same for each start of one attempt and for
    no other: a server that knows idempotency keys answers what it was asked before with what it said then.
    """
    body = question.body()
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Idempotency-Key": hashlib.sha256(scope.encode() + b"\0" + body).hexdigest(),
    }
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    end_s = time.monotonic() + within_s
    answered: Arrived | Refusal
    is_unpaid = True
    for number in range(1, TRIES + 1):
        own_wait_s = _FIRST_WAIT_S * 2 ** (number - 1)
        try:
            left_s = max(0.01, end_s - time.monotonic())
            reply = post(endpoint.url, body, headers=headers, within_s=left_s)
        except Unsent as error:
            answered, wait_s = _failed(f"{endpoint.shown} cannot be reached: {error}", is_unpaid=True), own_wait_s
        except Broken as error:
            return _failed(f"{endpoint.shown} gave no answer: {error}")
        else:
            if reply.status == 200:
                keep(reply.body)
            answered, wait_s = _read(reply, own_wait_s=own_wait_s)
        if isinstance(answered, Refusal):  # by a try before it, too
            is_unpaid = is_unpaid and answered.is_unpaid
            answered = msgspec.structs.replace(answered, is_unpaid=is_unpaid)
        if wait_s is None or number == TRIES or time.monotonic() + wait_s >= end_s:
            break
        time.sleep(wait_s)
    return answered


def _read(reply: Reply, *, own_wait_s: float) -> tuple[Arrived | Refusal, float | None]:
    """Say what a reply is, and after how many seconds it may be asked again; None if it may not."""
    request_id = reply.headers.get("x-request-id")
    completion = read_completion(reply.body) if reply.status == 200 else None
    if completion is not None:
        return Arrived(completion=completion, request_id=request_id), None
    now_ms = time.time_ns() // 1_000_000
    refusal = explain(reply, now_ms=now_ms)
    wait_s = _wait_s(reply, now_ms=now_ms, own_wait_s=own_wait_s) if refusal.outcome is not Outcome.QUOTA else None
    return msgspec.structs.replace(refusal, request_id=request_id), wait_s


def _wait_s(reply: Reply, *, now_ms: int, own_wait_s: float) -> float | None:
    if reply.status not in (429, *_AWAY):
        return None
    until_ms = retry_after(reply.headers, now_ms=now_ms)
    if until_ms is None:
        return own_wait_s if reply.status in _AWAY else None
    wait_s = (until_ms - now_ms) / 1000
    return wait_s if wait_s <= LONGEST_WAIT_S else None


def _failed(message: str, *, is_unpaid: bool = False) -> Refusal:
    return Refusal(outcome=Outcome.FAILED, message=message, is_unpaid=is_unpaid)
