"""Agents in a sandbox, a real one: what they try and may not, what they may, and that all else is as without."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.cli.world import wait_for
from tests.workshop.kept_in import KEY, MADE, box, command, end, kept_in, sh
from tests.workshop.site import Site, do, task

from budwood._core.model import AttemptPhase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
__all__ = ["box"]


# --- what is kept from them ---


def test_nothing_of_the_users_can_be_changed_or_read(box: Site) -> None:
    there, home = box.root, box.home
    tries = {
        "file": f"echo evil > '{there}/README.md'",
        "new": f"echo evil > '{there}/evil.txt'",
        "git": f"git -C '{there}' branch evil",
        "hook": f"echo evil > '{there}/.git/hooks/post-merge'",
        "object": f"echo evil > '{there}/.git/objects/evil'",
        "store": f"echo evil > '{there}/.budwood/store.db'",
        "log": 'echo evil > "$(dirname "$BUDWOOD_USAGE")/log"',
        "pool": 'echo evil > "$BUDWOOD_WORKSPACE/../lease.json"',
        "other": 'echo evil > "$BUDWOOD_WORKSPACE/../../w2/tree/evil"',
        "system": "echo evil > /usr/bin/evil",
        "root": "echo evil > /evil",
        "key": f"cat '{home}/.ssh/id_ed25519'",
        "netrc": "cat ~/.netrc",
        "checkout": f"cat '{there}/README.md'",
        "settings": f"cat '{there}/.git/config'",
        "shadow": "cat /etc/shadow",
    }
    kept_in(box, sh("a", "; ".join(f"({command}) && echo DONE {name}" for name, command in tries.items())))
    box.call("run", "plan.toml")
    left = end(box).left
    assert left is not None
    assert left.outside == ()
    assert "DONE" not in box.log_of("a")
    assert KEY not in box.log_of("a")


def test_the_home_directory_is_one_of_their_own(box: Site) -> None:
    kept_in(
        box,
        sh("a", "echo x > ~/.bashrc && cat ~/.bashrc && ls -A ~"),
        sh("b", "ls -A ~", after=["a"], allow_unchanged=True),
    )
    box.call("run", "plan.toml")
    assert box.log_of("a").splitlines()[:2] == ["x", ".bashrc"]
    assert ".bashrc" not in box.log_of("b")


def test_no_other_process_is_seen(box: Site) -> None:
    box.env["OUTSIDE"] = str(os.getpid())
    look = "cat /proc/$OUTSIDE/environ; kill -0 $OUTSIDE && echo KILLED; ps -A -o args=; cat /proc/1/environ"
    kept_in(box, sh("a", look, env_pass=["OUTSIDE"]))
    box.call("run", "plan.toml", env={"THE_USERS_SECRET": KEY})
    log = box.log_of("a")
    assert KEY not in log
    assert "KILLED" not in log.splitlines()
    assert "budwood.agents.script" in log
    assert "run plan.toml" not in log


def test_it_has_no_rights_to_mount_what_was_left_out(box: Site) -> None:
    tries = ("mount -o remount,rw,bind /usr", "umount /tmp", "unshare -rm mount -o remount,rw,bind /usr")
    command = "; ".join(f"{each} && echo DONE" for each in tries)
    kept_in(box, sh("a", f"{command}; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status"))
    box.call("run", "plan.toml")
    log = box.log_of("a")
    assert "DONE" not in log
    assert "CapEff:\t0000000000000000" in log
    assert "NoNewPrivs:\t1" in log


def test_what_is_linked_can_be_read_and_not_changed(box: Site) -> None:
    look = "cd ignored/modules; cat lib.js; echo evil > lib.js || echo refused; touch new || echo refused"
    kept_in(box, sh("a", look), link=["ignored/modules"])
    box.call("run", "plan.toml")
    assert box.log_of("a").count("refused") == 2
    assert "linked" in box.log_of("a")


def test_what_else_is_named_can_be_read_or_changed(box: Site) -> None:
    for name in ("cache", "read"):
        (box.root.parent / name).mkdir()
        (box.root.parent / name / "there").write_text(f"{name}\n")
    read, cache = box.root.parent / "read", box.root.parent / "cache"
    look = f"cat ~/.netrc '{read}/there' '{cache}/there'; echo new > '{cache}/new'; touch '{read}/new' || echo refused"
    kept_in(box, sh("a", look), sandbox_read=["~/.netrc", "../read"], sandbox_write=[str(cache)])
    said = box.call("run", "plan.toml")
    assert f"home directory of their own, {cache}" in said.err
    assert [line for line in (KEY, "read", "cache", "refused") if line not in box.log_of("a")] == []
    assert (cache / "new").read_text() == "new\n"
    assert not (read / "new").exists()


# --- what they have ---


def test_git_works_in_the_workspace(box: Site) -> None:
    command = "git log --format=%s && git checkout -q -b mine && git add -A && git commit -qm mine && git stash list"
    kept_in(box, sh("a", f"{command} && git gc -q && git fsck && echo DONE"))
    box.call("run", "plan.toml")
    left = end(box).left
    assert left is not None
    assert "DONE" in box.log_of("a")
    assert "mine" in box.git("log", "--format=%s", left.commit).splitlines()


@pytest.mark.parametrize("kind", ["clone", "copy"])
def test_what_is_kept_is_byte_for_byte_as_without(box: Site, kind: str) -> None:
    made = (
        MADE,
        do("append", path="README.md", text="more\n"),
        do("write", path="ignored/log", text="a log\n"),
        do("run", command="printf 'a\\r\\nb' > crlf.txt; mkdir -p n && cd n && git init -q && echo c > c; chmod +x c"),
        do("run", command="ln -s /etc/passwd link; mkdir closed; echo x > closed/file; chmod 000 closed/file closed"),
    )
    box.agents(task("a", made), workspace=kind, setup="echo $TMPDIR > ignored-by-nobody.txt; rm ignored-by-nobody.txt")
    (box.root / "kept.toml").write_text(
        (box.root / "plan.toml").read_text().replace("[run]", '[run]\nsandbox = "bwrap"')
    )
    for file in ("plan.toml", "kept.toml"):
        box.call("run", file)
    without, within = box.end_of("a").left, box.end_of("a", name="kept").left
    assert without is not None
    assert within is not None
    assert (within.files, within.lines_added) == (without.files, without.lines_added)
    if kind == "clone":
        assert within.tree == without.tree
        left = [box.restored(box.end_of("a", name=name)) for name in ("plan", "kept")]
        # A repository that is made has times in it.
        assert [{p: b for p, b in each.items() if "n/.git" not in p} for each in left[:1]] == [
            {p: b for p, b in each.items() if "n/.git" not in p} for each in left[1:]
        ]


def test_costs_input_and_a_check_are_as_without(box: Site) -> None:
    agent = 'cat > prompt.txt; echo $TMPDIR > $TMPDIR/x; cat /tmp/x; echo \'{"cost_usd": 0.25}\' > "$BUDWOOD_USAGE"'
    (box.root / "budwood.toml").write_text(
        f"[agents.mine]\nagent = 'command'\ncommand = {json.dumps(['sh', '-c', agent])}\n"
    )
    kept_in(box, task("a", "Do this.", agent="mine", check="grep -q 'Do this.' prompt.txt && test ! -e /nonexistent"))
    box.call("run", "plan.toml")
    found = end(box)
    assert found.usage.cost_usd == 0.25
    assert found.usage.problem == ""
    assert "/tmp\n" in box.log_of("a")


def test_an_agent_has_its_own_state_and_cannot_change_its_settings(box: Site) -> None:
    state = box.home / ".claude"
    state.mkdir()
    for name in (".credentials.json", "settings.json"):
        (state / name).write_text('{"a": 1}')
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "ok", "total_cost_usd": 0.5}
    program = box.root.parent / "fake claude"
    program.write_text(
        "#!/bin/sh\ncat ~/.claude/.credentials.json; echo new > ~/.claude/session; echo $IS_SANDBOX\n"
        "echo evil > ~/.claude/settings.json || echo refused; cat ~/.netrc; touch made\n"
        f"echo '{json.dumps(result)}'\n"
    )
    program.chmod(0o755)
    (box.root / "budwood.toml").write_text(f"[agents.claude]\ncommand = {json.dumps([str(program)])}\n")
    kept_in(box, task("a", "Do it.", agent="claude"))
    said = box.call("run", "plan.toml")
    assert "changing ~/.claude, where claude has its login" in said.err
    log = box.log_of("a")
    assert "refused" in log
    assert KEY not in log
    assert '{"a": 1}' in log
    told = end(box).told
    assert told is not None
    assert told.list_usd == 0.5  # it has read its login, which is a subscription's
    assert (state / "session").read_text() == "new\n"
    assert (state / "settings.json").read_text() == '{"a": 1}'
    shutil.rmtree(state)


# --- how they end ---


def test_exit_codes_and_signals_are_the_programs_own(box: Site) -> None:
    codes = {
        "seven": "exit 7",
        "segv": "kill -SEGV $$",
        "term": "kill -TERM $$",
        "much": "exit 139",
        "all": "kill -9 -1",
    }
    for sandbox in ("none", "bwrap"):
        tables = (command(name, run) for name, run in codes.items() if sandbox == "bwrap" or name != "all")
        kept_in(box, *tables, sandbox=sandbox, workspace="clone", breaker=0)
        box.call("run", "plan.toml", "--again", code=1)
    ends = [{str(each.task): (each.exit_code, each.signal) for each in box.ends(name)} for name in ("plan", "plan-2")]
    assert ends[1].pop("all") == (None, 9)  # what stood around it was killed as well
    assert ends[0] == ends[1]
    assert ends[1] == {"seven": (7, None), "segv": (None, 11), "term": (None, 15), "much": (139, None)}


def test_a_program_that_is_not_seen_is_not_found(box: Site) -> None:
    kept_in(box, command("a", "x"), workspace="clone")
    plan = (box.root / "plan.toml").read_text().replace('run = "x"', 'run = ["/nonexistent/program", "x"]')
    (box.root / "plan.toml").write_text(plan)
    box.call("run", "plan.toml", code=1)
    error = box.end_of("a").error
    assert error is not None
    assert error.type == "not_found"
    assert error.message == "/nonexistent/program: No such file or directory (os error 2) (in the sandbox)"


def test_a_sandbox_that_cannot_be_made_is_no_failure_of_the_program(box: Site) -> None:
    kept_in(box, command("a", "true"), workspace="clone", sandbox_write=["../gone"])
    gone = box.root.parent / "gone"
    gone.mkdir()
    programs = box.root.parent / "programs"
    programs.mkdir()
    real = shutil.which("bwrap", path=box.env["PATH"])
    # Somebody removes it between the moment it was looked at and the moment it is mounted.
    (programs / "bwrap").write_text(f"#!/bin/sh\ncase $* in *gone*) rmdir '{gone}';; esac\nexec '{real}' \"$@\"\n")
    (programs / "bwrap").chmod(0o755)
    box.call("run", "plan.toml", env={"PATH": f"{programs}:{box.env['PATH']}"}, code=1)
    error = box.end_of("a").error
    assert error is not None
    assert error.type == "spawn"
    assert f"the sandbox could not be made: bwrap: Can't find source path {gone}" in error.message


def test_what_is_left_running_is_told_to_end_and_counted(box: Site) -> None:
    server = "trap 'echo told > told; exit' TERM; touch ready; while :; do sleep 0.05; done"
    start = f'setsid sh -c "{server}" > /dev/null 2>&1 & until [ -e ready ]; do sleep 0.02; done'
    kept_in(box, sh("a", start), sh("b", "true"))
    box.call("run", "plan.toml")
    assert box.restored(end(box))["told"] == b"told\n"
    assert end(box).measure.ended_processes >= 1
    assert end(box, "b").measure.ended_processes == 0


def test_at_the_time_limit_it_has_its_grace_and_nothing_is_left(box: Site) -> None:
    polite = "trap 'echo told > told; exit 3' TERM; echo begun; while :; do sleep 0.05; done"
    rude = "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & while :; do sleep 1; done"
    tables = (command("a", polite, timeout="2s"), command("b", rude, timeout="2s"))
    kept_in(box, *tables, workspace="clone", grace="1s")
    box.call("run", "plan.toml", code=1)
    assert [box.end_of(name).phase for name in "ab"] == [AttemptPhase.TIMED_OUT] * 2
    assert box.end_of("a").exit_code == 3
    assert box.restored(box.end_of("a"))["told"] == b"told\n"
    assert box.end_of("b").signal == signal.SIGKILL


def test_the_memory_limit_holds(box: Site) -> None:
    eat = "python3 -c 'import time; x = bytearray(400_000_000); time.sleep(30)'"
    kept_in(box, command("a", eat, memory="150MB"), workspace="clone")
    box.call("run", "plan.toml", code=1)
    error = box.end_of("a").error
    assert error is not None
    assert error.type == "memory"


# --- drivers and supervisors that die ---


@pytest.fixture
def hall(box: Site) -> Path:
    """Give a directory in which a task waits to be let go."""
    folder = box.root.parent / "hall"
    folder.mkdir()
    return folder


def held(hall: Path, **keys: object) -> str:
    """Write a task that waits."""
    wait = f"touch '{hall}/began'; until [ -e '{hall}/go' ]; do sleep 0.02; done"
    return task("a", (MADE, do("run", command=wait)), **keys)


def test_a_killed_driver_leaves_it_running_and_the_next_adopts_it(box: Site, hall: Path) -> None:
    kept_in(box, held(hall), sandbox_write=[str(hall)])
    driver = box.start("run", "plan.toml")
    wait_for((hall / "began").exists, what="it to begin")
    driver.kill()
    driver.communicate()
    (hall / "began").unlink()
    again = box.start("run", "plan.toml")
    wait_for(lambda: box.driver() is not None, what="another driver")
    (hall / "go").touch()
    assert box.finish(again).code == 0
    assert not (hall / "began").exists()
    assert box.restored(end(box))["made.txt"] == b"made\n"


def test_a_killed_supervisor_takes_it_along_and_it_is_tried_again(box: Site, hall: Path) -> None:
    kept_in(box, held(hall, retries=0), sandbox_write=[str(hall)], backoff="10ms")
    driver = box.start("run", "plan.toml")
    wait_for((hall / "began").exists, what="it to begin")
    [info] = (box.root / ".budwood" / "runs").glob("*/slots/0/info.json")
    (hall / "go").touch()
    (hall / "go").unlink()
    os.kill(json.loads(info.read_text())["pid"], signal.SIGKILL)
    wait_for(lambda: len(box.ends()) == 1, what="its end")
    (hall / "go").touch()
    assert box.finish(driver).code == 0
    assert [each.phase for each in box.ends()] == [AttemptPhase.ABANDONED, AttemptPhase.SUCCEEDED]


def test_without_bwrap_a_run_is_not_gone_on_with_and_what_runs_goes_on(box: Site, hall: Path) -> None:
    kept_in(box, held(hall), sandbox_write=[str(hall)])
    driver = box.start("run", "plan.toml")
    wait_for((hall / "began").exists, what="it to begin")
    driver.kill()
    driver.communicate()
    folders = [p for p in box.env["PATH"].split(":") if not Path(p, "bwrap").exists()]
    said = box.call("resume", "plan", env={"PATH": ":".join(folders)}, code=None)
    if not shutil.which("bwrap", path=":".join(folders)):
        assert said.code == 2
        assert 'sandbox is "bwrap", and there is no program bwrap on the PATH' in said.err
    (hall / "go").touch()
    box.call("resume", "plan")
    assert end(box).attempt == 1


# --- ways around it ---


def test_what_an_attempt_lays_among_its_agents_files_leads_nobody_outside(box: Site) -> None:
    victim = box.home / ".netrc"
    there = '"$(dirname "$BUDWOOD_PROMPT_FILE")"'
    agent = f"cat; ln -s '{victim}' {there}/prompt-2.md; touch made; [ $BUDWOOD_ATTEMPT = 2 ]"
    (box.root / "budwood.toml").write_text(
        f"[agents.mine]\nagent = 'command'\ncommand = {json.dumps(['sh', '-c', agent])}\n"
    )
    lay = f'rm -f "$BUDWOOD_PROMPT_FILE"; ln -sf \'{victim}\' "$BUDWOOD_PROMPT_FILE"; true'
    kept_in(box, task("a", "Do this.", agent="mine", retries=1), setup=lay, backoff="10ms")
    box.call("run", "plan.toml")
    assert victim.read_text() == KEY
    for attempt in (1, 2):
        log = box.call("logs", "plan", "a", "--attempt", str(attempt)).out
        assert "Do this." in log
        assert KEY not in log


def test_a_link_that_one_step_leaves_at_home_leads_the_next_nowhere(box: Site) -> None:
    victim = box.root.parent / "victim"
    victim.mkdir()
    lay = f"mv ~/state ~/moved; rm -rf ~/state; ln -s '/oldroot{victim}' ~/state; ls -ld ~/state"
    kept_in(box, sh("a", "cat README.md"), setup=lay)
    box.call("run", "plan.toml")
    end(box)
    assert "state -> /oldroot" in box.log_of("a")
    assert list(victim.iterdir()) == []


def test_a_strategy_that_asks_for_calls_is_refused_them(box: Site) -> None:
    (box.root / "led.py").write_text(
        "from budwood.strategies import Strategy\nfrom budwood._core.model import TaskSpec\n"
        "class Led(Strategy):\n    window = 1\n    def ask(self, number, random):\n"
        "        return [TaskSpec(id='call', function='os:getcwd')] if number == 0 else ()\n"
        "    def tell(self, told):\n        pass\n"
    )
    kept_in(box, workspace="clone", strategy="led:Led")
    box.call("run", "plan.toml", code=1)
    error = box.end_of("call").error
    assert error is not None
    assert (error.type, error.message) == ("setup", "it calls a function, which no sandbox is made for")
    (box.root / "led.py").unlink()
    shutil.rmtree(box.root / "__pycache__", ignore_errors=True)


def test_it_is_told_of_a_run_that_is_looked_at(box: Site) -> None:
    kept_in(box, sh("a", "true"), network=["example.org"])
    box.call("run", "plan.toml")
    assert "sandbox   bwrap, network: example.org" in box.call("status", "plan").out
    assert "sandbox   bwrap, network: example.org" in box.call("show", "plan", "a").out
    shape = json.loads(box.call("status", "plan", "--json").out)
    assert shape["sandbox"] == {"kind": "bwrap", "network": ["example.org"]}


def test_a_run_that_goes_on_with_a_sandbox_and_another_agent_has_both_at_once(box: Site) -> None:
    inside = 'echo x > "$BUDWOOD_TASK.txt"; test "$IS_SANDBOX" = 1'
    (box.root / "budwood.toml").write_text(f"[agents.other]\nagent = \"command\"\ncommand = ['sh', '-c', '{inside}']\n")
    first = sh("a", "echo a > a.txt")
    box.agents(first, sh("b", inside), slots=1, max_attempts=1, retries=0)
    box.call("run", "plan.toml", code=3)
    later = task("c", "see to it", agent="other")
    box.agents(first, sh("b", inside), later, slots=1, max_attempts=9, retries=0, sandbox="bwrap")
    said = box.call("run", "plan.toml").err
    assert "agents is now script, other\n" in said
