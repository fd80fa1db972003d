"""The reference of the Python API names everything that is public, with the signatures and words of the code."""

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Unpack, get_args, get_origin

import msgspec
import pytest
from tests.docs.pages import ROOT

import budwood
from budwood.api.keys import RunKeys, TaskKeys

PAGE = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
OBJECTS = {name: getattr(budwood, name) for name in budwood.__all__ if name not in ("__version__", "errors")}
ERRORS = {name for name, found in OBJECTS.items() if isinstance(found, type) and issubclass(found, Exception)}
FUNCTIONS = {name: found for name, found in OBJECTS.items() if inspect.isfunction(found)}
CLASSES = {name: found for name, found in OBJECTS.items() if isinstance(found, type) and name not in ERRORS}
SPECS = ("LaneSpec", "TaskSpec")
_MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])")


def written(annotation: object) -> str:
    """Write a type as one would: names without their modules."""
    if get_origin(annotation) is Unpack:
        return f"Unpack[{written(get_args(annotation)[0])}]"
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _MODULES.sub("", re.sub(r"['\"~]", "", text)).replace("datetime.", "").replace("TaskId", "str | int")


def signature(function: Callable[..., object], *, name: str) -> str:
    """Write a call as a reference does, without `self`."""
    found = inspect.signature(function)
    parts: list[str] = []
    starred = False
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        prefix = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{prefix}{parameter.name}: {written(parameter.annotation)}{default}")
    return f"{name}({', '.join(parts)}) -> {written(found.return_annotation)}"


def first_line(found: object) -> str:
    """Return what a docstring says in its first sentence."""
    return (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")


def fields(kind: type) -> list[str]:
    """Write the fields that objects of a class have."""
    if dataclasses.is_dataclass(kind):
        return [f"{each.name}: {written(each.type)}" for each in dataclasses.fields(kind) if each.name[0] != "_"]
    if issubclass(kind, msgspec.Struct):
        return [f"{each.name}: {written(each.type)}" for each in msgspec.structs.fields(kind)]
    return []


def members(kind: type) -> list[str]:
    """Write the lines of a class: its fields, properties and methods, with what they say of themselves."""
    lines = [f"- `{each}`" for each in fields(kind)]
    for name, found in vars(kind).items():
        if name.startswith("_") or name in {line.partition(":")[0] for line in fields(kind)}:
            continue
        if isinstance(found, property):
            lines.append(f"- `{name}: {written(inspect.signature(found.fget).return_annotation)}`: {first_line(found)}")  # type: ignore[arg-type]
        elif inspect.isfunction(found):
            lines.append(f"- `{signature(found, name=name)}`: {first_line(found)}")
    return lines


def section(name: str) -> str:
    """Return what stands under a name's heading."""
    _, found, rest = PAGE.partition(f"\n### `budwood.{name}`\n")
    assert found, f"no heading for {name}"
    return rest.partition("\n##")[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_there_with_its_signature_and_its_words(name: str) -> None:
    text = section(name)
    assert first_line(FUNCTIONS[name]) in text
    if name != "task":  # it has two, of which neither is the one that runs
        shown = " ".join(text.partition("```python\n")[2].partition("\n```")[0].split())
        assert shown.replace("( ", "(").replace(", )", ")") == signature(FUNCTIONS[name], name=f"budwood.{name}")


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_is_there_with_its_members(name: str) -> None:
    text = section(name)
    assert first_line(CLASSES[name]) in text
    lines = text.splitlines()
    wanted = members(CLASSES[name])
    if name in SPECS:  # their fields are the keys of a plan file, which has a page of its own
        return
    assert [line for line in wanted if not any(each == line or each.startswith(f"{line}: ") for each in lines)] == []
    told = [line for line in lines if line.startswith("- `")]
    assert [line for line in told if not any(line == each or line.startswith(f"{each}: ") for each in wanted)] == []


def test_nothing_is_there_that_is_not_public() -> None:
    headings = re.findall(r"^### `budwood\.(\w+)`$", PAGE, re.MULTILINE)
    assert sorted(headings) == sorted({*FUNCTIONS, *CLASSES})


def test_every_error_that_is_public_is_named() -> None:
    _, _, text = PAGE.partition("\n## Errors\n")
    named = re.findall(r"`(\w+)`", text.partition("\n## ")[0])
    assert {name for name in named if name.endswith("Error") or name in ERRORS} == ERRORS


def test_every_key_is_named() -> None:
    for keys, heading in ((TaskKeys, "Keys of tasks"), (RunKeys, "Settings of runs")):
        _, found, text = PAGE.partition(f"\n### {heading}\n")
        assert found
        assert sorted(re.findall(r"`(\w+)`", text.partition("\n#")[0])) == sorted(keys.__annotations__)
