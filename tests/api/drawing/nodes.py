"""Trees and attempts made by hand, and what is in a drawing."""

from collections.abc import Sequence
from xml.etree import ElementTree

from budwood._core.model import AttemptPhase, RunPhase, TaskId, TaskPhase
from budwood._core.rows import AttemptRow
from budwood._core.scores import Direction, Judgement, Score
from budwood.api.drawing import Drawing
from budwood.project.tree import Tree, TreeNode

SVG = "{http://www.w3.org/2000/svg}"


def score(value: float | None, *, valid: bool = True, why: str = "") -> Score:
    return Score(value=value, metrics={} if value is None else {"score": value}, valid=valid, why=why)


def node(
    number: int,
    name: TaskId,
    after: Sequence[TaskId] = (),
    *,
    depth: int = 0,
    scored: Score | None = None,
    judgement: Judgement | None = None,
    phase: TaskPhase = TaskPhase.DONE,
    title: str = "",
    error: str = "",
) -> TreeNode:
    return TreeNode(
        id=name,
        number=number,
        parent=next(iter(after), None),
        parents=tuple(after),
        depth=depth,
        phase=phase,
        scored=scored is not None,
        idea="",
        idea_sha256="",
        title=title,
        score=scored,
        judgement=judgement,
        attempts=1,
        wall_s=2.0,
        began_at_ms=0,
        ended_at_ms=2000,
        cost_usd=0.0,
        error=error,
    )


def tree(
    nodes: Sequence[TreeNode], *, strategy: str = "beam", direction: Direction = "max", best: TaskId | None = None
) -> Tree:
    return Tree(
        run="night",
        strategy=strategy,
        phase=RunPhase.FINISHED,
        reason="",
        primary="score",
        direction=direction,
        best=best,
        nodes=tuple(nodes),
    )


def attempt(
    task: int, *, slot: int, begin_s: float, end_s: float | None, phase: AttemptPhase, number: int = 1
) -> AttemptRow:
    return AttemptRow(
        task=task,
        number=number,
        phase=phase,
        key="",
        retry=number - 1,
        slot=slot,
        queued_at_ms=0,
        started_at_ms=int(begin_s * 1000),
        finished_at_ms=None if end_s is None else int(end_s * 1000),
    )


class Seen:
    """What a drawing has in it, read as XML."""

    def __init__(self, drawing: Drawing) -> None:
        self.root = ElementTree.fromstring(drawing.svg)
        self.texts = [each.text or "" for each in self.root.iter(f"{SVG}text")]
        self.titles = [each.text or "" for each in self.root.iter(f"{SVG}title")]
        self.tags = {each.tag.removeprefix(SVG) for each in self.root.iter()}

    def group(self, title: str) -> ElementTree.Element:
        """Return what has a title that begins so."""
        [found] = [
            each
            for each in self.root.iter(f"{SVG}g")
            if ((first := each.find(f"{SVG}title")) is not None and (first.text or "").startswith(title))
        ]
        return found

    def shapes(self, title: str) -> list[str]:
        """Return the tags of what is drawn there."""
        return [
            each.tag.removeprefix(SVG) for each in self.group(title) if each.tag not in (f"{SVG}title", f"{SVG}text")
        ]

    def number(self, title: str, tag: str, name: str) -> float:
        """Return an attribute of what is drawn there."""
        found = self.group(title).find(f"{SVG}{tag}")
        assert found is not None
        return float(found.attrib[name])
