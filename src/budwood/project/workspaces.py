"""Where the attempts of a run work: from settings and the project's surroundings to a pool of directories.

Knows git through workspaces, and where the user's state lies. Must not write before a run begins, but for objects of a
start that is in no commit.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from budwood._core.ids import safe_name
from budwood._core.model import WorkspaceTerms
from budwood._core.suggest import did_you_mean
from budwood.errors import SettingsError, UsageError
from budwood.project.place import STATE_DIR, Project, state_home
from budwood.settings import Resolved
from budwood.workspaces import Clone, Copy, Pool, Repository, Setup, Worktree, find_repository, open_kept
from budwood.workspaces.bring import Outfit
from budwood.workspaces.pool import Kind

KindName = Literal["clone", "worktree", "copy"]


@dataclass(frozen=True, slots=True)
class Ground:
    """The repository that workspaces come from and what attempts leave goes into, and where in it the project is."""

    repository: Repository
    subdir: Path
    in_git: bool


def find_ground(project: Project, kind: KindName) -> Ground:
    """Find the project's repository; for copies, the one that is budwood's own."""
    if kind == "copy":
        kept = open_kept(project.root, project.state_dir / "kept.git", project.environ)
        return Ground(kept, Path(), in_git=False)
    repository = find_repository(project.root, project.environ)
    if repository is None:
        raise UsageError(
            f"{project.root} is in no git repository, and workspace is {kind!r}",
            hint='git init makes one; workspace = "copy" needs none',
        )
    return Ground(repository, project.root.resolve().relative_to(repository.root.resolve()), in_git=True)


def workspace_kind(project: Project, resolved: Resolved) -> KindName:
    """Decide what attempts of agents work in."""
    wanted = resolved.text("workspace")
    if wanted == "none":
        raise SettingsError(
            'workspace is "none", and agents would work on your own files',
            hint="leave workspace out: each attempt then gets a directory of its own",
        )
    if wanted != "auto":
        return cast(KindName, wanted)
    return "copy" if find_repository(project.root, project.environ) is None else "clone"


def workspace_terms(
    project: Project, resolved: Resolved, kind: KindName, *, word: str, include_dirty: bool
) -> WorkspaceTerms:
    """Settle on what a new run's workspaces are, and the commit that they start from."""
    ground = find_ground(project, kind)
    if ground.in_git:
        _refuse_no_branch(ground.repository, resolved.text("into"))
    return WorkspaceTerms(
        kind=kind,
        base=_base(project, ground, resolved, include_dirty=include_dirty),
        word=word,
        bring=_texts(resolved, "bring"),
        link=_texts(resolved, "link"),
        setup=resolved.text("setup"),
        setup_timeout_s=float(str(resolved.value("setup_timeout"))),
        setup_keeps=_texts(resolved, "setup_keeps"),
        sparse=_texts(resolved, "sparse"),
        ports=int(str(resolved.value("ports"))),
        keep=bool(resolved.value("keep")),
    )


def _refuse_no_branch(repository: Repository, into: str | None) -> None:
    """Refuse a branch that is not there: in the morning, when it is to be moved, is late to learn of a typing error."""
    if into and repository.ref(f"refs/heads/{into}") is None:
        known = repository.git.ask("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines()
        raise SettingsError(
            f"into is {into!r}, and there is no branch of that name",
            hint=did_you_mean(into, known) or f"git branch {into} makes one",
        )


def _texts(resolved: Resolved, name: str) -> tuple[str, ...]:
    return cast(tuple[str, ...], resolved.value(name))


def _base(project: Project, ground: Ground, resolved: Resolved, *, include_dirty: bool) -> str:
    named = resolved.text("base") or "HEAD"
    if not ground.in_git:
        if named != "HEAD":
            raise SettingsError(f"base is {named!r}, and copies start with what is there", hint="leave base out")
        terms = WorkspaceTerms(kind="copy", base="")
        pool = make_pool(ground, terms, folder=pool_folder(ground, resolved.text("pool") or ""))
        return pool.take_in(project.root, skip=STATE_DIR)
    if include_dirty:
        if named != "HEAD":
            raise UsageError("--include-dirty starts with the checkout as it is, and --base names something else")
        project.run_dirs.mkdir(parents=True, exist_ok=True)
        index = project.run_dirs / "dirty.index"
        try:
            return ground.repository.with_dirty(index)
        finally:
            index.unlink(missing_ok=True)
    return ground.repository.resolve(named)


def pool_folder(ground: Ground, chosen: str) -> Path:
    """Return where the directories of one repository's pool lie: outside of every repository."""
    root = Path(os.path.expanduser(chosen)) if chosen else state_home() / "pools"
    common = ground.repository.common.resolve()
    digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:10]
    return root / f"{safe_name(ground.repository.root.name)}-{digest}"


def make_pool(ground: Ground, terms: WorkspaceTerms, *, folder: Path) -> Pool:
    """Make the pool of a run; runs of one repository share its directories."""
    repository = ground.repository
    if folder.resolve().is_relative_to(repository.root.resolve()):
        raise SettingsError(
            f"pool leads to {folder}, inside the repository",
            hint="an agent in there would take the repository's files for its own; name a place outside",
        )
    own = folder / terms.kind
    return Pool(
        own,
        repository,
        _kind(terms.kind, repository, own),
        outfit=Outfit(bring=terms.bring, link=terms.link) if ground.in_git else Outfit(),
        setup=None if terms.setup is None else Setup(command=terms.setup),
        setup_keeps=terms.setup_keeps,
        sparse=terms.sparse,
    )


def _kind(name: KindName, repository: Repository, folder: Path) -> Kind:
    match name:
        case "clone":
            return Clone(repository)
        case "worktree":
            return Worktree(repository, folder)
        case "copy":
            return Copy()
