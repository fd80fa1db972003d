"""The wheel works where no Rust is: built, installed into a new environment, run in an empty directory."""

import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUST_TOOLS = {"cargo", "rustc", "rustup"}

pytestmark = [pytest.mark.wheel, pytest.mark.slow, pytest.mark.timeout(600)]


def run(command: list[str], *, cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def copy_sources(target: Path) -> None:
    """Copy what a build reads, so that neither stale nor ignored files of the checkout get into the wheel."""
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info", "target")
    for name in ("src", "crates"):
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, target / path.name)


def hide_rust(path: str, links: Path) -> str:
    """Give a PATH without Rust: a directory that has it is replaced by one with links to everything else there."""
    kept = []
    for number, entry in enumerate(Path(item) for item in path.split(os.pathsep) if item):
        if not entry.is_dir():
            continue
        names = {item.name for item in entry.iterdir()}
        if not names & RUST_TOOLS:
            kept.append(str(entry))
            continue
        replacement = links / str(number)
        replacement.mkdir(parents=True)
        for name in names - RUST_TOOLS:
            (replacement / name).symlink_to(entry / name)
        kept.append(str(replacement))
    return os.pathsep.join(kept)


def clean_environment(home: Path, *, path: str) -> dict[str, str]:
    """Keep where pip downloads from; drop what would lead Python or pip out of the new environment."""
    dropped = {"PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_CONSTRAINT", "PIP_REQUIREMENT"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.startswith(("BUDWOOD_", "PYTEST_", "COV_"))
    }
    return {
        **kept,
        "HOME": str(home),
        "PATH": path,
        "PIP_CACHE_DIR": str(home / "pip"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources, with the compiled dependencies of the checkout."""
    sources = tmp_path_factory.mktemp("sources")
    copy_sources(sources)
    env = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    env.pop("PYTHONPATH", None)
    dist = sources / "dist"
    run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(dist), "."],
        cwd=sources,
        env=env,
    )
    [built] = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Install the wheel and its dependencies; give the new environment's `bin` and the variables to run it with."""
    place = tmp_path_factory.mktemp("installed")
    home = place / "home"
    home.mkdir()
    venv.create(place / "venv", with_pip=True)
    binaries = place / "venv" / "bin"
    path = hide_rust(os.pathsep.join([str(binaries), os.environ["PATH"]]), place / "links")
    assert [tool for tool in RUST_TOOLS if shutil.which(tool, path=path)] == []
    env = clean_environment(home, path=path)
    constraints = str(ROOT / "constraints.txt")
    run(
        [str(binaries / "python"), "-m", "pip", "install", "--quiet", "-c", constraints, str(wheel)], cwd=place, env=env
    )
    return binaries, env


def test_wheel_is_for_every_python_from_3_11(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


def test_wheel_holds_the_extension_the_supervisor_and_the_data_files(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "budwood/_cards.abi3.so" in names
    assert "budwood/py.typed" in names
    assert [name for name in names if name.endswith(".data/scripts/budwood-supervisor")]
    migrations = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.sql")}
    assert migrations <= set(names)
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {"LICENSE-MIT", "LICENSE-APACHE"}


def test_installed_command_tells_its_version(installed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    binaries, env = installed
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert version in run([str(binaries / "budwood"), "--version"], cwd=tmp_path, env=env)
    assert version in run([str(binaries / "budwood-supervisor"), "--version"], cwd=tmp_path, env=env)


def test_installed_command_runs_the_demo_in_an_empty_directory(
    installed: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    binaries, env = installed
    run([str(binaries / "budwood"), "demo"], cwd=tmp_path, env=env)
