"""Cases of a test that only its full length has."""

import pytest
from _pytest.mark import ParameterSet


def at_length(*cases: object) -> list[ParameterSet]:
    """Leave these to `make torture`; a tuple is one case of several values."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long) for case in cases]
