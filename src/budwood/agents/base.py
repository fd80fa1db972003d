"""What every agent promises, and the words in which it is asked and answers.

Rules
- `launch` and `read` are functions of what they are given: they read no file, clock or environment, and start nothing.
- The prompt is in a file. It reaches a program on standard input or through an option that takes a file.
- HOME stays the user's, so that logins, caches and git identity work. A login is never copied: refresh tokens are
  single-use. Only an agent's own state moves, through its own variable, where sharing it fails or where that is asked.
- `read` believes wording about limits, logins and quotas before an agent's own word, and that before exit codes.
- A cap that an agent cannot keep is left out of its command line; `abilities` tells which it keeps.

Knows `errors` and how a server is told of; must not know any agent, store or executor.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import tzinfo
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec import Struct

from budwood.agents.serving import Server
from budwood.errors import SettingsError, UsageError


class Tokens(Struct, frozen=True, kw_only=True):
    """What was read and written; `cached` is the part of `input` that came from the provider's cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """Add what was read to what was written."""
        return self.input + self.output

    def plus(self, other: "Tokens") -> "Tokens":
        """Add two amounts."""
        return Tokens(
            input=self.input + other.input, output=self.output + other.output, cached=self.cached + other.cached
        )


NO_TOKENS = Tokens()


def sum_tokens(amounts: Iterable[Tokens]) -> Tokens:
    """Add amounts up."""
    return reduce(Tokens.plus, amounts, NO_TOKENS)


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, in USD for a million tokens."""

    input_per_million: float
    output_per_million: float
    cached_per_million: float | None = None
    """For what the provider had in its cache; without it, such tokens cost as others do."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise SettingsError(f"{name} is {value}; a price is a number from 0 up")


class Assignment(Struct, frozen=True, kw_only=True):
    """What one attempt asks of its agent."""

    prompt_file: Path
    state_dir: Path
    """A directory of the attempt, for an agent's own state and for the files that `Launch` names."""
    prompt: str | None = None
    """What the prompt file holds; only an agent that takes it as an argument looks at it."""
    model: str | None = None
    max_turns: int | None = None
    budget_usd: float | None = None
    session: str | None = None
    """The session of the agent's own that it is to go on with."""


class Launch(Struct, frozen=True, kw_only=True):
    """How to start a program for an assignment."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    env_pass: tuple[str, ...] = ()
    """Variables that are handed on where the user has set them."""
    stdin: Path | None = None
    """What it reads on standard input; None is /dev/null."""
    files: dict[Path, str] = {}
    """What must be written before it starts, all of it below the state directory."""


class Chat(Struct, frozen=True, kw_only=True):
    """How an endpoint of chat completions is asked, for an agent that has no program of somebody else's."""

    base_url: str
    """What stands in front of /chat/completions."""
    api_key_env: str | None = None
    """The variable that holds the key; without it none is sent."""
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    """For the whole call."""
    files: tuple[str, ...] = ()
    """Patterns of files whose text goes into the prompt."""
    prices: dict[str, Price] = {}


class Overrides(Struct, frozen=True, kw_only=True):
    """What a configuration changes about an agent."""

    command: tuple[str, ...] = ()
    """The words that stand for its program."""
    args: tuple[str, ...] = ()
    env_pass: tuple[str, ...] = ()
    own_state: bool = False
    """Whether its state, logins included, is the attempt's own; only keys in variables then let it in."""
    account: str = ""
    """What shares a limit, where that is not as the agent has it."""
    python: str = ""
    """The interpreter for programs that come with budwood."""
    chat: Chat | None = None
    mcp: Server | None = None
    """budwood's MCP server, for an agent that can use one; None if it is not to."""


AS_IT_COMES = Overrides()


class OutcomeKind(StrEnum):
    """How an agent's work ended."""

    OK = "ok"
    FAILED = "failed"
    LIMIT = "limit"
    """The account is at a limit, which ends by itself."""
    AUTH = "auth"
    QUOTA = "quota"
    """Credits or quota are used up; only a person can change that."""
    BUDGET = "budget"
    REFUSED = "refused"
    CONTEXT = "context"
    TURNS = "turns"
    TIMEOUT = "timeout"
    KILLED = "killed"


class Reading(Struct, frozen=True, kw_only=True):
    """What an agent's output tells; None is unknown, never nothing."""

    kind: OutcomeKind
    message: str = ""
    """One line for people."""
    until_ms: int | None = None
    """When a limit ends."""
    cost_usd: float | None = None
    tokens: int | None = None
    split: Tokens | None = None
    by_model: dict[str, Tokens] = {}
    turns: int | None = None
    session: str | None = None
    denied: tuple[str, ...] = ()
    """Tools that it wanted to use and was refused."""
    answered: bool | None = None
    """Whether any answer of a model is in its output; of one that stopped without any, nothing is to be paid."""


class Login(Struct, frozen=True, kw_only=True):
    """Where an agent's login can be seen: a key in a variable, or a file of a subscription."""

    keys: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    directory: str = ""
    """Where in HOME those files are."""
    directory_env: str = ""
    """The variable that names another directory."""


class Home(Struct, frozen=True, kw_only=True):
    """What of the user's home directory a program needs where it sees nothing else of it; paths count from there."""

    writes: tuple[str, ...] = ()
    """Its own state, logins included."""
    reads: tuple[str, ...] = ()
    """Its settings. Inside of its state they are kept from being changed: another of it, outside, would follow them."""


class Ability(StrEnum):
    """What of an assignment an agent can keep to by itself."""

    SESSION = "session"
    MODEL = "model"
    TURNS = "turns"
    BUDGET = "budget"
    MCP = "mcp"


class Agent(ABC):
    """What performs an attempt: two functions, and data about the program."""

    name: ClassVar[str]
    account: str
    """What shares a limit."""
    program: ClassVar[str]
    tried: ClassVar[tuple[str, ...]] = ()
    """Versions of the program that this adapter was tried with."""
    login: Login = Login()
    home: ClassVar[Home] = Home()
    abilities: ClassVar[frozenset[Ability]] = frozenset()
    state_env: ClassVar[str] = ""
    """The variable that moves its state."""
    shares_state: ClassVar[bool] = True
    """Whether several of it may use one state at the same time."""
    takes_chat: ClassVar[bool] = False
    """Whether it asks an endpoint that the configuration names."""
    raw_prompt: ClassVar[bool] = False
    """Whether its prompt is the task's text as it stands, with nothing written around it."""

    def __init__(self, overrides: Overrides = AS_IT_COMES) -> None:
        if overrides.own_state and not self.state_env:
            raise UsageError(
                f"agent {self.name} cannot have a state of its own: its program has no variable for that",
                hint="leave own_state out",
            )
        self.overrides = overrides
        if overrides.account:
            self.account = overrides.account

    @property
    def version_argv(self) -> tuple[str, ...]:
        """Name the command that prints the program's version; of one word, only where it is can be asked."""
        return (*(self.overrides.command or (self.program,)), "--version")

    def launch(self, assignment: Assignment) -> Launch:
        """Say how to start the program, as the configuration has it."""
        if assignment.session is not None and Ability.SESSION not in self.abilities:
            raise UsageError(
                f"agent {self.name} cannot go on with session {assignment.session}: it keeps none",
                hint="start the attempt anew",
            )
        plain = self.arrange(assignment)
        env = dict(plain.env)
        if self.overrides.own_state or not self.shares_state:
            env[self.state_env] = str(assignment.state_dir / self.name)
        # What is set for it must not be replaced by what the user's shell has.
        passed = dict.fromkeys((*plain.env_pass, *self.overrides.env_pass))
        return msgspec.structs.replace(
            plain,
            argv=(*(self.overrides.command or plain.argv[:1]), *plain.argv[1:], *self.overrides.args),
            env=env,
            env_pass=tuple(name for name in passed if name not in env),
        )

    @abstractmethod
    def arrange(self, assignment: Assignment) -> Launch:
        """Say how to start the program, its own name first, before the configuration has its say."""

    @abstractmethod
    def read(
        self,
        output: bytes,
        *,
        exit_code: int | None,
        signal: int | None,
        now_ms: int,
        zone: tzinfo,
        timed_out: bool = False,
        tokens_before: Tokens = NO_TOKENS,
    ) -> Reading:
        """Tell how the work ended from what the program printed (both streams) and how its process ended.

        `tokens_before` is what earlier attempts of the same session used, for programs that count on.
        `zone` is that of times which are stated without one.
        """
