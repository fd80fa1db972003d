"""Agents that misbehave, a task each in one run: what each left is there, and nobody else was disturbed."""

import hashlib
import os
import re
import socket
from collections.abc import Iterator

import pytest
from tests.workshop.site import Site, do, task

from budwood._core.events import AttemptEnded
from budwood._core.model import AttemptPhase
from budwood.executors.local.access import read_access

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SECRET = "sk-not-to-be-seen-by-anybody"
COMMIT = "git add -A && git commit -qm mine"
HALF_MERGE = """
git checkout -q -b ours && echo ours > README.md && git commit -qam ours
git checkout -q -b theirs HEAD~1 && echo theirs > README.md && git commit -qam theirs
git merge -q ours || true
"""
NESTED = "mkdir -p vendor/lib && cd vendor/lib && git init -q && echo 'int main;' > code.c"
HOOKS = """
mkdir hooks && printf '#!/bin/sh\\ntouch "$(dirname "$0")/../hook-ran-$(basename "$0")"\\n' > hooks/post-checkout
chmod +x hooks/post-checkout && for name in pre-commit post-index-change reference-transaction post-commit; do
  cp hooks/post-checkout hooks/$name; done
git config core.hooksPath hooks && git config core.fsmonitor hooks/post-checkout
"""
SERVER = "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', $BUDWOOD_PORT_1)); s.listen(); time.sleep(600)"
ODD_NAMES = """
printf x > "$(printf 'new\\nline')"; printf x > '"quoted"'; printf x > "$(printf '\\377')"; ln -s /etc/passwd link
"""
COMMANDS = {
    "commits": COMMIT,
    "rebases": f"{COMMIT}; echo more > more.txt; git add -A; git commit -qm more; git rebase -q --onto HEAD~2 HEAD~1",
    "deletes-git": "rm -rf .git",
    "breaks-git": "rm -rf .git; mkdir .git; echo nonsense > .git/HEAD",
    "links-git": "rm -rf .git; ln -s /nonexistent .git",
    "deletes-branch": f"git checkout -q -b mine; {COMMIT}; git checkout -q --detach HEAD~1; git branch -q -D mine",
    "sets-hooks": HOOKS,
    "stashes": "git stash -q -u",
    "half-merge": HALF_MERGE,
    "index-lock": "touch .git/index.lock .git/HEAD.lock .git/config.lock",
    "nested": NESTED,
    "nested-commit": f"{NESTED} && git add -A && git commit -qm theirs && echo dirty >> code.c",
    "crlf": "printf 'a\\r\\nb\\n' > crlf.txt; printf '*.txt text=auto eol=lf\\n' > .gitattributes",
    "fifo": "mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"plug\")'",
    "huge": "mkdir -p ignored && truncate -s 3G ignored/huge.bin",
    "locks-out": "mkdir closed && echo x > closed/file && chmod 000 closed/file closed",
    "odd-names": ODD_NAMES,
    "server": f'setsid python3 -c "{SERVER}" > /dev/null 2>&1 & echo port $BUDWOOD_PORT_1',
    "prints-key": 'echo "my key is $THE_TOKEN"; echo "$THE_TOKEN" | cut -c1-10; echo "${THE_TOKEN}again" >&2',
    "prints-token": 'echo "$BUDWOOD_TOKEN" "${BUDWOOD_TOKEN##*:}"; cat "$BUDWOOD_ACCESS"; env',
}


def _misbehaving(name: str, command: str) -> str:
    first = do("write", path="made.txt", text=f"made by {name}\n")
    keep = do("write", path="ignored/work.log", text=f"log of {name}\n")
    return task(name, (first, keep, do("run", command=command)), env_pass=["THE_TOKEN"])


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Let all of them misbehave in one run, with one directory after the other handed on."""
    site = Site(tmp_path_factory.mktemp("night") / "a project ü")
    site.agents(
        *(_misbehaving(name, command) for name, command in COMMANDS.items()),
        task("hangs", (do("write", path="made.txt", text="before it hung\n"), do("hang")), timeout="1s"),
        task("does-nothing", (do("say", text="All done!"),)),
        task("deletes-itself", (do("write", path="made.txt", text="x"), do("run", command='rm -rf "$PWD"'))),
        task("crashes", (do("write", path="made.txt", text="before the crash\n"), do("crash", signal="SIGSEGV"))),
        slots=4,
        ports=1,
    )
    before = site.belongings()
    said = site.call("run", "plan.toml", env={"THE_TOKEN": SECRET}, code=1)
    (site.root.parent / "said").write_text(said.out + said.err)
    yield site
    site.end()
    assert site.belongings() == before


def ended(night: Site, name: str, phase: str = "succeeded", error: str | None = None) -> AttemptEnded:
    """Look at how one ended; what it had made before it misbehaved must be there."""
    end = night.end_of(name)
    assert (end.phase.value, None if end.error is None else end.error.type) == (phase, error), end.error
    return end


def blob(text: bytes) -> str:
    """Return the id that git gives to a content."""
    return hashlib.sha1(b"blob %d\0%s" % (len(text), text)).hexdigest()


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name not in ("stashes", "deletes-branch", "rebases", "huge")]
)
def test_what_it_made_is_its_candidate_and_what_git_ignores_is_kept(night: Site, name: str) -> None:
    end = ended(night, name)
    assert night.candidate(end)["made.txt"] == blob(f"made by {name}\n".encode())
    assert "ignored/work.log" not in night.candidate(end)
    left = night.restored(end)
    assert left["made.txt"] == f"made by {name}\n".encode()
    assert left["ignored/work.log"] == f"log of {name}\n".encode()


def test_one_that_hangs_is_ended_at_its_time_limit(night: Site) -> None:
    end = ended(night, "hangs", "timed_out", "timeout")
    assert night.restored(end)["made.txt"] == b"before it hung\n"


def test_one_that_changes_nothing_has_not_done_its_task(night: Site) -> None:
    end = ended(night, "does-nothing", "failed", "unchanged")
    assert end.error is not None
    assert end.error.message == "it changed nothing"


def test_one_that_crashes_fails_and_its_work_is_kept(night: Site) -> None:
    end = ended(night, "crashes", "failed", "agent")
    assert night.restored(end)["made.txt"] == b"before the crash\n"


def test_one_that_deletes_its_own_directory_fails_and_the_run_goes_on(night: Site) -> None:
    end = ended(night, "deletes-itself", "failed", "gone")
    assert end.left is None


@pytest.mark.parametrize("name", ["commits", "rebases", "deletes-branch", "stashes", "half-merge", "nested-commit"])
def test_what_it_gave_to_git_can_be_reached_from_its_ref(night: Site, name: str) -> None:
    end = ended(night, name, *(("failed", "unchanged") if name in ("stashes", "deletes-branch") else ()))
    assert end.left is not None
    objects = night.git("rev-list", "--objects", end.left.ref)
    assert blob(f"made by {name}\n".encode()) in objects
    if name == "half-merge":
        assert blob(b"ours\n") in objects
        assert blob(b"theirs\n") in objects


def test_hooks_and_monitors_that_it_set_are_not_run_by_us(night: Site) -> None:
    left = night.restored(ended(night, "sets-hooks"))
    assert not [name for name in left if "hook-ran" in name]
    assert "hooks/post-checkout" in left


def test_files_of_a_repository_inside_are_files(night: Site) -> None:
    for name, content in (("nested", b"int main;\n"), ("nested-commit", b"int main;\ndirty\n")):
        end = ended(night, name)
        assert night.candidate(end)["vendor/lib/code.c"] == blob(content)
        left = night.restored(end)
        assert left["vendor/lib/code.c"] == content
        assert "vendor/lib/.git/HEAD" in left


def test_line_ends_are_kept_as_they_are(night: Site) -> None:
    left = night.restored(ended(night, "crlf"))
    assert left["crlf.txt"] == b"a\r\nb\n"
    assert left["notes.txt"] == b"one\r\ntwo\r\n"


def test_names_and_links_come_back_as_they_were(night: Site) -> None:
    left = night.restored(ended(night, "odd-names"))
    assert {"new\nline", '"quoted"', os.fsdecode(b"\xff")} <= left.keys()
    assert left["link"] == b"-> /etc/passwd"


def test_files_that_nobody_may_read_are_kept(night: Site) -> None:
    assert night.restored(ended(night, "locks-out"))["closed/file"] == b"x\n"


def test_pipes_and_sockets_are_named(night: Site) -> None:
    left = ended(night, "fifo").left
    assert left is not None
    assert set(left.not_kept) == {"pipe", "plug"}


def test_a_file_that_is_too_large_is_named_and_stays_where_it_is(night: Site) -> None:
    end = ended(night, "huge")
    assert end.left is not None
    assert end.left.not_kept == ("ignored/huge.bin",)
    assert night.restored(end)["ignored/work.log"] == b"log of huge\n"
    [file] = night.pool.glob("*/tree/ignored/huge.bin")
    assert file.stat().st_size == 3 * 1024**3
    assert "too large to be kept: ignored/huge.bin" in (file.parents[2] / "shut.json").read_text()
    assert "attempt 1 at huge left what could not be kept: ignored/huge.bin" in _said(night)


def test_a_server_that_it_left_is_gone(night: Site) -> None:
    ended(night, "server")
    port = int(night.log_of("server").split("port ")[1].split()[0])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_key_that_it_printed_is_nowhere(night: Site) -> None:
    ended(night, "prints-key")
    log = night.log_of("prints-key")
    assert SECRET not in log
    assert "my key is " in log
    for folder in (night.root / ".budwood", night.home, night.pool):
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_size < 1_000_000:
                assert SECRET.encode() not in path.read_bytes(), path


def test_the_token_it_prints_and_what_tokens_are_made_with_are_masked(night: Site) -> None:
    ended(night, "prints-token")
    [access] = (night.root / ".budwood").rglob("access.json")
    secret = read_access(access).secret
    log = night.log_of("prints-token")
    assert secret not in log
    assert '"secret":"[masked]"' in log
    assert re.findall(r"BUDWOOD_TOKEN=(.*)", log) == [f"{night.state().id}:{_number(night)}.1:[masked]"]
    for path in (night.root / ".budwood" / "runs").rglob("*"):
        if path.is_file() and path != access:
            assert secret.encode() not in path.read_bytes(), path


def _number(night: Site) -> int:
    return next(task.number for task in night.state().tasks if task.spec.id == "prints-token")


def test_no_attempt_changed_what_is_the_users(night: Site) -> None:
    assert [end.task for end in night.ends() if end.left is not None and end.left.outside] == []
    assert "outside its workspace" not in _said(night)


def test_every_directory_is_back_or_shut_with_a_reason(night: Site) -> None:
    assert list(night.pool.glob("*/lease.json")) == []
    shut = {path.parent.name: path.read_text() for path in night.pool.glob("*/shut.json")}
    assert all("reason" in text for text in shut.values())
    assert len(shut) <= 3, shut


def test_all_others_ended_by_themselves(night: Site) -> None:
    phases = {str(end.task): end.phase for end in night.ends()}
    assert len(phases) == len(COMMANDS) + 4
    assert AttemptPhase.ABANDONED not in phases.values()


def _said(night: Site) -> str:
    return (night.root.parent / "said").read_text()


def test_edits_inside_of_a_submodule_are_no_part_of_a_candidate_and_that_is_said(site: Site) -> None:
    site.git("init", "-q", str(site.root.parent / "lib"))
    site.git("commit", "-q", "--allow-empty", "-m", "first", cwd=site.root.parent / "lib")
    allowed = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    site.git(*allowed, "add", str(site.root.parent / "lib"), "lib")
    site.git("commit", "-qm", "with a submodule")
    edit = do("write", path="lib/code.c", text="int main;")
    site.agents(
        task("only-there", (edit,)),
        task("there-too", (edit, do("write", path="made.txt", text="x"))),
        setup=f"git {' '.join(allowed)} update --init",
        slots=1,
    )
    said = site.call("run", "plan.toml", code=1).err
    error = site.end_of("only-there").error
    assert error is not None
    words = "inside of submodules, which are kept and no part of its candidate: lib/code.c"
    assert (error.type, error.message) == ("unchanged", f"it changed nothing but files {words}")
    assert f"warning: attempt 1 at there-too changed files {words}" in said
    assert f"changed files {words}" in site.call("show", "plan", "there-too").out
    assert f"changed files {words}" in site.call("story", "plan", "there-too").out
    assert site.restored(site.end_of("there-too"))["lib/code.c"] == b"int main;"
