"""What is done for one attempt, in a thread: its workspace and steps before, its trees and its agent's word after.

Every part may be repeated: a driver that is killed here leaves it to the next. Knows workspaces and agents; must not
know the state of the run, and must not print.
"""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import msgspec

from budwood._core.commands import Chore
from budwood._core.events import Event
from budwood._core.model import Outcome, RunSettings
from budwood.agents.base import Agent, Price
from budwood.durable import write_whole
from budwood.engine.workshop.branches import Branches, made_by_us
from budwood.engine.workshop.conflicts import marked_files
from budwood.engine.workshop.enclosing import faulty
from budwood.engine.workshop.faults import fault
from budwood.engine.workshop.judging import weigh
from budwood.engine.workshop.leaving import describe
from budwood.engine.workshop.noting import read_notes
from budwood.engine.workshop.orders import Order
from budwood.engine.workshop.outfit import REVIEW, TRANSCRIPT, Outfitter
from budwood.engine.workshop.queue import Queue, explain
from budwood.engine.workshop.reading import read_agent
from budwood.engine.workshop.scoring import SCORE, Scores, score_id, scored, with_score
from budwood.errors import BudwoodError, WorkspaceError
from budwood.executors.base import Work
from budwood.workspaces import Kept, Pool, Repository
from budwood.workspaces.fingerprint import Fingerprint, differences, fingerprint
from budwood.workspaces.folding import find_kept
from budwood.workspaces.merging import merge_all
from budwood.workspaces.ports import Ports

_KEPT = "kept.json"
"""The file in an attempt's directory that says what was kept before it was scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a bench works with."""

    repository: Repository
    pool: Pool
    ports: Ports
    outfitter: Outfitter
    agent_of: Callable[[str], Agent]
    attempts: Path
    """Where the executor keeps the directories of attempts."""
    zone: tzinfo
    watches: bool
    """Whether there is a checkout of the user's to be looked after."""


class Bench:
    """Serves the attempts of one run, and its merge queue; `refs` is where its refs are."""

    def __init__(self, run: str, name: str, *, refs: str, settings: RunSettings, means: Means) -> None:
        assert settings.workspace is not None
        self._run = run
        self._refs = refs
        self._terms = settings.workspace
        self._agents = settings.agents
        self._prices = msgspec.convert(settings.prices, dict[str, Price])
        self._means = means
        self._repository, self._pool, self._ports = means.repository, means.pool, means.ports
        self._branches = Branches(means.repository, refs)
        self._queue = Queue(name, refs, repository=means.repository, pool=means.pool, holder=self._holder)
        self._scores = Scores(means.attempts.parent / "scores")
        self._before: dict[str, Fingerprint] = {}

    def prepare(self, order: Order) -> Work | Outcome:
        """Give an order its workspace; return the work to run there, or why there is none."""
        try:
            start, *others = order.starts
            first_wins = order.on_conflict == "first"
            base = merge_all(self._repository.git, start, others, message=_message(order), first_wins=first_wins)
            workspace = self._pool.hand_out(self._holder(order.id), base)
            ports = self._ports.take(self._holder(order.id), self._terms.ports) if self._terms.ports else ()
            if self._means.watches:
                self._before[order.id] = fingerprint(self._repository)
            return self._means.outfitter.work(order, workspace, ports=ports)
        except (BudwoodError, OSError) as error:
            self.release(order.id)
            return fault(error)

    def finish(self, order: Order, outcome: Outcome, log: bytes | None) -> Outcome:
        """Keep what an attempt left, hear its agent, and say how it ended, but for its score."""
        try:
            kept = self._kept(order)
            left = describe(self._repository, kept, ref=self.ref(order.id), outside=self._outside(order.id))
            outcome = msgspec.structs.replace(faulty(outcome, self._means.attempts / order.id), left=left)
            if any(step.name == "setup" and step.exit_code == 0 for step in outcome.steps):
                self._pool.note_setup(self._holder(order.id))
            if order.agent:
                outcome = read_agent(
                    outcome,
                    order,
                    agent=self._means.agent_of(order.agent),
                    terms=self._agents[order.agent],
                    prices=self._prices,
                    transcript=self._means.attempts / order.id / TRANSCRIPT,
                    now_ms=time.time_ns() // 1_000_000,
                    zone=self._means.zone,
                )
            if order.takes_notes:
                notes = read_notes(self._repository.git, kept.commit, self._means.outfitter.notes)
                outcome = msgspec.structs.replace(outcome, result=notes)
            marked = marked_files(self._repository.git, left.candidate, order.unmarked)
            review = self._means.attempts / order.id / REVIEW
            said = review.read_bytes() if order.reviewer is not None and review.exists() else b""
            return weigh(order, outcome, log, marked=marked, review=said)
        except (BudwoodError, OSError) as error:
            return fault(error, after=outcome)

    def _kept(self, order: Order) -> Kept:
        """Keep what an attempt left; what was kept before it was scored stays as it was, whatever scoring has left."""
        file = self._means.attempts / order.id / _KEPT
        before = self._kept_before(order, file) if order.score is not None else None
        if before is not None:
            return before
        kept = self._pool.keep(self._holder(order.id), self.ref(order.id), message=_message(order))
        if order.score is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(kept))
        return kept

    def _kept_before(self, order: Order, file: Path) -> Kept | None:
        """Return what was kept before it was scored; by its ref alone, where a machine that went down took the file."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(file.read_bytes(), type=Kept)
        commit, workspace = find_kept(self._repository, self.ref(order.id)), self._pool.find(self._holder(order.id))
        if commit is None or workspace is None:
            return None
        tree = self._repository.git.ask("rev-parse", f"{commit}^1^{{tree}}")
        return Kept(base=workspace.base, candidate=tree, commit=commit)

    def begin_score(self, order: Order, made: Outcome, *, number: int) -> Work | Outcome:
        """Say what is to score a candidate, in the workspace that it was made in; the same content is scored once."""
        try:
            assert made.left is not None
            known = self._scores.known(order, made.left.tree)
            if known is not None:
                return scored(order, made, known)
            workspace = self._pool.find(self._holder(order.id))
            if workspace is None:
                raise WorkspaceError(f"the workspace of {order.id} is gone; there is nothing to score")
            return self._means.outfitter.scoring_work(order, workspace, work_id=score_id(order.id, number))
        except (BudwoodError, OSError) as error:
            return fault(error, after=made)

    def finish_score(self, order: Order, made: Outcome, measured: Outcome, work_id: str) -> Outcome:
        """Hear what came of scoring, and keep what it left beside the candidate."""
        try:
            folder = self._means.attempts / work_id
            outcome = with_score(order, made, faulty(measured, folder), folder / TRANSCRIPT)
            message = f"{order.task}: what scoring attempt {order.attempt} left\n"
            self._pool.keep(self._holder(order.id), f"{self.ref(order.id)}.{SCORE}", message=message)
            if made.left is not None and outcome.score is not None:
                self._scores.remember(order, made.left.tree, outcome.score)
            return outcome
        except (BudwoodError, OSError) as error:
            return fault(error, after=made)

    def release(self, work_id: str) -> None:
        """Let others have the workspace of an attempt that never began."""
        self._pool.release(self._holder(work_id))

    def hand_back(self, work_id: str) -> None:
        """Let others have the workspace of an attempt whose end is in the store; not if what it left is not kept."""
        holder = self._holder(work_id)
        self._before.pop(work_id, None)
        self._ports.give_back(holder)
        if self._terms.keep and self._pool.find(holder) is not None:
            self._pool.pin(holder)
        self._pool.hand_back(holder, self.ref(work_id))

    def accept(self, branch: str, commit: str) -> None:
        """Let the branch of a lane stand at a commit."""
        self._branches.move(branch, commit)

    def do(self, chore: Chore) -> list[Event]:
        """Do what the merge queue wants; return what came of it."""
        try:
            return self._queue.do(chore)
        except (BudwoodError, OSError) as error:
            return [explain(error, chore)]

    def tidy(self, open_works: Collection[str]) -> None:
        """Take back what attempts had whose ends are in the store."""
        prefix = self._holder("")
        for holder in self._pool.holders():
            work_id = holder.removeprefix(prefix)
            if holder.startswith(prefix) and work_id[:1].isdecimal() and work_id not in open_works:
                with suppress(WorkspaceError, OSError):  # what cannot be kept stays, and was told of when it ended
                    self._keep_late(work_id)
                    self.hand_back(work_id)

    def _keep_late(self, work_id: str) -> None:
        """Keep what could not be when its attempt ended: the disk may have room by now."""
        if find_kept(self._repository, self.ref(work_id)) is None:
            self._pool.keep(self._holder(work_id), self.ref(work_id), message=f"{work_id}: kept late\n")

    def ref(self, work_id: str) -> str:
        """Name the ref of what an attempt left."""
        return f"{self._refs}/{work_id}"

    def _holder(self, work_id: str) -> str:
        return f"{self._run}/{work_id}"

    def _outside(self, work_id: str) -> list[str]:
        before = self._before.get(work_id)
        if before is None:  # another driver began it
            return []
        changed = differences(before, fingerprint(self._repository))
        # Asked after that: another lane's may be made meanwhile.
        ours = made_by_us(self._repository) if changed else set()
        return [name for name in changed if name.removeprefix("branch ") not in ours]


def _message(order: Order) -> str:
    return f"{order.task}: attempt {order.attempt}\n\n{order.text.strip()}\n"
