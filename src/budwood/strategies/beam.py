"""The strategy `beam`: ideas are tried at the best candidates, depth by depth.

Answer 0 is the root, which changes nothing and is scored. Each depth is one answer (two where an agent is asked for
ideas first): every idea of every node of the frontier, in a fixed order and numbered, is on record before the first of
them starts. When all have ended they are judged at once: the gate compares with the parent, the rank with the root,
and the best `beam_width` are the next frontier.

What it knows of a task that was asked for it reads off that task, so that a run goes on as it was recorded. Knows
scores and ideas; must not know files, clocks or how tasks are done.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Literal, get_args

from budwood._core.choice import ROOT
from budwood._core.model import TaskSpec
from budwood._core.scores import Judgement, Scoring
from budwood.errors import UsageError
from budwood.strategies.base import Strategy, Told
from budwood.strategies.beam_nodes import IDEA_PATH, IDEA_SHA256, Node, choose, how_it_ended, judge
from budwood.strategies.ideas import Idea, Trace, ask_for_ideas, fresh, given_ideas, ideas_in_notes
from budwood.strategies.options import MAX_DEPTH, scoring_of, text, whole, whole_or_none
from budwood.strategies.root import root_task

IDEAS_SUFFIX = "-ideas"
"""What the task that asks an agent for ideas is called after its node."""

Dedupe = Literal["node", "ancestors", "global", "none"]
"""Where equal ideas are not tried again: at one node, down one branch as well, anywhere, nowhere."""
Reason = Literal["root_failed", "empty_frontier", "max_depth", "max_evals", "no_ideas"]


@dataclass(frozen=True, slots=True)
class _Step:
    """What comes next: tasks, or the end and its reason."""

    tasks: tuple[TaskSpec, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    frontier: tuple[Node, ...] = ()
    reason: Reason | Literal[""] = ""


class BeamStrategy(Strategy):
    """Tries ideas at the best candidates, depth by depth."""

    window = 1
    barrier = True

    def __init__(  # noqa: PLR0913 - the options of a run are its arguments
        self,
        *,
        scoring: Scoring | Mapping[str, object],
        ideas: Sequence[object] = (),
        idea_agent: str | None = None,
        ideas_per_node: int = 7,
        beam_width: int = 1,
        max_depth: int = MAX_DEPTH,
        max_evals: int | None = None,
        dedupe: Dedupe = "ancestors",
        per_node: int | None = None,
        one_depth: bool = False,
    ) -> None:
        if dedupe not in get_args(Dedupe):
            raise UsageError(f"dedupe is {dedupe!r}; it takes {', '.join(get_args(Dedupe))}")
        if not ideas and idea_agent is None:
            raise UsageError(
                "there are no ideas: name a folder of them as ideas, or an agent that has some, idea_agent"
            )
        self._scoring = scoring_of(scoring)
        self._ideas = given_ideas(ideas)
        self._idea_agent = None if idea_agent is None else text("idea_agent", idea_agent)
        self._ideas_per_node = whole("ideas_per_node", ideas_per_node)
        self._beam_width = whole("beam_width", beam_width)
        self._max_depth = whole("max_depth", max_depth)
        self._max_evals = whole_or_none("max_evals", max_evals)
        self._dedupe = dedupe
        self._per_node = whole_or_none("per_node", per_node)
        self._one_depth = one_depth
        self._root: Node | None = None
        self._nodes: dict[str, Node] = {}
        self._newest: list[Node] = []
        """Those that are scored next: the root, or the newest depth's."""
        self._frontier: tuple[Node, ...] = ()
        """Where the newest answer grows from."""
        self._musing: dict[str, Told | None] = {}
        """Of the tasks that ask for ideas for the frontier, what became of them; empty once there are the ideas'."""
        self._evals = 0
        self._known: _Step | None = None
        """What comes next, until something is heard."""
        self._tried: set[str] = set()
        """The content of every idea that was tried."""
        self._used_up = 0
        """So many of the given ideas, from the first on, are never tried again."""

    @property
    def groups(self) -> Mapping[str, int]:
        places = range(1, self._beam_width + 1)
        return {} if self._per_node is None else {node_group(place): self._per_node for place in places}

    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        return self._next().tasks

    def judged(self, number: int) -> Sequence[Judgement]:
        return self._next().judgements

    def reason(self, number: int) -> str:
        return self._next().reason

    def pauses(self, number: int) -> str:
        if not self._one_depth or self._musing or not self._evals:
            return ""
        return f"depth {self._newest[-1].depth} is judged, and one_depth lets a run go on when it is resumed"

    def foreseen(self) -> Sequence[TaskSpec]:
        root = Node(id=ROOT, number=0)
        return (self._start(), *self._muse((root,), ()), *self._evaluate((root,), ()).tasks)

    def asked(self, number: int, tasks: Sequence[TaskSpec]) -> None:
        step, self._known = self._next(), None
        for judgement in step.judgements:
            if str(judgement.task) in self._nodes:
                self._nodes[str(judgement.task)].judgement = judgement
        if step.frontier:
            self._frontier = step.frontier
        if self._root is None:
            self._root = Node(id=ROOT, number=0, depth=0)
            self._add([self._root])
        elif any(IDEA_PATH in task.env for task in tasks):
            self._musing = {}
            parents = [self._nodes[str(task.after[0])] for task in tasks]
            first = self._evals + 1
            self._add([Node.of_task(t, number=first + k, parent=parents[k]) for k, t in enumerate(tasks)])
            self._evals += len(tasks)
        else:
            self._musing = {str(task.id): None for task in tasks}

    def tell(self, told: Told) -> None:
        self._known = None
        name = str(told.task.id)
        if name in self._musing:
            self._musing[name] = told
        elif name in self._nodes:
            self._nodes[name].told = told

    def _add(self, nodes: list[Node]) -> None:
        self._newest = nodes
        for node in nodes:
            self._nodes[node.id] = node
            if node.parent is not None:
                node.parent.children.append(node)
                self._tried.add(node.sha256)
        if self._dedupe == "global":
            while self._used_up < len(self._ideas) and self._ideas[self._used_up].sha256 in self._tried:
                self._used_up += 1

    def _next(self) -> _Step:
        """Say what comes next, from what is known now: worked out once, though asked for several times."""
        if self._known is None:
            self._known = self._work_out()
        return self._known

    def _work_out(self) -> _Step:
        if self._root is None:
            return _Step(tasks=(self._start(),))
        self._refuse_early()
        if self._musing:
            return self._with_ideas()
        judgements, frontier = judge(
            self._newest, scoring=self._scoring, root=self._root.score, beam_width=self._beam_width
        )
        reason = self._end(frontier)
        if reason:
            return self._over(judgements, frontier, reason)
        asking = tuple(self._muse(frontier, judgements))
        if asking:
            return _Step(tasks=asking, judgements=judgements, frontier=frontier)
        return self._evaluate(frontier, judgements)

    def _start(self) -> TaskSpec:
        return root_task(self._scoring)

    def _refuse_early(self) -> None:
        open_ones = [node.id for node in self._newest if node.told is None]
        open_ones += [name for name, told in self._musing.items() if told is None]
        if open_ones:
            raise UsageError(
                f"beam judges a depth when all of it has ended, and {open_ones[0]} has not",
                hint='a beam has window = 1 and order = "task"',
            )

    def _end(self, frontier: tuple[Node, ...]) -> Reason | Literal[""]:
        if not frontier:
            return "empty_frontier" if self._evals else "root_failed"
        if self._newest[-1].depth >= self._max_depth:
            return "max_depth"
        return "max_evals" if self._left == 0 else ""

    def _over(self, judgements: tuple[Judgement, ...], frontier: tuple[Node, ...], reason: Reason) -> _Step:
        """End, and choose from all that were promoted at any depth."""
        before = [node for node in self._nodes.values() if node.judgement and node.judgement.decision == "promoted"]
        root = None if self._root is None else self._root.score
        chosen = choose((*before, *frontier), scoring=self._scoring, root=root)
        return _Step(judgements=(*judgements, *chosen), reason=reason)

    @property
    def _left(self) -> int | None:
        """How many evaluations there may still be."""
        return None if self._max_evals is None else max(0, self._max_evals - self._evals)

    # What is tried next

    def _evaluate(self, frontier: tuple[Node, ...], judgements: tuple[Judgement, ...]) -> _Step:
        """Plan a depth: node by node, idea by idea, each with a number that no other has."""
        tasks: list[TaskSpec] = []
        tried: set[str] = set()
        for place, node in enumerate(frontier, start=1):
            for one in self._ideas_for(node, tried):
                if self._left is not None and len(tasks) == self._left:
                    break
                tried.add(one.sha256)
                tasks.append(self._task(node, one, number=self._evals + len(tasks) + 1, place=place))
        if not tasks:
            return self._over(judgements, frontier, "no_ideas")
        return _Step(tasks=tuple(tasks), judgements=judgements, frontier=frontier)

    def _task(self, node: Node, one: Idea, *, number: int, place: int) -> TaskSpec:
        group = None if self._per_node is None else node_group(place)
        return evaluation(node.id, one, scoring=self._scoring, number=number, depth=node.depth + 1, group=group)

    def _ideas_for(self, node: Node, tried: Container[str]) -> Sequence[Idea]:
        told = self._musing.get(node.id + IDEAS_SUFFIX)
        thought_of = () if told is None or not told.done else ideas_in_notes(told.result, task=str(told.task.id))
        return self._fresh(node, tried, thought_of)

    def _fresh(self, node: Node, tried: Container[str], thought_of: Iterable[Idea] = ()) -> Sequence[Idea]:
        """Return what is to be tried at a node; `tried` is what other nodes of the frontier will have tried by then."""
        given = (self._ideas[place] for place in range(self._used_up, len(self._ideas)))
        known: tuple[Container[str], ...] = ()
        if self._dedupe == "global":
            known = (self._tried, tried)
        elif self._dedupe == "ancestors":
            known = ({one.sha256 for one in node.branch},)
        return fresh(chain(given, thought_of), *known, most=self._ideas_per_node, twice=self._dedupe == "none")

    # Ideas from an agent

    def _muse(self, frontier: tuple[Node, ...], judgements: Sequence[Judgement]) -> Iterable[TaskSpec]:
        """Ask for ideas where there are not enough."""
        if self._idea_agent is None:
            return
        newest = {str(judgement.task): judgement for judgement in judgements}
        tried: set[str] = set()
        for node in frontier:
            have = self._fresh(node, tried)
            tried |= {one.sha256 for one in have}
            if len(have) < self._ideas_per_node:
                branch = node.branch
                beside = [one for up in branch for one in up.children if one not in branch]
                prompt = ask_for_ideas(
                    branch=[self._trace(one, None) for one in branch],
                    beside=[self._trace(one, newest.get(one.id, one.judgement)) for one in beside],
                    have=[one.title for one in have],
                    most=self._ideas_per_node - len(have),
                    aim=f"{self._scoring.primary} counts, and {'more' if self._scoring.direction == 'max' else 'less'} "
                    "of it is better",
                )
                yield TaskSpec(
                    id=node.id + IDEAS_SUFFIX,
                    description=f"ideas for {node.id}",
                    prompt=prompt,
                    after=(node.id,),
                    agent=(self._idea_agent,),
                    check="true",  # the project's own check and reviewer are about what was made, and nothing is
                    reviewer="true",
                    allow_unchanged=True,
                    helps=True,
                )

    def _trace(self, node: Node, judgement: Judgement | None) -> Trace:
        value = None if node.score is None else node.score.value
        came_to = "no score" if value is None else f"{self._scoring.primary} {value:g}"
        why = "" if judgement is None or not judgement.why else f" ({judgement.why})"
        return Trace(title=node.title or "the start", came_to=came_to + why)

    def _with_ideas(self) -> _Step:
        """Plan a depth with what agents have come up with that were asked for ideas, and say what that is."""
        step = self._evaluate(self._frontier, ())
        tried = [task.env[IDEA_PATH] for task in step.tasks]
        mused = (_mused(name, told, tried) for name, told in self._musing.items() if told is not None)
        return replace(step, judgements=(*mused, *step.judgements))


def _mused(name: str, told: Told, tried: Sequence[str]) -> Judgement:
    """Say what came of asking an agent for ideas: how many it had, and where not all are tried, how many are."""
    if not told.done:
        return Judgement(task=name, decision="rejected", why=how_it_ended(told))
    ideas = ideas_in_notes(told.result, task=name)
    if not ideas:
        return Judgement(task=name, decision="rejected", why="it left no ideas/NAME.md in its notes")
    new = sum(one.path in tried for one in ideas)
    said = f"{len(ideas)} ideas" if len(ideas) > 1 else "1 idea"
    more = "" if new == len(ideas) else f", {new or 'none'} of them tried" if len(ideas) > 1 else ", not tried"
    return Judgement(task=name, decision="kept", why=said + more)


def evaluation(node: str, one: Idea, *, scoring: Scoring, number: int, depth: int, group: str | None) -> TaskSpec:
    """Make the task that tries an idea at a node."""
    return TaskSpec(
        id=f"d{depth}-e{number:04d}",
        description=one.title,
        prompt=one.text,
        after=(node,),
        env={IDEA_PATH: one.path, IDEA_SHA256: one.sha256},
        group=group,
        score=scoring,
    )


def node_group(place: int) -> str:
    """Name the group of the tasks that grow from one place of the frontier: a run limits how many are under way."""
    return f"node-{place}"
