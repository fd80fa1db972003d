"""best-of from Python: started, awaited, and what its attempts made, in git and outside."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.conftest import SCORE, Halves

import budwood
from budwood.errors import NoSuchId, UsageError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(params=[True, False], ids=["git", "copies"])
def place(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Halves]:
    made = Halves(tmp_path / "halves", in_git=request.param)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, made.env[name])
    made.agent("lefty", "echo working; sed -i 's/^1$/5/' left.txt; echo new > added.bin; rm -f gone.txt")
    made.setter("righty", "right", 3)
    try:
        yield made
    finally:
        made.end()


def start(place: Halves, **options: object) -> budwood.Run:
    given = {"prompt": "Raise the numbers.", "n": 2, "agents": ["lefty", "righty"], **options}
    return budwood.start(strategy="best-of", options=given, score=SCORE, directory=place.root)


def test_the_best_is_there_with_its_files_diff_and_output(place: Halves) -> None:
    run = start(place)
    run.wait(60)
    best = run.best
    assert best is not None
    assert (best.task, best.score, best.decision, best.is_best, best.agent) == ("try-1", 6.0, "chosen", True, "lefty")
    assert best.files() == {"added.bin": b"new\n", "left.txt": b"left\n5\nend\n"}
    assert best.changed == ("added.bin", "left.txt")
    assert "-1\n+5\n" in best.diff()
    assert best.output.splitlines()[0] == "working"
    assert [each.task for each in run.candidates()] == ["root", "try-1", "try-2"]
    other = run.candidate("try-2")
    assert other is not None
    assert (other.decision, other.is_best, other.is_valid) == ("kept", False, True)
    assert budwood.open_run(run.name, directory=place.root).best == best
    with pytest.raises(NoSuchId):
        run.candidate("nobody")
    assert run.approve("try-2") == "approved: try-2"
    assert getattr(run.best, "task", None) == "try-2"
    run.reject("try-2")
    assert getattr(run.best, "task", None) == "try-1"
    with pytest.raises(UsageError, match="names its tasks"):
        run.approve()


def test_it_can_be_awaited_and_put_together(place: Halves) -> None:
    async def main() -> budwood.Candidate | None:
        run = start(place, synthesise="union")
        await asyncio.wait_for(run, 60)
        return await asyncio.to_thread(lambda: run.best)

    best = asyncio.run(main())
    assert best is not None
    assert (best.task, best.score) == ("union-1-2", 8.0)
    assert best.changed == ("added.bin", "left.txt", "right.txt")


def test_a_run_without_workspaces_has_no_candidates(tmp_path: Path) -> None:
    run = budwood.start([budwood.command([sys.executable, "-c", ""], id="a")], directory=tmp_path)
    run.wait(30)
    with pytest.raises(UsageError, match="no workspaces"):
        run.best  # noqa: B018
