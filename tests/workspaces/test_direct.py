"""Trees that are written straight are those that git would have written."""

import os
import random
import shutil
from pathlib import Path

import pytest
from tests.support.cases import at_length

from budwood.testing.workspaces import bytes_in, git
from budwood.workspaces import Clone, Pool, find_repository
from budwood.workspaces.keeping import converts
from budwood.workspaces.laying import laid_out

NAMES = ("a", "a.b", "a-b", "ab", "b", "B", "ü", "z z", "ignored", "x.tmp", 'q"', "new\nline")


def _path(dice: random.Random, tree: Path) -> Path:
    return tree.joinpath(*dice.choices(NAMES, k=dice.randint(1, 4)))


def _make(dice: random.Random, path: Path, tree: Path) -> None:
    """Put a file, a link or nothing where anything may be."""
    for above in reversed(path.relative_to(tree).parents):
        if (tree / above).is_symlink() or (tree / above).is_file():
            (tree / above).unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    chance = dice.random()
    if chance < 0.1:
        path.symlink_to(dice.choice(NAMES))
    elif chance < 0.8:
        path.write_bytes(dice.choice((b"", b"x\r\n", b"y" * dice.randint(1, 99))))
        path.chmod(dice.choice((0o644, 0o644, 0o755)))


@pytest.mark.parametrize("seed", [*range(4), *at_length(*range(4, 40))])
def test_whatever_is_done_the_candidate_is_what_git_would_add(project: Path, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(60):
        _make(dice, _path(dice, project), project)
    (project / ".gitignore").unlink(missing_ok=True)
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    (project / ".gitignore").write_text("ignored\n*.tmp\n!b/*.tmp\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "second")
    repository = find_repository(project, os.environ)
    assert repository is not None
    pool, base = Pool(tmp_path / "pool", repository, Clone(repository)), repository.resolve("HEAD")
    for number in range(3):
        holder, ref = f"r/{number}", f"refs/budwood/r/{number}"
        made = pool.hand_out(holder, base)
        assert git(made.path, "status", "--porcelain", "--ignored") == ""
        for _ in range(30):
            _make(dice, _path(dice, made.path), made.path)
        left = bytes_in(made.path)
        kept = pool.keep(holder, ref, message="m")
        laid = laid_out(made.path.parent, base, cones="")
        assert laid is not None
        assert not laid.converts
        assert not laid.links
        git(made.path, "add", "-A")
        assert kept.candidate == git(made.path, "write-tree")
        git(project, "fsck", "--strict", "--no-dangling", kept.commit)
        pool.restore(kept.commit, tmp_path / f"back{number}")
        assert bytes_in(tmp_path / f"back{number}") == left
        pool.hand_back(holder, ref)


def test_a_base_that_changes_is_laid_out(checkout: Path, tmp_path: Path) -> None:
    repository = find_repository(checkout, os.environ)
    assert repository is not None
    pool, first = Pool(tmp_path / "pool", repository, Clone(repository)), repository.resolve("HEAD")
    (checkout / "kept.txt").unlink()
    (checkout / "sub" / "later.txt").write_text("later\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "second")
    second = repository.resolve("HEAD")
    for number, base in enumerate((first, second, second, first)):
        made = pool.hand_out(f"r/{number}", base)
        assert (made.path / "kept.txt").exists() == (base == first)
        assert (made.path / "sub" / "later.txt").exists() == (base == second)
        kept = pool.keep(f"r/{number}", f"refs/budwood/r/{number}", message="m")
        assert kept.candidate == git(checkout, "rev-parse", f"{base}^{{tree}}")
        pool.hand_back(f"r/{number}", f"refs/budwood/r/{number}")


def test_what_was_not_laid_out_to_the_end_is_kept_as_it_lies_there(checkout: Path, tmp_path: Path) -> None:
    repository = find_repository(checkout, os.environ)
    assert repository is not None
    pool, base = Pool(tmp_path / "pool", repository, Clone(repository)), repository.resolve("HEAD")
    made = pool.hand_out("r/1", base)
    (made.path.parent / "laid.json").unlink()  # as if the one who laid it out had been killed
    (made.path / "kept.txt").write_text("changed\n")
    (made.path / "sub" / "deep.txt").unlink()
    kept = pool.keep("r/1", "refs/budwood/r/1", message="m")
    assert git(checkout, "show", f"{kept.candidate}:kept.txt") == "changed"
    assert git(checkout, "ls-tree", "-r", "--name-only", kept.candidate).splitlines() == [
        ".gitignore",
        "kept.txt",
        "requirements.txt",
    ]


def test_users_settings_tell_whether_files_are_converted(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert not converts([("core.autocrlf", "false"), ("core.filemode", "true"), ("filter.lfs.clean", "x")], home)
    for name, value in (("core.autocrlf", "input"), ("core.eol", "crlf"), ("core.attributesfile", "/a")):
        assert converts([(name, value)], home)
    assert converts([("core.filemode", "false")], home)
    (tmp_path / ".config" / "git").mkdir(parents=True)
    (tmp_path / ".config" / "git" / "attributes").write_text("*.txt text\n")
    assert converts([], home)
    assert not converts([], {**home, "XDG_CONFIG_HOME": str(tmp_path / "another")})
