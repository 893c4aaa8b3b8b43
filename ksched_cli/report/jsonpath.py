"""`-o jsonpath=` and `-o custom-columns=` as in kubectl: the parser of templates, and what they write of a document.

Mirrors client-go/util/jsonpath (text with `{…}` in it, and `{range …}{end}`) and kubectl/pkg/cmd/get/customcolumn.go.
Missing fields are left out, as kubectl leaves them out with --allow-missing-template-keys. A path is a tuple of steps:
each takes values and returns the values that it leads to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from msgspec import Struct

from ksched_cli.report.encoding import json_text
from ksched_cli.report.visible import visible

Step: TypeAlias = Callable[[list[Any]], list[Any]]
Path: TypeAlias = tuple[Step, ...]

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, ">": gt, "==": eq, "!=": ne, "<=": le, ">=": ge}


class TemplateError(ValueError):
    """A template that cannot be parsed, or that cannot be applied to the document."""


class JsonPathLiteral(Struct, frozen=True):
    """A text, number or truth value of the template."""

    value: str | int | float | bool

    def __call__(self, values: list[Any]) -> list[Any]:
        return [self.value]


def walk(values: list[Any], path: Path) -> list[Any]:
    """The values that the path leads to."""
    for step in path:
        values = step(values)
    return values


def child(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def wildcard(values: list[Any]) -> list[Any]:
    return [child for value in values for child in _children(value)]


def descent(values: list[Any]) -> list[Any]:
    """The values and all values below them, except empty ones, numbers and truth values."""
    return [each for value in values for each in _descended(value)]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descended(value: Any) -> Iterator[Any]:
    if value and isinstance(value, dict | list | str):
        yield value
        for child in _children(value):
            yield from _descended(child)


def union(paths: list[Path]) -> Step:
    return lambda values: [each for path in paths for each in walk(values, path)]


def sliced(start: int | None, end: int | None, step: int | None) -> Step:
    """The step `[start:end:step]`. Negative bounds count from the end."""

    def items_of(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TemplateError(f"{_kind(value)} is not array or slice")
        length = len(value)
        first, last = (bound + length if bound < 0 else bound for bound in (start or 0, length if end is None else end))
        if first == last:
            return []
        begins_within = 0 <= first < length
        if not begins_within or not 0 <= last <= length:
            index = last - 1 if begins_within else first
            raise TemplateError(f"array index out of bounds: index {index}, length {length}")
        if first > last:
            raise TemplateError(f"starting index {first} is greater than ending index {last}")
        if step is not None and step <= 0:
            raise TemplateError("step must be > 0")
        return value[first:last:step]

    return lambda values: [each for value in values if value is not None for each in items_of(value)]


def filtered(left: Path, operator: str = "", right: Path = ()) -> Step:
    """The step `[?(left operator right)]`. Without an operator it checks whether `left` leads to a value."""

    def passes(value: Any) -> bool:
        if not operator:
            return _exists(value, left)
        sides = walk([value], left), walk([value], right)
        if not all(sides):
            return False
        if any(len(side) > 1 for side in sides):
            raise TemplateError("can only compare one element at a time")
        (one,), (other,) = sides
        if _sort(one) != _sort(other) or _sort(one) == "":
            raise TemplateError(f"incompatible types for comparison: {_kind(one)} and {_kind(other)}")
        if isinstance(one, bool) and operator not in ("==", "!="):
            raise TemplateError("invalid type for comparison: bool")
        return COMPARISONS[operator](one, other)

    def items_of(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TemplateError(f"{_kind(value)} is not array or slice and cannot be filtered")
        return [each for each in value if passes(each)]

    return lambda values: [each for value in values for each in items_of(value)]


def _exists(value: Any, path: Path) -> bool:
    try:
        return bool(walk([value], path))
    except TemplateError:
        return False


def _sort(value: Any) -> str:
    """The name of the type for comparisons; empty for values that cannot be compared."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else ""


def _kind(value: Any) -> str:
    return {"dict": "map", "list": "array", "NoneType": "null"}.get(type(value).__name__, _sort(value))


# Templates


class JSONPath:
    """A parsed template."""

    def __init__(self, template: str) -> None:
        self._parts = parse_jsonpath(template)

    def render(self, document: Any) -> str:
        return "".join(_rendered(self._parts, document))

    def find(self, document: Any) -> list[Any]:
        """The values that the template's paths match."""
        return [value for part in self._parts if isinstance(part, tuple) for value in walk([document], part)]


def _rendered(parts: Sequence[Part], document: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Range):
            for value in walk([document], part.path):
                yield from _rendered(part.body, value)
        else:
            # A text of the template is written without escapes.
            write = plain_text if part and isinstance(part[0], JsonPathLiteral) else as_text
            yield " ".join(map(write, walk([document], part)))


def as_text(value: Any) -> str:
    """A value of the document, with escapes for characters that are not printable."""
    return visible(value) if isinstance(value, str) else plain_text(value)


def plain_text(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json_text(value, separators=(",", ":"))


@dataclass
class Range:
    path: Path
    body: list[Part] = field(default_factory=list)


Part: TypeAlias = str | Path | Range

# A backslash makes the next character part of the name.
_NAME = re.compile(r"(?:\\(?:.|$)|[^\\ \t\r\n.,\[\]$@{}])*", re.DOTALL)
# A quote after a backslash does not end the text.
_QUOTED = r"(?P<quote>['\"])(?P<text>(?:(?!(?P=quote))[^\n]|(?<=\\)(?P=quote))*+)(?P=quote)"
_TEXT = re.compile(_QUOTED)
_ARRAY = re.compile(r"\[([^\]\n]*)\]")
_FILTER = re.compile(rf"\[\?\(((?:[^\n'\")]|{_QUOTED})*+)\)")
_DICT_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d[\d.]*|[+-]", re.ASCII)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{3}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"'}


def parse_jsonpath(text: str) -> list[Part]:
    """The parts of a template. A range without {end} goes on to the end of the template."""
    parts: list[Part] = []
    open_ranges: list[list[Part]] = [parts]
    at = 0
    while (brace := text.find("{", at)) >= 0:
        if brace > at:
            open_ranges[-1].append(text[at:brace])
        action = _Action(text, brace + 1)
        path = action.read()
        at = action.at
        if action.keyword == "range":
            loop = Range(path)
            open_ranges[-1].append(loop)
            open_ranges.append(loop.body)
        elif action.keyword == "end":
            if len(open_ranges) == 1:
                raise TemplateError("not in range, nothing to end")
            open_ranges.pop()
        else:
            open_ranges[-1].append(path)
    if at < len(text):
        open_ranges[-1].append(text[at:])
    return parts


class _Action:
    """Parses the text between one pair of braces."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at
        self.keyword = ""
        self._steps: list[Step] = []

    def read(self) -> Path:
        """Parse up to the closing brace, which is included."""
        while True:
            here = self._text[self.at : self.at + 1]
            if here in ("", "\r", "\n"):
                raise TemplateError("unclosed action: a } is missing")
            if here == "}":
                self.at += 1
                return tuple(self._steps)
            self._step(here)

    def _step(self, here: str) -> None:
        if self._text.startswith("[?(", self.at):
            self._steps.append(self._filter())
        elif self._text.startswith("..", self.at):
            self._recursive()
        elif here in " @$":
            self.at += 1
        elif here == "[":
            self._steps.extend(self._array())
        elif here in "\"'":
            self._steps.append(JsonPathLiteral(_unescaped(self._read(_TEXT, "unterminated quoted string")["text"])))
        elif here == ".":
            self.at += 1
            self._steps.append(self._field())
        elif here in "+-0123456789":
            self._steps.append(JsonPathLiteral(self._number()))
        elif here == "_" or here.isalpha():
            self._word()
        else:
            raise TemplateError(f"unrecognized character in action: {here!r}")

    def _read(self, pattern: re.Pattern[str], mistake: str = "") -> re.Match[str]:
        """Read the text here that the pattern matches."""
        found = pattern.match(self._text, self.at)
        if found is None:
            raise TemplateError(mistake)
        self.at = found.end()
        return found

    def _word(self) -> None:
        word = self._read(_NAME)[0]
        if word in ("true", "false"):
            self._steps.append(JsonPathLiteral(word == "true"))
        elif word in ("range", "end"):
            self.keyword = word
        else:
            raise TemplateError(f"unrecognized identifier {word}: a field begins with a dot, as in {{.{word}}}")

    def _field(self) -> Step:
        name = self._read(_NAME)[0]
        return wildcard if name == "*" else child(name.replace("\\", ""))

    def _recursive(self) -> None:
        if self._steps[-1:] == [descent]:
            raise TemplateError("invalid multiple recursive descent")
        self.at += 2
        self._steps.append(descent)
        here = self._text[self.at : self.at + 1]
        if here == "_" or here.isalnum():
            self._steps.append(self._field())

    def _number(self) -> int | float:
        digits = self._read(_NUMBER)[0]
        try:
            return float(digits) if "." in digits else int(digits)
        except ValueError:
            raise TemplateError(f"cannot parse number {digits}") from None

    def _array(self) -> Path:
        inside = self._read(_ARRAY, "unterminated array: a ] is missing")[1]
        if "," in inside:
            return (union([_subscript(each.strip(" ")) for each in inside.split(",")]),)
        return _subscript(inside)

    def _filter(self) -> Step:
        inside = self._read(_FILTER, "unterminated filter: a )] is missing")[1]
        if not self._text.startswith("]", self.at):
            raise TemplateError("unclosed array expect ]")
        self.at += 1
        found = _COMPARISON.fullmatch(inside)
        if found is None:
            return filtered(_path(inside))
        left, operator, right = found.groups()
        if operator not in COMPARISONS:
            raise TemplateError(f"unrecognized filter operator {operator}")
        return filtered(_path(left), operator, _path(right))


def _path(text: str) -> Path:
    """The path of a text that has no braces, such as a side of a comparison."""
    action = _Action(f"{text}}}", 0)
    path = action.read()
    if action.keyword:
        raise TemplateError(f"unrecognized identifier {action.keyword}")
    return path


def _subscript(text: str) -> Path:
    """The steps of the text between square brackets: a key in quotes, an index, a slice, or a star."""
    key = _DICT_KEY.fullmatch(text)
    if key is not None:
        return _path(f".{key[1]}")
    found = _SLICE.fullmatch(":" if text == "*" else text)
    if found is None or not text:
        raise TemplateError(f"invalid array index {text}")
    start, end, step = (_bound(part) for part in found.groups())
    if found[2] is None and start is not None:
        end = None if start == -1 else start + 1
    return (sliced(start, end, step),)


def _bound(text: str | None) -> int | None:
    digits = (text or "").removeprefix(":")
    if digits == "-":
        raise TemplateError("array index - is not a number")
    return int(digits) if digits else None


def _unescaped(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        code = found[1]
        if code in _ESCAPED:
            return _ESCAPED[code]
        if code[0] in "xu" and len(code) > 1:
            return chr(int(code[1:], 16))
        if len(code) == 3:
            return chr(int(code, 8))
        raise TemplateError(f"invalid syntax: \\{code} in a quoted string")

    return _ESCAPE.sub(replaced, text)


_RELAXED = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NONE = "<none>"
# printers.GetNewTabWriter
_LEAST_WIDTH, _PADDING = 6, 3


class CustomColumns:
    """Columns of a template, each with a path."""

    def __init__(self, spec: str) -> None:
        if not spec:
            raise TemplateError("custom-columns format specified but no custom columns given")
        columns = [_column(each) for each in spec.split(",")]
        self._headers = [header for header, _ in columns]
        self._paths = [path for _, path in columns]

    def render(self, document: Any, *, headers: bool = True) -> str:
        rows = [self._headers] if headers else []
        rows += [[_cell(path.find(each)) for path in self._paths] for each in rows_of(document)]
        widths = [max(_LEAST_WIDTH, max(map(len, column)) + _PADDING) for column in zip(*rows, strict=True)]
        return "".join(_line(row, widths) for row in rows)


def rows_of(document: Any) -> Sequence[Any]:
    """The entries of a list, or of the first list in an object; an object without one is a single row."""
    if isinstance(document, list):
        return document
    return next((value for value in document.values() if isinstance(value, list)), [document])


def _column(spec: str) -> tuple[str, JSONPath]:
    header, colon, path = spec.partition(":")
    if not colon:
        raise TemplateError(f"unexpected custom-columns spec: {spec}, expected <header>:<json-path-expr>")
    if not path:
        return header, JSONPath("")
    found = _RELAXED.fullmatch(path)
    if found is None:
        forms = "'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
        raise TemplateError(f"unexpected path string {path}, expected a {forms}")
    return header, JSONPath(f"{{.{found[1] or found[2]}}}")


def _cell(values: Sequence[Any]) -> str:
    text = ",".join(_NONE if value is None else plain_text(value) for value in values) if values else _NONE
    return visible(_CONTROL.sub(lambda found: f"^{chr(ord(found[0]) ^ 0x40)}", text))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return "".join(cells).rstrip() + "\n"
