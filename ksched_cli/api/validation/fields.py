"""What is wrong with a field, in the words of apimachinery's field errors, and safe access to the fields of a document.

A document may hold anything anywhere: what has the wrong type is reported elsewhere and counts as absent here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.api.conversion import Step
from ksched_cli.api.quantity import QuantityError, parse_quantity

Path: TypeAlias = tuple[Step, ...]


class FieldError(Struct, frozen=True):
    """field.Error: the path of the field and the text without it. `is_missing`: the field is not written."""

    path: Path
    message: str
    is_missing: bool = False


FieldErrors: TypeAlias = Iterator[FieldError]


def _said(kind: str, detail: str) -> str:
    return f"{kind}: {detail}" if detail else kind


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def required(path: Path, detail: str = "") -> FieldError:
    return FieldError(path, _said("Required value", detail), True)


def invalid(path: Path, value: object, detail: str) -> FieldError:
    return FieldError(path, _said(f"Invalid value: {_shown(value)}", detail))


def duplicate(path: Path, value: object) -> FieldError:
    return FieldError(path, f"Duplicate value: {_shown(value)}")


def not_found(path: Path, value: object) -> FieldError:
    return FieldError(path, f"Not found: {_shown(value)}")


def forbidden(path: Path, detail: str) -> FieldError:
    return FieldError(path, _said("Forbidden", detail))


def unsupported(path: Path, value: object, supported: Sequence[str]) -> FieldError:
    values = ", ".join(map(_shown, supported))
    return FieldError(path, f"Unsupported value: {_shown(value)}: supported values: {values}")


def too_long(path: Path, most: int) -> FieldError:
    return FieldError(path, f"Too long: may not be more than {most} bytes")


def invalid_all(path: Path, value: object, details: Iterable[str]) -> FieldErrors:
    """One error for each thing that is wrong with the value."""
    for detail in details:
        yield invalid(path, value, detail)


# Access


def object_at(value: Any, *steps: str) -> Mapping[str, Any]:
    """The object at the end of the steps, empty where there is none."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items_at(value: Any, field: str) -> list[tuple[int, Mapping[str, Any]]]:
    """The objects of a list with their positions."""
    found = value.get(field) if isinstance(value, dict) else None
    return [
        (index, each) for index, each in enumerate(found if isinstance(found, list) else ()) if isinstance(each, dict)
    ]


def text_at(value: Any, field: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def number_at(value: Any, field: str) -> int | None:
    found = value.get(field) if isinstance(value, dict) else None
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def texts_at(value: Any, field: str) -> list[str]:
    found = value.get(field) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


# Rules that many fields share


def not_negative(value: Any, field: str, path: Path) -> FieldErrors:
    number = number_at(value, field)
    if number is not None and number < 0:
        yield invalid((*path, field), number, "must be greater than or equal to 0")


def amount_in(value: Any) -> Fraction | None:
    """The amount of a quantity; None where the value is none."""
    try:
        return parse_quantity(value)
    except (QuantityError, TypeError):
        return None


def quantity(value: Any, path: Path, *, whole: bool = False) -> FieldErrors:
    """ValidateResourceQuantityValue."""
    try:
        amount = parse_quantity(value)
    except QuantityError as mistake:
        yield FieldError(path, str(mistake))
    except TypeError:
        return
    else:
        if amount < 0:
            yield invalid(path, str(value), "must be greater than or equal to 0")
        elif whole and amount.denominator != 1:
            yield invalid(path, str(value), "must be an integer")


def one_of(value: Any, field: str, path: Path, supported: Sequence[str]) -> FieldErrors:
    """The field, if it is written, has one of the values."""
    found = text_at(value, field)
    if found and found not in supported:
        yield unsupported((*path, field), found, supported)
