"""The user's repository: every kind that there is, and nothing of it touched."""

import os
import shutil
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from budwood.errors import UsageError, WorkspaceError
from budwood.testing.workspaces import git
from budwood.workspaces import Clone, Pool, Repository, find_repository
from budwood.workspaces.fingerprint import Watch, differences


def found(directory: Path) -> Repository:
    repository = find_repository(directory, os.environ)
    assert repository is not None
    return repository


def pool_of(repository: Repository, folder: Path) -> Pool:
    return Pool(folder, repository, Clone(repository))


def test_outside_of_git_there_is_none(project: Path) -> None:
    assert find_repository(project, os.environ) is None


def test_variables_of_another_git_lead_nowhere_else(checkout: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "GIT_DIR": str(tmp_path / "elsewhere"), "GIT_INDEX_FILE": "/nowhere"}
    repository = find_repository(checkout, environ)
    assert repository is not None
    assert repository.root == checkout
    assert repository.resolve("HEAD") == git(checkout, "rev-parse", "HEAD")


def test_a_bare_one_is_refused_with_a_way_out(checkout: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(checkout), "bare.git")
    with pytest.raises(UsageError, match="is a bare repository") as caught:
        find_repository(tmp_path / "bare.git", os.environ)
    assert "git worktree add" in (caught.value.hint or "")
    with pytest.raises(UsageError, match=r"inside of a \.git"):
        find_repository(checkout / ".git", os.environ)


def test_one_without_commits_begins_with_nothing(project: Path, tmp_path: Path) -> None:
    git(project, "init", "-q")
    repository = found(project)
    made = pool_of(repository, tmp_path / "pool").hand_out("r/1", repository.resolve("HEAD"))
    assert [path.name for path in made.path.iterdir()] == [".git"]


def test_a_detached_head_is_the_base(checkout: Path) -> None:
    git(checkout, "commit", "-q", "--allow-empty", "-m", "second")
    git(checkout, "checkout", "-q", "--detach", "HEAD~1")
    assert found(checkout).resolve("HEAD") == git(checkout, "rev-parse", "main~1")


def test_a_shallow_one_can_be_worked_in(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{checkout}", "shallow")
    repository = found(tmp_path / "shallow")
    made = pool_of(repository, tmp_path / "pool").hand_out("r/1", repository.resolve("HEAD"))
    assert git(made.path, "log", "--format=%s") == "second"


def test_a_partial_clone_is_refused_with_a_way_out(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{checkout}", "partial")
    with pytest.raises(UsageError, match="is a partial clone") as caught:
        Clone(found(tmp_path / "partial"))
    assert "worktree" in (caught.value.hint or "")


def test_a_linked_worktree_has_a_head_of_its_own(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "beside")
    repository = found(tmp_path / "linked")
    assert repository.root == tmp_path / "linked"
    base = repository.resolve("HEAD")
    assert base == git(checkout, "rev-parse", "side")
    workspaces = pool_of(repository, tmp_path / "pool")
    made = workspaces.hand_out("r/1", base)
    kept = workspaces.keep("r/1", "refs/budwood/r/1", message="m")
    assert git(checkout, "rev-parse", "refs/budwood/r/1") == kept.commit
    assert git(made.path, "log", "-1", "--format=%s") == "beside"


def test_sha256_repositories_are_repositories(tmp_path: Path) -> None:
    root = tmp_path / "new"
    git(tmp_path, "init", "-q", "--object-format=sha256", str(root))
    (root / "file").write_text("content")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    repository = found(root)
    workspaces = pool_of(repository, tmp_path / "pool")
    made = workspaces.hand_out("r/1", repository.resolve("HEAD"))
    (made.path / "more").write_text("more")
    kept = workspaces.keep("r/1", "refs/budwood/r/1", message="m")
    assert len(kept.candidate) == 64
    assert git(root, "show", f"{kept.candidate}:more") == "more"


def test_submodules_are_left_to_the_setup_and_their_link_stays(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path / "lib")
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    git(checkout, "commit", "-qm", "with a submodule")
    repository = found(checkout)
    workspaces = pool_of(repository, tmp_path / "pool")
    made = workspaces.hand_out("r/1", repository.resolve("HEAD"))
    assert list((made.path / "lib").iterdir()) == []
    git(made.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    (made.path / "made").write_text("beside it")
    kept = workspaces.keep("r/1", "refs/budwood/r/1", message="m")
    listed = git(checkout, "ls-tree", "-r", kept.candidate)
    assert f"160000 commit {git(tmp_path / 'lib', 'rev-parse', 'HEAD')}\tlib" in listed
    workspaces.restore(kept.commit, tmp_path / "back")
    assert (tmp_path / "back" / "lib" / "kept.txt").read_text() == "kept\n"


def test_a_commit_made_in_a_submodule_is_named_and_its_directory_stays(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path / "lib")
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    git(checkout, "commit", "-qm", "with a submodule")
    git(tmp_path / "lib", "commit", "-q", "--allow-empty", "-m", "newer")
    repository = found(checkout)
    workspaces = pool_of(repository, tmp_path / "pool")
    for holder, work, adrift in (
        ("r/1", ("pull", "-q", "origin", "HEAD"), ()),  # its origin has that
        ("r/2", ("commit", "-q", "--allow-empty", "-m", "only here"), ("lib",)),
    ):
        made = workspaces.hand_out(holder, repository.resolve("HEAD"))
        git(made.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
        git(made.path / "lib", *work)
        kept = workspaces.keep(holder, f"refs/budwood/{holder}", message="m")
        assert kept.adrift == adrift
        assert git(made.path / "lib", "rev-parse", "HEAD") in git(checkout, "ls-tree", kept.candidate)
        workspaces.hand_back(holder, f"refs/budwood/{holder}")
    assert workspaces.hand_out("r/3", repository.resolve("HEAD")).path != made.path


def test_edits_inside_of_a_submodule_are_named_and_nothing_that_lies_there_is_run(
    checkout: Path, tmp_path: Path
) -> None:
    shutil.copytree(checkout, tmp_path / "lib")
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "lib"), "li b")
    git(checkout, "commit", "-qm", "with a submodule")
    repository = found(checkout)
    workspaces = Pool(tmp_path / "pool", repository, Clone(repository), file_limit=1000)
    made = workspaces.hand_out("r/1", repository.resolve("HEAD"))
    inside = made.path / "li b"
    assert workspaces.keep("r/1", "refs/budwood/r/1", message="m").inside == ()  # it is empty
    git(made.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert workspaces.keep("r/1", "refs/budwood/r/1", message="m").inside == ()
    (inside / ".gitignore").write_text("*.o\n")
    (inside / "built.o").write_text("ignored")
    (inside / "kept.txt").write_text("edited\n")
    (inside / ".gitattributes").write_text("* filter=evil\n")
    for name in ("filter.evil.clean", "core.fsmonitor"):
        git(inside, "config", name, f'(tr "\\0" " " < /proc/$PPID/cmdline; echo; pwd) >> {tmp_path}/ran; cat')
    kept = workspaces.keep("r/1", "refs/budwood/r/1", message="m")
    assert kept.inside == ("li b/.gitattributes", "li b/.gitignore", "li b/kept.txt")
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
    assert git(checkout, "diff", "--name-only", kept.base, kept.candidate) == ""
    assert git(checkout, "show", f"{kept.commit}:li b/kept.txt") == "edited"
    (inside / "nested").mkdir()
    git(inside / "nested", "init", "-q", "--template=")
    (inside / "nested" / "code.c").write_text("int main;")
    (inside / "huge").write_bytes(bytes(1001))
    more = workspaces.keep("r/1", "refs/budwood/r/1", message="m")
    assert (more.candidate, [each.path for each in more.left_out]) == (kept.candidate, ["li b/huge"])
    assert "li b/nested/" in more.inside
    assert git(checkout, "show", f"{more.commit}:li b/nested/code.c") == "int main;"
    (inside / ".git").write_text("gitdir: /nowhere\n")
    assert workspaces.keep("r/1", "refs/budwood/r/1", message="m").inside == ("li b",)


def test_what_lfs_takes_out_of_a_candidate_goes_where_the_user_s_own_looks(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "config", "filter.lfs.clean", "cat > /dev/null; git config lfs.storage")
    (checkout / ".gitattributes").write_text("*.bin filter=lfs\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "with LFS")
    repository = found(checkout)
    assert repository.has_lfs("HEAD")
    assert not repository.has_lfs("HEAD~")
    workspaces = pool_of(repository, tmp_path / "pool")
    (workspaces.hand_out("r/1", repository.resolve("HEAD")).path / "large.bin").write_text("large")
    kept = workspaces.keep("r/1", "refs/budwood/r/1", message="m")
    assert git(checkout, "show", f"{kept.candidate}:large.bin") == str(checkout / ".git" / "lfs")
    assert git(checkout, "show", f"{kept.commit}:large.bin") == "large"


def test_a_commit_that_is_not_there_is_named(checkout: Path) -> None:
    with pytest.raises(UsageError, match="no commit 'nowhere'"):
        found(checkout).resolve("nowhere")
    with pytest.raises(UsageError, match="no commit '--all'"):
        found(checkout).resolve("--all")


def test_an_old_git_is_refused(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\necho git version 2.30.1\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    with pytest.raises(WorkspaceError, match=r"git version 2\.30\.1 is too old"):
        find_repository(checkout, environ)


def test_no_git_at_all_is_said(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no program git"):
        find_repository(checkout, {"PATH": str(tmp_path)})


def test_a_dirty_checkout_is_announced_and_can_be_the_base(checkout: Path, tmp_path: Path) -> None:
    (checkout / "kept.txt").write_text("not committed\n")
    (checkout / "new ü").write_text("unknown to git")
    (checkout / "ignored").mkdir()
    (checkout / "ignored" / "log").write_text("ignored")
    repository = found(checkout)
    watch = Watch(repository)
    before = watch.look()
    assert repository.dirty() == ["kept.txt", "new ü"]
    base = repository.with_dirty(tmp_path / "index")
    made = pool_of(repository, tmp_path / "pool").hand_out("r/1", base)
    assert (made.path / "kept.txt").read_text() == "not committed\n"
    assert (made.path / "new ü").exists()
    assert not (made.path / "ignored").exists()
    assert differences(before, watch.look()) == []


def test_only_refs_of_ours_are_written(checkout: Path) -> None:
    repository = found(checkout)
    with pytest.raises(WorkspaceError, match="not a ref of budwood's"):
        repository.set_ref("refs/heads/main", repository.resolve("HEAD"))


class TestFingerprint:
    def test_what_an_attempt_does_in_its_workspace_changes_nothing(self, checkout: Path, tmp_path: Path) -> None:
        git(checkout, "stash", "list")
        (checkout / "kept.txt").write_text("mine, not committed\n")
        git(checkout, "stash", "-q")
        (checkout / "draft").write_text("untracked")
        repository = found(checkout)
        watch = Watch(repository)
        before = watch.look()
        workspaces = pool_of(repository, tmp_path / "pool")
        made = workspaces.hand_out("r/1", repository.resolve("HEAD"))
        git(made.path, "checkout", "-q", "-b", "mine")
        git(made.path, "commit", "-q", "--allow-empty", "-m", "mine")
        git(made.path, "config", "user.name", "another")
        pushed = subprocess.run(
            ["git", "push", "-q", "origin", "mine"], cwd=made.path, check=False, capture_output=True
        )
        assert pushed.returncode != 0
        workspaces.keep("r/1", "refs/budwood/r/1", message="m")
        workspaces.hand_back("r/1", "refs/budwood/r/1")
        assert differences(before, watch.look()) == []

    def test_what_was_changed_is_named(self, checkout: Path) -> None:
        repository = found(checkout)
        watch = Watch(repository)
        before = watch.look()
        git(checkout, "config", "core.hooksPath", "/evil")
        git(checkout, "branch", "another")
        (checkout / "sub" / "deep.txt").write_text("changed")
        (checkout / ".git" / "hooks").mkdir(exist_ok=True)
        (checkout / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
        git(checkout, "rm", "-q", "--cached", "kept.txt")
        changed = differences(before, watch.look())
        named = {
            "branch another",
            "file kept.txt",
            "file sub/deep.txt",
            "hook pre-commit",
            "setting config",
            "the index",
        }
        assert set(changed) == named

    def test_where_head_stands_is_seen_on_a_branch_and_off(self, checkout: Path) -> None:
        git(checkout, "commit", "-q", "--allow-empty", "-m", "second")
        git(checkout, "branch", "another")
        watch = Watch(found(checkout))
        looks = [watch.look()]
        for words in (["another"], ["--detach", "main"], ["--detach", "main~1"]):
            git(checkout, "checkout", "-q", *words)
            looks.append(watch.look())
        assert [differences(*pair) for pair in pairwise(looks)] == [["HEAD"]] * 3

    def test_a_file_that_git_shall_not_look_at_any_more_is_seen_by_its_index(self, checkout: Path) -> None:
        long_ago = time.time() - 60
        os.utime(checkout / ".git" / "index", (long_ago, long_ago))
        time.sleep(1.1)  # until then git is asked anew, whatever the file's times are
        watch = Watch(found(checkout))
        before = watch.look()
        assert differences(before, watch.look()) == []
        git(checkout, "update-index", "--assume-unchanged", "kept.txt")
        (checkout / "kept.txt").write_text("changed in secret\n")
        assert differences(before, watch.look()) == ["the index"]
