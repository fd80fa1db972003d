"""Names that are safe everywhere, and prefixes."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budwood._core.ids import attempt_id, by_prefix, free_name, run_id, safe_name


def test_an_id_has_ten_characters_that_nobody_misreads() -> None:
    assert run_id(0) == "0000000000"
    assert run_id(2**48 - 1) == "7" + "z" * 9
    assert run_id(1 << 45) == "1000000000"
    assert not set("ilou") & set(run_id(0x2_3456_789A_BCDE))


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1))
def test_different_bits_make_different_ids(one: int, two: int) -> None:
    assert (run_id(one) == run_id(two)) == (one == two)


def test_an_attempt_is_named_by_numbers() -> None:
    assert attempt_id(17, 2) == "17.2"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tonight's Plan", "tonight-s-plan"),
        ("API: User & Admin", "api-user-admin"),
        ("Ünïcödé", "unicode"),
        ("CON", "con-run"),
        ("lpt9", "lpt9-run"),
        ("console", "console"),
        ("last", "last-run"),
        ("../../etc/passwd", "etc-passwd"),
        ("-rf", "rf"),
        ("日本", "run"),
        ("", "run"),
        ("x" * 59 + "--y", "x" * 59),
    ],
)
def test_a_name_is_made_safe(text: str, name: str) -> None:
    assert safe_name(text) == name


@given(st.text())
def test_any_text_makes_a_safe_name_that_stays_as_it_is(text: str) -> None:
    name = safe_name(text)
    assert name
    assert set(name) <= set(string.ascii_lowercase + string.digits + "-")
    assert name[0] != "-" != name[-1]
    assert len(name) <= 64
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("wanted", "taken", "free"),
    [
        ("night", [], "night"),
        ("night", ["day"], "night"),
        ("night", ["night"], "night-2"),
        ("night", ["night", "night-2", "night-4"], "night-3"),
    ],
)
def test_a_free_name_is_the_first_that_nobody_has(wanted: str, taken: list[str], free: str) -> None:
    assert free_name(wanted, taken) == free


@given(st.lists(st.sampled_from(["n", *(f"n-{k}" for k in range(2, 9))])))
def test_a_free_name_is_free(taken: list[str]) -> None:
    assert free_name("n", taken) not in taken


def test_a_prefix_means_all_that_begin_with_it_and_a_whole_name_only_itself() -> None:
    names = ["night", "night-2", "noon"]
    assert by_prefix("ni", names) == ["night", "night-2"]
    assert by_prefix("night", names) == ["night"]
    assert by_prefix("noo", names) == ["noon"]
    assert by_prefix("x", names) == []
