"""The refs of a run that is over, folded into one: thousands of small files slow every fetch.

One commit has everything that was kept among its ancestors, so that nothing is ever pruned, and a file that tells which
ref stood where. Knows git; must not know runs but by name, or whether one is over.
"""

from collections.abc import Mapping

from budwood.errors import WorkspaceError
from budwood.workspaces.git import GitFailed
from budwood.workspaces.repository import Repository

ROOT = "refs/budwood/"
_FOLDED, _FILE = "kept", "refs"
_MOST_PARENTS = 500


def refs_by_run(repository: Repository) -> dict[str, dict[str, str]]:
    """List the refs of each run that are not folded, with their commits; those of its branches stay as they are."""
    said = repository.git.ask("for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", ROOT)
    found: dict[str, dict[str, str]] = {}
    for line in said.splitlines():
        kind, commit, name = line.split(" ", 2)
        run, _, rest = name.removeprefix(ROOT).partition("/")
        if kind == "commit" and rest and rest != _FOLDED and "/" not in rest:
            found.setdefault(run, {})[name] = commit
    return found


def fold(repository: Repository, run: str) -> int:
    """Fold the refs of a run into one, in one transaction; return how many. May be repeated when there are new ones."""
    loose = refs_by_run(repository).get(run, {})
    if not loose:
        return 0
    target = f"{ROOT}{run}/{_FOLDED}"
    before = repository.ref(target)
    folded = {**folded_refs(repository, run), **loose}
    commit = _commit(repository, run, folded, new=sorted(set(loose.values())), before=before)
    if _read(repository, commit) != folded:
        raise WorkspaceError(f"the refs of {run} were folded and read otherwise; they stay as they are")
    lines = [f"update {target} {commit} {before or '0' * len(commit)}"]
    lines += [f"delete {name} {old}" for name, old in loose.items()]
    repository.git.run("update-ref", "--stdin", stdin="".join(f"{line}\n" for line in lines).encode())
    return len(loose)


def folded_refs(repository: Repository, run: str) -> dict[str, str]:
    """Return where the folded refs of a run stood."""
    commit = repository.ref(f"{ROOT}{run}/{_FOLDED}")
    return {} if commit is None else _read(repository, commit)


def find_kept(repository: Repository, ref: str) -> str | None:
    """Return the commit that is kept under a ref of ours, whether it was folded or not."""
    run = ref.removeprefix(ROOT).partition("/")[0]
    return repository.ref(ref) or folded_refs(repository, run).get(ref)


def _commit(repository: Repository, run: str, refs: Mapping[str, str], *, new: list[str], before: str | None) -> str:
    """Write a chain of commits that has all new ones among its parents; the last one's file tells of all refs."""
    git = repository.git
    text = "".join(f"{commit} {name}\n" for name, commit in sorted(refs.items()))
    blob = git.ask("hash-object", "-w", "--stdin", stdin=text.encode())
    tree = git.ask("mktree", stdin=f"100644 blob {blob}\t{_FILE}\n".encode())
    last = before
    for at in range(0, len(new), _MOST_PARENTS):
        parents = ([] if last is None else [last]) + new[at : at + _MOST_PARENTS]
        last = git.commit(tree, parents, f"what the run {run} kept\n")
    assert last is not None
    return last


def _read(repository: Repository, commit: str) -> dict[str, str]:
    try:
        lines = repository.git.ask("cat-file", "blob", f"{commit}:{_FILE}").splitlines()
    except GitFailed as error:
        raise WorkspaceError(f"commit {commit} does not tell what was folded into it: {error.said.strip()}") from error
    return {name: old for old, _, name in (line.partition(" ") for line in lines)}
