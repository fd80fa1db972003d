"""The texts that the tasks of a competition are asked with, and what a judge answers.

What others made stands in the prompt by the engine's doing: it has their files. Here are words, scores and notes. Knows
what was told; must not know strategies.
"""

from collections.abc import Mapping, Sequence

import msgspec

from budwood._core.scores import Scoring
from budwood.strategies.base import Told

NOTES = ".budwood/notes"
"""Where in its workspace an attempt leaves notes; BUDWOOD_NOTES names it, too."""
_NOTE_CHARS = 4000
_WHY_CHARS = 500


def attempt(prompt: str, hint: str) -> str:
    """Ask for one attempt."""
    return f"{prompt.rstrip()}\n\nHow to go about it: {hint.strip()}\n" if hint.strip() else prompt


def judging(prompt: str, shown: Sequence[Told], *, scoring: Scoring | None, note: str) -> str:
    """Ask which of several candidates is best."""
    names = ", ".join(str(told.task.id) for told in shown)
    example = msgspec.json.encode({"choice": shown[0].task.id, "why": "…"}).decode()
    return (
        f"{len(shown)} attempts were made at the task below: {names}. Say which of them is best: read what each has "
        f"changed, and look into the working directory, which is as it was before them. Change nothing there.\n\n"
        f"Write your choice to the file {NOTES}/{note}, as JSON: {example}\n\n"
        f"# The task\n\n{_set_in(prompt)}\n\n# The attempts\n\n{_described(shown, scoring)}\n"
    )


def synthesis(prompt: str, made: Sequence[Told], *, scoring: Scoring | None, choice: str) -> str:
    """Ask for one more that takes the best of others."""
    said = f"\n\nThe best of these so far is {choice}." if choice else ""
    return (
        f"{prompt.rstrip()}\n\nOthers have tried this before you, each alone; what each has changed is shown below, "
        f"and is not in the working directory. Take the best of each, put right what is wrong in them, and make one "
        f"that is better than all of them.\n\n# The attempts\n\n{_described(made, scoring)}{said}\n"
    )


def choice_in(told: Told, note: str, names: Sequence[str]) -> tuple[str | None, str]:
    """Read what a judge chose and why; nobody, and what was wrong with the answer, if it makes no sense."""
    if not told.done:
        how = f"it failed ({told.error})" if told.error else f"it was {told.state.value}"
        return None, f"{told.task.id} did not answer: {how}"
    text = told.result.get(note) if isinstance(told.result, dict) else None
    if not isinstance(text, str):
        return None, f"{told.task.id} left no {note}"
    try:
        found: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return None, f"{note} of {told.task.id} is no JSON"
    choice = found.get("choice") if isinstance(found, dict) else None
    if not isinstance(choice, str) or choice not in names:
        return None, f"{note} of {told.task.id} names none of {', '.join(names)}: {choice!r:.80}"
    assert isinstance(found, dict)
    return choice, f"{told.task.id}: {str(found.get('why') or 'it did not say why')[:_WHY_CHARS]}"


def _described(made: Sequence[Told], scoring: Scoring | None) -> str:
    return "\n".join(_about(told, scoring) for told in made)


def _about(told: Told, scoring: Scoring | None) -> str:
    lines = [f"- {told.task.id}{_scored(told, scoring)}"]
    for name, text in sorted(_notes(told.result).items()):
        lines.append(f"  - its note {name}:\n\n{_set_in(text[:_NOTE_CHARS], by=8)}\n")
    return "\n".join(lines)


def _scored(told: Told, scoring: Scoring | None) -> str:
    score = told.score
    if scoring is None or score is None:
        return ""
    if not score.valid:
        return f": not valid: {score.why}"
    better = "more" if scoring.direction == "max" else "less"
    numbers = {scoring.primary: score.value, **score.metrics}
    written = ", ".join(f"{name} {value:g}" for name, value in numbers.items() if value is not None)
    return f": {written} ({better} of {scoring.primary} is better)"


def _notes(result: object) -> Mapping[str, str]:
    if not isinstance(result, dict):
        return {}
    return {str(name): text for name, text in result.items() if isinstance(text, str)}


def _set_in(text: str, *, by: int = 4) -> str:
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.strip("\n").split("\n"))
