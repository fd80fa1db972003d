"""Kinds of values: what each takes and what it refuses."""

import pytest

from budwood.settings import kinds
from budwood.settings.kinds import Kind, Unfit


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("2d", 172800),
        ("45", 45),
        (45, 45),
        (0.5, 0.5),
    ],
)
def test_durations(written: object, seconds: float) -> None:
    assert kinds.seconds(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written", [0, -1, "0", "0s", "-5s", "", "s", "10x", "m10", "1h30", True, None, [], "nan", "inf", float("inf")]
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(Unfit):
        kinds.seconds(written)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("512MB", 512_000_000),
        ("2GiB", 2 * 1024**3),
        ("2 gib", 2 * 1024**3),
        ("512M", 512 * 1024**2),
        ("1.5kB", 1500),
        ("10", 10),
        ("10B", 10),
        (4096, 4096),
    ],
)
def test_sizes(written: object, size: int) -> None:
    assert kinds.bytes_of(written) == size


@pytest.mark.parametrize("written", [0, -1, "", "MB", "-5MB", "5XB", 1.5, True, None, "9" * 30])
def test_what_is_no_size_is_refused(written: object) -> None:
    with pytest.raises(Unfit):
        kinds.bytes_of(written)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.whole(1), "4", 4),
        (kinds.number(), "0.5", 0.5),
        (kinds.FLAG, "yes", True),
        (kinds.FLAG, "0", False),
        (kinds.VARIABLE_NAMES, "A, B", ("A", "B")),
        (kinds.VARIABLES, "A=1,B=x=y", {"A": "1", "B": "x=y"}),
        (kinds.LIMITS, "net=2", {"net": 2}),
        (kinds.DEVICES, "2", 2),
        (kinds.DEVICES, "GPU-a,3", ("GPU-a", "3")),
        (kinds.DURATION, "5m", 300.0),
        (kinds.choice("tree", "namespace"), "tree", "tree"),
    ],
)
def test_text_of_the_environment_is_taken_apart(kind: Kind, text: str, value: object) -> None:
    assert kind.read(kind.from_text(text)) == value


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (kinds.whole(1), 0),
        (kinds.whole(1), "4"),
        (kinds.whole(1), True),
        (kinds.whole(0), 2**63),
        (kinds.number(above=0), 0),
        (kinds.number(), float("nan")),
        (kinds.FLAG, 1),
        (kinds.FLAG, "yes"),
        (kinds.TEXT, 5),
        (kinds.SOME_TEXT, "  "),
        (kinds.VARIABLES, {"A": 1}),
        (kinds.VARIABLES, {"A=B": "1"}),
        (kinds.VARIABLE_NAMES, "A"),
        (kinds.VARIABLE_NAMES, [""]),
        (kinds.LIMITS, {"net": 0}),
        (kinds.LIMITS, 3),
        (kinds.DEVICES, -1),
        (kinds.DEVICES, ["0", 0]),
        (kinds.choice("tree", "namespace"), "docker"),
    ],
)
def test_what_does_not_fit_is_refused(kind: Kind, written: object) -> None:
    with pytest.raises(Unfit):
        kind.read(written)


@pytest.mark.parametrize("host", ["a.org", "*.a.org", "a.org:8080", "127.0.0.1", "[::1]:80", "::1", "localhost:5432"])
def test_a_network_is_a_word_or_hosts(host: str) -> None:
    assert kinds.NETWORK.read([host]) == (host,)
    assert kinds.NETWORK.read(kinds.NETWORK.from_text(f"{host}, b.org")) == (host, "b.org")
    assert [kinds.NETWORK.read(kinds.NETWORK.from_text(word)) for word in ("all", "none")] == ["all", "none"]


@pytest.mark.parametrize(
    "given",
    [[], "a.org", ["https://a.org"], ["a.org/x"], ["*"], ["a*.org"], ["a.org:0"], ["a.org", "a.org"], [1], None],
)
def test_what_is_no_network_is_unfit(given: object) -> None:
    with pytest.raises(kinds.Unfit):
        kinds.NETWORK.read(given)
