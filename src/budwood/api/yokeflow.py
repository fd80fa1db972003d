"""Lets a progress callback written for YokeFlow hear of a run.

Knows both sides' callbacks; what an event means there is `formats.yokeflow_events`'s.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator

from budwood.api.event import Event
from budwood.formats.yokeflow_events import Translator, YokeflowEvent

YokeflowCallback = Callable[[YokeflowEvent], object]


def yokeflow_callback(callback: YokeflowCallback) -> Callable[[Event], object]:
    """Make an `on_event` of a callback, plain or async, that takes YokeFlow's events; one of its own for each run."""
    translators: dict[str, Translator] = {}

    def on_event(event: Event) -> Awaitable[None] | None:
        translator = translators.setdefault(event.run.id, Translator())
        if event.number > translator.number + 1:  # the run goes on: what happened before is known, and not told again
            for past in event.run.events(after=translator.number):
                if past.number == event.number:
                    break
                list(translator.translate(past._recorded))
        return _tell(callback, translator.translate(event._recorded))

    return on_event


def _tell(callback: YokeflowCallback, told: Iterator[YokeflowEvent]) -> Awaitable[None] | None:
    for each in told:
        given = callback(each)
        if inspect.isawaitable(given):
            return _finish(given, callback, told)
    return None


async def _finish(given: Awaitable[object], callback: YokeflowCallback, told: Iterator[YokeflowEvent]) -> None:
    """Wait for the first, then for the others, one after the other."""
    await given
    for each in told:
        more = callback(each)
        if inspect.isawaitable(more):
            await more
