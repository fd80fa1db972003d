"""Synthesis without a model: what several attempts made, merged and scored.

Pairs first, in the order of rank; where a pair conflicts, file by file, each of the two going first once; then the best
union is extended by one more attempt at a time for as long as it gets better. Everything follows from what was told, so
that it is the same whenever it is asked. Knows scores and tasks; must not know git: the engine merges what a task
stands on.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from budwood._core.choice import ROOT
from budwood._core.model import TaskId, TaskSpec
from budwood.strategies.base import Told
from budwood.strategies.field import Field

PREFIX = "union-"
_TRY = "try-"


def ask(field: Field, first: Sequence[str], *, most: int) -> list[TaskSpec]:
    """Say which unions come next; none when there is nothing more to be had from them."""
    members = _distinct(field, field.ranked(first))[: most + 1]  # pairs with others come too late to be tried
    made = [told for name, told in field.told.items() if name.startswith(PREFIX)]
    unmade = (each for each in _wanted(field, members, made, first) if str(each.id) not in field.told)
    return list(islice(unmade, most - len(made)))


def _wanted(field: Field, members: list[str], made: list[Told], first: Sequence[str]) -> Iterator[TaskSpec]:
    if not made:
        places = sorted(combinations(range(len(members)), 2), key=lambda pair: (sum(pair), pair))
        yield from (_union(field, (members[a], members[b]), by_file=False) for a, b in places)
        return
    conflicts = [_by_file(field, told.task.after) for told in made if told.error == "conflict"]
    if any(str(each.id) not in field.told for tasks in conflicts for each in tasks):
        yield from (each for tasks in conflicts for each in tasks)
        return
    best, rival = field.best([str(told.task.id) for told in made]), field.best(first)
    if best is None or rival is None or not field.is_better(best, rival):
        return
    inside = field.told[best].task
    by_file = inside.on_conflict == "first"
    yield from (
        _union(field, (*inside.after, member), by_file=by_file) for member in members if member not in inside.after
    )


def _distinct(field: Field, names: Sequence[str]) -> list[str]:
    """Leave out what is the same as a better one, or as what was there before."""
    seen = {told.tree for name, told in field.told.items() if name == ROOT and told.tree}
    found = []
    for name in names:
        tree = field.told[name].tree
        if tree not in seen:
            found.append(name)
        seen |= {tree} - {""}
    return found


def _by_file(field: Field, after: tuple[TaskId, ...]) -> list[TaskSpec]:
    """Merge again what conflicts: of a pair each goes first once, of a larger union what was best so far."""
    orders = [after, after[::-1]] if len(after) == 2 else [after]
    return [_union(field, order, by_file=True) for order in orders]


def _union(field: Field, names: Sequence[TaskId], *, by_file: bool) -> TaskSpec:
    numbers = [str(name).removeprefix(_TRY) for name in names]
    if by_file:
        name, about = f"{PREFIX}{'-'.join(numbers)}-by-file", f"{names[0]}, and the files of others that fit"
    else:
        name = f"{PREFIX}{'-'.join(sorted(numbers, key=int))}"
        about = f"what {', '.join(map(str, names))} made, merged"
    return TaskSpec(
        id=name,
        run="true",
        description=about,
        after=tuple(names),
        on_conflict="first" if by_file else "fail",
        score=field.scoring,
    )
