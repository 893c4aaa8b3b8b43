"""CEL source to a syntax tree: the grammar of the language as cel-go parses it, with the same limits of depth and the
same texts of mistakes. What names and functions mean is in `operators.py` and `functions.py`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, groupby
from typing import Any, TypeVar

from msgspec import Struct

from ksched_cli.plugins.lib.cel.values import CelCompileError, CelNotModelled, UInt

T = TypeVar("T")

MAX_DEPTH = 250
MAX_CODE_POINTS = 100_000
# An error that cel-go reports without a place.
_NOWHERE = "ERROR: <input>:-1:0: "
_FRAMES = 5000


class CelLiteral(Struct, frozen=True):
    value: Any


class Name(Struct, frozen=True):
    name: str


class Select(Struct, frozen=True):
    """With `optional` (written .?field) the value may be missing."""

    operand: Node
    field: str
    optional: bool = False


class Index(Struct, frozen=True):
    operand: Node
    index: Node
    optional: bool


class Call(Struct, frozen=True):
    """A function, or with a target a method; macros look like this too."""

    function: str
    target: Node | None
    arguments: tuple[Node, ...]


class Unary(Struct, frozen=True):
    operator: str
    operand: Node


class Binary(Struct, frozen=True):
    operator: str
    left: Node
    right: Node


class Logical(Struct, frozen=True):
    """A chain of one of && and ||, flat however long it is."""

    operator: str
    operands: tuple[Node, ...]


class Conditional(Struct, frozen=True):
    condition: Node
    then: Node
    otherwise: Node


class ListOf(Struct, frozen=True):
    items: tuple[Node, ...]


class MapOf(Struct, frozen=True):
    entries: tuple[tuple[Node, Node], ...]


Node = CelLiteral | Name | Select | Index | Call | Unary | Binary | Logical | Conditional | ListOf | MapOf

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>(?:0[xX][0-9a-fA-F]+|\d+)[uU]?)
  | (?P<string>(?:[rR][bB]?|[bB][rR]?)?
      (?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<operator>&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
})  # fmt: skip
_LITERALS = {"true": True, "false": False, "null": None}
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "?": "?", '"': '"', "'": "'", "`": "`",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{2})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_LEVELS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 0),
    **dict.fromkeys(("+", "-"), 1),
    **dict.fromkeys(("*", "/", "%"), 2),
}


def parse_cel(source: str) -> Node:
    """The expression's tree; CelCompileError with the place of the first mistake."""
    if len(source) > MAX_CODE_POINTS:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CODE_POINTS}"
        raise CelCompileError(f"{_NOWHERE}{text}")
    return _Parser(source).parse()


@contextmanager
def room_to_recurse() -> Iterator[None]:
    """Raises Python's recursion limit for expressions near the depth limit."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _check_depth(depth: int) -> None:
    """parser.recursionListener: each rule of the grammar may be within itself so often."""
    if depth > MAX_DEPTH:
        raise CelCompileError(f"{_NOWHERE}expression recursion limit exceeded: {MAX_DEPTH}")


class _Parser:
    """Recursive descent, one method per level of precedence."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens_of(source)
        self.at = 0
        self.depth = 0

    def parse(self) -> Node:
        tree = self._expression()
        if self._kind() != "end":
            raise self._unexpected()
        return tree

    # Tokens

    def _kind(self) -> str:
        return self.tokens[self.at][0]

    def _text(self) -> str:
        return self.tokens[self.at][1]

    def _unexpected(self) -> CelCompileError:
        kind, text, place = self.tokens[self.at]
        found = "<EOF>" if kind == "end" else text
        return _mistake(self.source, place, f"Syntax error: unexpected '{found}'")

    def _accept(self, *texts: str) -> str | None:
        kind, text, _ = self.tokens[self.at]
        if kind in ("operator", "name") and text in texts:
            self.at += 1
            return text
        return None

    def _expect(self, text: str) -> None:
        if self._accept(text) is None:
            raise self._unexpected()

    # Grammar

    def _expression(self) -> Node:
        self.depth += 1
        _check_depth(self.depth)
        node = self._chain("||")
        if self._accept("?") is not None:
            then = self._chain("||")
            self._expect(":")
            node = Conditional(node, then, self._expression())
        self.depth -= 1
        return node

    def _chain(self, operator: str) -> Node:
        operands = [self._chain("&&") if operator == "||" else self._binary(0)]
        while self._accept(operator) is not None:
            operands.append(self._chain("&&") if operator == "||" else self._binary(0))
        return operands[0] if len(operands) == 1 else Logical(operator, tuple(operands))

    def _binary(self, level: int) -> Node:
        """Precedence climbing: operators of this level and of those that bind closer."""
        left = self._unary()
        for depth in count(2):
            if self._kind() not in ("operator", "name") or _LEVELS.get(self._text(), -1) < level:
                break
            _check_depth(depth)
            operator = self._text()
            self.at += 1
            left = Binary(operator, left, self._binary(_LEVELS[operator] + 1))
        return left

    def _unary(self) -> Node:
        operators: list[str] = []
        while (operator := self._accept("!", "-")) is not None:
            operators.append(operator)
        if operators and operators[-1] == "-" and self._kind() in ("int", "float"):
            operators.pop()
            node = self._members(self._number(negative=True))
        else:
            node = self._members(self._primary())
        for operator, run in groupby(reversed(operators)):
            # Two of a kind cancel out (parser.VisitLogicalNot, VisitNegate).
            if len(list(run)) % 2:
                node = Unary(operator, node)
        return node

    def _members(self, node: Node) -> Node:
        for depth in count(1):
            _check_depth(depth)
            if self._accept(".") is not None:
                optional = self._accept("?") is not None
                field = self._identifier()
                if not optional and self._accept("(") is not None:
                    node = Call(field, node, self._until(")", self._expression))
                else:
                    node = Select(node, field, optional)
            elif self._accept("[") is not None:
                optional = self._accept("?") is not None
                index = self._expression()
                self._expect("]")
                node = Index(node, index, optional)
            else:
                break
        return node

    def _identifier(self) -> str:
        kind, text, _ = self.tokens[self.at]
        if kind != "name" or text == "in" or text in _LITERALS:
            raise self._unexpected()
        self.at += 1
        return text

    def _primary(self) -> Node:
        kind, text, place = self.tokens[self.at]
        if kind in ("int", "float"):
            return self._number(negative=False)
        if kind == "string":
            self.at += 1
            return CelLiteral(_string(self.source, text, place))
        if kind == "name" and text in _LITERALS:
            self.at += 1
            return CelLiteral(_LITERALS[text])
        if self._accept("(") is not None:
            inside = self._expression()
            self._expect(")")
            return inside
        if self._accept("[") is not None:
            return ListOf(self._until("]", self._expression))
        if self._accept("{") is not None:
            return MapOf(self._until("}", self._entry))
        self._accept(".")
        return self._named()

    def _named(self) -> Node:
        place = self.tokens[self.at][2]
        name = self._identifier()
        if name in _RESERVED:
            raise _mistake(self.source, place, f"reserved identifier: {name}")
        if self._accept("(") is not None:
            return Call(name, None, self._until(")", self._expression))
        return Name(name)

    def _until(self, end: str, read: Callable[[], T]) -> tuple[T, ...]:
        """The items that `read` returns, separated by commas, up to the token `end`."""
        items: list[T] = []
        while self._accept(end) is None:
            items.append(read())
            if self._accept(",") is None:
                self._expect(end)
                break
        return tuple(items)

    def _entry(self) -> tuple[Node, Node]:
        key = self._expression()
        self._expect(":")
        return key, self._expression()

    def _number(self, *, negative: bool) -> Node:
        kind, text, place = self.tokens[self.at]
        self.at += 1
        if kind == "float":
            return CelLiteral(-float(text) if negative else float(text))
        unsigned = text[-1] in "uU"
        number = int(text.rstrip("uU"), 0 if text[:2].lower() == "0x" else 10)
        number = -number if negative else number
        if unsigned and not negative and number < 2**64:
            return CelLiteral(UInt(number))
        if unsigned:
            raise _mistake(self.source, place, "invalid uint literal")
        if not -(2**63) <= number < 2**63:
            raise _mistake(self.source, place, "invalid int literal")
        return CelLiteral(number)


def tokens_of(source: str) -> list[tuple[str, str, int]]:
    """Kind, text and place of each token, the last of kind "end". CelCompileError for a character that begins none."""
    tokens: list[tuple[str, str, int]] = []
    place = 0
    while place < len(source):
        found = _TOKEN.match(source, place)
        if found is None or found.lastgroup is None:
            raise _mistake(source, place, f"Syntax error: token recognition error at: '{source[place]}'")
        if found.lastgroup != "space":
            tokens.append((found.lastgroup, found.group(), place))
        place = found.end()
    tokens.append(("end", "", len(source)))
    return tokens


def _string(source: str, text: str, place: int) -> str:
    prefix = re.match(r"[rRbB]*", text)
    marks = prefix.group().lower() if prefix else ""
    if "b" in marks:
        raise CelNotModelled(str(_mistake(source, place, "bytes literals are not modelled")))
    body = text[len(marks) :]
    width = 3 if body[:3] in ('"""', "'''") else 1
    inside = body[width:-width]
    return inside if "r" in marks else _ESCAPE.sub(lambda found: _unescaped(source, place, found), inside)


def _unescaped(source: str, place: int, found: re.Match[str]) -> str:
    octal, byte, short, long, other = found.groups()
    if other in _ESCAPES:
        return _ESCAPES[other]
    try:
        return chr(int(octal, 8) if octal else int(byte or short or long or "", 16))
    except (ValueError, OverflowError):
        raise _mistake(source, place, f"unable to unescape string: {found.group()}") from None


def _mistake(source: str, place: int, text: str) -> CelCompileError:
    """Worded as cel-go does, with the line and the column (both from 1) of the mistake."""
    line = source.count("\n", 0, place) + 1
    column = place - (source.rfind("\n", 0, place) + 1) + 1
    return CelCompileError(f"ERROR: <input>:{line}:{column}: {text}")
