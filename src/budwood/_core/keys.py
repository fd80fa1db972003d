"""A task's key: what it is, and what it stands on.

Two tasks with one key would do the same work on the same inputs, so a completion under a key is never run again.
Scheduling wishes (priority, limits, lane, retries) are not part of it: changing them repeats nothing.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from budwood._core.model import TaskSpec

_ENCODER = msgspec.json.Encoder(order="sorted")


def task_key(spec: TaskSpec, parents: Iterable[str]) -> str:
    """Hash a definition and the keys of its hard dependencies, in the order in which the task names them."""
    body: list[object] = [str(spec.id), spec.run, spec.prompt, spec.env, spec.env_pass, list(parents)]
    if spec.function is not None:
        body += (spec.function, spec.args, spec.kwargs)
    if spec.reads or spec.on_conflict != "fail":
        body += (spec.reads, spec.on_conflict)
    return hashlib.sha256(_ENCODER.encode(body)).hexdigest()[:24]
