"""The errors of apimachinery's package field, safe access to the fields of a document, and the checks that rows of many
tables share. A check gets a value of the right type and its path. A table maps a type to its rows, and a row maps one
or several field names to a check or to a tuple of checks; the row "" checks the whole object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from ksched_cli.api.conversion import Step
from ksched_cli.api.label_names import domain_problems, key_problems, value_problems
from ksched_cli.api.quantity import QuantityError, parse_quantity

Path: TypeAlias = tuple[Step, ...]
# Later than any minor.
EVER = 10_000


class FieldError(Struct, frozen=True):
    """field.Error: the path of the field and the text without it. `is_missing`: the field is not written. `since`: the
    number after "1." of the first minor that has the rule; 0 if every minor counts as having it. `until`: that of the
    first minor that no longer has it."""

    path: Path
    message: str
    is_missing: bool = False
    since: int = 0
    until: int = EVER


FieldErrors: TypeAlias = Iterable[FieldError]
Check: TypeAlias = Callable[[Any, Path], FieldErrors]


class Needed(NamedTuple):
    """The field must be written and must not be empty."""

    detail: str = ""


# A name of fields, and what is checked of them.
Rows: TypeAlias = Mapping[str, Mapping[str, Any]]
NEEDED = Needed()

# Errors


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


def unsupported(path: Path, value: object, supported: Iterable[str]) -> FieldError:
    values = ", ".join(map(_shown, supported))
    return FieldError(path, f"Unsupported value: {_shown(value)}: supported values: {values}")


def too_long(path: Path, most: int) -> FieldError:
    return FieldError(path, f"Too long: may not be more than {most} bytes")


def too_many(path: Path, count: int, most: int) -> FieldError:
    return FieldError(path, f"Too many: {count}: must have at most {most} items")


def invalid_all(path: Path, value: object, details: Iterable[str]) -> FieldErrors:
    """One error for each thing that is wrong with the value."""
    return [invalid(path, value, detail) for detail in details]


# Data and access


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


# Names. Each function returns everything that is wrong with the text.

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_IS_LABEL = re.compile(_LABEL)
_UNDERSCORED = re.compile(r"[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*")
_CONFIG_KEY = re.compile("[-._a-zA-Z0-9]+")
_PERCENT = re.compile("[0-9]+%", re.ASCII)
_LONGEST_LABEL, _LONGEST_PORT_NAME = 63, 15

Problems: TypeAlias = Sequence[str]


def _pattern_error(text: str, pattern: str, *examples: str) -> str:
    """RegexError."""
    shown = " or ".join(f"'{each}', " for each in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def dns_label(name: str) -> list[str]:
    """IsDNS1123Label."""
    found = [f"must be no more than {_LONGEST_LABEL} characters"] if len(name.encode()) > _LONGEST_LABEL else []
    if _IS_LABEL.fullmatch(name):
        return found
    if not domain_problems(name):
        return [*found, "must not contain dots"]
    text = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character"
    )
    return [*found, _pattern_error(text, _LABEL, "my-name", "123-abc")]


def starts_with_a_letter(name: str) -> list[str]:
    """What IsDNS1035Label has beyond IsDNS1123Label."""
    text = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    is_wrong = name[:1].isdigit() and _IS_LABEL.fullmatch(name)
    return [_pattern_error(text, "[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123")] if is_wrong else []


def search_path(name: str) -> list[str]:
    """IsDNS1123SubdomainWithUnderscore, for the search paths of dnsConfig."""
    name = name.removesuffix(".")
    if name == "" or (_UNDERSCORED.fullmatch(name) and len(name) <= 253):
        return []
    return ["a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.'"]


def port_name(name: str) -> list[str]:
    """IsValidPortName."""
    rules = (
        (len(name) > _LONGEST_PORT_NAME, f"must be no more than {_LONGEST_PORT_NAME} characters"),
        (
            not re.fullmatch("[-a-z0-9]+", name),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not re.search("[a-z]", name), "must contain at least one letter (a-z)"),
        ("--" in name, "must not contain consecutive hyphens"),
        (name[:1] == "-" or name[-1:] == "-", "must not begin or end with a hyphen"),
    )
    return [text for is_wrong, text in rules if is_wrong]


def environment_name(name: str) -> list[str]:
    """IsRelaxedEnvVarName."""
    if all(" " <= each <= "~" and each != "=" for each in name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def config_key(key: str) -> list[str]:
    """IsConfigMapKey."""
    found = ["must be no more than 253 bytes"] if len(key) > 253 else []
    if not _CONFIG_KEY.fullmatch(key):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(_pattern_error(text, "[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name"))
    elif key in (".", "..") or key.startswith(".."):
        found.append("must not be '.', and must not start with '..'")
    return found


def path_segment(name: str) -> list[str]:
    """IsPathSegmentName."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in name]


def percent(text: str) -> list[str]:
    """IsValidPercent."""
    if _PERCENT.fullmatch(text):
        return []
    explained = "a valid percent string must be a numeric string followed by an ending '%'"
    return [_pattern_error(explained, "[0-9]+%", "1%", "93%")]


def inside_path(path: str) -> list[str]:
    """validateLocalDescendingPath."""
    found = ["must be a relative path"] if path.startswith("/") else []
    return [*found, *no_way_back(path)]


def no_way_back(path: str) -> list[str]:
    """validatePathNoBacksteps."""
    return ["must not contain '..'"] if ".." in path.split("/") else []


def unreserved_path(path: str) -> list[str]:
    """ValidateLocalNonReservedPath."""
    is_reserved = path.startswith("..") and not path.startswith("../")
    return [*inside_path(path), *(["must not start with '..'"] if is_reserved and path != ".." else [])]


def ip(text: str) -> list[str]:
    """IsValidIP, with the leading zeros that legacy fields may have."""
    parts = text.split(".")
    plain = ".".join(each.lstrip("0") or "0" for each in parts) if len(parts) == 4 and "" not in parts else text
    try:
        ip_address(plain)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


def plain_ip(text: str) -> list[str]:
    """IsValidIP and ValidateNonSpecialIP."""
    if found := ip(text):
        return found
    parts = text.split(".")
    address = ip_address(".".join(each.lstrip("0") or "0" for each in parts) if len(parts) == 4 else text)
    is_local_multicast = address in ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
    rules = (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (is_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    )
    return [problem for is_wrong, problem in rules if is_wrong]


def cidr(text: str) -> list[str]:
    """IsValidCIDR."""
    try:
        if "/" in text:
            ip_network(text.strip(), strict=False)
            return []
    except ValueError:
        pass
    return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]


# Checks


def name(rule: Callable[[str], Problems]) -> Check:
    """The text, if it is not empty, is a name by this rule."""

    def check(value: str, path: Path) -> FieldErrors:
        problems = rule(value) if value else ()
        return invalid_all(path, value, problems) if problems else ()

    return check


def form(rule: Callable[[str], Problems]) -> Check:
    """The same, and the empty text is a name too."""

    def check(value: str, path: Path) -> FieldErrors:
        problems = rule(value)
        return invalid_all(path, value, problems) if problems else ()

    return check


def each_item(inner: Check) -> Check:
    """Every item of a list."""

    def check(value: list[Any], path: Path) -> Iterator[FieldError]:
        for index, item in enumerate(value):
            yield from inner(item, (*path, index))

    return check


def one_of(*supported: str) -> Check:
    """One of the values; an empty text is the default."""

    def check(value: str, path: Path) -> FieldErrors:
        return () if not value or value in supported else [unsupported(path, value, supported)]

    return check


def exactly_one_of(*supported: str) -> Check:
    """One of the values: the field is a pointer, and an empty text is none of them."""

    def check(value: str, path: Path) -> FieldErrors:
        return () if value in supported else [unsupported(path, value, supported)]

    return check


def in_range(least: int, most: int, detail: str = "") -> Check:
    def check(value: float, path: Path) -> FieldErrors:
        if least <= value <= most:
            return ()
        return [invalid(path, value, detail or f"must be between {least} and {most}, inclusive")]

    return check


def no_less_than(least: int, detail: str = "") -> Check:
    def check(value: float, path: Path) -> FieldErrors:
        return () if value >= least else [invalid(path, value, detail or f"must be greater than or equal to {least}")]

    return check


def not_more_than(most: int) -> Check:
    """No more items."""

    def check(value: Sequence[Any], path: Path) -> FieldErrors:
        return () if len(value) <= most else [too_many(path, len(value), most)]

    return check


def no_longer(most: int) -> Check:
    def check(value: str, path: Path) -> FieldErrors:
        return () if len(value.encode()) <= most else [too_long(path, most)]

    return check


def exclusive(*fields: str, detail: str = "may not specify more than 1 volume type") -> Check:
    """At most one of these fields is written."""

    def check(value: Mapping[str, Any], path: Path) -> FieldErrors:
        given = [field for field in fields if value.get(field) is not None]
        return [forbidden((*path, field), detail) for field in given[1:]]

    return check


def needs_one(*fields: str, detail: str) -> Check:
    """At least one of these fields is written."""

    def check(value: Mapping[str, Any], path: Path) -> FieldErrors:
        return () if any(value.get(field) is not None for field in fields) else [required(path, detail)]

    return check


def unique(field: str) -> Check:
    """The items of a list differ in this field."""

    def check(value: list[Any], path: Path) -> Iterator[FieldError]:
        if len(value) > 1:
            seen: set[Any] = set()
            for index, item in enumerate(value):
                found = item.get(field) if isinstance(item, dict) else None
                if found and found in seen:
                    yield duplicate((*path, index, field), found)
                seen.add(found)

    return check


def int_or_percent(value: Any, path: Path) -> FieldErrors:
    """ValidatePositiveIntOrPercent."""
    if isinstance(value, str):
        return invalid_all(path, value, percent(value))
    return NOT_NEGATIVE(value, path)


def at_most_100_percent(value: Any, path: Path) -> FieldErrors:
    """IsNotMoreThan100Percent."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return ()


def amount_of(found: object) -> int | None:
    """getIntOrPercentValue; None for a value that is neither."""
    if isinstance(found, str) and _PERCENT.fullmatch(found):
        return int(found[:-1])
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def positive_amount(value: Any, path: Path) -> FieldErrors:
    """ValidatePositiveQuantityValue."""
    amount = amount_in(value)
    return () if amount is None or amount > 0 else [invalid(path, str(value), "must be greater than zero")]


def amount_not_negative(value: Any, path: Path) -> FieldErrors:
    """ValidateNonnegativeQuantity."""
    amount = amount_in(value)
    is_negative = amount is not None and amount < 0
    return [invalid(path, str(value), "must be greater than or equal to 0")] if is_negative else ()


def port_or_name(value: Any, path: Path) -> FieldErrors:
    """ValidatePortNumOrName."""
    return invalid_all(path, value, port_name(value)) if isinstance(value, str) else PORT(value, path)


def labels(found: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """ValidateLabels. Unlike the API server's path, this path has the key."""
    for key, value in found.items():
        if problems := key_problems(key):
            yield from invalid_all((*path, key), key, problems)
        if isinstance(value, str) and (problems := value_problems(value)):
            yield from invalid_all((*path, key), value, problems)


NOT_NEGATIVE = no_less_than(0)
PORT = in_range(1, 65535)
LABEL, DOMAIN, KEY = name(dns_label), name(domain_problems), form(key_problems)
