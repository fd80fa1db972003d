"""The prompt of a review: what was wanted, what was made of it, and where and in which words the verdict is given.

A function of what it is given, as the prompt of an attempt is. Knows briefings; must not know stores or workspaces.
"""

from msgspec import Struct

from budwood.agents.base import Agent
from budwood.agents.prompts import OTHERS_BYTES, TASK_BYTES, TEXT_BYTES, cut, set_in
from budwood.agents.template import fill

_TEMPLATE = """\
You review what another agent made of the task below. Change no file but the one that takes your verdict.

{{#focus}}
# What to look at

{{focus}}

{{/focus}}
# Your verdict

Write it to the file {{verdict}}, below the working directory, which is as the other agent left it. Its first line is
one of these two, and nothing else:

    accept
    send back

Below "send back" say what is to be changed, and why: the other agent is told that, word for word, and goes on with what
it made. Without that file, or with another first line, there is no verdict.

# The task

{{task}}

{{#goal}}
# What it is part of

{{goal}}

{{/goal}}
{{#check}}
# What it has passed

This command ended with exit code 0:

{{check}}

{{/check}}
{{#revision}}
# What was to be changed since an earlier review

{{revision}}

{{/revision}}
# What was changed

{{changes}}
"""


class ReviewBriefing(Struct, frozen=True, kw_only=True):
    """What a review is about."""

    task: str
    """The text of the task whose work is reviewed."""
    verdict: str
    """The file that takes the verdict, from the working directory."""
    focus: str = ""
    """What the reviewer was told to look at."""
    goal: str = ""
    check: str = ""
    """The command that what was made has passed."""
    revision: str = ""
    """What was to be changed."""
    changes: str = ""
    """What was made, as a patch."""


def review_prompt_for(agent: Agent, briefing: ReviewBriefing) -> str:
    """Write the prompt of a review; an agent may want what it was told as it stands."""
    if agent.raw_prompt:
        return briefing.focus
    values = {
        "task": set_in(cut(briefing.task.strip("\n"), TASK_BYTES)),
        "verdict": briefing.verdict,
        "focus": cut(briefing.focus.strip(), TEXT_BYTES),
        "goal": cut(briefing.goal.strip(), TEXT_BYTES),
        "check": set_in(cut(briefing.check.strip(), TEXT_BYTES)),
        "revision": set_in(cut(briefing.revision.strip(), TEXT_BYTES)),
        "changes": set_in(cut(briefing.changes.rstrip(), OTHERS_BYTES)) or "Nothing.",
    }
    return fill(_TEMPLATE, values).strip("\n") + "\n"
