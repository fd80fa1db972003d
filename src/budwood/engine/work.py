"""An attempt as its executor gets it: command, environment, limits.

Knows the state and the executors' contract; must not know which executor.
"""

from typing import NamedTuple

from budwood._core.decisions import task_seed
from budwood._core.ids import attempt_id
from budwood._core.model import AttemptPhase, RunSettings, TaskSpec
from budwood._core.state import AttemptState, RunState, TaskState
from budwood.engine.workshop.orders import make_order
from budwood.errors import InternalError
from budwood.executors.base import SHELL, Call, Step, Work

ANY_SLOT = -1


def work_id(task: TaskState) -> str:
    """Name the newest attempt of a task."""
    return attempt_id(task.number, task.attempts)


def make_work(state: RunState, task: TaskState) -> Work:
    """Describe the newest attempt of a task."""
    attempt = task.attempt
    spec = task.spec
    if attempt is None or (spec.run is None and spec.function is None and not spec.agent):
        raise InternalError(f"task {spec.id} has nothing to run")
    plain = _make(state, task, attempt)
    return plain if state.settings.workspace is None or spec.function is not None else make_order(state, task, plain)


def make_next_work(state: RunState, task: TaskState) -> Work:
    """Describe the attempt that a ready task would get next, in whichever slot."""
    return _make(state, task, _Next(task.attempts + 1, task.tries))


class _Next(NamedTuple):
    """An attempt that nothing is recorded of yet."""

    number: int
    retry: int
    slot: int = ANY_SLOT
    gpus: tuple[str, ...] = ()
    phase: AttemptPhase = AttemptPhase.QUEUED


def _make(state: RunState, task: TaskState, attempt: AttemptState | _Next) -> Work:
    spec, settings = task.spec, state.settings
    env = {
        **spec.env,
        "BUDWOOD_RUN": state.name,
        "BUDWOOD_TASK": str(spec.id),
        "BUDWOOD_ATTEMPT": str(attempt.number),
        "BUDWOOD_WORKSPACE": state.cwd,
        "BUDWOOD_ATTEMPT_SEED": str(task_seed(state, task, attempt.retry)),
    }
    if settings.gpus:  # a task that asked for none sees none
        env["CUDA_VISIBLE_DEVICES"] = ",".join(attempt.gpus)
    return Work(
        id=attempt_id(task.number, attempt.number),
        slot=attempt.slot,
        steps=_steps(spec),
        call=_call(spec, settings),
        cwd=state.cwd,
        env=env,
        env_pass=spec.env_pass,
        timeout_s=spec.timeout_s,
        grace_s=settings.grace_s,
        memory_bytes=spec.memory_bytes,
        output_bytes=settings.output_bytes,
        contain=settings.contain,
        begun=attempt.phase is not AttemptPhase.QUEUED,
    )


def _steps(spec: TaskSpec) -> tuple[Step, ...]:
    if spec.run is None:
        return ()
    run = Step(name="run", argv=(*SHELL, spec.run) if isinstance(spec.run, str) else spec.run)
    return (run,) if spec.check is None else (run, Step(name="check", argv=(*SHELL, spec.check)))


def _call(spec: TaskSpec, settings: RunSettings) -> Call | None:
    if spec.function is None:
        return None
    return Call(
        function=spec.function,
        args=spec.args,
        kwargs=spec.kwargs,
        python=settings.python,
        worker_memory_bytes=settings.worker_memory_bytes,
    )
