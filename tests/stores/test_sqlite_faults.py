"""Read-only, full, newer, damaged: a clear error, nothing lost, the file kept."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.support.mounts import mounted, remount_read_only

from budwood.errors import StoreDamaged, StoreTooNew, StoreUnwritable, UnknownEvent, UsageError
from budwood.stores import open_store
from budwood.stores.base import Lease
from budwood.stores.sqlite import SqliteStore
from budwood.testing import samples
from budwood.testing.store_world import RUN, contents

as_root = os.geteuid() == 0


def lived(path: Path, *, turns: int = 3) -> object:
    """Make a store with a run in it and return what it holds."""
    with SqliteStore(path) as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        store.append(lease, samples.tasks_added(RUN, [f"task-{n}" for n in range(turns + 1)]))
        for turn in range(turns):
            store.append(lease, samples.turn(RUN, 1 + 3 * turn, ended=turn, begun=turn + 1))
        return contents(store, RUN)


def meddle(path: Path, statement: str) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


def test_opening_for_reading_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no store") as caught:
        open_store(tmp_path / ".budwood" / "store.db", create=False)
    assert "budwood run" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def _refuses_writing(store: SqliteStore, held: object) -> None:
    assert contents(store, RUN) == held
    assert store.holder(RUN) is None
    assert store.check() == []
    for write in (
        lambda: store.acquire(RUN, "me"),
        lambda: store.ask(RUN, "pause", key="new"),
        lambda: store.claim("new", name="new", source="", fresh=True),
        lambda: store.listen(RUN),
    ):
        with pytest.raises(StoreUnwritable) as caught:
            write()
        assert caught.value.hint
    assert contents(store, RUN) == held


@pytest.mark.skipif(as_root, reason="rights do not apply to root; test_unprivileged runs this")
@pytest.mark.parametrize("what", ["file", "directory", "both"])
def test_what_may_only_be_read_is_read_and_not_written(tmp_path: Path, what: str) -> None:
    path = tmp_path / ".budwood" / "store.db"
    held = lived(path)
    path.chmod(0o444 if what in ("file", "both") else 0o644)
    locked = [path.parent / "locks", path.parent] if what in ("directory", "both") else []
    for directory in locked:
        directory.chmod(0o555)
    try:
        with SqliteStore(path, create=False) as store:
            if what == "file":
                assert contents(store, RUN) == held
                with pytest.raises(StoreUnwritable):
                    store.acquire(RUN, "me")
            else:
                _refuses_writing(store, held)
    finally:
        for directory in reversed(locked):
            directory.chmod(0o755)


def test_a_read_only_disk_is_read_and_not_written(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="10M") as disk:
        held = lived(disk / "store.db")
        remount_read_only(disk)
        with SqliteStore(disk / "store.db", create=False) as store:
            _refuses_writing(store, held)
        with pytest.raises(StoreUnwritable):
            SqliteStore(disk / "other" / "store.db")


def test_a_journal_on_a_read_only_disk_is_part_of_what_is_read(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="10M") as disk:
        with SqliteStore(tmp_path / "store.db") as store:
            store.claim(RUN, name="night", source="/plan.toml", fresh=False)
            # Copied while open: what a killed driver leaves on the disk, its journal not merged.
            for file in tmp_path.glob("store.db*"):
                shutil.copy(file, disk)
        remount_read_only(disk)
        with SqliteStore(disk / "store.db", create=False) as copy:
            assert [row.id for row in copy.runs()] == [RUN]


def test_a_full_disk_loses_nothing_and_the_same_driver_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="4M") as disk, SqliteStore(disk / "store.db") as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        lease = store.acquire(RUN, "me")
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 2_000_000)
        written = _until_full(store, lease)
        assert len(list(store.read(RUN))) == written
        assert store.check() == []
        with pytest.raises(StoreUnwritable):
            store.append(lease, samples.turn(RUN, written, ended=0, begun=1, log=os.urandom(1_000_000)))
        ballast.unlink()
        store.append(lease, samples.turn(RUN, written, ended=0, begun=1))
        assert len(list(store.read(RUN))) == written + 3


def _until_full(store: SqliteStore, lease: Lease) -> int:
    written = 0
    for _ in range(200):
        try:
            store.append(lease, samples.turn(RUN, written, ended=0, begun=1, log=os.urandom(100_000 + written)))
        except StoreUnwritable as error:
            assert "full" in str(error)  # noqa: PT017
            return written
        written += 3
    raise AssertionError("the disk never got full")


def test_a_store_cannot_be_made_on_a_full_disk(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", size="64k") as disk:
        with pytest.raises(OSError, match="No space"):
            (disk / "ballast").write_bytes(b"x" * 1_000_000)
        with pytest.raises(StoreUnwritable):
            SqliteStore(disk / "store.db")
        (disk / "ballast").unlink()


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    lived(path)
    meddle(path, "UPDATE meta SET value = '999' WHERE name = 'schema'")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="999"):
        SqliteStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"[run]\nname = 'x'\n" * 100, b"\0" * 8192, os.urandom(9000), b"S"])
def test_a_file_that_is_no_database_is_named_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"store\.db"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    meddle(path, "CREATE TABLE bookmarks (address TEXT)")
    with pytest.raises(UsageError, match="another program"):
        SqliteStore(path)


def test_a_damaged_file_names_the_run_and_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    lived(path, turns=300)
    with path.open("r+b") as file:
        size = path.stat().st_size
        file.seek(size // 3)
        file.write(os.urandom(size // 2))
    before = path.read_bytes()
    with SqliteStore(path) as store:
        with pytest.raises(StoreDamaged, match=RUN) as caught:
            contents(store, RUN)
        assert "copy" in str(caught.value)
        assert store.check()
    assert path.read_bytes() == before


@pytest.mark.parametrize("body", ["'{\"type\":'", "'null'", '\'{"type":"run_created"}\'', "CAST(x'ff' AS TEXT)"])
def test_a_broken_event_is_named_by_run_and_number(tmp_path: Path, body: str) -> None:
    path = tmp_path / "store.db"
    lived(path)
    meddle(path, f"UPDATE event SET body = {body} WHERE number = 2")
    with SqliteStore(path) as store, pytest.raises(StoreDamaged, match=rf"event 2 .*{RUN}"):
        list(store.read(RUN))


def test_a_missing_event_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    lived(path)
    meddle(path, "DELETE FROM event WHERE number = 4")
    with SqliteStore(path) as store:
        with pytest.raises(StoreDamaged, match=rf"event 4 is missing.*{RUN}"):
            list(store.read(RUN))
        assert any(RUN in problem for problem in store.check())


def test_an_event_or_state_that_we_do_not_know_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    lived(path)
    meddle(path, "UPDATE event SET kind = 'moon_landed' WHERE number = 2")
    meddle(path, "UPDATE task SET state = 'dreaming' WHERE number = 1")
    with SqliteStore(path) as store:
        with pytest.raises(UnknownEvent, match="moon_landed"):
            list(store.read(RUN))
        with pytest.raises(UnknownEvent, match="dreaming"):
            store.tasks(RUN)


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    lived(path)
    meddle(path, "UPDATE log SET data = x'00', size = 5000 WHERE task = 0")
    with SqliteStore(path) as store, pytest.raises(StoreDamaged, match=f"log of attempt 1 of task 0.*{RUN}"):
        store.log(RUN, 0, 1)
