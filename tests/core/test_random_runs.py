"""Random runs of the pure core: whatever happens, in whatever order, what must hold holds after every event.

A world of chance drives the core as the engine does (`engine.journal`, `engine.driver`): commits of any size, crashes
that lose what was not committed, ends in any order, lost supervisors, requests, edited plans.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.bench import BAD, CANCELLED, LOST, OK, Bench
from tests.core.test_replay import plain

from budwood._core import events as e
from budwood._core.commands import Command, WakeTask
from budwood._core.decisions import task_seed
from budwood._core.judge import MAX_LOST, judge
from budwood._core.model import (
    ENDED_RUN,
    ENDED_TASK,
    OPEN_ATTEMPT,
    AttemptPhase,
    LaneSpec,
    Outcome,
    RunPhase,
    RunSettings,
    TaskPhase,
    TaskSpec,
)
from budwood._core.project import take_rows
from budwood._core.replay import fold_rows
from budwood._core.rows import AttemptRow, DependencyRow, TaskRow
from budwood._core.schedule import wake
from budwood._core.state import RunState, TaskState
from budwood.engine.journal import Journal
from budwood.engine.opening import revision
from budwood.engine.requests import take_request
from budwood.stores.base import Answer, Request

LANES = (LaneSpec(id="x"), LaneSpec(id="y"))
LIMITS = RunSettings(seed=3, cpus=2.0, gpus=("0", "1"), groups={"g": 2}, backoff_s=1.0, breaker=0)
MOST_STEPS = 3_000


@st.composite
def plans(draw: st.DrawFn, *, most: int = 10) -> list[TaskSpec]:
    """Draw a plan that has no cycle; ids are numbers, so that 0 is among them."""
    count = draw(st.integers(1, most))
    number = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(number, number), max_size=18))
    wishes = draw(st.lists(st.tuples(number, number), max_size=6))
    rank = draw(st.permutations(range(count)))
    return [
        TaskSpec(
            id=n,
            run=draw(st.sampled_from(["true", "other"])),
            after=tuple(dict.fromkeys(d for t, d in pairs if t == n and rank[d] < rank[n])),
            prefer_after=tuple(dict.fromkeys(d for t, d in wishes if t == n and d != n)),
            priority=draw(st.integers(0, 2)),
            retries=draw(st.integers(0, 2)),
            lane=draw(st.sampled_from([None, None, "x", "y"])),
            group=draw(st.sampled_from([None, None, "g", "h"])),
            cpus=draw(st.sampled_from([0.0, 0.0, 0.3, 0.7, 1.0, 2.0])),
            gpus=draw(st.sampled_from([0, 0, 0, 1, 2])),
            reserve_usd=draw(st.sampled_from([0.0, 0.1])),
        )
        for n in range(count)
    ]


@dataclass(frozen=True)
class Chances:
    """How often, per step, things go wrong."""

    crash: float = 0.0
    lose: float = 0.0
    ask: float = 0.0
    revise: float = 0.0


class World(Bench):
    """A run, what is durable of it, and what its store would say."""

    def __init__(self, tasks: Sequence[TaskSpec], *, slots: int, chance: Random) -> None:
        self.chance = chance
        self.due: dict[int, int] = {}
        self.durable = 0
        self.tasks: dict[int, TaskRow] = {}
        self.attempts: dict[tuple[int, int], AttemptRow] = {}
        self.edges: dict[int, list[DependencyRow]] = {}
        self.fence = 1
        super().__init__(*tasks, lanes=LANES, settings=msgspec.structs.replace(LIMITS, slots=slots))
        self.commit()

    def apply(self, event: e.Event) -> list[Command]:
        commands = super().apply(event)
        for command in commands:
            if isinstance(command, WakeTask):
                self.due[command.task] = self.now_ms + round(command.delay_s * 1000)
        check(self.state)
        return commands

    def answer(self, _: Answer) -> None:
        """Take what the engine says to a request."""

    def commit(self) -> None:
        """Make durable what happened, as a store does."""
        self.durable = len(self.log)
        rows = take_rows(self.state)
        self.tasks.update((row.number, row) for row in rows.tasks)
        self.attempts.update(((row.task, row.number), row) for row in rows.attempts)
        self.edges.update((number, []) for number in rows.gone_dependencies)
        for row in rows.dependencies:
            self.edges[row.task].append(row)

    def crash(self) -> None:
        """Lose what was not durable, and come back."""
        del self.log[self.durable :]
        self.state = self.refold()
        take_rows(self.state)  # the store has them
        self.fence += 1
        self.record(e.DriverStarted(driver="next", fence=self.fence))
        self.due = {task.number: task.not_before_ms for task in self.state.tasks if task.not_before_ms > self.now_ms}

    def outcome(self, task: TaskState) -> Outcome:
        """Decide by the seed of the try alone."""
        assert task.attempt is not None
        if task.cancelling or task.removed or task.attempt.key != task.key:
            return CANCELLED if self.chance.random() < 0.7 else OK
        seed = task_seed(self.state, task, task.attempt.retry)
        return BAD if seed % 5 < 2 else OK

    def step(self, chances: Chances) -> None:
        """Let one thing happen."""
        self.now_ms += self.chance.randrange(3)
        open_now = list(self.state.open.values())
        if (open_now and self.chance.random() < 0.8) or not self.due:
            assert open_now, f"it hangs: {self.phases()}"
            task = self.chance.choice(open_now)
            attempt = task.attempt
            assert attempt is not None
            if attempt.phase is AttemptPhase.QUEUED and self.chance.random() < 0.5:
                started = e.AttemptStarted(task=task.spec.id, attempt=task.attempts, pid=1, began_at_ms=self.now_ms)
                self.record(started)
            elif self.chance.random() < chances.lose and task.lost + 1 < MAX_LOST:
                self.record(judge(self.state, task, LOST))
            else:
                self.record(judge(self.state, task, self.outcome(task)))
        else:
            number = min(self.due, key=lambda each: (self.due[each], each))
            self.now_ms = max(self.now_ms, self.due.pop(number))
            wake(self.state, number)

    def ask(self) -> None:
        """Have somebody ask for something."""
        kind = self.chance.choice(["pause", "resume", "cancel", "retry", "retry", "cancel-all"])
        ids = [self.chance.choice(self.state.tasks).spec.id for _ in range(self.chance.randrange(1, 3))]
        body = "" if kind in ("pause", "resume", "cancel-all") else msgspec.json.encode(ids).decode()
        request = Request(id=1, run="r", kind=kind.removesuffix("-all"), key="k", body=body)
        take_request(cast(Journal, self), request)

    def revise(self, tasks: Sequence[TaskSpec]) -> None:
        """Go on with another plan."""
        event = revision(self.state, tasks, LANES)
        if event is not None:
            self.record(event)
            self.commit()  # as a driver's opening is: nothing starts before

    def turn(self) -> None:
        """Start what may start, and rest, as one turn of the driver's loop does."""
        room = self.state.settings.slots - len(self.state.open)
        while room > 0 and (queued := self.pick()) is not None:
            self.record(queued)
            room -= 1
        self.rest()

    def go(self, chances: Chances, *, edits: Sequence[Sequence[TaskSpec]] = ()) -> None:
        """Drive to the end through whatever happens; in the second half nothing strange happens any more."""
        waiting = list(edits)
        for number in range(MOST_STEPS):
            calm = number > MOST_STEPS // 2 or (number > 60 and not waiting)
            self.turn()
            if self.chance.random() < 0.6:
                self.commit()
            if not calm and self.chance.random() < chances.crash:
                self.crash()
            elif not calm and self.chance.random() < chances.ask:
                self.ask()
            elif waiting and self.chance.random() < chances.revise:
                self.revise(waiting.pop())
            elif self.state.phase in ENDED_RUN:
                if not waiting or not chances.revise:
                    return
            elif self.state.phase is RunPhase.PAUSED and not self.state.open:
                self.record(e.RunResumed())
            else:
                self.step(chances)
        raise AssertionError(f"it does not end: {self.state.phase} {self.phases()}")

    def check_end(self) -> None:
        """Prove that log, live state and rows agree."""
        self.commit()
        again, live = plain(self.refold()), plain(self.state)
        for fields in (again, live):
            for task in [*fields["tasks"], *fields["by_id"].values()]:
                del task["not_before_ms"]  # a task that was woken has none any more, which is no event
        assert again == live
        rows = fold_rows(self.events())
        assert rows.tasks == tuple(self.tasks[n] for n in sorted(self.tasks))
        assert rows.attempts == tuple(self.attempts[n] for n in sorted(self.attempts))
        edges = [sorted(self.edges[n], key=lambda row: row.needs) for n in sorted(self.edges)]
        assert list(rows.dependencies) == [row for given in edges for row in given]
        assert rows.run == take_rows(self.state).run


def check(state: RunState) -> None:
    """Check what must hold between any two events."""
    live = [task for task in state.tasks if not task.removed]
    assert Counter(task.phase for task in live) == Counter({p: n for p, n in state.counts.items() if n})
    assert state.planned == len(live)
    for task in live:
        assert task.waiting == sum(state.tasks[n].phase is not TaskPhase.DONE for n in state.hard[task.number])
        assert task.soft_waiting == sum(state.tasks[n].phase not in ENDED_TASK for n in state.soft[task.number])
        assert (task.phase is TaskPhase.ACTIVE) == (task.number in state.open)
        assert task.phase is not TaskPhase.READY or task.waiting == 0
        assert task.phase is not TaskPhase.BLOCKED or task.waiting > 0
        assert state.by_id[str(task.spec.id)] is task
    _check_holdings(state)
    assert state.spending.attempts == sum(task.attempts for task in state.tasks)


def _check_holdings(state: RunState) -> None:
    attempts = [task.attempt for task in state.open.values() if task.attempt is not None]
    assert len(attempts) == len(state.open)
    assert all(attempt.phase in OPEN_ATTEMPT for attempt in attempts)
    rest = [task for task in state.tasks if task.number not in state.open]
    assert all(task.attempt is None and (task.ended is None) == (task.attempts == 0) for task in rest)
    held, limits = state.holdings, state.settings
    lanes = Counter(str(attempt.spec.lane) for attempt in attempts if attempt.spec.lane is not None)
    groups = Counter(attempt.spec.group for attempt in attempts if attempt.spec.group is not None)
    assert lanes == Counter({name: n for name, n in held.lanes.items() if n})
    assert groups == Counter({name: n for name, n in held.groups.items() if n})
    assert held.cpus == pytest.approx(sum(attempt.spec.cpus for attempt in attempts), abs=1e-9)
    gpus = [gpu for attempt in attempts for gpu in attempt.gpus]
    assert sorted(gpus) == sorted(held.gpus)
    assert len({attempt.slot for attempt in attempts}) == len(attempts) == len(held.slots) <= limits.slots
    assert max(lanes.values(), default=0) <= 1
    assert all(count <= limits.groups.get(name, 1) for name, count in groups.items())
    assert held.cpus <= limits.cpus + 1e-6
    assert state.spending.reserved_usd == pytest.approx(sum(a.spec.reserve_usd for a in attempts), abs=1e-9)


ways = st.tuples(
    st.integers(1, 8), st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3]), st.sampled_from([0.0, 0.2])
)
quick = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(plans(), st.lists(ways, min_size=2, max_size=4))
def test_slots_order_crashes_and_lost_attempts_decide_nothing(
    tasks: list[TaskSpec], chosen: list[tuple[int, int, float, float]]
) -> None:
    serial = World(tasks, slots=1, chance=Random(0))
    serial.go(Chances())
    serial.check_end()
    for slots, seed, crash, lose in chosen:
        world = World(tasks, slots=slots, chance=Random(seed))
        world.go(Chances(crash=crash, lose=lose))
        world.check_end()
        assert world.decisions() == serial.decisions(), f"slots {slots}, seed {seed}, crash {crash}, lose {lose}"


@quick
@given(plans(), st.integers(1, 6), st.integers(0, 2**32))
def test_requests_at_any_time_leave_a_sound_run_that_ends(tasks: list[TaskSpec], slots: int, seed: int) -> None:
    world = World(tasks, slots=slots, chance=Random(seed))
    world.go(Chances(crash=0.1, lose=0.1, ask=0.3))
    world.check_end()


@quick
@given(plans(), st.lists(plans(), min_size=1, max_size=4), st.integers(1, 6), st.integers(0, 2**32))
def test_plans_edited_at_any_time_leave_a_sound_run_that_ends(
    tasks: list[TaskSpec], edits: list[list[TaskSpec]], slots: int, seed: int
) -> None:
    world = World(tasks, slots=slots, chance=Random(seed))
    world.go(Chances(crash=0.1, lose=0.05, ask=0.05, revise=0.3), edits=edits)
    world.check_end()
    wanted = {spec.id: spec for spec in edits[0]}  # the last one that came
    assert {task.spec.id: task.spec for task in world.state.tasks if not task.removed} == wanted
