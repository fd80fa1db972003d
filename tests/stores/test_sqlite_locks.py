"""Lock files and pipes: who has them, who must not have them, and what happens when somebody meddles."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from budwood.errors import LeaseLost, StoreUnwritable
from budwood.stores.sqlite import SqliteStore
from budwood.testing import samples
from budwood.testing.store_world import RUN


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "store.db") as store:
        store.claim(RUN, name="night", source="/plan.toml", fresh=False)
        yield store


def test_a_child_that_outlives_us_does_not_keep_the_lease(store: SqliteStore, tmp_path: Path) -> None:
    lease = store.acquire(RUN, "me")
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as child,
        SqliteStore(tmp_path / "store.db") as other,
    ):
        store.release(lease)
        assert other.acquire(RUN, "the next").fence == lease.fence + 1
        child.kill()


def test_a_bells_pipe_is_not_inherited(store: SqliteStore) -> None:
    bell = store.listen(RUN)
    assert not os.get_inheritable(bell.fileno())
    bell.close()


def test_lock_files_stay(store: SqliteStore, tmp_path: Path) -> None:
    store.release(store.acquire(RUN, "me"))
    file = tmp_path / "locks" / f"{RUN}.lock"
    before = file.stat().st_ino
    store.release(store.acquire(RUN, "me"))
    assert file.stat().st_ino == before


def test_a_deleted_lock_file_lets_a_second_driver_in_but_never_two_write(store: SqliteStore, tmp_path: Path) -> None:
    lease = store.acquire(RUN, "me")
    (tmp_path / "locks" / f"{RUN}.lock").unlink()
    with SqliteStore(tmp_path / "store.db") as other:
        second = other.acquire(RUN, "the next")
        with pytest.raises(LeaseLost):
            store.append(lease, samples.note(RUN))
        other.append(second, samples.note(RUN))


def test_looking_who_drives_never_keeps_a_driver_out(store: SqliteStore, tmp_path: Path) -> None:
    stop = Event()

    def look() -> None:
        with SqliteStore(tmp_path / "store.db") as looker:
            while not stop.is_set():
                looker.holder(RUN)

    lookers = [Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(100):
            store.release(store.acquire(RUN, "me"))
    finally:
        stop.set()
        for looker in lookers:
            looker.join()


def test_a_full_pipe_loses_no_wake_up(store: SqliteStore, tmp_path: Path) -> None:
    bell = store.listen(RUN)
    pipe = os.open(tmp_path / "bells" / RUN, os.O_WRONLY | os.O_NONBLOCK)
    written = os.write(pipe, bytes(4_000_000))
    assert written < 4_000_000
    os.close(pipe)
    store.ring(RUN)
    bell.drain()
    with pytest.raises(BlockingIOError):
        os.read(bell.fileno(), 1)
    bell.close()
    bell.close()


def test_something_else_in_the_place_of_a_pipe_is_named(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "bells").mkdir()
    (tmp_path / "bells" / RUN).write_text("")
    with pytest.raises(StoreUnwritable, match=f"bells/{RUN}"):
        store.listen(RUN)
