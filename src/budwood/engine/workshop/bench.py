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
from budwood._core.model import Left, Outcome, Reviewer, RunSettings, StepEnd
from budwood.agents.base import Agent, Price
from budwood.durable import write_whole
from budwood.engine.workshop.branches import Branches, made_by_us
from budwood.engine.workshop.conflicts import marked_files
from budwood.engine.workshop.enclosing import faulty
from budwood.engine.workshop.faults import fault
from budwood.engine.workshop.judging import weigh
from budwood.engine.workshop.later import Kind, Later, kinds_of
from budwood.engine.workshop.leaving import describe
from budwood.engine.workshop.noting import read_note, read_notes
from budwood.engine.workshop.orders import Order
from budwood.engine.workshop.outfit import REVIEW, TRANSCRIPT, Outfitter
from budwood.engine.workshop.queue import Queue, explain
from budwood.engine.workshop.reading import Ear, read_agent
from budwood.engine.workshop.reviewing import verdict_name, with_review
from budwood.engine.workshop.scoring import Scores, scored, with_score
from budwood.errors import BudwoodError, WorkspaceError
from budwood.executors.base import Work
from budwood.workspaces import Kept, Pool, Repository
from budwood.workspaces.fingerprint import Fingerprint, Watch, differences
from budwood.workspaces.folding import find_kept
from budwood.workspaces.merging import Conflict, merge_all, named
from budwood.workspaces.ports import Ports

_KEPT = "kept.json"
"""The file in an attempt's directory that says what was kept before it was scored or reviewed."""


_DOING: dict[Kind, str] = {"score": "scoring", "review": "reviewing"}


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
        self._watch = Watch(means.repository) if means.watches else None
        self._before: dict[str, Fingerprint] = {}

    def prepare(self, order: Order) -> Work | Outcome:
        """Give an order its workspace; return the work to run there, or why there is none."""
        try:
            start, *others = order.starts
            first_wins = order.on_conflict == "first"
            base = merge_all(self._repository.git, start, others, message=_message(order), first_wins=first_wins)
            workspace = self._pool.hand_out(self._holder(order.id), base)
            ports = self._ports.take(self._holder(order.id), self._terms.ports) if self._terms.ports else ()
            if self._watch is not None:
                self._before[order.id] = self._watch.look()
            return self._means.outfitter.work(order, workspace, ports=ports)
        except Conflict as clash:
            self.release(order.id)
            return msgspec.structs.replace(fault(clash), message=_in_words(clash, order))
        except (BudwoodError, OSError) as error:
            self.release(order.id)
            return fault(error)

    def finish(self, order: Order, outcome: Outcome, log: bytes | None) -> Outcome:
        """Keep what an attempt left, hear its agent, and say how it ended, but for its score."""
        try:
            kept = self._kept(order)
            outside = self._outside(order.id)
            left = describe(self._repository, kept, ref=self.ref(order.id), outside=outside, start=_start(order))
            left = msgspec.structs.replace(left, since=_since(order, kept, left))
            outcome = msgspec.structs.replace(faulty(outcome, self._means.attempts / order.id), left=left)
            if any(step.name == "setup" and step.exit_code == 0 for step in outcome.steps):
                self._pool.note_setup(self._holder(order.id))
            if order.agent:
                transcript = self._means.attempts / order.id / TRANSCRIPT
                outcome = read_agent(outcome, order, self._ear(order.agent, order.model), transcript=transcript)
            if order.takes_notes:
                commit = kept.commit if order.unreviewed is None else order.unreviewed.commit
                notes = read_notes(self._repository.git, commit, self._means.outfitter.notes)
                outcome = msgspec.structs.replace(outcome, result=notes)
            marked = marked_files(self._repository.git, left.candidate, order.unmarked)
            review = self._means.attempts / order.id / REVIEW
            said = review.read_bytes() if isinstance(order.reviewer, str) and review.exists() else b""
            return weigh(order, outcome, log, marked=marked, review=said)
        except (BudwoodError, OSError) as error:
            return fault(error, after=outcome)

    def _kept(self, order: Order) -> Kept:
        """Keep what an attempt left; what was kept before anything was done about it stays as it was."""
        file = self._means.attempts / order.id / _KEPT
        is_worked_on = any(kinds_of(order))
        before = self._kept_before(order, file) if is_worked_on else None
        if before is not None:
            return before
        kept = self._pool.keep(self._holder(order.id), self.ref(order.id), message=_message(order))
        if is_worked_on:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(kept))
        return kept

    def _kept_before(self, order: Order, file: Path) -> Kept | None:
        """Return what was kept before that; by its ref alone, where a machine that went down took the file."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(file.read_bytes(), type=Kept)
        commit, workspace = find_kept(self._repository, self.ref(order.id)), self._pool.find(self._holder(order.id))
        if commit is None or workspace is None:
            return None
        made, tree = self._repository.git.ask("rev-parse", f"{commit}^1", f"{commit}^1^{{tree}}").splitlines()
        return Kept(base=workspace.base, candidate=tree, made=made, commit=commit)

    def begin_later(self, later: Later) -> Work | Outcome:
        """Say what is done about a candidate, in the workspace that it was made in; the same content is scored once."""
        order, left = later.order, later.made.left
        try:
            assert left is not None
            known = self.known(later)
            if known is not None:
                return known
            workspace = self._pool.find(self._holder(order.id))
            if workspace is None:
                raise WorkspaceError(f"the workspace of {order.id} is gone; there is nothing to {later.kind}")
            if later.kind == "score":
                return self._means.outfitter.scoring_work(order, workspace, work_id=later.id)
            return self._means.outfitter.review_work(order, workspace, left, work_id=later.id)
        except (BudwoodError, OSError) as error:
            return fault(error, after=later.made)

    def known(self, later: Later) -> Outcome | None:
        """Say how an attempt stands whose content has got a score before; None if there is something to be done."""
        left = later.made.left
        score = None if left is None or later.kind != "score" else self._scores.known(later.order, left.tree)
        return None if score is None else scored(later.order, later.made, score)

    def finish_later(self, later: Later, outcome: Outcome) -> Outcome:
        """Hear what came of it, and keep what it left beside the candidate."""
        order, made, folder = later.order, later.made, self._means.attempts / later.id
        try:
            message = f"{order.task}: what {_DOING[later.kind]} attempt {order.attempt} left\n"
            kept = self._pool.keep(self._holder(order.id), f"{self.ref(order.id)}.{later.kind}", message=message)
            if later.kind == "review":
                return self._with_review(later, faulty(outcome, folder), kept)
            measured = with_score(order, made, faulty(outcome, folder), folder / TRANSCRIPT)
            if made.left is not None and measured.score is not None:
                self._scores.remember(order, made.left.tree, measured.score)
            return measured
        except (BudwoodError, OSError) as error:
            return fault(error, after=made)

    def _with_review(self, later: Later, asked: Outcome, kept: Kept) -> Outcome:
        order, left = later.order, later.made.left
        assert isinstance(order.reviewer, Reviewer)
        assert left is not None
        step = next(iter(asked.steps), StepEnd(name=REVIEW))
        ear = self._ear(order.reviewer.agent, order.reviewer.model)
        heard = ear.hear(asked, step, self._means.attempts / later.id / REVIEW)
        verdict = read_note(self._repository.git, kept.commit, self._means.outfitter.notes / verdict_name(left))
        return with_review(order, later.made, asked, heard=heard, verdict=verdict)

    def _ear(self, name: str, model: str | None) -> Ear:
        return Ear(
            name=name,
            agent=self._means.agent_of(name),
            terms=self._agents[name],
            prices=self._prices,
            model=model,
            now_ms=time.time_ns() // 1_000_000,
            zone=self._means.zone,
        )

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
        if self._watch is None or before is None:  # another driver began it
            return []
        changed = differences(before, self._watch.look())
        # Asked after that: another lane's may be made meanwhile.
        ours = made_by_us(self._repository) if changed else set()
        return [name for name in changed if name.removeprefix("branch ") not in ours]


def _start(order: Order) -> str | None:
    """Name the commit that what is only to be reviewed began with; None where an attempt began by itself."""
    return None if order.unreviewed is None else order.unreviewed.base


def _since(order: Order, kept: Kept, left: Left) -> str:
    """Name the commit that the work began with which was gone on with; nothing where that is the attempt's own.

    Where others were merged into it before it was gone on with, what they made would count as the task's.
    """
    goes_on = order.began != "" and kept.base == order.starts[0]
    return order.began if goes_on and order.began != left.base else ""


def _in_words(clash: Conflict, order: Order) -> str:
    """Say whose work does not fit together, rather than which commits."""
    tasks = {each.candidate: str(each.task) for each in order.dependencies}
    before = [tasks[start] for start in order.starts[: order.starts.index(clash.theirs)] if start in tasks]
    others = f"what {' and '.join(before)} made" if before else "what it goes on with"
    return f"what {tasks.get(clash.theirs, 'its lane')} made does not fit with {others}: {named(clash.files)}"


def _message(order: Order) -> str:
    return f"{order.task}: attempt {order.attempt}\n\n{order.text.strip()}\n"
