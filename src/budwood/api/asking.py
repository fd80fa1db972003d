"""What a program asks of a run: its driver answers, wherever it is; where there is none, this thread does.

Knows asking. Must not know the thread of a drive: a request takes the same way as another
process's.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from budwood._core.model import TaskId
from budwood.api.look import Look
from budwood.project.alone import Alone
from budwood.project.asking import ANSWER_WITHIN_S, Asked, ask, refuse_ended, refuse_moved, refuse_unbegun
from budwood.project.place import project_of
from budwood.stores import Request


def pause(look: Look) -> str:
    """Let nothing new start."""
    with _asked(look) as asked:
        refuse_ended(asked)
        return _answer(asked, ask(asked, "pause", alone=lambda request: Alone(asked).record()))


def cancel(look: Look, tasks: Sequence[TaskId]) -> str:
    """Give the run or some tasks up."""
    with _asked(look) as asked:
        refuse_ended(asked)
        names = _names(look, asked, tasks)
        alone = partial(Alone(asked).cancel, whole=not tasks)
        return _answer(asked, ask(asked, "cancel", tasks=names, alone=alone))


def retry(look: Look, tasks: Sequence[TaskId]) -> tuple[str, bool]:
    """Want tasks again; return what was answered, and whether somebody drives the run."""
    with _asked(look) as asked:
        names = _names(look, asked, tasks)
        request = ask(asked, "retry", tasks=names, alone=lambda request: Alone(asked).record())
        return _answer(asked, request), asked.store.holder(look.run) is not None


def decide(look: Look, kind: str, tasks: Sequence[TaskId]) -> str:
    """Approve or reject what tasks made."""
    with _asked(look) as asked:
        names = _names(look, asked, tasks)
        return _answer(asked, ask(asked, kind, tasks=names, alone=lambda request: Alone(asked).record()))


@contextmanager
def _asked(look: Look) -> Iterator[Asked]:
    with look.open() as store:
        row = look.row(store)
        refuse_moved(store, row)
        asked = Asked(store, row, project_of(row).resolve(flags={}))
        refuse_unbegun(asked)
        yield asked


def _names(look: Look, asked: Asked, tasks: Sequence[TaskId]) -> list[str]:
    """Take ids as they are: a prefix is for people who type."""
    there = asked.store.tasks(look.run) if tasks else []
    return [str(look.task(there, task).id) for task in tasks]


def _answer(asked: Asked, request: Request) -> str:
    if request.state == "pending":
        driver = asked.store.holder(asked.row.id)
        raise TimeoutError(
            f"the driver of run {asked.row.name} ({driver}) has not answered within {ANSWER_WITHIN_S:g} s; "
            "the request is kept and will be"
        )
    return request.answer
