"""Which fields the types of Kubernetes have, and safe access to the fields of a document. The fields are data
(`known_fields.txt`, made of the API server's own description); types of custom resources are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from ksched_cli.api.conversion import Path
from ksched_cli.api.quantity import QuantityError, parse_quantity

# Later than any minor.
EVER = 10_000


@cache
def _lines() -> Mapping[str, str]:
    """A type's line of known_fields.txt by its name: tests/known_fields.py describes its format."""
    # Imported here: most runs only use the access to documents.
    from importlib.resources import files

    text = files("ksched_cli.api").joinpath("known_fields.txt").read_text(encoding="utf-8")
    return {name: fields for name, _, fields in (line.partition(" ") for line in text.splitlines())}


@cache
def built_in_kinds() -> Mapping[str, frozenset[str]]:
    """The kinds of each version of the API groups of the newest Kubernetes."""
    return {name[1:]: frozenset(kinds.split()) for name, kinds in _lines().items() if name[0] == "@"}


@cache
def built_in_groups() -> frozenset[str]:
    return frozenset(version.rpartition("/")[0] for version in built_in_kinds())


def is_type(name: str) -> bool:
    """Whether the fields of this type are known."""
    return name in _lines()


@cache
def fields_of(name: str) -> Mapping[str, str]:
    """What each field of a type holds."""
    return {field: holds for field, holds, _ in _fields(name)}


@cache
def volume_sources_of(name: str) -> Sequence[str]:
    """The fields of a type that are sources of a volume."""
    return [field for field, holds in fields_of(name).items() if holds.endswith("VolumeSource")]


@cache
def minors_of(name: str) -> Mapping[str, tuple[int, int]]:
    """The first and the last minor of each field that not all minors have."""
    minors = {field: bounds.partition("-") for field, _, bounds in _fields(name) if bounds}
    return {field: (int(first or 0), int(last or EVER)) for field, (first, _, last) in minors.items()}


def _fields(name: str) -> Iterator[tuple[str, str, str]]:
    for each in _lines()[name].split():
        written, _, bounds = each.partition("@")
        field, _, holds = written.partition("=")
        yield field, holds, bounds


def type_of(api_version: str, kind: str) -> str | None:
    """The name of the type of a kind of Kubernetes, None if its fields are not known. A version that the newest
    Kubernetes does not have has the fields of the newest."""
    group, _, version = api_version.rpartition("/")
    own = f"{kind}.{group.partition('.')[0] or 'core'}.{version}"
    if is_type(own):
        return own
    return kind if is_type(kind) and (not api_version or group in built_in_groups()) else None


def object_at(value: Any, *steps: str) -> Mapping[str, Any]:
    """The object at the end of the steps, empty if there is none."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items_at(value: Any, field: str) -> list[tuple[int, Mapping[str, Any]]]:
    """The objects of a list with their positions."""
    found = value.get(field) if isinstance(value, dict) else None
    return [(at, each) for at, each in enumerate(found if isinstance(found, list) else ()) if isinstance(each, dict)]


def each_at(value: Any, path: Path, *lists: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The objects of a list, or of lists in the objects of lists, with their paths. A list in an object has a name such
    as `resources.claims`."""
    *outer, last = lists[0].split(".")
    for index, item in items_at(object_at(value, *outer), last):
        here = (*path, *outer, last, index)
        if len(lists) > 1:
            yield from each_at(item, here, *lists[1:])
        else:
            yield here, item


def text_at(value: Any, field: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def number_at(value: Any, field: str) -> int | None:
    found = value.get(field) if isinstance(value, dict) else None
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def texts_at(value: Any, field: str) -> list[str]:
    found = value.get(field) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def amount_in(value: Any) -> Fraction | None:
    """The amount of a quantity; None for a value that is no quantity."""
    try:
        return parse_quantity(value)
    except (QuantityError, TypeError):
        return None
