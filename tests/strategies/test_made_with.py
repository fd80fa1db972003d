"""A strategy knows what it was made with: as it was given, by name, or not at all."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from random import Random

import pytest

from budwood._core.model import TaskSpec
from budwood.strategies import Strategy, Told
from budwood.strategies.base import made_with


class Base(Strategy):
    def ask(self, number: int, random: Random) -> Sequence[TaskSpec]:
        return ()

    def tell(self, told: Told) -> None:
        pass


class Points(Base):
    def __init__(self, points: list[int], scale: int = 1, **more: object) -> None:
        self.points = [point * scale for point in points]
        points.append(99)


class Inner(Points):
    """Makes its base with other arguments than its own."""

    def __init__(self, number: int) -> None:
        super().__init__([number] * number, scale=5)


@dataclass
class Fields(Base):
    steps: int
    wide: bool = False


class Rest(Base):
    def __init__(self, *steps: int, first: object = None) -> None: ...


class Place(Base):
    def __init__(self, steps: int = 0, /) -> None: ...


class Own(Base):
    def __new__(cls, steps: int = 0) -> "Own":
        return super().__new__(cls)

    def __init__(self, steps: int = 0) -> None: ...


def test_arguments_are_kept_as_they_were_given_and_by_name() -> None:
    given = [1, 2]
    assert made_with(Points(given, 3)) == {"points": [1, 2], "scale": 3}
    assert given == [1, 2, 99]
    assert made_with(Points(points=[])) == {"points": []}
    assert made_with(Points([1], colour="red")) == {"points": [1], "colour": "red"}


def test_only_what_the_object_itself_was_made_with_counts() -> None:
    assert made_with(Inner(2)) == {"number": 2}
    assert made_with(Base()) == {}
    assert made_with(Fields(3)) == {"steps": 3}
    assert made_with(copy(Fields(3, wide=True))) == {"steps": 3, "wide": True}


@pytest.mark.parametrize(
    "strategy", [Rest(1), Rest(first=object()), Rest(first=(1, 2)), Rest(first=float("nan")), Place(1), Own(1), Own()]
)
def test_what_has_no_name_or_is_no_json_cannot_be_made_again(strategy: Strategy) -> None:
    assert made_with(strategy) is None


def test_what_was_left_to_its_default_is_no_hindrance() -> None:
    assert [made_with(Rest()), made_with(Place())] == [{}, {}]


@pytest.mark.parametrize(("kind", "given"), [(Base, [1]), (Points, []), (Fields, [1, 2, 3])])
def test_wrong_arguments_are_refused_as_ever(kind: Callable[..., Strategy], given: list[int]) -> None:
    with pytest.raises(TypeError, match="argument"):
        kind(*given)
    with pytest.raises(TypeError, match="abstract"):
        Strategy()  # type: ignore[abstract]
