"""Converts plain values to typed ones, as decoding of JSON in Go does. Every mistake is found, each with its path and
in plain words. Whether a value of the right type is valid is checked in `api/validation/`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, inspect

# Beyond this an object is not mistaken but something else altogether.
MAX_PROBLEMS = 20

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
Mistake: TypeAlias = tuple[Path, str]


def problems_in(value: Any, struct: type[Any], *, fills_lists: bool = False) -> tuple[Any, list[Mistake]]:
    """The typed value, of a Struct or a dataclass, and all its mistakes. A mistaken field is removed and the rest is
    converted again. The value is None if the rest cannot be converted."""
    if not has_null(value):
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, struct), []
    expected = _type_of(struct)  # type: ignore[arg-type]  # classes are hashable
    plain = as_go_reads(value, expected, fills_lists=fills_lists)
    mistakes: list[Mistake] = []
    while len(mistakes) < MAX_PROBLEMS:
        try:
            return msgspec.convert(plain, struct), mistakes
        except msgspec.ValidationError as mistake:
            steps, text, found = _locate(plain, str(mistake))
            mistakes.append((tuple(steps), _said_plainly(text, found)))
            if not steps or not _remove(plain, steps):
                break
    return None, mistakes


def has_null(value: Any) -> bool:
    """Whether there is a null anywhere in the value."""
    if isinstance(value, dict):
        return any(map(has_null, value.values()))
    return any(map(has_null, value)) if isinstance(value, list) else value is None


_ANY = inspect.AnyType()


def as_go_reads(value: Any, expected: inspect.Type = _ANY, *, fills_lists: bool = False) -> Any:
    """The value as kubectl and the API server read it: a field that is null is absent, and a null entry of a map is the
    zero value of its type. With `fills_lists` a null in a list is one, too; else it stays a mistake. A whole number may
    have a point, such as 2.0."""
    if isinstance(value, dict):
        found = _one_of(expected, inspect.DictType)
        fields = _fields(expected)
        if isinstance(found, inspect.DictType):
            zero, fields = _zero(found.value_type), dict.fromkeys(value, found.value_type)
            value = {key: zero if each is None else each for key, each in value.items()}
        return {
            key: as_go_reads(each, fields.get(key, _ANY), fills_lists=fills_lists)
            for key, each in value.items()
            if each is not None
        }
    if isinstance(value, list):
        found = _one_of(expected, inspect.VarTupleType, inspect.ListType)
        element = found.item_type if isinstance(found, inspect.VarTupleType | inspect.ListType) else _ANY
        zero = _zero(element) if fills_lists else None
        return [as_go_reads(zero if each is None else each, element, fills_lists=fills_lists) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _one_of(expected: inspect.Type, *wanted: type[inspect.Type]) -> inspect.Type | None:
    """The part of an optional type that is one of the wanted types."""
    choices = expected.types if isinstance(expected, inspect.UnionType) else (expected,)
    return next((each for each in choices if isinstance(each, wanted)), None)


def _fields(expected: inspect.Type) -> Mapping[str, inspect.Type]:
    found = _one_of(expected, inspect.StructType, inspect.DataclassType)
    if not isinstance(found, inspect.StructType | inspect.DataclassType):
        return {}
    return _fields_of(found.cls)


@cache
def _type_of(struct: type[Any]) -> inspect.Type:
    return inspect.type_info(struct)


@cache
def _fields_of(struct: type[Any]) -> Mapping[str, inspect.Type]:
    described = _type_of(struct)  # type: ignore[arg-type]  # classes are hashable
    assert isinstance(described, inspect.StructType | inspect.DataclassType)
    return {each.encode_name: each.type for each in described.fields}


def _zero(expected: inspect.Type) -> object:
    """The zero value of the type: empty text, an empty object, 0 for a quantity; None for other types."""
    if isinstance(expected, inspect.StrType):
        return ""
    if isinstance(expected, inspect.StructType | inspect.DataclassType):
        return {}
    return 0 if _one_of(expected, inspect.IntType) is not None else None


_PATH = re.compile(r" - at `(?:key in )?(\$.*)`$")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.+)`")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])")


def _locate(value: Any, mistake: str) -> tuple[list[Step], str, Any]:
    """The steps of msgspec's path, with the map keys that it writes as `[...]`, the message without the path, and the
    value that is meant."""
    found = _PATH.search(mistake)
    text = mistake[: found.start()] if found else mistake
    steps: list[Step] = []
    here: Any = value
    written_steps = _STEP.findall(found[1]) if found else []
    for position, (name, index, any_key) in enumerate(written_steps):
        step: Step = name if name else int(index) if index else ""
        if any_key:
            step = _offending_key(here, written_steps[position + 1 :], text)
        steps.append(step)
        here = _child(here, step)
    unknown = _UNKNOWN_FIELD.fullmatch(text)
    if unknown is not None:
        steps.append(unknown[1])
    return steps, text, here


def _child(value: Any, step: Step) -> Any:
    if isinstance(value, list) and isinstance(step, int):
        return value[step] if step < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


_GOT = re.compile(r"got `(\w+)`$")
_JSON_TYPES = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "array",
    dict: "object",
}


def _offending_key(values: Any, rest: Sequence[tuple[str, str, str]], text: str) -> str:
    """The key of the first entry that the message can be about, or else the first key."""
    if not isinstance(values, dict) or not values:
        return ""
    return str(next((key for key, value in values.items() if _is_meant(value, rest, text)), next(iter(values))))


def _is_meant(value: Any, rest: Sequence[tuple[str, str, str]], text: str) -> bool:
    for position, (name, index, any_key) in enumerate(rest):
        if any_key:
            inner = value.values() if isinstance(value, dict) else ()
            return any(_is_meant(each, rest[position + 1 :], text) for each in inner)
        step: Step = name if name else int(index)
        there = step < len(value) if isinstance(value, list) and isinstance(step, int) else False
        if not (there or (isinstance(value, dict) and step in value)):
            return False
        value = _child(value, step)
    unknown, got = _UNKNOWN_FIELD.fullmatch(text), _GOT.search(text)
    if unknown is not None:
        return isinstance(value, dict) and unknown[1] in value
    return got is None or _JSON_TYPES.get(type(value)) == got[1]


def _remove(value: Any, steps: list[Step]) -> bool:
    """Remove the mistaken field. Returns False if that is not possible."""
    here: Any = value
    for step in steps[:-1]:
        here = here[step]
    last = steps[-1]
    if isinstance(here, dict) and last in here:
        del here[last]
        return True
    if isinstance(here, list) and isinstance(last, int) and last < len(here):
        # A list keeps its length so that later paths stay right.
        return _remove(value, steps[:-1])
    return False


def path_text(steps: Sequence[Step]) -> str:
    """`spec.containers[1].resources.requests.cpu`, keys with dots in brackets."""
    text = ""
    for step in steps:
        if isinstance(step, int) or (step[:1] != "[" and ("." in step or "/" in step)):
            text += f"[{step}]"
        elif step[:1] == "[":
            text += step
        else:
            text += f".{step}" if text else step
    return text


_WRITTEN_STEP = re.compile(r"\[(\d+)\]|(\[[^\]]*\]|[^.\[\]]+)")


def path_steps(path: str) -> list[Step]:
    """The steps of `path_text`. A label whose value is wrong stays in its brackets, as field.Path writes it:
    `values[0][zone]`."""
    return [int(index) if index else name for index, name in _WRITTEN_STEP.findall(path)]


_TYPE_NAMES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


_BOUND = re.compile(r"Expected `int` [<>]= (-?\d+)")


def _said_plainly(text: str, value: Any) -> str:
    """msgspec's message in the words of JSON, such as "expected a string, got a whole number"."""
    if _UNKNOWN_FIELD.fullmatch(text):
        return "no such field"
    if bound := _BOUND.fullmatch(text):
        bits = 32 if abs(int(bound[1])) <= 2**31 else 64
        return f"{value} is out of range: it takes more than {bits} bits" if bound[1] != "0" else f"{value} is negative"
    found = re.fullmatch(r"Expected `(.+)`, got `(.+)`", text)
    if found is None:
        return text[:1].lower() + text[1:]
    if "int" in found[1] and "str" in found[1]:
        wanted = "a quantity such as 100m or 2Gi" if "float" in found[1] else "a whole number or a string such as 25%"
        return f"expected {wanted}, got {_TYPE_NAMES.get(found[2], found[2])}"
    expected = " or ".join(
        _TYPE_NAMES.get(each.strip(), each.strip()) for each in found[1].split("|") if each.strip() != "null"
    )
    return f"expected {expected}, got {_TYPE_NAMES.get(found[2], found[2])}"


def json_document(item: Struct) -> Any:
    """The object as a JSON document has it: lists in place of tuples."""
    return msgspec.json.decode(msgspec.json.encode(item))


def type_name(value: object) -> str:
    name = _JSON_TYPES.get(type(value), type(value).__name__)
    return {"null": "nothing", "int": "a number"}.get(name) or _TYPE_NAMES.get(name, name)
