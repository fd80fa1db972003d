"""What the merge queue wants done, in a thread: lines merged, branches moved, conflicts laid out and looked at.

Every part may be repeated: a driver that is killed here leaves it to the next, and what it wrote is the same again.
Knows git and workspaces; must not know the state of the run.
"""

from collections.abc import Callable

from budwood._core.commands import Chore, JoinLines, LookAtConflict, PublishJoint, SolveConflict
from budwood._core.events import Clash, Event, Joint, LanesJoined, LanesMerged, MergeStopped, TargetMoved
from budwood.engine.workshop.branches import Branches
from budwood.engine.workshop.conflicts import Conflicts
from budwood.errors import BudwoodError
from budwood.review.checkouts import checkout_of, fast_forward, fast_forward_command, is_rebased
from budwood.workspaces import Pool, Repository
from budwood.workspaces.git import GitFailed
from budwood.workspaces.joining import Joiner, Link
from budwood.workspaces.joining import Tip as Line
from budwood.workspaces.merging import Conflict, is_ancestor, merge_all, named

_PUBLISHED = "published"
"""What the run's own branch is known by among those that it made."""


class _Stop(Exception):
    """The user's branch cannot be moved; the event says why."""

    def __init__(self, event: MergeStopped) -> None:
        super().__init__(event.reason)
        self.event = event


class Queue:
    """Merges for one run; `refs` is where its refs are, `name` what it is called."""

    def __init__(
        self, name: str, refs: str, *, repository: Repository, pool: Pool, holder: Callable[[str], str]
    ) -> None:
        self._name = name
        self._refs = refs
        self._repository = repository
        self._branches = Branches(repository, refs)
        self._conflicts = Conflicts(refs, repository=repository, pool=pool, holder=holder)

    def do(self, chore: Chore) -> list[Event]:
        """Do one thing; return what came of it."""
        match chore:
            case JoinLines():
                return self._join(chore)
            case PublishJoint():
                return self._publish(chore)
            case SolveConflict():
                return [self._conflicts.lay_out(chore)]
            case LookAtConflict():
                return [self._conflicts.look(chore.conflict)]

    def _join(self, wanted: JoinLines) -> list[Event]:
        git = self._repository.git
        try:
            onto, target = self._onto(wanted)
        except _Stop as stop:
            return [stop.event]
        groups = [[Line(tip.line, tip.head, tip.message) for tip in group] for group in wanted.groups]
        chain = Joiner(git, squash=wanted.squash).join(onto, groups, shadow=wanted.shadow)
        last = chain.links[-1] if chain.links else None
        if last is not None:
            self._repository.set_ref(f"{self._refs}/queue/chain", last.commit)
            self._repository.set_ref(f"{self._refs}/queue/shadow", last.shadow)
        return [
            LanesJoined(
                lines=tuple((tip.line, tip.head) for group in wanted.groups for tip in group),
                onto=onto,
                joints=tuple(map(_joint, chain.links)),
                clashes=tuple(
                    Clash(line=each.line, head=each.head, onto=each.onto, files=each.files) for each in chain.left
                ),
                target=target,
            )
        ]

    def _onto(self, wanted: JoinLines) -> tuple[str, str]:
        """Say what to merge into, and where the user's branch stands that is to be in it."""
        if not wanted.into:
            return wanted.published, ""
        target = self._repository.ref(f"refs/heads/{wanted.into}")
        if target is None:
            raise _Stop(
                MergeStopped(
                    into=wanted.into,
                    reason=f"there is no branch {wanted.into}",
                    hint=f"budwood merge {self._name} --into BRANCH names one that is there",
                )
            )
        message = f"Merge {wanted.into} into what run {self._name} made\n"
        try:
            return merge_all(self._repository.git, wanted.published, [target], message=message), target
        except Conflict as conflict:
            branch = self._branches.made().get(_PUBLISHED)
            ours = "what the run started from" if branch is None else f"branch {branch}"
            with_it = wanted.published if branch is None else branch
            raise _Stop(
                MergeStopped(
                    into=wanted.into,
                    reason=f"{wanted.into} and {ours} changed the same places: {named(conflict.files)}",
                    hint=f"git switch {wanted.into} && git merge {with_it}, then budwood resume {self._name}",
                )
            ) from conflict

    def _publish(self, wanted: PublishJoint) -> list[Event]:
        branch = self._branches.move(_PUBLISHED, wanted.commit, called=f"budwood/{self._name}")
        if wanted.into:
            event = self._move_into(wanted)
            if event is not None:
                return [event]
        self._conflicts.give_back(line for line, _ in wanted.lines)
        return [
            LanesMerged(lines=wanted.lines, commit=wanted.commit, branch=branch, into=wanted.into, tasks=wanted.tasks)
        ]

    def _move_into(self, wanted: PublishJoint) -> Event | None:
        """Move the user's branch; return why it could not be."""
        repository, branch, commit = self._repository, wanted.into, wanted.commit
        stands = repository.ref(f"refs/heads/{branch}")
        if stands is not None and is_ancestor(repository.git, commit, stands):
            return None
        if stands is not None and stands != wanted.target:
            return TargetMoved(branch=branch, commit=stands)
        folder = checkout_of(repository, branch)
        if stands is None or is_rebased(repository, branch):
            why = f"there is no branch {branch}" if stands is None else f"{branch} is in the middle of a rebase"
            return MergeStopped(into=branch, reason=why, hint=f"budwood resume {self._name} tries again")
        try:
            if folder is None:
                repository.git.run("update-ref", "-m", "budwood merge", f"refs/heads/{branch}", commit, stands)
            else:
                fast_forward(repository, folder, commit)
        except GitFailed as error:
            now = repository.ref(f"refs/heads/{branch}")
            if now is not None and now != stands:
                return TargetMoved(branch=branch, commit=now)
            said = " ".join(line.strip() for line in error.said.splitlines() if line.strip())
            hint = f"when it can: {fast_forward_command(folder, commit)}" if folder is not None else ""
            return MergeStopped(into=branch, reason=f"{branch} cannot take it yet: {said}", hint=hint)
        return None


def _joint(link: Link) -> Joint:
    shadow = "" if link.shadow == link.commit else link.shadow
    return Joint(lines=link.lines, commit=link.commit, shadow=shadow)


def explain(error: BudwoodError | OSError, chore: Chore) -> Event:
    """Say that a chore could not be done at all."""
    message = error.message if isinstance(error, BudwoodError) else str(error)
    into = chore.into if isinstance(chore, JoinLines | PublishJoint) else ""
    return MergeStopped(into=into, reason=message)
