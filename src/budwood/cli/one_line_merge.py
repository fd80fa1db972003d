"""One task's candidate, or one lane, merged into a branch of the user's at once.

Knows the desk and git. Must not drive: no other part of the run has a say.
"""

from budwood._core.model import Review
from budwood.cli.asking import Asked, ask, tell_answer
from budwood.cli.looking import note
from budwood.errors import UsageError
from budwood.project.desk import Desk
from budwood.project.line import Line, find_line
from budwood.review.checkouts import current_branch
from budwood.review.merging import Merger, Wanted, branch_head, found_in


def merge_line(asked: Asked, desk: Desk, line: str, *, into: str | None, squash: bool | None) -> int:
    """Merge it, and record that; return the exit code."""
    found = find_line(desk, line)
    settings = desk.state.settings
    branch = into or settings.into or _here(desk)
    desk.refuse_ours(branch)
    there = found_in(desk.git, found.commit, branch_head(desk.repository, branch))
    if there is not None:
        note(f"{found.called} is merged into {branch} already: {there}")
    else:
        wanted = Wanted(
            commit=found.commit,
            called=f"{found.called} of run {desk.row.name}",
            message=f"Merge {found.called} of run {desk.row.name}\n\n{found.about}\n",
            squash=settings.merge == "squash" if squash is None else squash,
        )
        merged = Merger(desk.repository, desk.refs).merge(wanted, branch)
        files = "" if merged.checkout is None else f"; files in {merged.checkout} moved with it"
        note(f"merged {found.called} into {branch} ({merged.how}): {merged.commit[:12]}{files}")
    return _record(asked, found, branch)


def _here(desk: Desk) -> str:
    branch = current_branch(desk.repository)
    if branch is None:
        raise UsageError(
            f"{desk.repository.root} stands on no branch (detached HEAD)",
            hint="--into BRANCH names the one to merge into",
        )
    return branch


def _record(asked: Asked, line: Line, branch: str) -> int:
    new = [str(task.spec.id) for task in line.tasks if task.review is not Review.MERGED]
    if not new:
        return 0
    return tell_answer(asked, ask(asked, "merged", tasks=new, text=f"into {branch}"))
