"""The errors of apimachinery's package `field`: the path of a field, and the API server's words. An error also has the
minors that report it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from ksched_cli.api.conversion import Path
from ksched_cli.api.validation.fields import EVER


class FieldError(Struct, frozen=True):
    """field.Error: the path of the field and the text without it. `is_missing`: the field is not written. `since`: the
    number after "1." of the first minor that has the rule; 0 if every minor counts as having it. `until`: that of the
    first minor that no longer has it. `gate`: the rule holds while this gate is on, or with a False while it is off.
    `hint` names a field that may be meant. `is_unknown`: the type has no such field, or only in the minors from the
    first to the last of `having`."""

    path: Path
    message: str
    is_missing: bool = False
    since: int = 0
    until: int = EVER
    gate: tuple[str, bool] | None = None
    hint: str = ""
    is_unknown: bool = False
    having: tuple[int, int] | None = None


Errors: TypeAlias = Iterable[FieldError]


def _said(kind: str, detail: str) -> str:
    return f"{kind}: {detail}" if detail else kind


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


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


def unsupported(path: Path, value: object, supported: Iterable[str]) -> FieldError:
    values = ", ".join(map(_shown, supported))
    return FieldError(path, f"Unsupported value: {_shown(value)}: supported values: {values}")


def too_long(path: Path, most: int) -> FieldError:
    return FieldError(path, f"Too long: may not be more than {most} bytes")


def too_many(path: Path, count: int, most: int) -> FieldError:
    return FieldError(path, f"Too many: {count}: must have at most {most} items")


def invalid_all(path: Path, value: object, details: Iterable[str]) -> Errors:
    """One error for each thing that is wrong with the value."""
    return [invalid(path, value, detail) for detail in details]
