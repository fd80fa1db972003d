"""`budwood tree`: what a search grew from what, what it came to, and whether its record holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from budwood.cli.arguments import run_argument
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.tables import Column, write_table
from budwood.cli.text import one_line, tinted
from budwood.cli.whole import folder_for
from budwood.errors import UsageError
from budwood.project.find import find_run
from budwood.project.times import iso, span
from budwood.project.tree import Tree, TreeNode, read_tree
from budwood.project.words import counted, money

if TYPE_CHECKING:
    from budwood.project.tree_check import Validation

_COLUMNS = (
    Column("TASK"),
    Column("STATE", tint=tinted),
    Column("SCORE", right=True),
    Column("RANK", right=True),
    Column("DECISION"),
    Column("ATTEMPTS", right=True),
    Column("TIME", right=True),
    Column("COST", right=True),
    Column("WHAT", flexible=True),
    Column("WHY", flexible=True),
)
_BRANCH_COLUMNS = (Column("VISITS", right=True), Column("VALUE", right=True))
"""Of searches that say what they think of a branch; after the rank."""
_AFTER_RANK = 4


@click.command("tree")
@run_argument(required=False)
@click.option("-o", "--output", metavar="DIR", help="Write TREE_SUMMARY.md and TREE_GRAPH.md there.")
@click.option("--validate", is_flag=True, help="Check the record of the search; with the sha256 of all that it made.")
@json_option
@store_option
def command(run: str, output: str | None, validate: bool, as_json: bool, where: str | None) -> int:
    """Show the tree of candidates that a search grew, with scores and decisions.

    --validate looks whether everything that was kept is there, and whether each decision follows from the scores; if
    not, the exit code is 1.

    \b
    Example: budwood tree night -o report
    """
    if validate and output is not None:
        raise UsageError("--validate writes no pages", hint="leave out -o, or --validate")
    with looking(where) as (_, store):
        row = find_run(store, run)
        tree = read_tree(store, row)
        if validate:
            from budwood.project.tree_check import validate as check

            found = check(store, row)
            _write_validation(found, as_json=as_json)
            note(f"{found.run}: {found.words} looked at, {counted(len(found.problems), 'problem')}")
            return 1 if found.problems else 0
    if output is not None:
        _write_pages(tree, Path(output))
    elif as_json:
        write_json(_shape(tree))
    else:
        _write_nodes(tree)
        for line in _end(tree):
            click.echo(line)
    return 0


def _write_nodes(tree: Tree) -> None:
    columns, rows = [*_COLUMNS], [_cells(node) for node in tree.downwards()]
    if any(node.visits is not None for node in tree.nodes):
        columns[_AFTER_RANK:_AFTER_RANK] = _BRANCH_COLUMNS
        for node, row in zip(tree.downwards(), rows, strict=True):
            row[_AFTER_RANK:_AFTER_RANK] = [node.visits, "" if node.worth is None else f"{node.worth:.3f}"]
    write_table(columns, rows)


def _cells(node: TreeNode) -> list[object]:
    rank = None if node.judgement is None else node.judgement.rank
    return [
        "· " * node.depth + str(node.id),
        node.phase.value,
        "" if node.value is None else f"{node.value:.6g}",
        "" if rank is None else f"{rank:+.4g}",
        node.decision,
        node.attempts or "",
        span(node.wall_s) if node.wall_s else "",
        money(node.cost_usd, guessed=node.untold) if node.cost_usd else "",
        node.idea or node.title,
        node.why,
    ]


def _end(tree: Tree) -> Iterator[str]:
    yield ""
    for depth in tree.depths():
        best = "" if depth.best is None else f", best {depth.best:.6g}"
        done = f"{depth.ended} of {counted(depth.tasks, 'task')} ended"
        # Only a beam promotes; others go on from whatever is good.
        promoted = f", {depth.promoted} promoted" if tree.strategy == "beam" else ""
        yield f"depth {depth.depth}: {done}{promoted}{best}"
    if tree.best is not None:
        yield f"best: {tree.best}"
    if tree.reason:
        yield f"ended: {tree.reason}"


def _write_pages(tree: Tree, folder: Path) -> None:
    from budwood.project.tree_pages import GRAPH, SUMMARY, graph_page, summary_page

    with folder_for(folder):
        for name, page in ((SUMMARY, summary_page(tree)), (GRAPH, graph_page(tree))):
            (folder / name).write_text(page, encoding="utf-8")
            click.echo(folder / name)


def _write_validation(found: "Validation", *, as_json: bool) -> None:
    if as_json:
        write_json(found)
        return
    for artefact in found.artefacts:
        click.echo(f"{artefact.sha256}  {artefact.what:9}  {artefact.name}")
    for problem in found.problems:
        click.echo(f"wrong  {one_line(problem)}")


def _shape(tree: Tree) -> dict[str, object]:
    shape = asdict(tree)
    shape["state"] = shape.pop("phase")
    shape["depths"] = [asdict(depth) for depth in tree.depths()]
    shape["nodes"] = [_node_shape(node) for node in tree.nodes]
    return shape


def _node_shape(node: TreeNode) -> dict[str, object]:
    shape = asdict(node)
    shape["state"] = shape.pop("phase")
    shape["began_at"] = iso(node.began_at_ms)
    shape["ended_at"] = iso(node.ended_at_ms)
    del shape["began_at_ms"], shape["ended_at_ms"]
    return shape
