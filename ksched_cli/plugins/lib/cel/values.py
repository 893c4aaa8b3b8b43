"""The values of CEL expressions: their types, their equality and order, and the errors of an evaluation (cel-go's
common/types, and the libraries for quantities and versions of apiserver's pkg/cel)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from msgspec import Struct

from ksched_cli.api.quantity import QuantityError, is_int64, parse_quantity

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1

LONGEST_RANGE = 10_000_000


class CelCompileError(ValueError):
    """The expression can never be evaluated."""


class CelNotModelled(CelCompileError):
    """The expression has a part that kube-scheduler knows and that is not evaluated here."""


class CelError(ValueError):
    """An evaluation failed on a device. Logical operators may still have a result from the other operand."""


class NoSuchKeyError(CelError):
    """A map does not have the key that the expression reads."""


class UInt(int):
    """CEL's uint, a type apart from its int."""


class CelType:
    """A type of a library, with its name; its values are equal as Python's are."""

    __slots__ = ()
    type_name: ClassVar[str]


class CelQuantity(Struct, frozen=True, eq=False):
    """kubernetes.Quantity, and whether its AsInt64 has a value."""

    amount: Fraction
    is_int64: bool = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelQuantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)


class Semver(Struct, frozen=True):
    """kubernetes.Semver: semantic version 2.0.0. Build metadata takes no part in comparisons."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...]

    def order(self) -> tuple[Any, ...]:
        """A release comes after its pre-releases; numbers come before words."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.major, self.minor, self.patch, not self.pre, parts)


class Maybe(Struct, frozen=True):
    """An optional value."""

    present: bool
    value: Any = None


class DefaultingMap(dict[str, Any]):
    """Looking up an unknown key gives an empty map; `in` and iteration see only existing keys."""


class ObjectValue(dict[str, Any]):
    """A value with a fixed set of fields."""


_SEMVER = re.compile(
    r"(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def parse_semver(text: str) -> Semver:
    """Strict: CelError for anything but major.minor.patch with optional suffixes."""
    found = _SEMVER.fullmatch(text)
    if found is None:
        raise CelError(_semver_mistake(text))
    pre = tuple(found["pre"].split(".")) if found["pre"] else ()
    for part in pre:
        if part.isdigit() and len(part) > 1 and part[0] == "0":
            raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
    return Semver(int(found["major"]), int(found["minor"]), int(found["patch"]), pre)


def _semver_mistake(text: str) -> str:
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    rest, _, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    for name, part in zip(("Major", "Minor", "Patch"), (*parts[:2], patch), strict=True):
        if not part.isdigit():
            return f'Invalid character(s) found in {name.lower()} number "{part}"'
        if len(part) > 1 and part[0] == "0":
            return f'{name} number must not contain leading zeroes "{part}"'
    wrong = [part for part in pre.split(".") if dash and re.fullmatch("[0-9A-Za-z-]+", part) is None]
    if wrong:
        return f'Invalid character(s) found in prerelease "{wrong[0]}"' if wrong[0] else "Prerelease is empty"
    wrong = [part for part in build.split(".") if re.fullmatch("[0-9A-Za-z-]+", part) is None]
    return f'Invalid character(s) found in build meta data "{wrong[0]}"' if wrong[0] else "Build meta data is empty"


def normalized_semver(text: str) -> str:
    """What semver(text, true) forgives: a leading v, missing minor and patch, leading zeros."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search(r"[-+]", parts[-1]):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    rest = part.lstrip("0")
    return part if len(part) < 2 else rest if rest[:1].isdigit() else f"0{rest}"


def to_quantity(text: Any) -> CelQuantity:
    try:
        return CelQuantity(parse_quantity(need(text, str)), is_int64(text))
    except QuantityError:
        raise CelError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def cel_type_name(value: Any) -> str:
    """As cel-go names the type."""
    if isinstance(value, CelType):
        return value.type_name
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return "null_type" if value is None else "dyn"


_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (UInt, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (CelQuantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (list, "list"),
    (Mapping, "map"),
    (Maybe, "optional_type"),
)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Numbers are equal across their types; values of other different types are just not equal."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, Semver) and isinstance(right, Semver):
        return left.order() == right.order()
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return type(left) is type(right) and bool(left == right)


def compare(left: Any, right: Any) -> int:
    """The order of two values that CEL's < takes, as -1, 0 or 1; CelError for other values."""
    alike = type(left) is type(right)
    comparable = (is_number(left) and is_number(right)) or (alike and isinstance(left, (bool, str)))
    if not comparable and not (alike and isinstance(left, CelType) and hasattr(left, "nanos")):
        raise no_overload()
    return order_of(left, right)


def no_overload() -> CelError:
    return CelError("no such overload")


def unconvertible(value: Any, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{cel_type_name(value)}' to '{wanted}'")


def need(value: Any, *kinds: type) -> Any:
    """The value if it is of one of the types; CelError otherwise. A bool is no int."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise no_overload()
    return value


def succeeds(convert: Callable[..., object]) -> Callable[..., bool]:
    """A function that returns whether `convert` takes the text."""

    def run(text: Any, *options: Any) -> bool:
        need(text, str)
        try:
            convert(text, *options)
        except CelError:
            return False
        return True

    return run


def order_of(left: Any, right: Any) -> int:
    """-1, 0 or 1, as the left value is less than, equal to or greater than the right one."""
    return int(left > right) - int(left < right)


def not_iterable(value: Any) -> CelError:
    """The error of a macro over a value that is no list or map, with the Go name of its type."""
    name = cel_type_name(value)
    package = "types" if name.startswith("google.protobuf.") or "." not in name else "cel"
    word = {"null_type": "Null", "optional_type": "Optional"}.get(name, name.rpartition(".")[2])
    pointer = "*" if isinstance(value, Maybe) else ""
    return CelError(f"got '{pointer}{package}.{word[0].upper()}{word[1:]}', expected iterable type")


def whole_number(result: int, kind: type[int]) -> int:
    """The result as an int or a UInt; CelError where it is out of range."""
    if kind is UInt:
        if not 0 <= result <= MAX_UINT:
            raise CelError("unsigned integer overflow")
        return UInt(result)
    if not MIN_INT <= result <= MAX_INT:
        raise CelError("integer overflow")
    return result
