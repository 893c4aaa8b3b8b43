"""All commands with their options, the values of the options and their arguments, as shell completion needs them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, get_args

# Metavars begin with what the value begins with: NODE, NODE=N, NAMESPACE, POD, KIND/NAME of a workload, X.Y of a minor.
_KINDS = re.compile(r"\[?(NODE|NAMESPACE|POD|KIND/NAME|X\.Y|TOPIC)\b")
_KIND_OF = {"KIND/NAME": "workload", "X.Y": "minor"}
_FILES = re.compile(r"\[?(FILE|SOURCE|DIR|CHART|DOCUMENT|TEMPLATE|\w+\.yaml)\b")
# The end of the first sentence, or of a first part that is long enough.
_END = re.compile(r"(?<=[.;]) |(?<=.{18}): ")


@dataclass(frozen=True)
class Option:
    """An option with the `values` to choose from, or the `kind` of object that it names. `files`: the value is a
    file."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    kind: str = ""
    takes_value: bool = False
    files: bool = False
    about: str = ""


@dataclass(frozen=True)
class Command:
    """A command under its path ("config view"; "" is ksched itself) with what may follow it. `names`: the kind of
    object that its arguments name; `files`: its arguments are files. `about`: what each subcommand does."""

    path: str
    commands: tuple[str, ...]
    arguments: tuple[str, ...]
    options: tuple[Option, ...]
    names: str = ""
    files: bool = False
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def next_words(self) -> tuple[str, ...]:
        """The subcommands and the values of arguments."""
        return (*self.commands, *self.arguments)

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if name in option.names), None)


def commands_of(command: Any, path: str = "") -> Iterator[Command]:
    """`command` is click's, of the whole program or of a part of it."""
    children = {name: child for name, child in getattr(command, "commands", {}).items() if not child.hidden}
    options = [_option(param) for param in command.params if param.param_type_name == "option"]
    options.append(Option(("-h", "--help"), about="Show the help"))
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    choices = tuple(value for param in arguments for value in choices_of(param))
    kinds = [kind for param in arguments if (kind := _kind(param))]
    yield Command(
        path,
        tuple(children),
        choices,
        tuple(options),
        kinds[0] if kinds else "",
        any(map(_is_file, arguments)),
        {name: short_text(child.short_help or child.help or "") for name, child in children.items()},
    )
    for name, child in children.items():
        yield from commands_of(child, f"{path} {name}".strip())


def _option(param: Any) -> Option:
    return Option(
        (*param.opts, *param.secondary_opts),
        choices_of(param),
        _kind(param),
        not getattr(param, "is_flag", False),
        _is_file(param),
        short_text(param.help or ""),
    )


def short_text(text: str) -> str:
    """The first sentence, in one line and without its full stop."""
    first: str = _END.split(" ".join(text.split()))[0]
    return first.rstrip(".;")


def _kind(param: Any) -> str:
    found = _KINDS.match(getattr(param, "metavar", None) or "")
    return _KIND_OF.get(found[1], found[1].lower()) if found else ""


def _is_file(param: Any) -> bool:
    return bool(_FILES.match(getattr(param, "metavar", None) or ""))


def choices_of(param: Any) -> tuple[str, ...]:
    """The values of an option that takes one or several of an enumeration. Older versions of typer leave the type to
    click."""
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return tuple(each.value for each in kind)
    return tuple(map(str, getattr(getattr(param, "type", None), "choices", ())))
