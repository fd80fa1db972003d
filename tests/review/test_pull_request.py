"""Where a pull request is pushed to."""

import pytest
from tests.review.conftest import Ground

from budwood.errors import UsageError
from budwood.review.pull_request import PullRequest, find_remote
from budwood.testing.workspaces import git


def test_the_remote_is_the_named_one_else_origin_else_the_only_one(ground: Ground) -> None:
    with pytest.raises(UsageError, match="has no remote to push to"):
        find_remote(ground.repository, None)
    git(ground.root, "remote", "add", "fork", "/fork.git")
    assert find_remote(ground.repository, None) == "fork"
    git(ground.root, "remote", "add", "other", "/other.git")
    with pytest.raises(UsageError, match="has many remotes to push to") as caught:
        find_remote(ground.repository, None)
    assert caught.value.hint == "--remote names one of fork, other"
    git(ground.root, "remote", "add", "origin", "/origin.git")
    assert find_remote(ground.repository, None) == "origin"
    assert find_remote(ground.repository, "fork") == "fork"
    with pytest.raises(UsageError, match="there is no remote nope"):
        find_remote(ground.repository, "nope")


def test_commands_can_be_typed_whatever_they_say() -> None:
    request = PullRequest(commit="c", branch="b", remote="origin", into=None, title="it's $HOME", body="- a: b\n")
    assert request.commands == [
        "git push origin c:refs/heads/b",
        "gh pr create --head b --title 'it'\"'\"'s $HOME' --body '- a: b\n'",
    ]
