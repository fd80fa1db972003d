"""An answer that arrived is paid for once: whatever ends the program afterwards, the next start applies it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.model.stub import EDIT, Desk, Stub, completion
from tests.executors.looks import wait_for

from budwood.agents.model import changes
from budwood.agents.model.changes import Change

pytestmark = pytest.mark.timeout(60, method="thread")
HELD = """
import os, runpy, signal, sys
from budwood.agents.model import changes
real = getattr(changes, {where!r})
def held(*args, **kwargs):
    if {first}:
        real(args[0][:1], **kwargs)
    open({mark!r}, "w").close()
    signal.pause()
setattr(changes, {where!r}, held)
sys.argv[0] = "x"
runpy.run_module("budwood.agents.model", run_name="__main__")
"""
TWO = f"{EDIT}\nmade/b.py\n<<<<<<< SEARCH\n=======\nb = 1\n>>>>>>> REPLACE\n"


def killed(desk: Desk, base_url: str, *, where: str, first: bool = False) -> None:
    """Run the program until it is about to call a function of `changes`, or has done its first change; then kill it."""
    mark = desk.answer.with_name("mark")
    script = HELD.format(where=where, mark=str(mark), first=first)
    command = [sys.executable, "-c", script, *desk.arguments(base_url)]
    with subprocess.Popen(command, cwd=desk.workspace, env=desk.environ(), stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: mark.exists() or process.poll() is not None)
        process.kill()
        assert process.wait() == -signal.SIGKILL


def test_killed_between_kept_and_applied_a_second_start_asks_nobody(desk: Desk) -> None:
    with Stub(completion(EDIT)) as stub:
        killed(desk, stub.base_url, where="noted")
        assert desk.app.read_text() == "x = 1\ny = 1\n"
        ran = desk.run(stub.base_url, "--price-in", "2", "--price-out", "10", env={"THE_KEY": ""})
    assert ran.outcome == ("ok", 0)
    assert "the model is not asked again" in ran.out
    assert (ran.report["cost_usd"], ran.report["files"]) == (0.003, ["app.py"])
    assert desk.app.read_text() == "x = 2\ny = 1\n"
    assert len(stub.got) == 1


def test_killed_in_the_middle_of_applying_a_second_start_does_the_rest(desk: Desk) -> None:
    with Stub(completion(TWO)) as stub:
        killed(desk, stub.base_url, where="write", first=True)
        assert desk.app.read_text() == "x = 2\ny = 1\n"
        assert not (desk.workspace / "made").exists()
        for _ in range(2):
            ran = desk.run(stub.base_url)
            assert ran.outcome == ("ok", 0)
            assert ran.report["files"] == ["app.py", "made/b.py"]
    assert (desk.app.read_text(), (desk.workspace / "made/b.py").read_text()) == ("x = 2\ny = 1\n", "b = 1\n")
    assert sorted(os.listdir(desk.workspace)) == ["app.py", "made"]
    assert len(stub.got) == 1


def test_a_kept_answer_is_applied_anew_to_a_workspace_that_was_reset(desk: Desk) -> None:
    with Stub(completion(EDIT)) as stub:
        assert desk.run(stub.base_url).outcome == ("ok", 0)
        desk.app.write_text("x = 1\nz = 3\n")
        assert desk.run(stub.base_url).outcome == ("ok", 0)
    assert desk.app.read_text() == "x = 2\nz = 3\n"
    assert len(stub.got) == 1


def test_a_kept_answer_that_is_not_whole_is_asked_for_again(desk: Desk) -> None:
    desk.answer.write_bytes(completion(EDIT).body[:-20])
    with Stub(completion(EDIT)) as stub:
        assert desk.run(stub.base_url).outcome == ("ok", 0)
    assert len(stub.got) == 1
    assert desk.answer.read_bytes() == completion(EDIT).body


def test_an_answer_is_kept_though_it_cannot_be_applied(desk: Desk) -> None:
    with Stub(completion(EDIT.replace("x = 1", "q = 1"))) as stub:
        for _ in range(2):
            ran = desk.run(stub.base_url)
            assert ran.outcome == ("failed", 1)
            assert "block 1 of the answer (app.py)" in ran.report["message"]
    assert len(stub.got) == 1


def test_a_change_that_cannot_be_written_leaves_nothing_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked/inner").touch()
    made = [changes.change("a", b"1", after=b"2"), changes.change("new/dir/b", None, after=b"3")]
    asked = (*(each for each in made if each is not None), Change(path="blocked/inner/c", before=None, after=b"4"))
    with pytest.raises(FileExistsError):
        changes.write(asked, root=tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["a", "blocked", "blocked/inner"]
    assert (tmp_path / "a").read_bytes() == b"1"
