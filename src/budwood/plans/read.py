"""Plan files: TOML, JSON or Markdown in, a Plan out, or an error that says where and what.

Knows these notations and others' formats. Must not know the graph, settings' other layers or the machine.
"""

from pathlib import Path
from typing import Literal

import msgspec

from budwood._core.model import PLAN
from budwood.errors import PlanError
from budwood.formats import yokeflow
from budwood.plans.entries import PlanFile, TaskEntry
from budwood.plans.explain import explain, not_json
from budwood.plans.plan import Plan
from budwood.plans.specs import explicit_zeroes, lane_specs, task_specs
from budwood.plans.twins import refuse_twins
from budwood.settings import plan_layer
from budwood.settings.files import decoded, parse_toml, read_bytes

Notation = Literal["toml", "json", "markdown"]
NOTATIONS: dict[str, Notation] = {".toml": "toml", ".json": "json", ".md": "markdown", ".markdown": "markdown"}
"""By suffix."""
_BOM = b"\xef\xbb\xbf"
_JSON = msgspec.json.Decoder(PlanFile)


def read_plan(path: Path) -> Plan:
    """Read a plan file; its suffix says what it is written in. Whatever is wrong raises PlanError."""
    notation = NOTATIONS.get(path.suffix.casefold())
    raw = read_bytes(path, error=PlanError)
    if notation is None:
        raise PlanError(
            f"{path} is neither .toml, .json nor .md",
            hint="a plan is TOML, JSON or a list of tasks in Markdown; rename the file after what it is",
        )
    return parse_plan(raw, path=str(path), notation=notation, folder=path.parent)


def parse_plan(raw: bytes, *, path: str, notation: Notation = "toml", folder: Path | None = None) -> Plan:
    """Read a plan from bytes; `path` is what errors call it, `folder` is where files that it names are."""
    left_out: tuple[str, ...] = ()
    match notation:
        case "json":
            file, form, left_out = _from_json(raw.removeprefix(_BOM), path=path)
        case "markdown":
            from budwood.plans.markdown import read_markdown  # most plans do without what this loads

            file, left_out = read_markdown(raw, path=path)
            form = "markdown"
        case "toml":
            file, form = _checked(parse_toml(raw, path=path, error=PlanError), path=path), "budwood"
    _refuse_tasks(file, path=path)
    plan_layer(file.run, path=path)
    entries = [_with_prompt(entry, folder, path=path) for entry in file.task]
    return Plan(
        tasks=tuple(task_specs(entries, path=path)),
        lanes=tuple(lane_specs(file.lane, path=path)),
        run=file.run,
        path=path,
        format=form,
        explicit=explicit_zeroes(file.task),
        left_out=left_out,
    )


def _with_prompt(entry: TaskEntry, folder: Path | None, *, path: str) -> TaskEntry:
    """Read the prompt of a task that has it in a file."""
    if entry.prompt_file is None:
        return entry
    if entry.prompt:
        raise PlanError(f"task {str(entry.id)!r} of {path} has both prompt and prompt_file", hint="leave one out")
    raw = read_bytes((folder or Path()) / entry.prompt_file, error=PlanError)
    text = decoded(raw, path=entry.prompt_file, error=PlanError)
    if not text.strip():
        raise PlanError(f"{entry.prompt_file}, the prompt of task {str(entry.id)!r} of {path}, is empty")
    return msgspec.structs.replace(entry, prompt=text)


def _refuse_tasks(file: PlanFile, *, path: str) -> None:
    """Refuse a plan without tasks, and tasks that a strategy of the user's would not know of."""
    strategy = file.run.get("strategy", PLAN)
    if strategy == PLAN and not file.task:
        raise PlanError(f"{path} has no tasks", hint='add one: [[task]] with id = "hello" and run = "echo hello"')
    if strategy != PLAN and (file.task or file.lane):
        raise PlanError(
            f"{path} has tasks or lanes of its own and the strategy {strategy!r}, which decides about them",
            hint="leave out strategy, or the tasks and lanes",
        )


def _from_json(raw: bytes, *, path: str) -> tuple[PlanFile, str, tuple[str, ...]]:
    """Decode straight into structs; only what is not our own format, or wrong, is looked at again."""
    try:
        try:
            file = _JSON.decode(raw)
            refuse_twins(raw, path=path)
            return file, "budwood", ()
        except msgspec.ValidationError:
            tables: object = msgspec.json.decode(raw)
            refuse_twins(raw, path=path)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise not_json(raw, problem, path=path) from None
    except RecursionError:
        raise PlanError(f"{path}: nested too deeply") from None
    if yokeflow.is_yokeflow(tables):
        shaped, left_out = yokeflow.to_tables(tables, path=path)
        return _checked(shaped, path=path), "yokeflow", left_out
    return _checked(tables, path=path), "budwood", ()


def _checked(tables: object, *, path: str) -> PlanFile:
    try:
        return msgspec.convert(tables, PlanFile)
    except msgspec.ValidationError as problem:
        raise explain(tables, problem, path=path) from None
