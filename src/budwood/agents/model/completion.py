"""The body of a chat completion: what the model answered, what it consumed, and whether that is an answer at all.

Knows the shape of the body and the reasons for which an answer ends. Must not know HTTP, files or edits.
"""

import re
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from budwood.agents.report import Outcome

_CUT = ("length", "max_tokens", "model_length")
_REFUSED = ("content_filter", "refusal", "safety")
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
"""Models that think aloud do so in front of the answer; edits in there are not meant."""


Tokens: TypeAlias = Annotated[int, Meta(ge=0)]


class Part(Struct, frozen=True):
    """A piece of an answer that comes in pieces."""

    text: str | None = None


class Message(Struct, frozen=True):
    """What the model said."""

    content: str | list[Part] | None = None
    refusal: str | None = None


class Choice(Struct, frozen=True):
    """One answer."""

    message: Message
    finish_reason: str | None = None


class Details(Struct, frozen=True):
    """What the input tokens were."""

    cached_tokens: Tokens | None = None


class Consumed(Struct, frozen=True):
    """What was consumed."""

    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: Details | None = None


class Completion(Struct, frozen=True):
    """The body of a reply with status 200."""

    choices: tuple[Choice, ...]
    id: str | int | None = None
    model: str | None = None
    usage: Raw = Raw(b"null")

    @property
    def consumed(self) -> Consumed:
        """What it consumed; not known if that is told in another way: an answer that was paid for counts anyway."""
        try:
            return msgspec.json.decode(self.usage, type=Consumed | None) or Consumed()
        except msgspec.MsgspecError:
            return Consumed()


_DECODER = msgspec.json.Decoder(Completion)


def read_completion(body: bytes) -> Completion | None:
    """Read a body; None if it is no chat completion, or one without a choice."""
    try:
        completion = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return completion if completion.choices else None


def text_of(completion: Completion) -> str:
    """Return the answer without the thoughts in front of it."""
    content = completion.choices[0].message.content
    text = content if isinstance(content, str) else "".join(part.text or "" for part in content or ())
    return _THOUGHTS.sub("", text, count=1)


def judge(completion: Completion) -> tuple[Outcome, str]:
    """Say whether this is a whole answer, and if it is none, why."""
    choice = completion.choices[0]
    reason, refusal = (choice.finish_reason or "").casefold(), choice.message.refusal
    has_text = bool(text_of(completion).strip())
    if refusal or reason in _REFUSED:
        return Outcome.REFUSED, f"the model refused: {refusal or f'finish_reason is {reason}'}"
    if reason in _CUT and has_text:
        return Outcome.CUT, "the answer stops in the middle, at its limit of tokens; nothing of it was applied"
    if reason in _CUT:
        return Outcome.CONTEXT, "no token was left for an answer"
    if reason == "error":
        return Outcome.FAILED, "the answer broke off with an error at the server; nothing of it was applied"
    if not has_text:
        return Outcome.EMPTY, "the answer has no text" + (f" (finish_reason is {reason})" if reason else "")
    return Outcome.OK, ""
