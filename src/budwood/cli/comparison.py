"""One candidate beside others, as the cells of a row: the same in a terminal and on a page.

Knows what was compared; must not know how a table is drawn.
"""

from budwood.cli.scored import score_text
from budwood.project.times import span
from budwood.project.words import money
from budwood.review.comparing import Compared

HEADS = ("Task", "State", "Score", "Decision", "Agent", "Model", "Files", "Lines", "Time", "Cost", "Why")
NUMBERS = ("Score", "Files", "Lines", "Time", "Cost")
LONG = ("Why",)
"""What may be many words."""


def cells(each: Compared) -> tuple[str, ...]:
    """Write one candidate, a cell for each of HEADS."""
    came = sum(change.lines_added or 0 for change in each.files)
    went = sum(change.lines_removed or 0 for change in each.files)
    return (
        f"{each.task}{' *' if each.is_best else ''}",
        each.state.value,
        score_text(each.score),
        each.decision,
        each.agent,
        each.model or "",
        str(len(each.files)),
        f"+{came} -{went}",
        "" if each.duration_s is None else span(each.duration_s),
        money(each.cost_usd, guessed=each.untold) if each.cost_usd else "",
        each.why or each.description,
    )
