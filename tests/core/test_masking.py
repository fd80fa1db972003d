"""Secrets in whole texts."""

import pytest

from budwood._core.masking import mask_bytes, mask_text, maskable


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        (("secret",), "a secret b", "a [masked] b"),
        (("secret",), "secretsecret", "[masked][masked]"),
        (("secret", "secret-longer"), "secret secret-longer secret-lo", "[masked] [masked] [masked]-lo"),
        (("abcdef", "defghi"), "xabcdefghix", "x[masked]x"),
        (("aaaaaa",), "aaaaaaaaaa aaaaa", "[masked] aaaaa"),
        (("schlüssel",), "der schlüssel", "der [masked]"),
        ((), "nothing to hide", "nothing to hide"),
    ],
)
def test_every_occurrence_is_masked_and_the_longest_wins(secrets: tuple[str, ...], text: str, expected: str) -> None:
    assert mask_text(text, secrets) == expected
    assert mask_bytes(text.encode() + b"\xff", secrets) == expected.encode() + b"\xff"


def test_what_is_too_short_is_no_secret() -> None:
    assert maskable(["", "five5", "sixsix", "ééé", "sixsix"]) == ("sixsix", "ééé")
    assert mask_text("five5 sixsix", ("five5", "", "sixsix")) == "five5 [masked]"


def test_a_secret_may_be_no_text() -> None:
    assert mask_bytes(b"a \xffbcdef", ("\udcffbcdef",)) == b"a [masked]"
