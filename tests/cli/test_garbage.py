"""Python looks for garbage again when something large was built, and not in that."""

import gc
from collections.abc import Iterator

import pytest

from budwood.cli.garbage import building


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_nobody_looks_while_it_is_built_and_nobody_looks_in_it_afterwards() -> None:
    before = gc.get_freeze_count()
    with building():
        assert not gc.isenabled()
        built = [[number] for number in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(built)


def test_somebody_looks_again_also_when_building_failed() -> None:
    with pytest.raises(ValueError, match="wrong"), building():
        raise ValueError("wrong")
    assert gc.isenabled()
