"""Lessons: what finished attempts leave for later ones, and which of them a new attempt is shown.

A lesson is a line of text: what an attempt wrote into its note `lesson.md`, or else what can be said of how it ended.
They are found by their words through an index of bounded lists, so that it takes no longer among 10,000 than among
1,000. Knows text; must not know trees, prompts or files.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

NOTE = "lesson.md"
LESSON_CHARS = 400
"""Of one lesson; what is longer is cut."""
_WORDS = 24
"""So many different words of a lesson, and of what is looked for, count."""
_NEWEST = 12
"""So many of the newest lessons with a word are found by it."""
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one attempt left."""

    task: str
    text: str


class Lessons:
    """All lessons of one search."""

    def __init__(self) -> None:
        self._by_task: dict[str, Lesson] = {}
        self._places: dict[str, int] = {}
        self._newest: deque[str] = deque(maxlen=64)
        self._by_word: dict[str, deque[str]] = {}
        self._words: dict[str, tuple[str, ...]] = {}

    def add(self, task: str, text: str) -> None:
        """Keep a lesson."""
        self._places[task] = len(self._places)
        self._by_task[task] = Lesson(task, text)
        self._newest.append(task)
        self._words[task] = words_of(text)
        for word in self._words[task]:
            self._by_word.setdefault(word, deque(maxlen=_NEWEST)).append(task)

    def choose(self, branch: Iterable[str], text: str, *, count: int) -> Sequence[Lesson]:
        """Return those that matter most: of the branch, in its order, then by common words, then the newest."""
        chosen = dict.fromkeys(islice((task for task in branch if task in self._by_task), count))
        if len(chosen) < count:
            wanted = dict.fromkeys(word for task in chosen for word in self._words[task])
            wanted |= dict.fromkeys(words_of(text))
            near = self._near(list(wanted)[:_WORDS])
            chosen |= dict.fromkeys(islice((task for task in near if task not in chosen), count - len(chosen)))
        if len(chosen) < count:
            rest = (task for task in reversed(self._newest) if task not in chosen)
            chosen |= dict.fromkeys(islice(rest, count - len(chosen)))
        return [self._by_task[task] for task in chosen]

    def _near(self, words: Sequence[str]) -> Sequence[str]:
        """Return the lessons with most of these words, the newest of equals first; frequent words count for less."""
        shared: dict[str, float] = {}
        for word in words:
            found = self._by_word.get(word, ())
            for task in found:
                shared[task] = shared.get(task, 0.0) + 1.0 / len(found)
        return sorted(shared, key=lambda task: (-shared[task], -self._places[task]))


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text that lessons are found by."""
    return tuple(islice(dict.fromkeys(match.group() for match in _WORD.finditer(text.lower())), _WORDS))


def noted_lesson(result: object) -> str:
    """Return what an attempt wrote into its note, on one line; empty if it wrote none."""
    text = result.get(NOTE) if isinstance(result, dict) else None
    return one_line(text) if isinstance(text, str) else ""


def one_line(text: str) -> str:
    """Write a text on one line, so that nothing in it looks like a heading of the prompt that it is shown in."""
    line = " ".join(text[: 4 * LESSON_CHARS].split())
    return line if len(line) <= LESSON_CHARS else line[: LESSON_CHARS - 1] + "…"
