"""What may be said of a task and of a run in Python: the keys of plan files, under the same names.

A test compares them with the tables of keys. They are here so that editors and type checkers know them; what a value
may be is checked where plan files are.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict


class EachTaskKeys(TypedDict, total=False):
    """What may be said of one task, and for all tasks of a run."""

    agent: str | Sequence[str]
    model: str
    check: str
    reviewer: str | Mapping[str, str]
    max_review_rounds: int
    score: str | Mapping[str, object]
    allow_unchanged: bool
    timeout: str | float
    retries: int
    env: Mapping[str, str]
    env_pass: Sequence[str]
    memory: str | int
    reserve_usd: float
    reserve_tokens: int


class TaskKeys(EachTaskKeys, total=False):
    """What a task may say of itself, beside what it runs, its id and what it comes after."""

    description: str
    prompt: str
    prefer_after: Sequence[str | int]
    priority: int
    lane: str | int
    group: str
    cpus: float
    gpus: int
    touches: Sequence[str]


class RunKeys(EachTaskKeys, total=False):
    """Every setting of a run; those of tasks are for all tasks that do not say otherwise."""

    goal: str
    seed: int
    slots: int
    strict: bool
    budget_usd: float
    budget_tokens: int
    budget_time: str | float
    max_attempts: int
    backoff: str | float
    breaker: int
    cpus: float
    gpus: int | Sequence[str]
    groups: Mapping[str, int]
    contain: Literal["tree", "namespace"]
    sandbox: Literal["none", "bwrap"]
    network: Literal["all", "none"] | Sequence[str]
    sandbox_read: Sequence[str]
    sandbox_write: Sequence[str]
    grace: str | float
    output: str | int
    notify: str
    python: str
    worker_memory: str | int
    options: Mapping[str, object]
    window: int
    order: Literal["task", "completion"]
    mcp: bool
    mcp_fan_out: int
    mcp_depth: int
    max_tasks: int
    workspace: Literal["auto", "none", "clone", "worktree", "copy"]
    base: str
    bring: Sequence[str]
    link: Sequence[str]
    setup: str
    setup_timeout: str | float
    setup_keeps: Sequence[str]
    sparse: Sequence[str]
    ports: int
    keep: bool
    into: str
    merge: Literal["regular", "squash"]
    merge_order: Literal["plan", "finished"]
    verify: str
    verify_timeout: str | float
    review: Literal["person", "auto"]
    resolve: str | Sequence[str]
    machine_slots: int
    pool: str
