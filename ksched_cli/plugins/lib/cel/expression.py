"""Device selectors: CEL expressions over one device (k8s.io/dynamic-resource-allocation/cel).

An expression is compiled once into closures. Errors are values of the language: `&&` and `||` still have a result
when one side fails and the other decides, in whichever order they stand.

The Python libraries for CEL have error texts of their own, where kube-scheduler shows those of cel-go, cannot be given
types such as quantities and semantic versions, or cost more to start than a whole run.

Types are checked before there is any device: enough to refuse what the API server refuses, no more. Attributes may be
of any type, and a type that is not distinguished here is unknown; an unknown type is never refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ksched_cli.api.dynamic_resources import Device, DeviceAttribute
from ksched_cli.api.quantity import is_int64, parse_quantity
from ksched_cli.plugins.lib.cel import functions, operators, syntax
from ksched_cli.plugins.lib.cel.cost import (
    METER,
    NEW_LIST,
    NEW_MAP,
    PER_ELEMENT,
    STEP,
    CostLimitExceeded,
    Meter,
    call_cost,
)
from ksched_cli.plugins.lib.cel.operators import Program, charged
from ksched_cli.plugins.lib.cel.syntax import Call, Index, Name, Node, Select, parse_cel, room_to_recurse
from ksched_cli.plugins.lib.cel.values import (
    CelCompileError,
    CelError,
    CelNotModelled,
    CelQuantity,
    DefaultingMap,
    ObjectValue,
    Semver,
    cel_type_name,
    parse_semver,
    unconvertible,
)

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


_DEVICE_FIELDS = ("driver", "attributes", "capacity")
_TYPES = {"bool", "int", "uint", "double", "string", "list", "map", "null_type", "type", "bytes"}
_LIBRARIES = {"sets", "optional", "format", "lists", "ip"}
# How many arguments the macros with two variables take.
_PAIRED = {name: (3, 4) if name.startswith("transform") else (3,) for name in operators.PAIR_MACROS}
# So few characters cannot be nested deeply.
_SHALLOW = 200


class CelSelector:
    """A compiled expression."""

    def __init__(self, expression: str, *, shareable: bool, lists: bool) -> None:
        self.expression = expression
        self.shareable = shareable
        self.lists = lists
        fields = (*_DEVICE_FIELDS, "allowMultipleAllocations") if shareable else _DEVICE_FIELDS
        with room_to_recurse():
            tree = parse_cel(expression)
            program = _Compiler(fields, functions.GATED if lists else {}).compile(tree)
            self._run = program if len(expression) <= _SHALLOW else _run_deep(program)
            self.type = static_type(tree, device=True)

    def matches(self, driver: str, device: Device) -> bool:
        """CelError where kube-scheduler's evaluation fails."""
        value = device_value(driver, device, shareable=self.shareable, lists=self.lists)
        try:
            result = self._run({"device": value, METER: Meter()})
        except CostLimitExceeded as problem:
            raise CelError(str(problem)) from None
        if not isinstance(result, bool):
            reason = unconvertible(result, "bool")
            raise CelError(f"CEL result of type {cel_type_name(result)} could not be converted to bool: {reason}")
        return result


def _run_deep(program: Program) -> Program:
    def run(variables: Mapping[str, Any]) -> Any:
        with room_to_recurse():
            return program(variables)

    return run


@lru_cache(maxsize=4096)
def compile_cel_selector(expression: str, *, shareable: bool = True, lists: bool = False) -> CelSelector:
    """CelCompileError as kube-scheduler words it. `shareable`: whether the DRAConsumableCapacity gate is on,
    `lists` the same of DRAListTypeAttributes."""
    try:
        selector = CelSelector(expression, shareable=shareable, lists=lists)
    except CelCompileError as problem:
        raise type(problem)(f"compilation failed: {problem}") from None
    if selector.type not in ("bool", None):
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {selector.type}")
    return selector


def device_value(driver: str, device: Device, *, shareable: bool, lists: bool) -> ObjectValue:
    """The `device` variable: attributes and capacity by domain, the driver's own where a name has none."""
    attributes, capacity = DefaultingMap(), DefaultingMap()
    for name, attribute in device.attributes.items():
        domain, identifier = qualified(name, driver)
        try:
            attributes.setdefault(domain, {})[identifier] = attribute_value(attribute, lists=lists)
        except CelError as problem:
            raise CelError(f"attribute {name}: {problem}") from None
    for name, amount in device.capacity.items():
        domain, identifier = qualified(name, driver)
        capacity.setdefault(domain, {})[identifier] = CelQuantity(parse_quantity(amount.value), is_int64(amount.value))
    value = ObjectValue(driver=driver, attributes=attributes, capacity=capacity)
    if shareable:
        value["allowMultipleAllocations"] = bool(device.allow_multiple_allocations)
    return value


def qualified(name: str, driver: str) -> tuple[str, str]:
    """parseQualifiedName: domain and identifier."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def attribute_value(attribute: DeviceAttribute, *, lists: bool) -> Any:
    """What the attribute holds; a list is no value while DRAListTypeAttributes is off."""
    if lists:
        for values in (attribute.ints, attribute.bools, attribute.strings):
            if values is not None:
                return list(values)
        if attribute.versions is not None:
            return [_version(each) for each in attribute.versions]
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string is not None:
        return attribute.string
    if attribute.version is None:
        raise CelError("unsupported attribute value")
    return _version(attribute.version)


def _version(text: str) -> Semver:
    try:
        return parse_semver(text)
    except CelError as problem:
        raise CelError(f"parse semantic version: {problem}") from None


def _variable(name: str) -> Program:
    def run(variables: Mapping[str, Any]) -> Any:
        variables[METER].charge(STEP)
        return variables[name]

    return run


def _called(name: str, function: functions.Function, programs: tuple[Program, ...]) -> Program:
    def run(variables: Mapping[str, Any]) -> Any:
        arguments = [program(variables) for program in programs]
        variables[METER].charge(call_cost(name, arguments))
        return function(*arguments)

    return run


class _Compiler:
    """Turns a tree into closures, with the names in scope."""

    def __init__(
        self, device_fields: tuple[str, ...], methods: Mapping[str, tuple[functions.Function, tuple[int, ...]]]
    ) -> None:
        self._device_fields = device_fields
        self._methods = {**functions.METHODS, **methods}
        self._scope: list[str] = ["device"]

    def compile(self, node: Node) -> Program:
        match node:
            case syntax.CelLiteral(value=value):
                return lambda _: value
            case Name(name=name):
                return self._name(name)
            case Select():
                return self._select(node)
            case syntax.Index(operand=operand, index=index, optional=optional):
                return operators.indexed(self.compile(operand), self.compile(index), optional=optional)
            case Call():
                return self._call(node)
            case syntax.Unary(operator=operator, operand=operand):
                return operators.UNARY[operator](self.compile(operand))
            case syntax.Binary(operator=operator, left=left, right=right):
                device = "device" not in self._scope[1:]
                result_type(operator, static_type(left, device=device), static_type(right, device=device))
                return operators.binary(operator, self.compile(left), self.compile(right))
            case syntax.Logical(operator=operator, operands=operands):
                return operators.logical(tuple(map(self.compile, operands)), operator == "||")
            case syntax.Conditional(condition=condition, then=then, otherwise=otherwise):
                return operators.conditional(self.compile(condition), self.compile(then), self.compile(otherwise))
            case syntax.ListOf(items=items):
                programs = tuple(map(self.compile, items))
                return charged(NEW_LIST, lambda variables: [program(variables) for program in programs])
            case syntax.MapOf(entries=entries):
                pairs = tuple((self.compile(key), self.compile(value)) for key, value in entries)
                return charged(NEW_MAP, lambda variables: {key(variables): value(variables) for key, value in pairs})

    def _name(self, name: str) -> Program:
        if name in self._scope:
            return _variable(name)
        if name in _TYPES:
            return lambda _: name
        raise CelCompileError(f"undeclared reference to '{name}' (in container '')")

    def _select(self, node: Select) -> Program:
        self._check_field(node)
        return operators.indexed(self.compile(node.operand), lambda _: node.field, optional=node.optional)

    def _check_field(self, node: Select) -> None:
        if node.operand == Name("device") and "device" not in self._scope[1:] and node.field not in self._device_fields:
            raise CelCompileError(f"undefined field '{node.field}'")

    def _call(self, node: Call) -> Program:
        target, name, count = node.target, node.function, len(node.arguments)
        if target is None and name == "has":
            return self._has(node)
        if target == Name("cel") and name == "bind":
            return self._bind(node)
        if target is not None and ((name in operators.MACROS and count == 2) or (name == "map" and count == 3)):
            return self._macro(node, target)
        if target is not None and count in _PAIRED.get(name, ()):
            return self._pair_macro(node, target)
        if target is not None and name in ("optMap", "optFlatMap") and count == 2:
            return self._opt_map(node, target)
        return self._function(node)

    def _function(self, node: Call) -> Program:
        name, operands = node.function, node.arguments
        if isinstance(node.target, Name) and node.target.name in _LIBRARIES and node.target.name not in self._scope:
            name = f"{node.target.name}.{name}"
            found = functions.QUALIFIED.get(name)
        elif node.target is None:
            found = functions.GLOBAL.get(name)
        else:
            found, operands = self._methods.get(name), (node.target, *operands)
        fits = found is not None and len(node.arguments) in found[1]
        if not fits and (node.function in functions.NOT_MODELLED or (found is None and "." in name)):
            raise CelNotModelled(f"the function '{name}' is not modelled")
        if found is None:
            raise CelCompileError(f"undeclared reference to '{name}' (in container '')")
        if not fits:
            raise CelCompileError(f"found no matching overload for '{name}'")
        last = operands[-1] if operands else None
        text = last.value if isinstance(last, syntax.CelLiteral) else None
        if isinstance(text, str) and functions.literal_mistake(node.function, text):
            raise CelCompileError(f"invalid {node.function} argument")
        return _called(name, found[0], tuple(map(self.compile, operands)))

    def _has(self, node: Call) -> Program:
        if len(node.arguments) != 1 or not isinstance(node.arguments[0], Select):
            raise CelCompileError("invalid argument to has() macro")
        select = node.arguments[0]
        self._check_field(select)
        operand = self.compile(select.operand)
        return lambda variables: operators.has_field(operand(variables), select.field)

    def _bind(self, node: Call) -> Program:
        if len(node.arguments) != 3 or not isinstance(node.arguments[0], Name):
            raise CelCompileError("cel.bind() variable names must be simple identifiers")
        name, value = node.arguments[0].name, self.compile(node.arguments[1])
        body = self._within([name], node.arguments[2])
        return lambda variables: body({**variables, name: value(variables)})

    def _within(self, names: Sequence[str], body: Node) -> Program:
        self._scope.extend(names)
        try:
            return self.compile(body)
        finally:
            del self._scope[-len(names) :]

    def _macro(self, node: Call, target: Node) -> Program:
        (name,), source, bodies = self._scoped(node, target, 1)
        run = operators.MACROS[node.function]
        return lambda variables: run(operators.elements(source(variables)), name, bodies, variables)

    def _pair_macro(self, node: Call, target: Node) -> Program:
        (key, value), source, written = self._scoped(node, target, 2)
        bodies, run = [operators.of_pair(key, value, body) for body in written], operators.PAIR_MACROS[node.function]
        return lambda variables: run(operators.pairs(source(variables)), operators.PAIR, bodies, variables)

    def _opt_map(self, node: Call, target: Node) -> Program:
        (name,), source, (body,) = self._scoped(node, target, 1)
        return operators.opt_map(source, name, body, flat=node.function == "optFlatMap")

    def _scoped(self, node: Call, target: Node, count: int) -> tuple[list[str], Program, list[Program]]:
        """The variables of a macro, which are its first `count` arguments, its source and its bodies."""
        names = [each.name for each in node.arguments[:count] if isinstance(each, Name)]
        if len(names) < count:
            raise CelCompileError("argument must be a simple name")
        source, cost = self.compile(target), PER_ELEMENT.get(node.function, 0)
        return names, source, [charged(cost, self._within(names, body)) for body in node.arguments[count:]]
