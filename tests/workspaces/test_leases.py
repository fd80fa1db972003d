"""Records about directories: they hold on a full disk, and what a killed git locked is unlocked."""

from pathlib import Path

from tests.support.mounts import mounted

from budwood.workspaces.leases import Held, Place


def test_a_directory_can_be_shut_where_there_is_no_room_to_say_why(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", size="64k") as small:
        place = Place(small)
        place.hold(Held(holder="r/1", base="base"))
        (small / "filler").touch()
        with (small / "filler").open("ab", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        place.shut_off("it could not be kept")
        assert place.shut is not None
        assert "no room" in place.shut.reason
        assert not place.shut.is_kept
        assert place.held is None
        assert not place.is_free


def test_locks_beside_a_directory_are_removed_before_anybody_works_there(tmp_path: Path) -> None:
    (tmp_path / "index.lock").touch()
    (tmp_path / "index").touch()
    with Place(tmp_path).alone():
        assert not (tmp_path / "index.lock").exists()
        assert (tmp_path / "index").exists()
