"""What an attempt is told of itself by its environment, put into the texts of steps.

Knows the variables. Must not know what steps do.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from budwood.agents.script.steps import AnyStep
from budwood.errors import UsageError

_VARIABLES = {"task": "BUDWOOD_TASK", "attempt": "BUDWOOD_ATTEMPT", "seed": "BUDWOOD_ATTEMPT_SEED"}


class Place(Struct, frozen=True):
    """Which attempt this is: the values of {task}, {attempt} and {seed}, as far as they are known."""

    values: dict[str, str]

    def steps(self, steps: tuple[AnyStep, ...], *, file: str) -> tuple[tuple[int, AnyStep], ...]:
        """Return the steps of this attempt with their numbers, their texts filled in; raises UsageError."""
        chosen = []
        for number, step in enumerate(steps, 1):
            where = f"{file}: step {number}"
            if self._is_meant(step, where=where):
                texts = {
                    name: self._filled(value, where=f"{where}, {name}")
                    for name, value in msgspec.structs.asdict(step).items()
                    if isinstance(value, str)
                }
                chosen.append((number, msgspec.structs.replace(step, **texts)))
        return tuple(chosen)

    def _is_meant(self, step: AnyStep, *, where: str) -> bool:
        if step.only_attempt is None and step.from_attempt is None:
            return True
        text = self._value("attempt", where=where)
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{where}: {_VARIABLES['attempt']} is {text!r}, no number of an attempt")
        if step.only_attempt is not None:
            return int(text) == step.only_attempt
        return step.from_attempt is not None and int(text) >= step.from_attempt

    def _filled(self, text: str, *, where: str) -> str:
        # Only these three: other braces belong to the text, which is often code.
        for name in _VARIABLES:
            if f"{{{name}}}" in text:
                text = text.replace(f"{{{name}}}", self._value(name, where=where))
        return text

    def _value(self, name: str, *, where: str) -> str:
        if name not in self.values:
            variable = _VARIABLES[name]
            raise UsageError(
                f"{where}: this needs {variable}, which is not set", hint=f"set {variable}=1 to try it out"
            )
        return self.values[name]


def place_in(environ: Mapping[str, str]) -> Place:
    """Find out which attempt this is."""
    return Place({name: environ[variable] for name, variable in _VARIABLES.items() if environ.get(variable)})
