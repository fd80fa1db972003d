"""Ports: one holder each, free ones only."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from budwood._core.branches import lane_branch
from budwood.errors import WorkspaceError
from budwood.workspaces.ports import Ports


def test_holders_do_not_meet_and_keep_what_they_have(tmp_path: Path) -> None:
    ports = Ports(tmp_path)
    first, second = ports.take("r/1", 2), Ports(tmp_path).take("r/2", 2)
    assert len({*first, *second}) == 4
    assert ports.take("r/1", 2) == first
    ports.give_back("r/1")
    ports.give_back("r/1")
    assert ports.take("r/3", 2) == first


def test_many_at_once_get_different_ones(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        given = list(threads.map(lambda number: Ports(tmp_path).take(f"r/{number}", 3), range(16)))
    assert len({port for ports in given for port in ports}) == 48


def test_one_that_somebody_listens_on_is_passed_over(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        busy = listener.getsockname()[1]
        with pytest.raises(WorkspaceError, match=f"no 1 ports are free between {busy} and {busy}"):
            Ports(tmp_path, first=busy, last=busy).take("r/1", 1)


@pytest.mark.parametrize(
    ("lane", "name", "branch"),
    [
        (42, "CON", "epic-42-con-epic"),
        (42, "API: User & Admin", "epic-42-api-user-admin"),
        (7, "", "epic-7"),
        ("ä/ö", "..", "epic-a-o-epic"),
    ],
)
def test_branches_have_names_that_are_safe_everywhere(lane: int | str, name: str, branch: str) -> None:
    assert lane_branch(lane, name, word="epic") == branch


def test_a_long_name_is_cut() -> None:
    assert len(lane_branch("api", "very long " * 100)) <= 200
    assert lane_branch("api", "users") == "lane-api-users"
