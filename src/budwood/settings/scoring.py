"""The key `score`: a command, or a table that says more; as the Scoring of a run.

Knows what a user may write. Must not know how anything is scored.
"""

import math
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from budwood._core.scores import Metric, Scoring, Stage
from budwood._core.suggest import did_you_mean
from budwood.settings.kinds import Kind, Unfit, command_or_table, seconds

Made = TypeVar("Made", Scoring, Stage, Metric)
_STAGE = ("run", "name", "timeout", "at_least", "at_most", "repeats", "sweep", "results", "rows")
_WHOLE = ("stages", "primary", "direction", "metrics", "gate", "rank")
_METRIC = ("weight", "direction", "clamp", "worst")
_MOST_REPEATS = 10_000


def read_scoring(given: object) -> Scoring:
    """Read what was written; what is wrong with it is named."""
    if isinstance(given, Scoring):
        return given
    if isinstance(given, str):
        return Scoring(stages=(_stage({"run": given}, where="score"),))
    if not isinstance(given, Mapping):
        raise Unfit
    _known(given, (*_STAGE, *_WHOLE), where="score")
    own = {name: value for name, value in given.items() if name in _STAGE}
    listed = given.get("stages")
    if (listed is None) == (not own):
        raise Unfit("score has either a run of its own or stages")
    if listed is not None and not (isinstance(listed, list | tuple) and listed):
        raise Unfit("stages of score takes a list of tables, at least one")
    entries = [own] if listed is None else list(listed)
    stages = tuple(
        _stage(entry, where="score" if listed is None else f"stage {number} of score")
        for number, entry in enumerate(entries, start=1)
    )
    rest = {name: value for name, value in given.items() if name in _WHOLE and name not in ("stages", "metrics")}
    metrics = given.get("metrics", {})
    if not isinstance(metrics, Mapping):
        raise Unfit("metrics of score takes a table: { speed = { weight = 2 } }")
    read = {str(name): _metric(str(name), each) for name, each in metrics.items()}
    return _convert({"stages": stages, "metrics": read, **rest}, Scoring, where="score")


def _stage(given: object, *, where: str) -> Stage:
    if not isinstance(given, Mapping):
        raise Unfit(f"{where} is {given!r}; it takes a table with run")
    _known(given, _STAGE, where=where)
    run = given.get("run")
    if not isinstance(run, str) or not run.strip() or "\0" in run:
        raise Unfit(f"{where} has no run: a shell command that prints a score")
    fields = {name: value for name, value in given.items() if name != "timeout"}
    if "timeout" in given:
        try:
            fields["timeout_s"] = seconds(given["timeout"])
        except Unfit:
            raise Unfit(f'timeout of {where} is {given["timeout"]!r}; it takes a duration such as "90s"') from None
    stage = _convert(fields, Stage, where=where)
    if not 1 <= stage.repeats <= _MOST_REPEATS:
        raise Unfit(f"repeats of {where} is {stage.repeats}; it takes a whole number from 1 to {_MOST_REPEATS}")
    if stage.rows is not None and stage.rows < 1:
        raise Unfit(f"rows of {where} is {stage.rows}; it takes a whole number, 1 or more")
    if stage.rows is not None and not stage.results:
        raise Unfit(f"rows of {where} is about a results file, and it names none")
    if len(set(stage.sweep)) < len(stage.sweep):
        raise Unfit(f"sweep of {where} has a setting twice")
    return stage


def _metric(name: str, given: object) -> Metric:
    where = f"metric {name} of score"
    if not isinstance(given, Mapping):
        raise Unfit(f"{where} is {given!r}; it takes a table: {{ weight = 2 }}")
    _known(given, _METRIC, where=where)
    return _convert(given, Metric, where=where)


def _known(given: Mapping[object, object], names: tuple[str, ...], *, where: str) -> None:
    for name in given:
        if name not in names:
            hint = did_you_mean(str(name), names) or f"it has {', '.join(names)}"
            raise Unfit(f"unknown key {name!r} in {where}; {hint}")


def _convert(fields: Mapping[str, object], kind: type[Made], *, where: str) -> Made:
    try:
        made = msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise Unfit(f"{where}: {error}") from None
    for name in made.__struct_fields__:
        value: object = getattr(made, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise Unfit(f"{name} of {where} is {value}")
    return made


SCORING = Kind('a shell command, or a table: { run = "…", direction = "min" }', read_scoring, command_or_table)
