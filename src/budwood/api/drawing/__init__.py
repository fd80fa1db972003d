"""Pictures of a run, as SVG: what grew from what, what it scored, and when its attempts ran.

Knows how a run is read. Layout is arithmetic, so the same run gives the same picture.
"""

from budwood.api.drawing.drawing import Drawing
from budwood.api.drawing.scores import draw_scores
from budwood.api.drawing.timeline import draw_timeline
from budwood.api.drawing.tree import draw_tree
from budwood.api.look import Look
from budwood.project.tree import grow

__all__ = ["Drawing", "scores_of", "timeline_of", "tree_of"]


def tree_of(look: Look) -> Drawing:
    """Draw what grew from what."""
    state, attempts = look.state_and_attempts()
    return draw_tree(grow(state, attempts))


def scores_of(look: Look) -> Drawing:
    """Draw what its candidates scored."""
    state, attempts = look.state_and_attempts()
    return draw_scores(grow(state, attempts))


def timeline_of(look: Look, *, now_ms: int | None) -> Drawing:
    """Draw when its attempts ran; those that have not ended, until now, or without a driver until the last event."""
    state, attempts = look.state_and_attempts()
    names = {task.number: str(task.spec.id) for task in state.tasks}
    return draw_timeline(state.name, names, attempts, state.at_ms if now_ms is None else now_ms)
