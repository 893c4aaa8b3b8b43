"""Walks a document by the fields that its kind has, and finds what the API server refuses to create.

Which fields a type has is data (`known_fields.txt`, made by tests/known_fields.py). Which values are valid are rows of
the tables `ROWS` of the modules beside this one: a type, its field, the checks. Both are compiled once for each type,
and a field that a document lacks costs nothing. This mirrors strict decoding (sigs.k8s.io/json) and the Validate
functions of pkg/apis. Rules that depend on other objects are in `controlplane/admission/`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from ksched_cli.api.conversion import Path, has_null, path_text, type_name
from ksched_cli.api.object_facts import is_time
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.api.validation import checks, containers, devices, others, pods, selectors, volumes, workloads
from ksched_cli.api.validation.checks import Check, Needed, one_of
from ksched_cli.api.validation.errors import Errors, FieldError, required
from ksched_cli.api.validation.fields import fields_of, is_type, minors_of, type_of
from ksched_cli.errors import did_you_mean

# The types around a value with their paths, the innermost last.
_Around: TypeAlias = tuple[tuple[str, Path], ...]

_TABLES = (
    checks.ROWS,
    containers.ROWS,
    selectors.ROWS,
    pods.ROWS,
    workloads.ROWS,
    volumes.ROWS,
    devices.ROWS,
    others.ROWS,
)
# Fields that are no pointers in Go: one that is missing is an empty one. The type where `template` is a pointer.
_NO_POINTERS, _POINTS = ("spec", "template", "jobTemplate"), "ReplicationControllerSpec"
# Fields that the API server drops while their gate is off: by type and field when their values count.
_DROPPED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("VolumeProjection", "clusterTrustBundle"): {"since": 37},
    ("VolumeProjection", "podCertificate"): {"since": 37},
    ("RollingUpdateStatefulSetStrategy", "maxUnavailable"): {"gate": ("MaxUnavailableStatefulSet", True)},
}
# How many levels below and above a misplaced field its right place is looked for.
_LEVELS = 3


def mistakes(document: Mapping[str, Any], api_version: str, kind: str) -> list[FieldError]:
    """Everything for which the API server refuses to create the object, as far as it does not depend on others. A value
    of a wrong type is one mistake; the rest of the object is checked without it. A field that some minors lack is an
    unknown one."""
    name = type_of(api_version, kind)
    if name is None:
        return []
    if not has_null(document):
        return _mistakes(document, name, kind)
    # What is wrong both in a new object and in one that exists. The mistakes of either are found where it is written.
    new, applied = (_mistakes(as_read(document, name, fills_maps=fills), name, kind) for fills in (True, False))
    return [each for each in applied if each in new]


def _mistakes(document: Mapping[str, Any], name: str, kind: str) -> list[FieldError]:
    walk = _Walk()
    walk.object(document, name, (), ())
    if walk.misfits:
        rest: Any = deepcopy(document)
        for each in walk.misfits:
            _set_null(rest, each.path)
        again = _Walk()
        again.object(as_read(rest, name), name, (), ())
        walk.found = [*walk.found, *again.found]
    known = {each.path for each in walk.misfits}
    invalid = [
        each
        for each in (*checks.metadata(document, kind), *walk.found)
        if known.isdisjoint(each.path[:length] for length in range(1, len(each.path) + 1))
    ]
    return [*walk.misfits, *walk.unknown, *dict.fromkeys(invalid)]


def validate(document: Mapping[str, Any], kind: str, api_version: str = "") -> Errors:
    """The invalid values of an object whose fields have the right types."""
    return [each for each in mistakes(document, api_version, kind) if not each.is_unknown]


def _set_null(value: Any, path: Path) -> None:
    *outer, last = path
    for step in outer:
        value = value[step]
    value[last] = None


def as_read(value: Any, holds: str, *, fills_maps: bool = False) -> Any:
    """A value of a type as Go reads nulls: a field that is null is absent, a null in a list is the zero value of its
    type. With `fills_maps` an entry of a map is one, too, as in an object that is created; `kubectl apply` removes the
    entry of a live object."""
    return _as_read(value, holds, fills_maps) if has_null(value) else value


def _as_read(value: Any, holds: str, fills_maps: bool) -> Any:
    if isinstance(value, list) and holds[:1] == "*":
        return [_as_read(_zero(holds[1:]) if each is None else each, holds[1:], fills_maps) for each in value]
    if not isinstance(value, dict) or holds[:1] == "*" or holds in _SCALARS:
        return value
    zero, inner = None, fields_of(holds) if holds[:1] != "%" else dict.fromkeys(value, holds[1:])
    if holds[:1] == "%" and fills_maps:
        zero = _zero(holds[1:])
    filled = {key: zero if each is None else each for key, each in value.items()}
    # The name of an unknown field is a mistake whatever its value.
    return {
        key: _as_read(each, inner.get(key, "o"), fills_maps)
        for key, each in filled.items()
        if each is not None or key not in inner
    }


def _zero(holds: str) -> Any:
    """The zero value of a type in Go."""
    if holds in _SCALARS:
        return _SCALARS[holds].zero
    return [] if holds[:1] == "*" else {}


# Types


class _Type(NamedTuple):
    """The fields with their checks, the checks of the whole object, the fields that must be written, and the minors of
    those that not all have."""

    fields: Mapping[str, tuple[str, Sequence[Check]]]
    whole: Sequence[Check]
    needed: Sequence[tuple[str, str]]
    minors: Mapping[str, tuple[int, int]]


@cache
def _rows_by_type() -> Mapping[str, Mapping[str, Any]]:
    """The rows of all tables, by the name of one type."""
    found: dict[str, dict[str, Any]] = {}
    for table in _TABLES:
        for names, rows in table.items():
            for name in names.split():
                found.setdefault(name, {}).update(rows)
    return found


@cache
def _type(name: str) -> _Type:
    """A type of another version has the rows of its name."""
    by_type = _rows_by_type()
    rows = {**by_type.get(name.partition(".")[0], {}), **by_type.get(name, {})}
    needed: list[tuple[str, str]] = []
    by_field: dict[str, list[Check]] = {}
    for names, row in rows.items():
        for written in names.split() or [""]:
            field = written.removesuffix("!")
            if field != written:
                needed.append((field, ""))
            for check in row if isinstance(row, tuple) and not isinstance(row, Needed) else (row,):
                if isinstance(check, Needed):
                    needed.append((field, check.detail))
                else:
                    by_field.setdefault(field, []).append(one_of(check) if isinstance(check, str) else check)
    return _Type(
        {field: (holds, tuple(by_field.get(field, ()))) for field, holds in fields_of(name).items()},
        tuple(by_field.get("", ())),
        tuple(needed),
        minors_of(name),
    )


class _Walk:
    """One pass over a document. Once a value of a wrong type was found, values are not checked any more."""

    def __init__(self) -> None:
        self.misfits: list[FieldError] = []
        self.unknown: list[FieldError] = []
        self.found: list[FieldError] = []

    def object(self, value: Mapping[str, Any], name: str, path: Path, above: _Around) -> None:
        known, whole, needed, minors = _type(name)
        for field in _NO_POINTERS:
            if field in known and value.get(field) is None and name != _POINTS:
                value = {**value, field: {}}
        for field, inner in value.items():
            plan = known.get(field)
            if plan is None or field in minors:
                hint = _meant(field, name, path, above, value) if plan is None else ""
                having = minors.get(field)
                self.unknown.append(
                    FieldError((*path, field), f'unknown field "{field}"', hint=hint, is_unknown=True, having=having)
                )
            if plan is not None:
                holds, checks = plan
                before = len(self.found)
                if holds not in _SCALARS or checks:
                    here = (*path, field)
                    self.value(inner, holds, here, (*above, (name, path)))
                    if checks and not self.misfits:
                        for check in checks:
                            self.found += check(inner, here)
                elif not _SCALARS[holds].fits(inner):
                    self.misfits.append(_wrong(inner, holds, (*path, field)))
                if (name, field) in _DROPPED:
                    self.found[before:] = [replace(each, **_DROPPED[name, field]) for each in self.found[before:]]
        if self.misfits:
            return
        for field, detail in needed:
            if not value.get(field):
                self.found.append(required((*path, field), detail))
        for check in whole:
            self.found += check(value, path)

    def value(self, value: Any, holds: str, path: Path, above: _Around) -> None:
        first = holds[:1]
        if first == "*":
            if not isinstance(value, list):
                self.misfits.append(FieldError(path, f"expected a list, got {type_name(value)}"))
                return
            for index, each in enumerate(value):
                self.value(each, holds[1:], (*path, index), above)
        elif first == "%":
            if not isinstance(value, dict):
                self.misfits.append(FieldError(path, f"expected an object, got {type_name(value)}"))
                return
            fits = _SCALARS[holds[1:]].fits if holds[1:] in _SCALARS else None
            for key, each in value.items():
                if fits is None or not fits(each):
                    self.value(each, holds[1:], (*path, key), above)
        elif holds in _SCALARS:
            if not _SCALARS[holds].fits(value):
                self.misfits.append(_wrong(value, holds, path))
        elif not isinstance(value, dict):
            self.misfits.append(FieldError(path, f"expected an object, got {type_name(value)}"))
        else:
            self.object(value, holds, path, above)


def _wrong(value: object, holds: str, path: Path) -> FieldError:
    expected = _SCALARS[holds].name
    if holds in ("i", "l") and _is_whole(value):
        return FieldError(
            path, f"{_shortened(value)} does not fit into {expected} of {32 if holds == 'i' else 64} bits"
        )
    if holds == "q" and not isinstance(value, bool | list | dict):
        return FieldError(path, _quantity_mistake(value))
    if holds == "t" and isinstance(value, str):
        return FieldError(path, f"{value!r} is not a time: write it as 2026-01-31T12:00:00Z")
    if holds == "y" and isinstance(value, str):
        return FieldError(path, "this is not text in base64")
    hint = "put it in quotes" if holds == "" and isinstance(value, bool | int | float) else ""
    return FieldError(path, f"expected {expected}, got {type_name(value)}", hint=hint)


def _shortened(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) or abs(value) > 2**70 else str(value)  # type: ignore[arg-type]


def _quantity_mistake(value: Any) -> str:
    try:
        parse_quantity(value)
    except QuantityError as mistake:
        return str(mistake)
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_quantity(value: Any) -> bool:
    return (isinstance(value, str) or _is_number(value)) and not _quantity_mistake(value)


def _fits(value: Any, bits: int) -> bool:
    return _is_whole(value) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _is_base64(value: object) -> bool:
    try:
        return isinstance(value, str) and base64.b64decode("".join(value.split()), validate=True) is not None
    except (binascii.Error, ValueError):
        return False


class _Scalar(NamedTuple):
    """What a scalar is called, which values it has, and its zero value in Go."""

    name: str
    fits: Callable[[Any], bool]
    zero: Any


_SCALARS: Mapping[str, _Scalar] = {
    "": _Scalar("a string", lambda value: isinstance(value, str), ""),
    "i": _Scalar("a whole number", lambda value: _fits(value, 32), 0),
    "l": _Scalar("a whole number", lambda value: _fits(value, 64), 0),
    "n": _Scalar("a number", _is_number, 0),
    "b": _Scalar("true or false", lambda value: isinstance(value, bool), False),
    "q": _Scalar("a quantity such as 100m or 2Gi", _is_quantity, 0),
    "t": _Scalar("a time", lambda value: isinstance(value, str) and (not value or is_time(value)), ""),
    "y": _Scalar("text in base64", _is_base64, ""),
    "x": _Scalar("a whole number or a string", lambda value: isinstance(value, str) or _fits(value, 32), 0),
    "o": _Scalar("", lambda value: True, None),
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
    """The nearest place below a type that has the field: `spec`, `spec.template.spec`. Empty if several places have it,
    or only lists."""
    level: list[tuple[Path, str]] = [((), name)]
    for _ in range(_LEVELS):
        inner = [((*path, each), holds) for path, outer in level for each, holds in fields_of(outer).items()]
        level = [(path, holds) for path, holds in inner if is_type(holds)]
        found = [path for path, holds in level if field in fields_of(holds)]
        if found:
            return found[0] if len(found) == 1 else ()
    return ()
