"""Layers of settings, put on top of each other: flag, environment, plan, budwood.toml, the user's file, default.

Knows the table of keys and mappings that somebody else has read. Must not read files or the environment itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from budwood._core.suggest import did_you_mean, nearest
from budwood.errors import PlanError, SettingsError
from budwood.settings.agents import is_table_setting
from budwood.settings.keys import KEYS, NOT_SETTINGS, Key, Scope
from budwood.settings.kinds import Unfit

FLAG = "flag"
ENVIRONMENT = "environment"
DEFAULT = "default"

Layer = tuple[str, Mapping[str, object]]
"""Where it comes from (one of the above, or a file's name), and what it says."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The value of every key, and where it came from; None is "not set". What tables of agents set stands beside."""

    values: Mapping[str, object]
    origins: Mapping[str, str]

    def value(self, name: str) -> object:
        """Return a setting's value."""
        return self.values[name]

    def text(self, name: str) -> str | None:
        """Return the value of a setting that is text."""
        value = self.values[name]
        return None if value is None else str(value)

    def origin(self, name: str) -> str:
        """Say where a setting's value comes from: a flag, a variable, a file's name, or "default"."""
        return self.origins[name]

    def rows(self) -> Iterator[tuple[Key, object, str]]:
        """Yield every key with value and origin, for people."""
        for name, key in KEYS.items():
            yield key, self.values[name], self.origins[name]

    def table_rows(self) -> Iterator[tuple[str, object, str]]:
        """Yield what the tables of agents set, by dotted name, with value and origin."""
        for name in sorted(filter(is_table_setting, self.values)):
            yield name, self.values[name], self.origins[name]


def resolve(layers: Sequence[Layer]) -> Resolved:
    """Take each key from the first layer that has it; the strongest layer comes first.

    A flag's None is "not given". The whole value is taken: tables of two layers are not mixed.
    """
    values: dict[str, object] = {name: key.default for name, key in KEYS.items()}
    origins = dict.fromkeys(KEYS, DEFAULT)
    for origin, given in reversed(layers):
        for name, raw in given.items():
            if raw is None:
                continue
            if is_table_setting(name):  # read with its file: only files have tables
                values[name], origins[name] = raw, origin
                continue
            values[name] = read_value(known(name, origin=origin), raw, origin=origin)
            origins[name] = _origin(KEYS[name], origin)
    return Resolved(values, origins)


def known(name: str, *, origin: str) -> Key:
    """Look a key up, or name it with a suggestion."""
    if name in KEYS:
        return KEYS[name]
    raise SettingsError(f"unknown key {name!r} in [run] of {origin}", hint=_suggestion(name))


def _suggestion(name: str) -> str:
    return did_you_mean(name, KEYS) or "budwood config show lists every key"


def read_value(key: Key, raw: object, *, origin: str) -> object:
    """Turn what was written into a value, or say what the key takes."""
    try:
        return key.kind.read(raw)
    except Unfit as why:
        raise SettingsError(_unfit(key, raw, origin=origin, why=str(why))) from None


def _unfit(key: Key, raw: object, *, origin: str, why: str = "") -> str:
    where = {FLAG: key.flag or key.name, ENVIRONMENT: key.env}.get(origin, f"{key.name} in [{key.table}] of {origin}")
    if why:
        return f"{where}: {why}"
    return f"{where} is {key.kind.quote(raw)}; it takes {key.kind.wants}"


def _origin(key: Key, origin: str) -> str:
    return {FLAG: key.flag or FLAG, ENVIRONMENT: key.env}.get(origin, origin)


def env_layer(environ: Mapping[str, str]) -> Layer:
    """Pick the BUDWOOD_* settings out of an environment; one that is nearly a setting's name is refused."""
    variables = {key.env: key for key in KEYS.values()}
    given: dict[str, object] = {}
    for variable, text in environ.items():
        if not variable.startswith("BUDWOOD_") or variable in NOT_SETTINGS:
            continue
        key = variables.get(variable)
        if key is None:
            _refuse_near_miss(variable)
            continue
        try:
            given[key.name] = key.kind.from_text(text)
        except Unfit:
            raise SettingsError(_unfit(key, text, origin=ENVIRONMENT)) from None
    return ENVIRONMENT, given


def _refuse_near_miss(variable: str) -> None:
    meant = nearest(variable.removeprefix("BUDWOOD_"), KEYS, cutoff=0.75)
    if meant is not None:
        raise SettingsError(f"unknown variable {variable}", hint=f"did you mean {KEYS[meant].env}?")


def plan_layer(run: Mapping[str, object], *, path: str) -> Layer:
    """Check the [run] table of a plan; what concerns the whole machine may not stand in it."""
    for name, raw in run.items():
        key = KEYS.get(name)
        if key is None:
            raise PlanError(f"unknown key {name!r} in [run] of {path}", hint=_suggestion(name))
        if key.scope is Scope.MACHINE:
            raise PlanError(
                f"{name} in [run] of {path} concerns more than one run",
                hint=f"put it into [machine] of budwood.toml, or set {key.env}",
            )
        try:
            key.kind.read(raw)
        except Unfit as why:
            raise PlanError(_unfit(key, raw, origin=path, why=str(why))) from None
    return path, run
