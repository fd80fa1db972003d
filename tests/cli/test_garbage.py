"""Python looks for garbage again when something large was built, and not in that."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from budwood.cli.garbage import building, keep


class Large:
    """Something that was built."""


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


def test_what_is_kept_is_not_taken_apart_before_the_process_ends() -> None:
    with building():
        kept, dropped = keep(Large()), Large()
    alive, gone = weakref.ref(kept), weakref.ref(dropped)
    del kept, dropped
    gc.collect()
    assert alive() is not None
    assert gone() is None
