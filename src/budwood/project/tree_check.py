"""Whether the record of a search is whole and true: what it kept is there, and its decisions follow from the scores.

Reads the store and the repository; must not write to either.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from budwood._core.events import CandidatesJudged, Recorded
from budwood._core.model import TaskPhase
from budwood._core.replay import fold
from budwood._core.rows import RunRow
from budwood._core.scores import Judgement
from budwood._core.state import RunState, TaskState
from budwood.engine.strategist import Strategist
from budwood.errors import BudwoodError
from budwood.project.bench import run_refs
from budwood.project.desk import Desk, all_left, sit_down
from budwood.project.strategy import strategy_of
from budwood.project.words import counted
from budwood.stores import Store
from budwood.strategies.beam_nodes import IDEA_PATH, IDEA_SHA256
from budwood.workspaces.contents import Contents
from budwood.workspaces.folding import ROOT, folded_refs, refs_by_run
from budwood.workspaces.git import GitFailed


class Artefact(Struct, frozen=True, kw_only=True):
    """Something that a search has made or was given, by content."""

    what: str
    """`idea`, `candidate`, or `kept`: everything that an attempt left."""
    name: str
    sha256: str


class Validation(Struct, frozen=True, kw_only=True):
    """What was looked at, and what is wrong with it."""

    run: str
    judgements: int
    artefacts: tuple[Artefact, ...]
    problems: tuple[str, ...]

    @property
    def words(self) -> str:
        """Say what was checked."""
        return f"{counted(len(self.artefacts), 'artefact')} and {counted(self.judgements, 'judgement')}"


def validate(store: Store, row: RunRow) -> Validation:
    """Check the record of a run that a search grew."""
    desk = sit_down(store, row)
    judged = _Judged(Strategist(strategy_of(store, row.id, root=Path(row.cwd))))
    state = fold(store.read(row.id), observer=judged.see)
    problems = [*_names(state), *_ideas(state), *judged.problems, *_promotions(state, judged.seen)]
    artefacts: list[Artefact] = list(_idea_artefacts(state))
    for artefact in _kept(desk, store.read(row.id)):
        if isinstance(artefact, Artefact):
            artefacts.append(artefact)
        else:
            problems.append(artefact)
    return Validation(run=row.name, judgements=len(judged.seen), artefacts=tuple(artefacts), problems=tuple(problems))


class _Judged:
    """Judges again whatever was judged, from the same ends."""

    def __init__(self, strategist: Strategist) -> None:
        self._strategist = strategist
        self.seen: list[Judgement] = []
        self.problems: list[str] = []

    def see(self, state: RunState, recorded: Recorded) -> None:
        """Compare, where something was judged."""
        event = recorded.event
        if isinstance(event, CandidatesJudged):
            self.seen += event.judgements
            try:
                again = self._strategist.judge_again(state, event.ask)
            except BudwoodError as error:
                self.problems.append(f"answer {event.ask} cannot be judged again: {error.message}")
            else:
                self.problems += _differences(event, again)
        self._strategist.see(state, recorded)


def _differences(event: CandidatesJudged, again: Iterable[Judgement]) -> Iterator[str]:
    was = {str(judgement.task): judgement for judgement in event.judgements}
    now = {str(judgement.task): judgement for judgement in again}
    for name in dict.fromkeys((*was, *now)):
        before, after = was.get(name), now.get(name)
        if before != after:
            yield f"{name} was {_words(before)}, and by the scores is {_words(after)}"


def _words(judgement: Judgement | None) -> str:
    if judgement is None:
        return "not judged"
    rank = "" if judgement.rank is None else f" with rank {judgement.rank:.6g}"
    return f"{judgement.decision}{rank}" + (f" ({judgement.why})" if judgement.why else "")


def _names(state: RunState) -> Iterator[str]:
    """Look for a number that two have, and for an idea that was tried twice at one node."""
    tried = [task for task in state.tasks if IDEA_PATH in task.spec.env]
    numbers = Counter(str(task.spec.id).rpartition("-e")[2] for task in tried)
    yield from (f"number {number} was given {times} times" for number, times in numbers.items() if times > 1)
    pairs = Counter((str(task.spec.after[0]), task.spec.env[IDEA_PATH]) for task in tried)
    yield from (f"{path} was tried {times} times at {node}" for (node, path), times in pairs.items() if times > 1)


def _ideas(state: RunState) -> Iterator[str]:
    """Look whether each task tries the idea that it says, as the run was given it."""
    given = dict(_given(state))
    for task in state.tasks:
        if IDEA_PATH not in task.spec.env:
            continue
        path, said = task.spec.env[IDEA_PATH], task.spec.env[IDEA_SHA256]
        if _hash(task.spec.prompt) != said:
            yield f"{task.spec.id} says that it tries an idea with sha256 {said}, and its prompt has another"
        if path in given and given[path] != said:
            yield f"{task.spec.id} tries {path} with sha256 {said}, and the run was given {given[path]}"


def _given(state: RunState) -> Iterator[tuple[str, str]]:
    ideas = state.options.get("ideas", ())
    for idea in ideas if isinstance(ideas, list | tuple) else ():
        if isinstance(idea, Mapping):
            yield str(idea.get("path")), str(idea.get("sha256"))


def _idea_artefacts(state: RunState) -> Iterator[Artefact]:
    found = {task.spec.env[IDEA_PATH]: _hash(task.spec.prompt) for task in state.tasks if IDEA_PATH in task.spec.env}
    for path in sorted(found):
        yield Artefact(what="idea", name=path, sha256=found[path])


def _promotions(state: RunState, judged: Iterable[Judgement]) -> Iterator[str]:
    """Look whether whoever was promoted may be, and was once, and whatever grew, grew from one of those."""
    promoted = Counter(str(judgement.task) for judgement in judged if judgement.decision == "promoted")
    for name, times in promoted.items():
        task = state.by_id.get(name)
        if times > 1:
            yield f"{name} was promoted {times} times"
        if task is None:
            yield f"{name} was promoted, and there is no such task"
        elif not _is_sound(task):
            yield f"{name} was promoted without a valid score"
    for task in state.tasks:
        if IDEA_PATH in task.spec.env and str(task.spec.after[0]) not in promoted:
            yield f"{task.spec.id} grew from {task.spec.after[0]}, which was not promoted"


def _is_sound(task: TaskState) -> bool:
    return task.phase is TaskPhase.DONE and task.score is not None and task.score.valid


def _kept(desk: Desk, events: Iterable[Recorded]) -> Iterator[Artefact | str]:
    """Hash what every attempt left; name what is not where it should be."""
    run = run_refs(desk.row.name, desk.row.id).removeprefix(ROOT)
    refs = {**folded_refs(desk.repository, run), **refs_by_run(desk.repository).get(run, {})}
    contents = Contents(desk.git)
    for name, left in all_left(events).items():
        if refs.get(left.ref) != left.commit:
            yield f"{name}: the ref {left.ref} is not at {left.commit[:12]}, which everything that it left is kept in"
        try:
            if desk.git.ask("rev-parse", f"{left.candidate}^{{tree}}") != left.tree:
                yield f"{name}: the commit {left.candidate[:12]} is not of its candidate's tree {left.tree[:12]}"
            yield Artefact(what="candidate", name=name, sha256=contents.sha256(left.tree))
            yield Artefact(what="kept", name=name, sha256=contents.sha256(left.commit))
        except GitFailed as error:
            yield f"{name}: what it left is not all there: {error.message}"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
