"""Files that are whole, and on the disk before anything rests on them."""

import os
from pathlib import Path

import pytest

from budwood.durable import write_whole

Synced = list[tuple[str, str]]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Synced:
    """What was asked of the disk, in order: files by their name at that time, and when one got its own."""
    seen: Synced = []
    sync, replace = os.fsync, Path.replace

    def watched(descriptor: int) -> None:
        seen.append(("sync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        sync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        seen.append(("rename", Path(target).name))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(Path, "replace", renamed)
    return seen


def test_content_is_on_the_disk_before_it_has_its_name_and_the_name_before_we_go_on(
    tmp_path: Path, synced: Synced
) -> None:
    write_whole(tmp_path / "kept.json", b"{}")
    assert synced == [("sync", "kept.json.new"), ("rename", "kept.json"), ("sync", tmp_path.name)]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.json"
    write_whole(file, b"first")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, b"second")
    assert file.read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_those_who_write_one_file_at_a_time_have_drafts_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "score.json"
    (tmp_path / "score.json.3.1").write_bytes(b"half of what another wri")
    write_whole(file, b"whole", draft="4.1")
    assert (file.read_bytes(), (tmp_path / "score.json.3.1").exists()) == (b"whole", True)
