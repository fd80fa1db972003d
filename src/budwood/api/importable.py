"""Whether a worker finds the modules that tasks name: workers import from the run's directory, as scripts there do.

Knows this process's modules and the run's directory. What cannot be known here, such as a module that only the
worker's interpreter has, is left for the worker to say.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import msgspec

from budwood._core.model import TaskSpec
from budwood.api.making import MAIN
from budwood.errors import UsageError
from budwood.plans import complete

_LOOK = "import sys; from importlib.util import find_spec; sys.exit(find_spec(sys.argv[1]) is None)"


class Importable:
    """Gives tasks the names of modules that the workers of one run import; `defaults` is what all its tasks get."""

    def __init__(self, root: Path, defaults: Mapping[str, object] | None = None) -> None:
        self._root = root.resolve()
        self._all_have_path = _hands_on_path(complete(TaskSpec(id=""), defaults or {}))
        self._names: dict[tuple[str, bool], str] = {}

    def complete(self, spec: TaskSpec) -> TaskSpec:
        """Name the module as workers find it, or raise UsageError if they surely do not."""
        if spec.function is None:
            return spec
        module, _, name = spec.function.partition(":")
        found = self.module(module, has_path=self._all_have_path or _hands_on_path(spec))
        return spec if found == module else msgspec.structs.replace(spec, function=f"{found}:{name}")

    def module(self, name: str, *, has_path: bool = False) -> str:
        """Name a module as workers find it; `has_path`: they get this process's PYTHONPATH."""
        found = self._names.get((name, has_path))
        if found is None:
            found = self._names[name, has_path] = self._find(name, has_path=has_path)
        return found

    def _find(self, module: str, *, has_path: bool) -> str:
        top: ModuleType | None = None
        if module == MAIN:
            module, top = self._main(), sys.modules[MAIN]
            if top.__spec__ is None:
                return module
        name = module.partition(".")[0]
        top = sys.modules.get(name, top)  # python -m name: that module is known as __main__ alone
        place = None if top is None else _place_of(top)
        if place is None or place == self._root:
            return module
        if place in _own_places() and not self._is_found(name):
            raise self._missing(module, place, hint=f'directory="{place}" makes that the run\'s directory')
        if place in _variable_places() and not has_path and not self._is_found(name):
            raise self._missing(module, place, hint='env_pass=["PYTHONPATH"] hands the variable on to workers')
        return module

    def _main(self) -> str:
        """Name the program's script as a module: workers do not run it, they import it."""
        main = sys.modules[MAIN]
        if main.__spec__ is not None:  # python -m
            return main.__spec__.name
        script = Path(main.__file__ or "").resolve()
        try:
            parts = script.relative_to(self._root).with_suffix("").parts
        except ValueError:
            raise self._missing(script.name, script.parent, hint=f'directory="{script.parent}"') from None
        if not all(part.isidentifier() for part in parts):
            raise UsageError(
                f"a worker cannot import {Path(*parts)}.py: that is no module's name",
                hint="rename it (letters, digits and _ only), or put the functions into a module of their own",
            )
        return ".".join(parts)

    def _is_found(self, name: str) -> bool:
        """Let a new interpreter look for a module from the run's directory, as a worker does."""
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [sys.executable, "-c", _LOOK, name]
        done = subprocess.run(
            command, cwd=self._root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
        return done.returncode == 0

    def _missing(self, what: str, place: Path, *, hint: str) -> UsageError:
        return UsageError(f"workers of this run import from {self._root}, and {what} is in {place}", hint=hint)


def _hands_on_path(task: TaskSpec) -> bool:
    return "PYTHONPATH" in task.env or "PYTHONPATH" in task.env_pass


def _place_of(module: ModuleType) -> Path | None:
    """Return the directory that a top-level module or package lies in."""
    path: str | None = getattr(module, "__file__", None)
    if path is not None:
        file = Path(path).resolve()
        return file.parent.parent if hasattr(module, "__path__") else file.parent
    return next((Path(path).resolve().parent for path in getattr(module, "__path__", ())), None)


def _own_places() -> set[Path]:
    """Return where this process finds modules and others do not: beside its script, and where it stands."""
    script = getattr(sys.modules[MAIN], "__file__", None)
    places = {Path.cwd().resolve()} if "" in sys.path or os.getcwd() in sys.path else set()
    return places | ({Path(script).resolve().parent} if script else set())


def _variable_places() -> set[Path]:
    return {Path(path).resolve() for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path}
