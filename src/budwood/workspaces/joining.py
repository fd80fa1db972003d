"""Lines of history merged one after another into a chain of commits; one that conflicts is left out.

The commits are functions of what they hold, dates included, so that whoever repeats it gets the same. Knows git; must
not know lanes or runs, and must not move a ref.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from budwood.workspaces.git import AUTHOR, Git
from budwood.workspaces.merging import Merge, merge_tree, merge_trees


class Tip(NamedTuple):
    """Where a line of history has come to, and how its merge is described."""

    line: str
    head: str
    message: str


class Link(NamedTuple):
    """A link of the chain: the commit that holds everything up to here."""

    lines: tuple[str, ...]
    commit: str
    shadow: str
    """The same files, with the history of all that was merged; the commit itself where that has it, too."""


class Left(NamedTuple):
    """A line that could not be merged, and why."""

    line: str
    head: str
    files: tuple[str, ...]
    onto: str
    """What it conflicts with: all that was merged, and what of its own group came before it."""


class Chain(NamedTuple):
    """What came of merging."""

    links: tuple[Link, ...]
    left: tuple[Left, ...]


class Joiner:
    """Merges into one commit after another; `squash` gives each link one parent only."""

    def __init__(self, git: Git, *, squash: bool) -> None:
        self._git = git
        self._squash = squash

    def join(self, onto: str, groups: Iterable[Sequence[Tip]], *, shadow: str = "") -> Chain:
        """Merge groups in their order, each whole or not at all; what conflicts is tried once more at the end."""
        wanted = [tuple(group) for group in groups]
        commits = [onto, *([shadow] if shadow else []), *(tip.head for group in wanted for tip in group)]
        self._dates = dates_of(self._git, commits)
        self._at, self._shadow = onto, self._shadow_of(onto, shadow)
        self._tree = self._tree_of(onto)
        links: list[Link] = []
        waiting = self._pass(wanted, links)
        left = self._pass([group for group, _ in waiting], links) if waiting and links else waiting
        # A first of a group is left out by what is merged at last; another maybe by those of its group before it.
        alone = [each._replace(onto=self._shadow) if group[0].line == each.line else each for group, each in left]
        return Chain(tuple(links), tuple(alone))

    def _pass(self, groups: Iterable[tuple[Tip, ...]], links: list[Link]) -> list[tuple[tuple[Tip, ...], Left]]:
        """Add a link for every group that can be merged; return the others."""
        refused = []
        for group in groups:
            before = self._at, self._shadow, self._tree
            failed = self._add(group)
            if failed is not None:
                self._at, self._shadow, self._tree = before
                refused.append((group, failed))
            elif self._at != before[0]:
                links.append(Link(tuple(tip.line for tip in group), self._at, self._shadow))
        return refused

    def _add(self, group: tuple[Tip, ...]) -> Left | None:
        for tip in group:
            merge = self._merged(tip.head)
            if not merge.is_clean:
                return Left(tip.line, tip.head, merge.files, self._shadow)
            if merge.tree == self._tree:  # nothing new: no commit says so
                continue
            self._tree = merge.tree
            shadow = self._commit(merge.tree, [self._shadow, tip.head], tip.message)
            self._at = self._commit(merge.tree, [self._at], tip.message) if self._squash else shadow
            self._shadow = shadow
        return None

    def _merged(self, head: str) -> Merge:
        return merge_tree(self._git, self._shadow, head)

    def _shadow_of(self, onto: str, shadow: str) -> str:
        """Let what was merged before count as merged, where the commit to start from does not say so."""
        if not shadow or shadow == onto:
            return onto
        return self._commit(self._tree_of(onto), [onto, shadow], "what was merged before\n")

    def _tree_of(self, commit: str) -> str:
        return self._git.ask("rev-parse", f"{commit}^{{tree}}")

    def _commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        date = max(self._dates[parent] for parent in parents)
        commit = write_commit(self._git, tree, parents, message=message, date=date)
        self._dates[commit] = date
        return commit


def write_commit(git: Git, tree: str, parents: Iterable[str], *, message: str, date: int) -> str:
    """Write a commit of ours that is the same whenever it is written."""
    name, email = AUTHOR
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"{who} {name} <{email}> {date} +0000" for who in ("author", "committer")]
    text = "".join(f"{line}\n" for line in lines) + f"\n{message}"
    return git.ask("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())


def dates_of(git: Git, commits: Iterable[str]) -> dict[str, int]:
    """Tell when commits were made."""
    wanted = "".join(f"{commit}\n" for commit in dict.fromkeys(commits)).encode()
    said = git.ask("log", "--no-walk=unsorted", "--format=%H %ct", "--stdin", stdin=wanted)
    return {name: int(date) for name, date in (line.split(" ") for line in said.splitlines())}


def conflicts_among(git: Git, heads: Mapping[str, str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Say for every two lines of history, each as it stands, which files they would conflict in; those that do."""
    names = list(heads)
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    found = merge_trees(git, [(heads[a], heads[b]) for a, b in pairs])
    return {pair: merge.files for pair, merge in zip(pairs, found, strict=True) if not merge.is_clean}
