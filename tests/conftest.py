"""What every suite shares: `--torture`, and asserts of shipped suites that explain themselves."""

import pytest

pytest.register_assert_rewrite("budwood.testing")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="run the repeated-fault tests at full length")


@pytest.fixture
def torture(request: pytest.FixtureRequest) -> bool:
    """Tell whether fault runs have their full length; otherwise they are a sample."""
    return bool(request.config.getoption("--torture"))
