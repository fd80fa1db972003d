"""Settings files: two tables, and errors with file and line."""

from pathlib import Path

import pytest

from budwood.errors import SettingsError
from budwood.settings import read_settings, resolve


def written(directory: Path, text: str | bytes) -> Path:
    path = directory / "budwood.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    return caught.value


def test_both_tables_become_one_layer(tmp_path: Path) -> None:
    path = written(tmp_path, '[run]\nslots = 3\n[machine]\nmachine_slots = 8\nstore = "x.db"\n')
    resolved = resolve([read_settings(path)])
    assert (resolved.value("slots"), resolved.value("machine_slots"), resolved.text("store")) == (3, 8, "x.db")
    assert resolved.origin("slots") == str(path)


def test_a_byte_order_mark_and_crlf_are_fine(tmp_path: Path) -> None:
    assert read_settings(written(tmp_path, b"\xef\xbb\xbf[run]\r\nslots = 3\r\n"))[1] == {"slots": 3}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[run]\nslot = 3\n", "unknown key 'slot' in [run] of PATH", "did you mean 'slots'?"),
        ("slots = 3\n", "unknown key 'slots' in PATH", "it belongs into [run]"),
        ("[run]\nmachine_slots = 3\n", "machine_slots stands in [run] of PATH", "it belongs into [machine]"),
        ("[machine]\nslots = 3\n", "slots stands in [machine] of PATH", "it belongs into [run]"),
        ("[runs]\n", "unknown key 'runs' in PATH", "did you mean 'run'?"),
        ("run = 3\n", "run in PATH is 3; it takes a table: [run]", None),
        ("[run]\nslots = 0\n", "slots in [run] of PATH is 0; it takes a whole number from 1 to 4096", None),
        (
            '[[task]]\nid = "a"\n',
            "unknown key 'task' in PATH",
            "tasks and lanes stand in a plan file; this one holds settings",
        ),
    ],
)
def test_what_does_not_belong_is_named(tmp_path: Path, text: str, message: str, hint: str | None) -> None:
    path = written(tmp_path, text)
    error = refusal(path)
    assert error.message.replace(str(path), "PATH") == message
    assert error.hint == hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[run]\nslots 3\n", ":2:7: not TOML: "),
        ("[run]\nslots = ", ":2:8: not TOML: "),
        (b"[run]\n\xff = 1\n", ":2: not UTF-8 text"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(tmp_path: Path, text: str | bytes, place: str) -> None:
    assert place in refusal(written(tmp_path, text)).message


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, "")
    error = refusal(tmp_path / "budwod.toml")
    assert error.message == f"there is no file {tmp_path / 'budwod.toml'}"
    assert error.hint == "did you mean 'budwood.toml'?"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path).message


def test_a_file_that_is_not_there_and_like_none_that_is_comes_with_a_hint(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nope.toml").hint == "check the path; a relative one begins at the current directory"
