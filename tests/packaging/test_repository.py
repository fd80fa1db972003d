"""What the repository promises of itself: equal versions, honest lock files, no trace of the machine it was made on."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("model", "postgres", "web", "mcp", "ray", "all")

# Joined here, so that this file does not name them either.
MIRROR = re.compile("|".join(("arti" + "factory", "next" + "us/repository", "dev" + "pi")), re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.)}$-])/(?:" + "|".join(("work", "root", "tmp/bash_jobs")) + ")/")
CARGO_SOURCE = "registry+https://github.com/rust-lang/crates.io-index"


def read_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def list_tracked_texts() -> list[Path]:
    """List the text files that git tracks or would track; a source archive without git has nothing to list."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()]


def test_versions_of_python_and_rust_are_equal() -> None:
    assert (
        read_toml("pyproject.toml")["project"]["version"] == read_toml("Cargo.toml")["workspace"]["package"]["version"]
    )


def test_the_extension_has_the_version_of_the_distribution() -> None:
    from importlib.metadata import version

    from budwood import _cards

    assert _cards.version() == version("budwood")


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_exists(extra: str) -> None:
    assert read_toml("pyproject.toml")["project"]["optional-dependencies"][extra]


def test_all_names_every_extra() -> None:
    [everything] = read_toml("pyproject.toml")["project"]["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", everything)) == {"budwood", *EXTRAS} - {"all"}


def test_constraints_are_exact_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []


def test_constraints_pin_every_direct_dependency() -> None:
    project = read_toml("pyproject.toml")["project"]
    wanted = [
        *project["dependencies"],
        *(item for items in project["optional-dependencies"].values() for item in items),
    ]
    names = {match.group().lower() for item in wanted if (match := re.match(r"[A-Za-z0-9._-]+", item))} - {"budwood"}
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert names <= {pin.partition("==")[0].lower() for pin in pins}


def test_cargo_lock_names_no_other_registry() -> None:
    packages = read_toml("Cargo.lock")["package"]
    assert {package["source"] for package in packages if "source" in package} <= {CARGO_SOURCE}


def test_no_tracked_file_names_a_mirror_or_a_path_of_some_machine() -> None:
    found = []
    for path in list_tracked_texts():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if MIRROR.search(line) or MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []
