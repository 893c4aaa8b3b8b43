"""What types a selector has before there is any device: enough to refuse what the API server refuses, no more.

Attributes may be of any type, and a type that is not distinguished here is unknown; an unknown type is never refused.
"""

from __future__ import annotations

from ksched_cli.plugins.lib.cel import syntax
from ksched_cli.plugins.lib.cel.syntax import Index, Name, Node, Select
from ksched_cli.plugins.lib.cel.values import CelCompileError, cel_type_name

_QUANTITY, _DURATION, _TIMESTAMP = "kubernetes.Quantity", "google.protobuf.Duration", "google.protobuf.Timestamp"
_NUMBERS = {"int", "uint", "double"}
_ORDERED = {*_NUMBERS, "bool", "string", _DURATION, _TIMESTAMP}
_RELATIONS = {"<", "<=", ">", ">="}
_SAME = {"+": {*_NUMBERS, "string", _DURATION}, "-": {*_NUMBERS, _DURATION}, "*": _NUMBERS, "/": _NUMBERS,
         "%": {"int", "uint"}}  # fmt: skip
_TIMES = {("+", _TIMESTAMP, _DURATION), ("+", _DURATION, _TIMESTAMP), ("-", _TIMESTAMP, _DURATION)}
_SHORT = {_DURATION: "duration", _TIMESTAMP: "timestamp"}

_GLOBAL = {
    **{name: name for name in ("int", "uint", "double", "string", "bool")},
    **dict.fromkeys(("matches", "isQuantity", "isSemver", "isIP", "isCIDR", "has"), "bool"),
    "size": "int",
    "quantity": _QUANTITY,
    "semver": "kubernetes.Semver",
    "duration": _DURATION,
    "timestamp": _TIMESTAMP,
    "ip": "net.IP",
    "cidr": "net.CIDR",
}
_METHODS = {
    **dict.fromkeys(("startsWith", "endsWith", "contains", "matches", "isGreaterThan", "isLessThan"), "bool"),
    **dict.fromkeys(("all", "exists", "exists_one", "existsOne", "isSorted", "hasValue"), "bool"),
    **dict.fromkeys(("size", "compareTo", "asInteger", "major", "minor", "patch", "prefixLength"), "int"),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "substring", "replace"), "string"),
}
_DEVICE = {"driver": "string", "allowMultipleAllocations": "bool"}


def static_type(node: Node, *, device: bool) -> str | None:
    """The type; None where it is unknown. `device`: whether that name is the device here."""
    match node:
        case syntax.CelLiteral(value=value):
            return None if value is None else cel_type_name(value)
        case Select() | Index():
            return _of_device(node) if device else None
        case syntax.Logical() | syntax.Unary(operator="!"):
            return "bool"
        case syntax.Unary(operand=operand):
            return static_type(operand, device=device)
        case syntax.Binary(operator=operator, left=left, right=right):
            if operator not in _SAME:
                return "bool"
            return result_type(operator, static_type(left, device=device), static_type(right, device=device))
        case syntax.Conditional(then=then, otherwise=otherwise):
            found = static_type(then, device=device)
            return found if found == static_type(otherwise, device=device) else None
        case syntax.Call(function=function, target=None):
            return _GLOBAL.get(function)
        case syntax.Call(function=function):
            return _METHODS.get(function)
    return None


def result_type(operator: str, left: str | None, right: str | None) -> str | None:
    """The type of the result of an operator; CelCompileError where it does not take these types."""
    if left is None or right is None:
        return None
    if operator in _SAME:
        if left == right and left in _SAME[operator]:
            return left
        if (operator, left, right) in _TIMES:
            return _TIMESTAMP
        if (operator, left, right) == ("-", _TIMESTAMP, _TIMESTAMP):
            return _DURATION
    elif operator in _RELATIONS:
        if (left == right and left in _ORDERED) or {left, right} <= _NUMBERS:
            return "bool"
    elif operator not in ("==", "!=") or left == right:
        return "bool"
    given = ", ".join(_SHORT.get(each, each) for each in (left, right))
    raise CelCompileError(f"found no matching overload for '_{operator}_' applied to '({given})'")


def _of_device(node: Select | Index) -> str | None:
    """The type of a field of the device, or of one of its capacities."""
    if node.optional:
        return None
    if isinstance(node, Select) and node.operand == Name("device"):
        return _DEVICE.get(node.field)
    domain = node.operand
    if (
        isinstance(domain, Select | Index)
        and not domain.optional
        and domain.operand == Select(Name("device"), "capacity")
    ):
        return _QUANTITY
    return None
