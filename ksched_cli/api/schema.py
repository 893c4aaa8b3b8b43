"""The fields that the kinds of the newest Kubernetes have, and what in a document is none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.api.conversion import Step, path_text, type_name
from ksched_cli.api.listing import did_you_mean

Path: TypeAlias = tuple[Step, ...]
# The types around a value with their paths, the innermost last.
_Around: TypeAlias = tuple[tuple[str, Path], ...]

_TEXT = ""
# How many levels below and above a misplaced field its right place is looked for.
_LEVELS = 3


class Misfit(Struct, frozen=True):
    """A field that the API server has not, or whose value it cannot decode. `hint` names a field that may be meant."""

    path: Path
    message: str
    unknown: bool
    hint: str = ""


def misfits(document: Mapping[str, Any], api_version: str, kind: str) -> Iterator[Misfit]:
    """Everything in the document that a strict decoder of its kind refuses. A kind without known fields has none."""
    name = type_of(api_version, kind)
    if name is not None:
        yield from _object(document, name, (), ())


def type_of(api_version: str, kind: str) -> str | None:
    """The name of the type of a kind; None for a kind without known fields."""
    group, _, version = api_version.rpartition("/")
    own = f"{kind}.{group.partition('.')[0] or 'core'}.{version}"
    return own if own in _lines() else kind if kind in _lines() else None


@cache
def _lines() -> Mapping[str, str]:
    """A type's line of known_fields.txt by its name: tests/known_fields.py describes its format."""
    text = files("ksched_cli.api").joinpath("known_fields.txt").read_text(encoding="utf-8")
    return {name: fields for name, _, fields in (line.partition(" ") for line in text.splitlines())}


@cache
def fields_of(name: str) -> Mapping[str, str]:
    """What each field of a type holds."""
    return {field: holds for field, _, holds in (each.partition("=") for each in _lines()[name].split())}


def _object(value: Mapping[str, Any], name: str, path: Path, above: _Around) -> Iterator[Misfit]:
    known = fields_of(name)
    for field, inner in value.items():
        here = (*path, field)
        if field not in known:
            hint = _meant(field, name, path, above, value)
            yield Misfit(here, f'unknown field "{field}"', True, hint)
        elif inner is not None:
            yield from _value(inner, known[field], here, (*above, (name, path)))


def _value(value: Any, holds: str, path: Path, above: _Around) -> Iterator[Misfit]:
    if holds[:1] == "*":
        if not isinstance(value, list):
            yield _wrong(value, "a list", path)
            return
        for index, each in enumerate(value):
            yield from _value(each, holds[1:], (*path, index), above)
    elif holds[:1] == "%":
        if not isinstance(value, dict):
            yield _wrong(value, "an object", path)
            return
        for key, each in value.items():
            if each is not None:
                yield from _value(each, holds[1:], (*path, key), above)
    elif holds in _SCALARS:
        expected, fits = _SCALARS[holds]
        if not fits(value):
            yield _wrong(value, expected, path)
    elif not isinstance(value, dict):
        yield _wrong(value, "an object", path)
    else:
        yield from _object(value, holds, path, above)


def _wrong(value: object, expected: str, path: Path) -> Misfit:
    hint = "put it in quotes" if expected == "a string" and isinstance(value, bool | int | float) else ""
    return Misfit(path, f"expected {expected}, got {type_name(value)}", False, hint)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return _is_number(value) and int(value) == value  # type: ignore[call-overload]  # it is a number


_SCALARS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    _TEXT: ("a string", lambda value: isinstance(value, str)),
    "i": ("a whole number", _is_whole),
    "n": ("a number", _is_number),
    "b": ("true or false", lambda value: isinstance(value, bool)),
    "q": ("a quantity such as 100m or 2Gi", lambda value: isinstance(value, str) or _is_number(value)),
    "x": ("a whole number or a string", lambda value: isinstance(value, str) or _is_whole(value)),
    "o": ("", lambda value: True),
}


# What may be meant


def _meant(field: str, name: str, path: Path, above: _Around, siblings: Mapping[str, Any]) -> str:
    """The nearest field of this type, or where below or around it a field of this name is."""
    known = fields_of(name)
    same = next((each for each in known if each.lower() == field.lower()), None)
    if same is not None:
        return f"did you mean {same}?"
    below = _below(field, name)
    if below:
        return f"it belongs into {path_text((*path, *below))}"
    for outer, place in reversed(above[-_LEVELS:]):
        if field in fields_of(outer):
            return f"it belongs into {path_text(place)}" if place else "it belongs to the top level of the document"
    left = [each for each in known if each not in siblings]
    return did_you_mean(field, left, did_you_mean(field, known, cutoff=0.7), 0.7)


def _below(field: str, name: str) -> Path:
    """The nearest place below a type that has the field: `spec`, `spec.template.spec`. Empty where there are several,
    or only lists have it."""
    level: list[tuple[Path, str]] = [((), name)]
    for _ in range(_LEVELS):
        inner = [((*path, each), holds) for path, outer in level for each, holds in fields_of(outer).items()]
        level = [(path, holds) for path, holds in inner if holds in _lines()]
        found = [path for path, holds in level if field in fields_of(holds)]
        if found:
            return found[0] if len(found) == 1 else ()
    return ()
