"""Plan files: TOML or JSON in, a Plan out, or an error that says where and what.

Knows both notations and others' formats. Must not know the graph, settings' other layers or the machine.
"""

from pathlib import Path

import msgspec

from budwood._core.model import PLAN
from budwood.errors import PlanError
from budwood.formats import yokeflow
from budwood.plans.entries import PlanFile
from budwood.plans.explain import explain, not_json
from budwood.plans.plan import Plan
from budwood.plans.specs import explicit_zeroes, lane_specs, task_specs
from budwood.plans.twins import refuse_twins
from budwood.settings import plan_layer
from budwood.settings.files import parse_toml, read_bytes

_BOM = b"\xef\xbb\xbf"
_JSON = msgspec.json.Decoder(PlanFile)


def read_plan(path: Path) -> Plan:
    """Read a plan file; its suffix says whether it is TOML or JSON. Whatever is wrong raises PlanError."""
    suffix = path.suffix.casefold()
    if suffix not in (".toml", ".json"):
        read_bytes(path, error=PlanError)
        raise PlanError(
            f"{path} is neither .toml nor .json", hint="a plan is TOML or JSON; rename the file after what it is"
        )
    return parse_plan(read_bytes(path, error=PlanError), path=str(path), json=suffix == ".json")


def parse_plan(raw: bytes, *, path: str, json: bool = False) -> Plan:
    """Read a plan from bytes; `path` is what errors call it."""
    if json:
        file, form = _from_json(raw.removeprefix(_BOM), path=path)
    else:
        file, form = _checked(parse_toml(raw, path=path, error=PlanError), path=path), "budwood"
    _refuse_tasks(file, path=path)
    plan_layer(file.run, path=path)
    return Plan(
        tasks=tuple(task_specs(file.task, path=path)),
        lanes=tuple(lane_specs(file.lane, path=path)),
        run=file.run,
        path=path,
        format=form,
        explicit=explicit_zeroes(file.task),
    )


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


def _from_json(raw: bytes, *, path: str) -> tuple[PlanFile, str]:
    """Decode straight into structs; only what is not our own format, or wrong, is looked at again."""
    try:
        try:
            file = _JSON.decode(raw)
            refuse_twins(raw, path=path)
            return file, "budwood"
        except msgspec.ValidationError:
            tables: object = msgspec.json.decode(raw)
            refuse_twins(raw, path=path)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise not_json(raw, problem, path=path) from None
    except RecursionError:
        raise PlanError(f"{path}: nested too deeply") from None
    if yokeflow.is_yokeflow(tables):
        return _checked(yokeflow.to_tables(tables, path=path), path=path), "yokeflow"
    return _checked(tables, path=path), "budwood"


def _checked(tables: object, *, path: str) -> PlanFile:
    try:
        return msgspec.convert(tables, PlanFile)
    except msgspec.ValidationError as problem:
        raise explain(tables, problem, path=path) from None
