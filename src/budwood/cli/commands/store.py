"""`budwood store`: verify it, and carry runs out of it and into it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO

import click

from budwood._core.model import OPEN_ATTEMPT
from budwood._core.replay import fold_rows
from budwood._core.rows import RunRow
from budwood.cli.arguments import run_argument
from budwood.cli.complete import RunName
from budwood.cli.looking import json_option, looking, note, store_option, write_json
from budwood.cli.text import is_terminal
from budwood.cli.verify import differences
from budwood.cli.whole import folder_for, whole_file
from budwood.errors import LeaseHeld, UsageError
from budwood.project.find import find_run, listed
from budwood.project.place import Project, find_project
from budwood.project.words import counted, some
from budwood.settings import Resolved
from budwood.stores import Store, open_store
from budwood.stores.address import is_postgres, refuse_misspelt
from budwood.stores.transfer import export_run, import_run, move_run

_SQLITE = b"SQLite format 3\0"


@click.group("store")
def command() -> None:
    """Verify the store; carry runs out of it and into it.

    \b
    Example: budwood store verify
    """


@command.command("verify")
@click.option("--run", "named", type=RunName(), metavar="RUN", help="Only this run.")
@json_option
@store_option
def verify(named: str | None, as_json: bool, where: str | None) -> int:
    """Refold all events and compare with the tables; name every difference. Exit code 1 if there is one.

    \b
    Example: budwood store verify --run night
    """
    with looking(where) as (_, store):
        problems = store.check()
        runs = store.runs() if named is None else [find_run(store, named)]
        for row in runs:
            problems += (each for each in differences(store, row) if each not in problems)
        place = store.where
    if as_json:
        write_json({"store": place, "runs": [row.name for row in runs], "problems": problems})
    else:
        for problem in problems:
            click.echo(problem)
        events = sum(row.last_event for row in runs)
        told = f"{counted(len(problems), 'problem')}; the file is left as it is" if problems else "all is well"
        click.echo(f"{place}: {counted(len(runs), 'run')}, {counted(events, 'event')}: {told}")
    return 1 if problems else 0


@command.command("export")
@run_argument(required=True)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--manifest", is_flag=True, help="Write a beam as the tree runner's manifest, ideas and rows beside it.")
@store_option
def export(run: str, file: Path | None, manifest: bool, where: str | None) -> None:
    """Write a run, with its logs, to FILE as JSON lines, or to standard output. It may be driven meanwhile.

    \b
    Example: budwood store export night night.jsonl
    """
    if manifest:
        _write_manifest(run, file, where)
        return
    if file is None and is_terminal():
        raise UsageError("an exported run is nothing for a terminal", hint=f"budwood store export {run} {run}.jsonl")
    with looking(where) as (_, store):
        row = find_run(store, run)
        if file is None:
            export_run(store, row.id, sys.stdout.buffer)
            return
        with whole_file(file) as out:
            export_run(store, row.id, out)
    note(f"run {row.name} written to {file}: {counted(row.last_event, 'event')}")


def _write_manifest(run: str, file: Path | None, where: str | None) -> None:
    if file is None:
        raise UsageError(
            "a manifest has files beside it, and needs a folder",
            hint=f"budwood store export {run} --manifest DIR/manifest.json",
        )
    from budwood.project.tree_export import write_manifest

    with looking(where) as (_, store):
        row = find_run(store, run)
        written = write_manifest(store, row)
    # The manifest comes last: one that is there has all of its files.
    for name, content in {**written.files, file.name: written.manifest}.items():
        path = file.parent / name
        with folder_for(path.parent), whole_file(path) as out:
            out.write(content)
    note(f"run {row.name} written to {file}, with {counted(len(written.files), 'file')} beside it")
    if written.left_out:
        joined, are = counted(len(written.left_out), "task"), "is" if len(written.left_out) == 1 else "are"
        note(f"{joined} joined while it went on, and {are} not in it: {some(written.left_out)}")


@command.command("import-manifest")
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--plan", "plan", metavar="FILE", required=True, help="The plan that says how it goes on: a beam.")
@click.option("--missing-ok", is_flag=True, help="Do again what has lost its artefacts, if nothing rests on it.")
@json_option
@store_option
def import_manifest(manifest: Path, plan: str, missing_ok: bool, as_json: bool, where: str | None) -> None:
    """Take in a run of the tree runner, by its manifest (version 3) and folder.

    What has ended there is not done again. It goes on with budwood resume, as the plan says: its score must decide what
    the manifest has decided. What was queued or ran is done anew.

    \b
    Example: budwood store import-manifest night/manifest.json --plan beam.toml
    """
    from budwood.formats.tree_reading import read_manifest
    from budwood.project.planned import read_planned
    from budwood.project.tree_import import import_manifest as take_in

    found = read_manifest(manifest)
    planned = read_planned(plan, {"store": where, "base": found.root.commit}).equipped()
    with planned.project.open_store(planned.resolved, create=True) as store:
        arrived = take_in(store, found, planned, missing_ok=missing_ok)
    for each in arrived.notes:
        note(each)
    if as_json:
        write_json(asdict(arrived))
    elif not arrived.created:
        note(f"run {arrived.name} was here already; nothing is changed")
    else:
        given_up = {"cancelled": arrived.cancelled, "skipped": arrived.skipped}
        counts = {"done": arrived.done, "failed": arrived.failed, **{word: n for word, n in given_up.items() if n}}
        told = ", ".join(f"{n} {word}" for word, n in {**counts, "to be done": len(arrived.requeued)}.items())
        note(f"run {arrived.name} imported: {told}")
        note(f"the tree runner knows nothing of this: drive it here only, budwood resume {arrived.name}")


@command.command("import")
@click.argument("source", metavar="FILE|STORE")
@click.option("--run", "named", metavar="RUN", help="Of a store: only this run.")
@store_option
def import_(source: str, named: str | None, where: str | None) -> None:
    """Take a run from an exported FILE, or move runs here from another STORE.

    A FILE of "-" is standard input. A run that is moved can be read in the other store afterwards, but not driven.

    \b
    Example: budwood store import ../old/.budwood/store.db --run night
    """
    project = find_project()
    from_store = _is_store(source, root=project.root)
    if named is not None and not from_store:
        raise UsageError("a file holds one run; --run is for stores", hint=f"budwood store import {source}")
    resolved = project.resolve(flags={"store": where})
    if from_store:
        _move(source, project, resolved, named=named)
    else:
        with project.open_store(resolved, create=True) as target:
            _take(source, target)


def _is_store(source: str, *, root: Path) -> bool:
    if source == "-":
        return False
    if is_postgres(source):
        return True
    refuse_misspelt(source)
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        path = Path(source).absolute()
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint=_other_source(path, root / source)) from error


def _other_source(path: Path, of_project: Path) -> str:
    """Say what may be meant; one who knows that --store begins at the project expects it of FILE, too."""
    if path != of_project and of_project.is_file():
        return f"a relative path begins at the current directory: did you mean {of_project}?"
    return "give a file that budwood store export has written, or another store"


def _take(source: str, target: Store) -> None:
    if source == "-":
        claim = import_run(target, sys.stdin.buffer, fold=fold_rows)
    else:
        with Path(source).open("rb") as file:
            lines: IO[bytes] = file
            claim = import_run(target, lines, fold=fold_rows)
    arrived = "imported" if claim.created else "was here already; what was missing is added"
    note(f"run {claim.name} {arrived}")
    note("where it was exported from nobody knows of this: drive it in one place only")
    running = _open_attempts(target, claim.run)
    if running:
        note(f"warning: {counted(running, 'attempt')} ran when it was exported; resumed here, they are started again")


def _move(source: str, project: Project, resolved: Resolved, *, named: str | None) -> None:
    with open_store(source, create=False) as other:
        runs = listed(other) if named is None else [find_run(other, named)]
        if not runs:
            note(f"there are no runs in {other.where}")
            return
        # Made only now: a run that is not there leaves no empty store behind.
        with project.open_store(resolved, create=True) as target:
            for row in runs:
                _move_run(other, target, row, project=project)


def _move_run(other: Store, target: Store, row: RunRow, *, project: Project) -> None:
    running = _open_attempts(other, row.id)
    if running and not project.run_dir(row.id).is_dir():
        raise UsageError(
            f"{counted(running, 'attempt')} of run {row.name} may still run, out of reach from here",
            hint=f"in its own project: budwood resume {row.name}, then budwood pause {row.name}; then move it",
        )
    try:
        claim = move_run(other, target, row.id, fold=fold_rows)
    except LeaseHeld as held:
        raise LeaseHeld(row.name, holder=held.holder) from held  # the store knows ids only
    note(f"run {claim.name} moved here; {other.where} still shows it, but refuses to drive it")


def _open_attempts(store: Store, run: str) -> int:
    return sum(attempt.phase in OPEN_ATTEMPT for attempt in store.attempts(run))
