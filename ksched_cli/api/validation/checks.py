"""The checks that rows of many tables share, and those of metadata (apimachinery's ValidateObjectMeta). A check gets a
value of the right type and its path. A table maps one or several types to their rows, and a row maps one or several
field names to a check or to a tuple of checks; the row "" checks the whole object. A field with a `!` must be written.
A text as a check lists the values of the field (`one_of`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from ksched_cli.api.conversion import Path
from ksched_cli.api.label_names import domain_problems, key_problems, value_problems
from ksched_cli.api.validation import errors
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, invalid_all, required, unsupported
from ksched_cli.api.validation.fields import amount_in, items_at, object_at, text_at, texts_at

Check: TypeAlias = Callable[[Any, Path], Errors]


class Needed(NamedTuple):
    """The field must be written and must not be empty."""

    detail: str = ""


# Names of types, names of their fields, and what is checked of them.
Rows: TypeAlias = Mapping[str, Mapping[str, Any]]
NEEDED = Needed()

# Names. Each function returns everything that is wrong with the text.

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_IS_LABEL = re.compile(_LABEL)
_UNDERSCORED = re.compile(r"[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*")
_CONFIG_KEY = re.compile("[-._a-zA-Z0-9]+")
_PERCENT = re.compile("[0-9]+%", re.ASCII)
_LONGEST_LABEL, _LONGEST_PORT_NAME = 63, 15
_MOST_ANNOTATIONS = 256 * 1024
# The first minor that has the gate StrictIPCIDRValidation on.
_STRICT_ADDRESSES = 36
_NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

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


def config_key(key: str) -> list[str]:
    """IsConfigMapKey."""
    found = ["must be no more than 253 bytes"] if len(key) > 253 else []
    if not _CONFIG_KEY.fullmatch(key):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(_pattern_error(text, "[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name"))
    elif key in (".", "..") or key.startswith(".."):
        found.append("must not be '.', and must not start with '..'")
    return found


def domain_prefixed_path(text: str) -> list[str]:
    """IsDomainPrefixedPath, as far as a name without a domain is none."""
    return key_problems(text) if "/" in text else ['must be a domain-prefixed path (such as "acme.io/foo")']


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


def parse_ip(text: str) -> IPv4Address | IPv6Address:
    """ParseIPSloppy: legacy fields may have leading zeros."""
    parts = text.split(".")
    is_ipv4 = len(parts) == 4 and "" not in parts
    return ip_address(".".join(each.lstrip("0") or "0" for each in parts) if is_ipv4 else text)


def ip(text: str) -> list[str]:
    """IsValidIPForLegacyField."""
    try:
        parse_ip(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


def special_ip(text: str) -> list[str]:
    """ValidateNonSpecialIP."""
    address = parse_ip(text)
    is_local_multicast = address in ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
    rules = (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (is_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    )
    return [problem for is_wrong, problem in rules if is_wrong]


# Checks


def form(rule: Callable[[str], Problems]) -> Check:
    """The text is a name by this rule."""

    def check(value: str, path: Path) -> Errors:
        problems = rule(value)
        return invalid_all(path, value, problems) if problems else ()

    return check


def name(rule: Callable[[str], Problems]) -> Check:
    """The same, and an empty text counts as none."""
    check = form(rule)
    return lambda value, path: check(value, path) if value else ()


def matches(pattern: str, problem: str) -> Check:
    """The text has this form."""
    compiled = re.compile(pattern, re.ASCII)
    return form(lambda text: [] if compiled.fullmatch(text) else [problem])


def each_item(inner: Check) -> Check:
    """Every item of a list."""
    return lambda value, path: [error for index, item in enumerate(value) for error in inner(item, (*path, index))]


def each_key(rule: Callable[[str], Problems]) -> Check:
    """Every key of an object is a name by this rule."""
    return lambda value, path: [error for key in value for error in invalid_all((*path, key), key, rule(key))]


@cache
def one_of(words: str) -> Check:
    """One of the words, such as `Always|Never`. An empty text is the default, but not of a pointer: `*Always|Never`."""
    pointer, supported = words[:1] == "*", words.removeprefix("*").split("|")
    return lambda value, path: (
        () if value in supported or not (value or pointer) else [unsupported(path, value, supported)]
    )


def in_range(least: int, most: int, detail: str = "") -> Check:
    text = detail or f"must be between {least} and {most}, inclusive"
    return lambda value, path: () if least <= value <= most else [invalid(path, value, text)]


def no_less_than(least: int, detail: str = "") -> Check:
    text = detail or f"must be greater than or equal to {least}"
    return lambda value, path: () if value >= least else [invalid(path, value, text)]


def refused(text: str) -> Check:
    """The field must not be written."""
    return lambda value, path: [invalid(path, value, text)]


def at(field: str, inner: Check) -> Check:
    """A field of the object, if it is written."""
    return lambda value, path: inner(value[field], (*path, field)) if value.get(field) is not None else ()


def always(field: str, default: Any, inner: Check) -> Check:
    """A field of the object; one that is not written has the default."""

    def check(value: Mapping[str, Any], path: Path) -> Errors:
        found = value.get(field)
        return inner(default if found is None else found, (*path, field))

    return check


def address(value: str, path: Path) -> Errors:
    """IsValidIPForLegacyField."""
    if problems := ip(value):
        return invalid_all(path, value, problems)
    try:
        is_mapped = getattr(ip_address(value), "ipv4_mapped", None) is not None
        problem = "must not be an IPv4-mapped IPv6 address" if is_mapped else ""
    except ValueError:
        problem = "must not have leading 0s"
    return [replace(invalid(path, value, problem), since=_STRICT_ADDRESSES)] if problem else ()


def network(value: str, path: Path) -> Errors:
    """IsValidCIDRForLegacyField."""
    written, _, length = value.strip().partition("/")
    # int() also accepts signs, spaces and digits of other scripts.
    digits = length if length.isascii() and length.isdigit() else ""
    try:
        whole = ip_network(f"{parse_ip(written)}/{int(digits)}", strict=False)
    except ValueError:
        return [invalid(path, value, _NO_NETWORK)]
    problem = ""
    if list(address(written, path)) or length != str(int(length)):
        problem = "must not have leading 0s in IP or prefix length"
    elif whole.network_address != parse_ip(written):
        problem = "must not have bits set beyond the prefix length"
    return [replace(invalid(path, value, problem), since=_STRICT_ADDRESSES)] if problem else ()


def external_ip(value: str, path: Path) -> Errors:
    """IsValidIPForLegacyField and ValidateNonSpecialIP."""
    return list(address(value, path)) or invalid_all(path, value, special_ip(value))


def needs(*fields: str) -> Check:
    """An object with these texts."""
    return lambda value, path: [required((*path, field)) for field in fields if not text_at(value, field)]


def requires(given: str, needed: str, detail: str) -> Check:
    """If one field is written, the other one is."""
    return lambda value, path: (
        [required((*path, needed), detail)] if value.get(given) not in (None, []) and value.get(needed) is None else ()
    )


def not_more_than(most: int) -> Check:
    """No more items."""
    return lambda value, path: () if len(value) <= most else [errors.too_many(path, len(value), most)]


def no_longer(most: int) -> Check:
    """No more bytes."""
    return lambda value, path: () if len(value.encode()) <= most else [errors.too_long(path, most)]


def none_of(fields: Iterable[str], value: Mapping[str, Any], path: Path, detail: str, *empty: Any) -> Errors:
    """The object must not have these fields. A value that is one of `empty` is not written either."""
    return [forbidden((*path, field), detail) for field in fields if value.get(field) not in (None, *empty)]


# An error function, and what it gets after the path. `invalid` shows the value at the path if no other one is given.
Refusal: TypeAlias = tuple[Any, ...]


def choice(*fields: str, none: Refusal = (), many: Refusal = (), at: str = "", empty: Any = None) -> Check:
    """One of these fields is written: how the object, or its field `at`, is refused if none is, and if many are. Each
    field after the first one is forbidden, if `many` forbids. A value that equals `empty` is not written either."""

    def check(value: Mapping[str, Any], path: Path) -> Errors:
        given = [field for field in fields if value.get(field) not in (None, [], empty)]
        refusal = none if not given else many if len(given) > 1 else ()
        if not refusal:
            return ()
        refuse, *rest = refusal
        if refuse is forbidden:
            return [forbidden((*path, field), *rest) for field in given[1:]]
        if refuse is invalid and len(rest) == 1:
            rest = [value[at] if at else value, *rest]
        return [refuse((*path, at) if at else path, *rest)]

    return check


def repeated(values: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Each value that is equal to one before it, with its position."""
    seen = set()
    for index, value in enumerate(values):
        if value in seen:
            yield index, value
        seen.add(value)


def unique(*fields: str, of_item: bool = False) -> Check:
    """The items of a list differ in this field, or in one of several. `of_item`: the path is that of the item."""

    def check(items: list[Any], path: Path) -> Errors:
        for index, values in repeated([tuple(text_at(item, field) for field in fields) for item in items]):
            if len(fields) > 1:
                yield duplicate((*path, index), dict(zip(fields, values, strict=True)))
            elif of_item or values[0]:
                yield duplicate((*path, index) if of_item else (*path, index, *fields), values[0])

    return check


def different(items: list[Any], path: Path) -> Errors:
    """No text of a list stands twice."""
    return [duplicate((*path, index), value) for index, value in repeated(items)]


def int_or_percent(value: Any, path: Path) -> Errors:
    """ValidatePositiveIntOrPercent."""
    if isinstance(value, str):
        return invalid_all(path, value, percent(value))
    return NOT_NEGATIVE(value, path)


def at_most_100_percent(value: Any, path: Path) -> Errors:
    """IsNotMoreThan100Percent."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return ()


def amount_of(found: object) -> int | None:
    """getIntOrPercentValue; None for a value that is neither."""
    if isinstance(found, str) and _PERCENT.fullmatch(found):
        return int(found[:-1])
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def positive_amount(value: Any, path: Path) -> Errors:
    """ValidatePositiveQuantityValue."""
    amount = amount_in(value)
    return () if amount is None or amount > 0 else [invalid(path, str(value), "must be greater than zero")]


def amount_not_negative(value: Any, path: Path) -> Errors:
    """ValidateNonnegativeQuantity."""
    amount = amount_in(value)
    is_negative = amount is not None and amount < 0
    return [invalid(path, str(value), "must be greater than or equal to 0")] if is_negative else ()


def port_or_name(value: Any, path: Path) -> Errors:
    """ValidatePortNumOrName."""
    return invalid_all(path, value, port_name(value)) if isinstance(value, str) else PORT(value, path)


def labels(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateLabels. Unlike the API server's path, this path has the key."""
    for key, value in found.items():
        if problems := key_problems(key):
            yield from invalid_all((*path, key), key, problems)
        if isinstance(value, str) and (problems := value_problems(value)):
            yield from invalid_all((*path, key), value, problems)


def annotation_errors(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateAnnotations."""
    size = 0
    for key, value in found.items():
        if problems := key_problems(key.lower()):
            yield from invalid_all((*path, key), key, problems)
        size += len(key.encode()) + len(str(value).encode())
    if size > _MOST_ANNOTATIONS:
        yield errors.too_long(path, _MOST_ANNOTATIONS)


NOT_NEGATIVE = no_less_than(0)
PORT = in_range(1, 65535)
LABEL, DOMAIN, KEY = name(dns_label), name(domain_problems), form(key_problems)
# IsRelaxedEnvVarName
VARIABLE = matches(
    "[ -<>-~]*", "a valid environment variable name must consist only of printable ASCII characters other than '='"
)


# Metadata

# The API server accepts the templates of some kinds with wrong labels, and refuses what is made of them.
ROWS: Rows = {"ObjectMeta": {"labels": labels, "annotations": annotation_errors}}
# The minor in which the gate RelaxedServiceNameValidation is on.
_SERVICES_MAY_HAVE_A_DIGIT = 36
# Names of all other kinds are DNS subdomains.
_RULES: Mapping[str, Callable[[str], Sequence[str]]] = {
    **dict.fromkeys(("Namespace", "Service", "StatefulSet"), dns_label),
    # No function of ValidatePodDisruptionBudget checks the name.
    **dict.fromkeys(("PodDisruptionBudget", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), path_segment),
}


def metadata(document: Mapping[str, Any], kind: str) -> Errors:
    """What ValidateObjectMeta checks beside the rows of ObjectMeta."""
    found, path, rule = object_at(document, "metadata"), ("metadata",), _RULES.get(kind, domain_problems)
    name, prefix = text_at(found, "name"), text_at(found, "generateName")
    if prefix:
        yield from invalid_all((*path, "generateName"), prefix, rule(_masked(prefix)))
    if name:
        yield from invalid_all((*path, "name"), name, rule(name))
        if kind == "Service":
            for problem in starts_with_a_letter(name):
                yield replace(invalid((*path, "name"), name, problem), until=_SERVICES_MAY_HAVE_A_DIGIT)
    elif not prefix:
        yield required((*path, "name"), "name or generateName is required")
    namespace = text_at(found, "namespace")
    if namespace:
        yield from invalid_all((*path, "namespace"), namespace, dns_label(namespace))
    for index, finalizer in enumerate(texts_at(found, "finalizers")):
        yield from invalid_all((*path, "finalizers", index), finalizer, key_problems(finalizer))
    yield from _owners(found, (*path, "ownerReferences"))


def _owners(found: Mapping[str, Any], path: Path) -> Errors:
    """ValidateOwnerReferences."""
    owners = items_at(found, "ownerReferences")
    for index, owner in owners:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not text_at(owner, field):
                yield invalid((*path, index, field), "", "must not be empty")
        if text_at(owner, "kind") == "Event" and text_at(owner, "apiVersion") == "v1":
            yield invalid((*path, index), owner, "/v1, Kind=Event is disallowed from being an owner")
    if sum(owner.get("controller") is True for _, owner in owners) > 1:
        yield invalid(path, "controller", "Only one reference can have Controller set to true")


def _masked(prefix: str) -> str:
    """maskTrailingDash: a prefix may end with a dash."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
