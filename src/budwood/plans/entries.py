"""A plan file as it is written: what msgspec decodes JSON and TOML into.

Knows the types of the keys. What types cannot say (units, empty commands) is checked on the way to TaskSpec: `specs`.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from budwood._core.model import TaskId

_Priority = Annotated[int, Meta(ge=-(10**9), le=10**9)]
_Count = Annotated[int, Meta(ge=0, le=1_000_000)]
_Retries = Annotated[int, Meta(ge=0, le=1000)]
_Tokens = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Cpus = Annotated[float, Meta(gt=0, le=1_000_000)]
_Usd = Annotated[float, Meta(ge=0, le=1e12)]


class TaskEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One [[task]]; None is "not said", and so is UNSET, which takes no table of its own in each of a million."""

    id: TaskId
    run: str | tuple[str, ...] | None = None
    function: str | None = None
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] | UnsetType = UNSET
    description: str = ""
    prompt: str = ""
    after: tuple[TaskId, ...] = ()
    prefer_after: tuple[TaskId, ...] = ()
    priority: _Priority = 0
    lane: TaskId | None = None
    group: str | None = None
    cpus: _Cpus | None = None
    gpus: _Count = 0
    timeout: str | float | None = None
    retries: _Retries | None = None
    env: dict[str, str] | UnsetType = UNSET
    env_pass: tuple[str, ...] = ()
    memory: str | int | None = None
    reserve_usd: _Usd | None = None
    reserve_tokens: _Tokens | None = None
    prompt_file: str | None = None
    agent: str | tuple[str, ...] | None = None
    model: str | None = None
    check: str | None = None
    touches: tuple[str, ...] = ()
    allow_unchanged: bool | None = None
    reviewer: str | dict[str, object] | None = None
    max_review_rounds: Annotated[int, Meta(ge=0, le=100)] | None = None
    score: str | dict[str, object] | None = None


class LaneEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One [[lane]]."""

    id: TaskId
    name: str = ""
    after: tuple[TaskId, ...] = ()


class PlanFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file; [run] is a layer of settings and read by their own table."""

    run: dict[str, object] = {}
    lane: list[LaneEntry] = []
    task: list[TaskEntry] = []
