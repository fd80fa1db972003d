"""`budwood store`, and what every command says of a store that is not as it should be."""

import os
import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest
from tests.support.program import call, in_terminal
from tests.support.told import Told, ended
from tests.support.unprivileged import needs_root, run_as_nobody

from budwood._core.model import TaskSpec

READERS = [("ls",), ("status",), ("show",), ("story",), ("why",), ("logs",), ("store", "verify"), ("watch",)]


def store_file(root: Path) -> Path:
    return root / ".budwood" / "store.db"


def sql(root: Path, statement: str) -> None:
    """Change a store behind its back."""
    connection = sqlite3.connect(store_file(root))
    connection.execute(statement)
    connection.commit()
    connection.close()


class TestVerify:
    def test_a_sound_store_is_proved(self, over: Told) -> None:
        ran = call("store", "verify", cwd=over.root)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == f"{store_file(over.root)}: 1 run, {over.state.number} events: all is well\n"

    def test_a_run_that_is_driven_can_be_verified(self, night: Told) -> None:
        assert call("store", "verify", "--run", "night", cwd=night.root).code == 0

    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            (
                "UPDATE task SET state = 'done' WHERE number = 1",
                'run night: task 1: state is "done", the events say "failed"',
            ),
            ("UPDATE run SET cost_usd = 9", "run night: cost_usd is 9.0, the events say 0.25"),
            (
                "UPDATE attempt SET exit_code = 0 WHERE task = 1 AND number = 2",
                "attempt 1.2: exit_code is 0, the events say 3",
            ),
            ("DELETE FROM attempt WHERE task = 0", "run night: attempt 0.1 is missing from the table"),
            ("DELETE FROM dependency WHERE task = 2", "run night: dependency 2 on 1 is missing from the table"),
            (
                "INSERT INTO dependency SELECT run, 0, 5, 1 FROM task LIMIT 1",
                "dependency 0 on 5 is in the table, but no event made it",
            ),
            ("UPDATE log SET data = x'00', size = 900 WHERE task = 0", "the log of attempt 1 of task 0"),
            ("DELETE FROM event WHERE number = 5", "event 5 is missing"),
            ("UPDATE event SET body = '{' WHERE number = 5", "event 5"),
            ("UPDATE event SET kind = 'surprise' WHERE number = 5", "'surprise', which this version does not know"),
        ],
    )
    def test_every_difference_is_named(self, over: Told, statement: str, said: str) -> None:
        sql(over.root, statement)
        ran = call("store", "verify", cwd=over.root)
        assert ran.code == 1
        assert said in ran.out
        assert "the file is left as it is" in ran.out
        problems = call("store", "verify", "--json", cwd=over.root).json["problems"]
        assert isinstance(problems, list)
        assert any(said in problem for problem in problems)

    def test_one_damaged_run_does_not_hide_the_others(self, over: Told) -> None:
        ended(over.root, name="other", run="0ther00000").close()
        sql(over.root, "DELETE FROM event WHERE run = 1 AND number = 5")
        sql(over.root, "UPDATE task SET state = 'done' WHERE run = 2 AND number = 1")
        out = call("store", "verify", cwd=over.root).out
        assert "event 5 is missing" in out
        assert "run other: task 1: state" in out


class TestExportAndImport:
    def test_a_run_survives_the_journey(self, over: Told, tmp_path: Path, there: Path) -> None:
        file = tmp_path / "night.jsonl"
        ran = call("store", "export", "night", str(file), cwd=over.root)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err == f"run night written to {file}: {over.state.number} events\n"
        ran = call("store", "import", str(file), cwd=there)
        assert ran.code == 0
        assert "drive it in one place only" in ran.err
        for command in (("story", "--json"), ("show", "--decisions"), ("logs",)):
            assert call(*command, cwd=there).raw == call(*command, cwd=over.root).raw
        assert call("store", "verify", cwd=there).code == 0

    def test_it_goes_through_a_pipe(self, over: Told, there: Path) -> None:
        exported = call("store", "export", "night", cwd=over.root).raw
        assert call("store", "import", "-", cwd=there, stdin=exported).code == 0
        assert call("ls", cwd=there).out.count("night") == 1

    def test_a_terminal_is_spared(self, over: Told) -> None:
        code, shown = in_terminal("store", "export", "night", cwd=over.root)
        assert code == 2
        assert "budwood store export night night.jsonl" in shown

    def test_a_file_is_not_overwritten(self, over: Told, tmp_path: Path) -> None:
        (tmp_path / "mine").write_text("precious")
        assert call("store", "export", "night", str(tmp_path / "mine"), cwd=over.root).code == 2
        assert (tmp_path / "mine").read_text() == "precious"

    def test_a_torn_export_is_refused(self, over: Told, there: Path) -> None:
        exported = call("store", "export", "night", cwd=over.root).raw
        ran = call("store", "import", "-", cwd=there, stdin=exported[: len(exported) // 2])
        assert ran.code == 2

    def test_runs_of_another_store_are_moved_and_fenced_off_there(self, over: Told, there: Path) -> None:
        ran = call("store", "import", str(store_file(over.root)), "--run", "night", cwd=there)
        assert ran.code == 0
        assert "moved here" in ran.err
        assert "refuses to drive it" in ran.err
        assert call("story", "--json", cwd=there).raw == call("story", "--json", cwd=over.root).raw
        refused = call("retry", "night", cwd=over.root)
        assert refused.code == 4
        assert "was moved to" in refused.err

    def test_a_run_that_was_moved_is_said_to_be_elsewhere(self, night: Told, there: Path) -> None:
        for task in ("docs", 7):
            night.end(task)
        night.leave()
        assert call("store", "import", str(store_file(night.root)), cwd=there).code == 0
        place = store_file(there)
        for words in (("status",), ("why",), ("why", "night", "site")):
            ran = call(*words, cwd=night.root)
            assert f"moved to {place}" in " ".join(ran.out.split())
            assert ran.err == f"\nhint: budwood status night --store {place}\n"
        overview = call(cwd=night.root).out
        assert f"night was moved to {place}" in overview
        assert "Needs you" not in overview
        for command in ("resume", "pause", "cancel", "retry"):
            ran = call(command, "night", cwd=night.root)
            assert (ran.code, ran.err) == (4, f"error: run night was moved to {place}\n\nhint: use --store {place}\n")
        assert night.store.requests(night.run) == []

    def test_two_stores_in_one_directory_can_exchange_runs(self, over: Told) -> None:
        beside = str(over.root / ".budwood" / "other.db")
        assert call("store", "import", str(store_file(over.root)), "--store", beside, cwd=over.root).code == 0
        assert call("store", "verify", "--store", beside, cwd=over.root).code == 0

    def test_a_driven_run_is_not_moved(self, night: Told, there: Path) -> None:
        (there / ".budwood" / "runs" / night.run).mkdir(parents=True)
        ran = call("store", "import", str(store_file(night.root)), cwd=there)
        assert ran.code == 2
        assert "run night is already driven by pid 4242 on host" in ran.err

    def test_a_run_whose_attempts_are_out_of_reach_is_not_moved(self, night: Told, there: Path) -> None:
        night.leave()
        ran = call("store", "import", str(store_file(night.root)), cwd=there)
        assert ran.code == 2
        assert "2 attempts of run night may still run, out of reach from here" in ran.err

    def test_what_is_neither_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("hello\n")
        assert call("store", "import", "x", cwd=tmp_path).code == 2
        ran = call("store", "import", "nothing", cwd=tmp_path)
        assert ran.code == 2
        assert ran.err == (
            f"error: {tmp_path / 'nothing'} cannot be read: No such file or directory\n\n"
            "hint: give a file that budwood store export has written, or another store\n"
        )

    def test_a_path_that_is_right_from_the_project_is_suggested(self, over: Told) -> None:
        inside = over.root / "inside"
        inside.mkdir()
        ran = call("store", "import", ".budwood/store.db", "--store", "new.db", cwd=inside)
        assert ran.code == 2
        assert ran.err == (
            f"error: {inside / '.budwood/store.db'} cannot be read: No such file or directory\n\n"
            f"hint: a relative path begins at the current directory: did you mean {store_file(over.root)}?\n"
        )

    def test_a_run_that_is_not_there_leaves_no_empty_store(self, over: Told, there: Path) -> None:
        before = sorted(there.rglob("*"))
        ran = call("store", "import", str(store_file(over.root)), "--run", "nope", "--store", "new.db", cwd=there)
        assert ran.code == 2
        assert sorted(there.rglob("*")) == before


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+asyncpg://pw:s3cret@h/db",
        "mysql://u:s3cret@h/db",
        "postgresql//pw:s3cret@h/db",
        "postgresql:/pw:s3cret@h/db",
        "host=h password=s3cret dbname=d",
    ],
)
class TestMisspeltAddresses:
    def test_no_command_shows_the_password_or_makes_anything(self, tmp_path: Path, address: str) -> None:
        (tmp_path / "plan.toml").write_text('[[task]]\nid = 1\nrun = "true"\n')
        for words in (("ls",), ("run", "plan.toml"), ("run", "plan.toml", "--dry-run"), ("store", "verify")):
            ran = call(*words, "--store", address, cwd=tmp_path)
            assert (ran.code, ran.out) == (2, "")
            assert "s3cret" not in ran.err
            assert "postgresql://USER@HOST/DATABASE" in ran.err
        assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]

    def test_none_is_imported_from(self, tmp_path: Path, address: str) -> None:
        ran = call("store", "import", address, cwd=tmp_path)
        assert (ran.code, ran.out) == (2, "")
        assert "s3cret" not in ran.err
        assert list(tmp_path.iterdir()) == []

    def test_one_in_the_settings_is_not_shown(self, tmp_path: Path, address: str) -> None:
        (tmp_path / "budwood.toml").write_text(f'[machine]\nstore = "{address}"\n')
        for words in (("config", "show"), ("config", "show", "--json"), ("doctor",), ()):
            ran = call(*words, cwd=tmp_path)
            assert "s3cret" not in ran.out + ran.err
            assert "postgresql://USER@HOST/DATABASE" in ran.out + ran.err


@pytest.mark.parametrize("name", ["a:b.db", "me@home.db", "inside/store.db"])
def test_a_store_may_have_any_name_that_is_no_address(over: Told, name: str) -> None:
    (over.root / "inside").mkdir()
    assert call("store", "import", str(store_file(over.root)), "--store", name, cwd=over.root).code == 0
    assert "night" in call("ls", "--store", name, cwd=over.root).out
    assert (over.root / name).is_file()


@pytest.mark.parametrize("command", READERS, ids=" ".join)
class TestBadStores:
    def test_a_missing_one_is_not_made(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        ran = call(*command, cwd=tmp_path)
        assert (ran.code, ran.out) == (2, "")
        assert f"there is no store at {store_file(tmp_path)}" in ran.err
        assert "hint: " in ran.err
        assert list(tmp_path.iterdir()) == []

    def test_a_newer_one_is_left_alone(self, over: Told, command: tuple[str, ...]) -> None:
        sql(over.root, "UPDATE meta SET value = '99' WHERE name = 'schema'")
        before = store_file(over.root).read_bytes()
        ran = call(*command, cwd=over.root)
        assert ran.code == 2
        assert "was written by a newer budwood" in ran.err
        assert "pip install --upgrade budwood" in ran.err
        assert store_file(over.root).read_bytes() == before

    def test_a_damaged_one_is_named_and_kept(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        store_file(tmp_path).parent.mkdir()
        store_file(tmp_path).write_bytes(b"not a database " * 500)
        ran = call(*command, cwd=tmp_path)
        assert ran.code == 4
        assert f"{store_file(tmp_path)} is damaged" in ran.err
        assert store_file(tmp_path).read_bytes() == b"not a database " * 500

    def test_somebody_elses_database_is_refused(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        store_file(tmp_path).parent.mkdir()
        sql(tmp_path, "CREATE TABLE mine (x)")
        ran = call(*command, cwd=tmp_path)
        assert ran.code == 2
        assert "database of another program" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write what is read-only; the test below runs this")
def test_a_read_only_store_can_be_read(tmp_path: Path) -> None:
    told = ended(tmp_path)
    told.close()
    folder = tmp_path / ".budwood"
    for path in folder.glob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    try:
        for command in READERS[:-1]:
            ran = call(*command, cwd=tmp_path)
            assert (ran.code, ran.err.startswith("error")) == (0, False), command
    finally:
        folder.chmod(0o755)


@needs_root
@pytest.mark.slow
def test_the_same_as_a_user_without_rights() -> None:
    run_as_nobody(["tests/cli/test_store.py"])


def test_the_store_can_be_somewhere_else(tmp_path: Path) -> None:
    told = Told(tmp_path / "a", [TaskSpec(id=1, run="true")])
    told.close()
    elsewhere = tmp_path / "elsewhere.db"
    shutil.copy(store_file(tmp_path / "a"), elsewhere)
    assert "night" in call("ls", "--store", str(elsewhere), cwd=tmp_path).out
    (tmp_path / "budwood.toml").write_text('[machine]\nstore = "elsewhere.db"\n')
    assert "night" in call("ls", cwd=tmp_path).out
    assert msgspec.json.decode(call("store", "verify", "--json", cwd=tmp_path).raw)["store"] == str(elsewhere)
