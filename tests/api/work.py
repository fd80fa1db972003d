"""Functions for tests to make tasks of."""

import budwood


@budwood.task
def square(number: int) -> int:
    """Multiply a number by itself."""
    return number * number


@budwood.task(retries=2, timeout="10s")
def power(base: float, exponent: float = 2) -> float:
    """Raise a number to a power."""
    return float(base**exponent)


@budwood.task
def nothing() -> None:
    """Do nothing."""


@budwood.task
def shout(*, id: str, after: str = "") -> str:
    """Have arguments that are called as keys of tasks are."""
    return f"{id} {after}"


def plain(text: str) -> str:
    """Stand here without a decorator."""
    return text


class Thing:
    """Something with methods."""

    @staticmethod
    @budwood.task
    def still(number: int) -> int:
        """Need no object."""
        return number

    def method(self) -> None:
        """Need an object."""
