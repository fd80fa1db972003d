"""A repository of its own for each test, and nothing left behind."""

from tests.workshop.conftest import site

__all__ = ["site"]
