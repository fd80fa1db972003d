"""The tables of agents in a settings file: [agents.NAME], [prices."MODEL"] and [[model_rule]].

Each key of [agents.NAME] is a setting of its own, `agents.NAME.key`, and layers are put on top of each other key by
key, as in [run]. A price is taken whole, and so is the list of rules.
Knows keys and kinds. Must not know which agents there are, nor read the files that keys name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from budwood._core.suggest import did_you_mean
from budwood.errors import SettingsError
from budwood.settings import kinds
from budwood.settings.kinds import Kind, Unfit

AGENTS, PRICES, MODEL_RULE = "agents", "prices", "model_rule"
Values: TypeAlias = dict[str, object]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKey:
    """One key of such a table."""

    name: str
    kind: Kind
    doc: str
    default: str = "none"
    must: bool = False
    """Whether the table needs it."""
    example: str

    @property
    def shown_default(self) -> str:
        """Say the default in words."""
        return "must be given" if self.must else self.default


def _keyed(*keys: TableKey) -> dict[str, TableKey]:
    return {key.name: key for key in keys}


AGENT_KEYS = _keyed(
    TableKey(
        name="agent",
        kind=kinds.SOME_TEXT,
        default="NAME",
        doc="Which agent it is; with another name than the table's, that name becomes one more agent.",
        example='"claude"',
    ),
    TableKey(
        name="command",
        kind=kinds.WORDS,
        default="the agent's program, from the PATH",
        doc="The words that stand for its program; for `command`, the whole program.",
        example='["/opt/claude/bin/claude"]',
    ),
    TableKey(
        name="args",
        kind=kinds.ANY_WORDS,
        default="[]",
        doc="Words that are added behind those that budwood gives it; most programs take the last of two options.",
        example='["--permission-mode", "acceptEdits"]',
    ),
    TableKey(
        name="env_pass",
        kind=kinds.VARIABLE_NAMES,
        default="[]",
        doc="Variables of your own environment to hand on, beside those that the agent needs.",
        example='["CORPORATE_TOKEN"]',
    ),
    TableKey(
        name="own_state",
        kind=kinds.FLAG,
        default="false",
        doc="Give each attempt a state directory of its own; logins in files are then not seen, keys in variables are.",
        example="true",
    ),
    TableKey(
        name="model",
        kind=kinds.SOME_TEXT,
        default="the agent's own",
        doc="The model, unless the task or a rule names another.",
        example='"haiku"',
    ),
    TableKey(
        name="max_turns",
        kind=kinds.whole(1),
        doc="Turns that one attempt may take, for agents that can keep to that.",
        example="40",
    ),
    TableKey(
        name="budget_usd",
        kind=kinds.number(above=0),
        doc="Money that one attempt may spend, for agents that can keep to that.",
        example="2.5",
    ),
    TableKey(
        name="account",
        kind=kinds.SOME_TEXT,
        default="the agent's",
        doc="What shares a limit: when one agent of an account is at its limit, all of them wait.",
        example='"team-a"',
    ),
    TableKey(
        name="billing",
        kind=kinds.choice("metered", "subscription"),
        default="by its login: a key is metered",
        doc="Whether what it costs counts as money; for a subscription the list price is only shown.",
        example='"subscription"',
    ),
    TableKey(
        name="prompt_template",
        kind=kinds.SOME_TEXT,
        default="the template of budwood",
        doc="A file with the template of its prompts; a relative path begins where the settings file is.",
        example='"prompts/attempt.md"',
    ),
    TableKey(
        name="base_url",
        kind=kinds.ADDRESS,
        default="must be given for `model`",
        doc="Only for `model`: the endpoint, up to what stands in front of /chat/completions.",
        example='"https://models.example.com/v1"',
    ),
    TableKey(
        name="api_key_env",
        kind=kinds.VARIABLE_NAME,
        doc="Only for `model`: the variable that holds the key; without it no key is sent.",
        example='"EXAMPLE_API_KEY"',
    ),
    TableKey(
        name="temperature",
        kind=kinds.number(),
        default="the server's",
        doc="Only for `model`: how freely it answers.",
        example="0.2",
    ),
    TableKey(
        name="max_tokens",
        kind=kinds.whole(1, high=999_999_999),
        default="the server's",
        doc="Only for `model`: tokens that an answer may have.",
        example="8_000",
    ),
    TableKey(
        name="timeout",
        kind=kinds.UP_TO_A_DAY,
        default="10m",
        doc="Only for `model`: time limit of the call.",
        example='"5m"',
    ),
    TableKey(
        name="files",
        kind=kinds.ANY_WORDS,
        default="[]",
        doc="Only for `model`: patterns of files in the workspace whose text goes into the prompt.",
        example='["src/**/*.py"]',
    ),
)
PRICE_KEYS = _keyed(
    TableKey(
        name="input_per_million",
        kind=kinds.number(),
        must=True,
        doc="USD for a million tokens that the model reads.",
        example="3",
    ),
    TableKey(
        name="output_per_million",
        kind=kinds.number(),
        must=True,
        doc="USD for a million tokens that the model writes.",
        example="15",
    ),
    TableKey(
        name="cached_per_million",
        kind=kinds.number(),
        default="as input_per_million",
        doc="USD for a million tokens that the provider had in its cache.",
        example="0.3",
    ),
)
RULE_KEYS = _keyed(
    TableKey(
        name="match",
        kind=kinds.EXPRESSION,
        must=True,
        doc="A regular expression, looked for in a task's id, in its lane and in its description.",
        example='"^docs-"',
    ),
    TableKey(name="model", kind=kinds.SOME_TEXT, must=True, doc="The model for such a task.", example='"haiku"'),
    TableKey(
        name="agent",
        kind=kinds.SOME_TEXT,
        default="that of the task or the run",
        doc="The agent for such a task; for a task that names another one, the rule does not hold.",
        example='"claude"',
    ),
)
TABLES: dict[str, dict[str, TableKey]] = {
    f"{AGENTS}.NAME": AGENT_KEYS,
    f'{PRICES}."MODEL"': PRICE_KEYS,
    MODEL_RULE: RULE_KEYS,
}
"""The keys of each table, by what its heading looks like."""


def read_tables(table: str, raw: object, *, path: str) -> Values:
    """Check what stands in a file under one of the three names; return settings by their dotted names."""
    return _READERS[table](raw, path)


def is_table_setting(name: str) -> bool:
    """Tell a setting of these tables from one of [run] and [machine]."""
    return name.partition(".")[0] in _READERS


def agent_values(values: Mapping[str, object]) -> dict[str, Values]:
    """Put the settings of each agent together again, by the agent's name."""
    agents: dict[str, Values] = {}
    for dotted, value in values.items():
        table, _, rest = dotted.partition(".")
        if table == AGENTS:
            name, _, key = rest.partition(".")
            agents.setdefault(name, {})[key] = value
    return agents


def price_values(values: Mapping[str, object]) -> dict[str, object]:
    """Pick the prices, by model."""
    return {name.partition(".")[2]: value for name, value in values.items() if name.startswith(f"{PRICES}.")}


def _read_agents(raw: object, path: str) -> Values:
    found: Values = {}
    for name, entries in _tables(raw, AGENTS, path=path, example="[agents.NAME]").items():
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f"agent {name!r} in {path} has no name that a plan could use",
                hint="letters, digits, - and _ make one",
            )
        read = _read(entries, AGENT_KEYS, table=f"[{AGENTS}.{name}]", path=path)
        found |= {f"{AGENTS}.{name}.{key}": value for key, value in read.items()}
    return found


def _read_prices(raw: object, path: str) -> Values:
    tables = _tables(raw, PRICES, path=path, example='[prices."MODEL"]')
    return {
        f"{PRICES}.{model}": _read(entries, PRICE_KEYS, table=f'[{PRICES}."{model}"]', path=path)
        for model, entries in tables.items()
    }


def _read_rules(raw: object, path: str) -> Values:
    if not isinstance(raw, list):
        raise SettingsError(f"{MODEL_RULE} in {path} is {raw!r}; it takes a list of tables: [[{MODEL_RULE}]]")
    return {
        MODEL_RULE: [
            _read(entries, RULE_KEYS, table=f"[[{MODEL_RULE}]] number {number}", path=path)
            for number, entries in enumerate(raw, 1)
        ]
    }


def _tables(raw: object, table: str, *, path: str, example: str) -> Mapping[str, object]:
    if not isinstance(raw, Mapping):
        raise SettingsError(f"{table} in {path} is {raw!r}; it takes tables: {example}")
    return raw


def _read(entries: object, keys: Mapping[str, TableKey], *, table: str, path: str) -> Values:
    if not isinstance(entries, Mapping):
        raise SettingsError(f"{entries!r} stands where {path} must have a table: {table}", hint=_keys_hint(keys))
    read: Values = {}
    for name, raw in entries.items():
        key = keys.get(name)
        if key is None:
            hint = did_you_mean(name, keys) or _keys_hint(keys)
            raise SettingsError(f"unknown key {name!r} in {table} of {path}", hint=hint)
        try:
            read[name] = key.kind.read(raw)
        except Unfit:
            raise SettingsError(
                f"{name} in {table} of {path} is {key.kind.quote(raw)}; it takes {key.kind.wants}"
            ) from None
    missing = next((key.name for key in keys.values() if key.must and key.name not in read), None)
    if missing is not None:
        raise SettingsError(
            f"{missing} is missing in {table} of {path}", hint=f"add {missing} = {keys[missing].example}"
        )
    return read


def _keys_hint(keys: Mapping[str, TableKey]) -> str:
    return f"keys are {', '.join(keys)}"


_READERS: dict[str, Callable[[object, str], Values]] = {
    AGENTS: _read_agents,
    PRICES: _read_prices,
    MODEL_RULE: _read_rules,
}
