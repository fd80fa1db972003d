"""What every suite shares: `--torture`, and asserts of shipped suites that explain themselves."""

import os
import signal
from collections.abc import Iterator

import pytest
from tests.support.memory import use_memory

# None of ours: a developer's own database, settings of budwood (also those of an attempt that runs these tests) and of
# git (also those of a hook that does), and wishes about colours and widths.
_THEIRS = ("DATABASE_URL", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI")
for _name in [name for name in os.environ if name in _THEIRS or name.startswith(("PG", "BUDWOOD_", "GIT_"))]:
    del os.environ[_name]

# What a script starts in the background is deaf to Ctrl-C, what `nohup` starts to a hang-up, and so is all that these
# start in turn: programs under test. A handler, unlike being deaf, is not handed on to them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

os.umask(0o022)  # what a test writes, a server or somebody without rights has to read

pytest.register_assert_rewrite("budwood.testing")
pytest_plugins = ["tests.support.bubblewrap", "tests.support.postgres"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", help="run the repeated-fault tests at full length")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--torture"):
        config.pluginmanager.register(_Soon(config))
    else:
        use_memory()


class _Soon:
    """Tells what came of a test when it ends, whichever process ran it: the end of the full length is far away."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        said = report.longreprtext if report.failed else report.capstdout.strip() * (report.when == "call")
        if terminal is not None and said:
            terminal.write(f"\n{said}\n")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test that has a full length, so that `make torture` finds it; let the longest begin first.

    What is marked `long`, a further case of something that others show, belongs to that length alone.
    """
    for item in items:
        if "torture" in getattr(item, "fixturenames", ()) or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.torture)
    if not config.getoption("--torture"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=_urgency)


def _urgency(item: pytest.Item) -> int:
    """Suites that run others first, quick tests last: else the others would wait for one at the end."""
    if "test_unprivileged" in item.nodeid:
        return 0
    return 1 if item.get_closest_marker("slow") else 2


@pytest.fixture
def torture(request: pytest.FixtureRequest) -> bool:
    """Tell whether fault runs have their full length; otherwise they are a sample."""
    return bool(request.config.getoption("--torture"))


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Read no settings of the developer's, and leave no workspaces where theirs are."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "IPYTHONDIR"):
            patch.setenv(name, str(home / name.lower()))
        yield
