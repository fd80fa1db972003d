"""What a run has cost, as tables: tasks, then sums by lane and agent, then one line for all.

Knows costs and columns. Must not read a store.
"""

from collections.abc import Iterator, Sequence

from budwood._core.model import TaskId
from budwood.cli.tables import Column, table_lines
from budwood.project.costs import AttemptCost, Cost, Key, add_up, by_agent, by_lane, by_task, grouped
from budwood.project.expecting import Estimate
from budwood.project.times import span
from budwood.project.words import counted, money, some

_FIGURES = (
    Column("ATTEMPTS", right=True),
    Column("COST", right=True),
    Column("LIST PRICE", right=True),
    Column("TOKENS", right=True),
    Column("TIME", right=True),
)
_TASK = (Column("TASK", flexible=True), Column("LANE", flexible=True), Column("AGENT"), Column("MODEL", flexible=True))
_SUMS: tuple[tuple[tuple[Column, ...], Key], ...] = (
    ((Column("LANE", flexible=True),), by_lane),
    ((Column("AGENT"), Column("MODEL", flexible=True)), by_agent),
)


def cost_lines(attempts: Sequence[AttemptCost], *, room: int | None, most: int | None = None) -> Iterator[str]:
    """Lay out what attempts cost; `most` is how many rows of tasks there may be."""
    tasks = grouped(attempts, by_task)
    yield from table_lines((*_TASK, *_FIGURES), _rows(tasks)[:most], room=room)
    if most is not None and len(tasks) > most:
        yield f"and {len(tasks) - most} more: budwood cost shows all"
    for columns, key in _SUMS:
        sums = grouped(attempts, key)
        if len(sums) > 1:
            yield ""
            yield from table_lines((*columns, *_FIGURES), _rows(sums), room=room)
    total = add_up(tasks.values())
    yield ""
    yield f"all: {_told(total)}"
    if total.unknown:
        # One attempt may be two that were asked: who made it, and who reviewed it.
        asked = counted(total.unknown, "attempt") + ("" if total.unknown <= total.attempts else " and reviews")
        yield f"~ {asked} did not say what {'it' if total.unknown == 1 else 'they'} cost: what was reserved is counted"


def _rows(sums: dict[tuple[TaskId, ...], Cost]) -> list[list[object]]:
    return [["-" if key[0] == "" else key[0], *key[1:], *_figures(cost)] for key, cost in sums.items()]


def _figures(cost: Cost) -> list[object]:
    paid = money(cost.cost_usd, guessed=cost.unknown) if cost.unknown or cost.cost_usd or cost.tokens else ""
    listed = "" if cost.list_usd is None else money(cost.list_usd)
    return [cost.attempts, paid, listed, cost.tokens or "", span(cost.wall_s)]


def _told(total: Cost) -> str:
    text = f"{counted(total.attempts, 'attempt')}, {money(total.cost_usd, guessed=total.unknown)}"
    text += f", {total.tokens} tokens" if total.tokens else ""
    text += f", {span(total.wall_s)} of work"
    listed = total.list_usd
    return text if listed is None else f"{text}; subscriptions at list price {money(listed)}, which is not counted"


def estimate_line(estimate: Estimate, *, budget_usd: float | None) -> str:
    """Say what a run will probably cost, and what that rests on."""
    budget = "no budget" if budget_usd is None else f"the budget is {money(budget_usd)}"
    if budget_usd is not None and estimate.unknown:
        budget += ", of which an attempt that nobody knows the cost of reserves nothing"
    if not estimate.tasks:
        return f"estimate: unknown, because its tasks are; {budget}"
    tasks, unknown = counted(estimate.tasks, "task"), estimate.unknown
    if unknown == estimate.tasks:
        return f"estimate: unknown for {tasks}, no earlier attempt in this store tells a cost; {budget}"
    rests = some(f"{number} of {name}" for name, number in estimate.rests_on.items())
    text = f"estimate: {money(estimate.usd)} for {tasks} at one attempt each"
    text += f" (median of earlier attempts: {rests})" if rests else " (what they reserve)"
    text += f"; of {unknown} nothing is known" if unknown else ""
    return f"{text}; {budget}"
