"""`budwood cost`: what a run has cost, by task, lane and agent."""

import click
import msgspec

from budwood.cli.arguments import run_argument
from budwood.cli.costs import cost_lines
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.shapes import Shape
from budwood.cli.tables import terminal_width
from budwood.cli.text import is_terminal
from budwood.project.costs import AttemptCost, Key, add_up, attempt_costs, by_agent, by_lane, by_task, grouped
from budwood.project.find import find_run

_TABLES: tuple[tuple[str, tuple[str, ...], Key], ...] = (
    ("tasks", ("task", "lane", "agent", "model"), by_task),
    ("lanes", ("lane",), by_lane),
    ("agents", ("agent", "model"), by_agent),
)


@click.command("cost")
@run_argument(required=False)
@json_option
@store_option
def command(run: str, as_json: bool, where: str | None) -> None:
    """Show what a run has cost: by task, by lane, by agent.

    What subscriptions would have cost by the price list is shown and not counted.

    \b
    Example: budwood cost last
    """
    with looking(where) as (_, store):
        row = find_run(store, run)
        attempts = attempt_costs(store.read(row.id))
    if as_json:
        write_json({"run": row.name, **_shape(attempts)})
    elif not attempts:
        note(f"no attempt of run {row.name} has ended")
    else:
        for line in cost_lines(attempts, room=terminal_width() if is_terminal() else None):
            click.echo(line)


def _shape(attempts: list[AttemptCost]) -> Shape:
    shape: Shape = {
        name: [
            {
                **{word: None if name == "" else name for word, name in zip(words, key, strict=True)},
                **msgspec.to_builtins(cost),
            }
            for key, cost in grouped(attempts, by).items()
        ]
        for name, words, by in _TABLES
    }
    return {**shape, "all": msgspec.to_builtins(add_up(one.cost for one in attempts))}
