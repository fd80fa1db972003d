"""From settings to what a run is allowed.

Knows the table of keys and RunSettings. Must not look at the machine: its cores and GPUs are given.
"""

from dataclasses import dataclass

import msgspec

from budwood._core.model import RunSettings
from budwood.settings.keys import KEYS, Scope
from budwood.settings.layers import Resolved


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine has."""

    cores: int
    gpus: tuple[str, ...] = ()
    memory_bytes: int | None = None
    """What is free of it; None where nobody looked."""


def run_settings(resolved: Resolved, machine: Machine) -> RunSettings:
    """Fill in what the machine decides, and give each setting its field."""
    of_machine: dict[str, object] = {"slots": machine.cores, "cpus": float(machine.cores), "gpus": machine.gpus}
    fields: dict[str, object] = {}
    for name, key in KEYS.items():
        if key.scope is Scope.TASK or not key.target:
            continue
        value = resolved.value(name)
        fields[key.target] = of_machine.get(name) if value is None else value
    fields["review"] = fields["review"] or ("person" if fields["verify"] is None else "auto")
    fields["gpus"] = _devices(fields["gpus"], machine)
    return msgspec.convert(fields, RunSettings)


def _devices(given: object, machine: Machine) -> tuple[str, ...]:
    """Turn "how many" into device ids: those that were found, or, where more are claimed, the first numbers."""
    if not isinstance(given, int):
        return msgspec.convert(given, tuple[str, ...])
    return machine.gpus[:given] if given <= len(machine.gpus) else tuple(str(number) for number in range(given))
