"""A run in a directory of its own, driven in this process or in another one that dies on cue.

Knows engine, SQLite store and local executor as a user has them. Its tasks leave one line per attempt in a file, so
that what really ran can be compared with what the store says.
"""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from budwood._core.decisions import decision_lines
from budwood._core.events import Recorded, RunCreated
from budwood._core.model import PLAN, AttemptPhase, LaneSpec, RunSettings, TaskPhase, TaskSpec
from budwood._core.replay import fold, fold_rows
from budwood._core.state import RunState
from budwood.engine.driver import Driver
from budwood.engine.opening import begin_run, go_on
from budwood.engine.verdict import Verdict
from budwood.executors.local import LocalExecutor, RunPaths, find_binary, make_runtime
from budwood.stores import Store, open_store
from budwood.strategies import PlanStrategy, Strategy

REPOSITORY = Path(__file__).resolve().parents[2]
RUNTIME = Path(f"/tmp/budwood-test-{os.geteuid()}")
RUN = "crash"
SETTINGS = RunSettings(slots=4, seed=7, backoff_s=0.01, grace_s=1.0)
_SAY = 'echo "$BUDWOOD_TASK $BUDWOOD_ATTEMPT" >> effects'


@dataclass(frozen=True, slots=True)
class Scene:
    """A project directory with one run in it."""

    root: Path
    tasks: Sequence[TaskSpec]
    lanes: Sequence[LaneSpec] = ()
    settings: RunSettings = SETTINGS
    strategy: Callable[[], Strategy] | None = None
    """Makes what decides about tasks, where that is not a plan."""

    @property
    def run_id(self) -> str:
        """Name the run; by its directory, so that scenes side by side do not meet in the runtime directory."""
        return "c" + hashlib.sha256(str(self.root).encode()).hexdigest()[:9]

    def keep_in(self, address: str) -> None:
        """Say which store the run is in, if not in a file of its own; whoever makes the same scene finds it, too."""
        (self.root / "store.url").write_text(address)

    def store(self) -> Store:
        """Open the run's store."""
        named = self.root / "store.url"
        return open_store(named.read_text() if named.exists() else self.root / ".budwood" / "store.db")

    def executor(self) -> LocalExecutor:
        """Make the run's executor, as the command line does."""
        paths = RunPaths(self.root / ".budwood" / "runs" / self.run_id, runtime=make_runtime(RUNTIME, self.run_id))
        return LocalExecutor(paths, run_id=self.run_id, binary=find_binary(), environ=os.environ)

    def drive(
        self,
        *,
        probe: Callable[[str], None] = lambda point: None,
        listener: Callable[[Sequence[Recorded], RunState], None] = lambda events, state: None,
    ) -> Verdict:
        """Drive the run here, from its beginning or from where it was."""
        with self.store() as store:
            claim = store.claim(self.run_id, name=RUN, source=str(self.root), fresh=False)
            strategy = PlanStrategy(self.tasks, self.lanes) if self.strategy is None else self.strategy()
            driver = Driver(
                store,
                self.executor(),
                run=claim.run,
                holder=f"pid {os.getpid()}",
                probe=probe,
                listener=listener,
                strategy=strategy,
            )
            created = RunCreated(
                run=claim.run,
                name=claim.name,
                settings=self.settings,
                cwd=str(self.root),
                source=str(self.root),
                strategy=PLAN if self.strategy is None else "scene",
            )
            begin = begin_run(created, strategy)
            return driver.drive(lambda state: begin(state) if state.number == 0 else go_on()(state))

    def events(self) -> list[Recorded]:
        """Read all that happened."""
        with self.store() as store:
            return list(store.read(self.run_id))

    def state(self) -> RunState:
        """Fold all that happened."""
        return fold(self.events())

    def decisions(self) -> bytes:
        """Return the decision log."""
        return b"\n".join(decision_lines(self.state()))

    def effects(self) -> Counter[tuple[str, int]]:
        """Count what really ran, by task and attempt."""
        path = self.root / "effects"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter((line.split()[0], int(line.split()[1])) for line in lines)


def said(command: str = "true") -> str:
    """Make a command that leaves its line and then does something."""
    return f"{_SAY}; {command}"


def thirty_tasks() -> list[TaskSpec]:
    """Thirty tasks with dependencies, lanes, groups, failures that retries mend and failures that they do not."""
    tasks = []
    for n in range(30):
        after = tuple(m for m in (n - 3, n - 7) if m >= 0 and n % 5 != 0)
        command = "true"
        if n % 4 == 1:  # decided by the seed of each try, so by nothing that a crash could change
            command = "[ $((BUDWOOD_ATTEMPT_SEED % 3)) -ne 0 ]"
        if n in (22, 26):
            command = "exit 3"
        if n % 6 == 0:
            command = f"sleep 0.05; {command}"
        tasks.append(
            TaskSpec(
                id=n,
                run=said(command),
                after=after,
                retries=3 if n % 4 == 1 else 1 if n == 26 else 0,
                priority=n % 3,
                lane="a" if n % 9 == 2 else None,
                group="g" if n % 10 == 4 else None,
            )
        )
    return tasks


LANES = (LaneSpec(id="a"),)


def check_nothing_lost(scene: Scene, *, abandoned: int | None = 0) -> None:
    """Prove that what ran and what is recorded agree: nothing lost, run twice, counted twice or left running."""
    effects = scene.effects()
    twice = {key: count for key, count in effects.items() if count != 1}
    assert not twice, f"ran more than once: {twice}"
    with scene.store() as store:
        names = {task.number: str(task.id) for task in store.tasks(scene.run_id)}
        recorded = {(names[row.task], row.number) for row in store.attempts(scene.run_id)}
    assert set(effects) <= recorded, f"ran and was forgotten: {set(effects) - recorded}"
    check_records(scene, abandoned=abandoned)


def check_records(scene: Scene, *, abandoned: int | None = 0) -> None:
    """Prove that the store agrees with itself: one success for each task that is done, and nothing left running."""
    with scene.store() as store:
        tasks = {task.number: task for task in store.tasks(scene.run_id)}
        attempts = store.attempts(scene.run_id)
        won = Counter(row.task for row in attempts if row.phase is AttemptPhase.SUCCEEDED)
        done = {number for number, task in tasks.items() if task.phase is TaskPhase.DONE}
        assert set(won) == done
        assert set(won.values()) <= {1}
        lost = [row for row in attempts if row.phase is AttemptPhase.ABANDONED]
        if abandoned is not None:
            assert len(lost) == abandoned, lost
        rows = fold_rows(store.read(scene.run_id))
        assert list(rows.tasks) == store.tasks(scene.run_id)
        assert list(rows.attempts) == attempts
        assert rows.run == next(row for row in store.runs() if row.id == scene.run_id)
    assert survivors(scene) == []


def survivors(scene: Scene) -> list[str]:
    """List processes of the scene's attempts that live, found by their mark."""
    mark = f"BUDWOOD_MARK={scene.run_id}:".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if any(part.startswith(mark) for part in path.read_bytes().split(b"\0")):
                found.append(f"{path.parent.name} {(path.parent / 'cmdline').read_bytes()!r}")
        except OSError:
            continue
    return found


def drive_and_die(scene_factory: str, root: Path, *, at: int, timeout_s: float = 60) -> int:
    """Drive the scene in another process that kills itself at a probe point; return its exit code (-9 if it died)."""
    command = [sys.executable, "-m", "tests.support.victim", scene_factory, str(root), str(at)]
    return subprocess.run(command, cwd=REPOSITORY, timeout=timeout_s, check=False).returncode
