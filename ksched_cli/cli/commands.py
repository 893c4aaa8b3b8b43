"""The commands as they are, for whoever completes them: their options, what those take, and what comes after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, get_args

# Metavars begin with what the value begins with: NODE, NODE=N, NAMESPACE, POD...
_KIND = re.compile(r"\[?(NODE|NAMESPACE|POD)\b")


@dataclass(frozen=True)
class Option:
    """`values` to choose from, or the `kind` of object that is named: node, namespace or pod."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    kind: str = ""
    takes_value: bool = False


@dataclass(frozen=True)
class Command:
    """A command under its path ("config view"; "" is ksched itself) with what may follow it. `names`: the kind of
    object that its arguments name."""

    path: str
    commands: tuple[str, ...]
    arguments: tuple[str, ...]
    options: tuple[Option, ...]
    names: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.commands, *self.arguments, *(name for option in self.options for name in option.names))

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if name in option.names), None)


def commands_of(command: Any, path: str = "") -> Iterator[Command]:
    """`command` is click's, of the whole program or of a part of it."""
    children = {name: child for name, child in getattr(command, "commands", {}).items() if not child.hidden}
    options = tuple(
        Option(
            (*param.opts, *param.secondary_opts), choices_of(param), _kind(param), not getattr(param, "is_flag", False)
        )
        for param in command.params
        if param.param_type_name == "option"
    )
    help_option = Option(("-h", "--help"))
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    choices = tuple(value for param in arguments for value in choices_of(param))
    kinds = [kind for param in arguments if (kind := _kind(param))]
    yield Command(path, tuple(children), choices, (*options, help_option), kinds[0] if kinds else "")
    for name, child in children.items():
        yield from commands_of(child, f"{path} {name}".strip())


def _kind(param: Any) -> str:
    found = _KIND.match(getattr(param, "metavar", None) or "")
    return found[1].lower() if found else ""


def choices_of(param: Any) -> tuple[str, ...]:
    """The values of an option that takes one of an enumeration, or several. Newer versions of typer keep the
    annotation, older ones leave the type to click."""
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return tuple(each.value for each in kind)
    return tuple(map(str, getattr(getattr(param, "type", None), "choices", ())))
