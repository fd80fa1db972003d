"""What is a web address, and what of it people see."""

import pytest

from budwood.settings import kinds
from budwood.settings.addresses import can_be_posted_to, is_address, shown
from budwood.settings.kinds import Unfit

GOOD = (
    "http://localhost",
    "https://hooks.example/a/b?token=c",
    "http://127.0.0.1:8080/",
    "http://[::1]:8080/x",
    "HTTPS://EXAMPLE.ORG/",
)
BAD = (
    "http://",
    "https:///path",
    "http://host:port/",
    "http://host:70000/",
    "http://host:0/",
    "http://[::1/",
    "https://user:word@host/",
    "https://user@host/",
    "http://ho st/",
    "http://host/a b",
    "http://host/\n",
    "http://hóst/",
    "ftp://host/",
    "htps://host/",
    "ws://host",
)


@pytest.mark.parametrize("address", GOOD)
def test_a_whole_address_is_taken(address: str) -> None:
    assert is_address(address)
    assert can_be_posted_to(address)
    assert kinds.COMMAND_OR_ADDRESS.read(address) == address


@pytest.mark.parametrize("address", BAD)
def test_a_malformed_address_is_not_taken_for_a_command(address: str) -> None:
    assert is_address(address)
    with pytest.raises(Unfit):
        kinds.COMMAND_OR_ADDRESS.read(address)


@pytest.mark.parametrize("command", ["notify-send hello", "curl http://host/", "http POST host", "./told://x", "x"])
def test_a_command_is_a_command(command: str) -> None:
    assert not is_address(command)
    assert kinds.COMMAND_OR_ADDRESS.read(command) == command


@pytest.mark.parametrize("nothing", ["", "  ", 7, None, "a\0b"])
def test_what_is_neither_is_refused(nothing: object) -> None:
    with pytest.raises(Unfit):
        kinds.COMMAND_OR_ADDRESS.read(nothing)


def test_people_do_not_see_what_may_be_a_token() -> None:
    assert shown("https://hooks.example:1/a?token=c#d") == "https://hooks.example:1/a"
    assert shown("https://user:word@hooks.example/") == "https://hooks.example/"
    assert shown("http://[::1/") == "a malformed address"


@pytest.mark.parametrize(
    "address",
    ["http://me:s3cret@h/", "http://me:s3/cret@h/", "http://me:s3?cret@h/", "http://me:s3#cret@h/", "ftp://h/?s3cret"],
)
def test_an_address_that_is_refused_is_quoted_without_its_secrets(address: str) -> None:
    assert not can_be_posted_to(address)
    said = kinds.COMMAND_OR_ADDRESS.quote(address)
    assert "s3" not in said
    assert "cret" not in said


def test_anything_else_that_is_refused_is_quoted_as_it_is() -> None:
    assert kinds.COMMAND_OR_ADDRESS.quote("htps://host/x") == "'htps://host/x'"
    assert kinds.COMMAND_OR_ADDRESS.quote("http://host:port/") == "'http://host:port/'"
    assert kinds.COMMAND_OR_ADDRESS.quote(7) == "7"
