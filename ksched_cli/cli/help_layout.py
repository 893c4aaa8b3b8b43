"""The classes of commands: the layout of their help, and how they read the values of their options.

The help has what a command is for, examples, its options in groups, and notes, as wide as the terminal. Options that
are used every day have a line each. The others of a group are named; `ksched help options` describes all.

typer from 0.29 on reads every value with a pydantic model. Importing pydantic and making these models takes 70 ms, as
long as the rest of the start. The values of this program are texts, numbers, flags and words to choose from: they are
read here (`without_models`), with the messages of click. Older versions of typer have no such models and read the
values themselves.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence, Set
from enum import Enum, StrEnum
from typing import Any, get_args, get_origin

import typer
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup

# The groups in the order in which they are shown. Options of no group are the command's own.
OWN, INPUT, EDITS, RULES, OUTPUT = "Options", "Input", "What-if edits", "Rules", "Output"
PANELS = (OWN, INPUT, EDITS, RULES, OUTPUT)
# Behind the name of a group: the option is named and not described.
RARE = "+"
_WIDEST, _NARROWEST = 140, 60
_NAMES = 30
_ABOUT = {EDITS: " (ksched help edits)"}
_ELSEWHERE = "ksched help options describes every option."


class Panel(Struct, frozen=True):
    """The group of the help that options are shown in. `described` have a line each; the others are named only."""

    name: str
    described: Set[str]

    def of(self, field: str) -> str:
        return self.name if field in self.described else self.name + RARE


class _Layout:
    """What commands and groups of commands of click do in the same way."""

    def get_help(self, ctx: Any) -> str:
        return "\n".join(help_lines(self, ctx, terminal_width()))

    def get_params(self, ctx: Any) -> list[Any]:
        return without_models(super().get_params(ctx))  # type: ignore[misc]  # that of click's class


class HelpCommand(_Layout, TyperCommand):
    """A command with this layout of its help."""


class HelpGroup(_Layout, TyperGroup):
    """A command with subcommands, in the same layout."""


def terminal_width() -> int:
    """Columns of the terminal, or COLUMNS; within reason, for long lines are hard to read."""
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def help_lines(command: Any, context: Any, width: int) -> Iterator[str]:
    examples, (first, *notes) = _examples(f"{command.help}\n\n{command.epilog or ''}")
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    commands = getattr(command, "commands", {})
    usage = [_usage_of(each) for each in arguments]
    if commands:
        own = command.subcommand_metavar
        usage.append("[COMMAND]" if command.invoke_without_command and own.startswith("COMMAND") else own.split()[0])
    yield " ".join(["Usage:", context.command_path, *(["[OPTIONS]"] if command.params else []), *usage])
    yield ""
    yield from _wrapped(first, width, "  ")
    if examples:
        yield from ("", "Examples:")
        for each in examples:
            yield from _call(each, width)
    if arguments:
        yield from ("", "Arguments:")
        for each in arguments:
            yield from _described(each.metavar or each.name.upper(), each.help, width)
    if commands:
        yield from ("", "Commands:")
        for name, each in commands.items():
            yield from _described(name, each.short_help, width)
    for panel in PANELS:
        yield from _panel(panel, command.params, width)
    for note in notes:
        yield ""
        yield from _wrapped(note, width, "")
    yield _ELSEWHERE


def _usage_of(argument: Any) -> str:
    """`[FILE]...`. Written here because versions of typer write it in different ways."""
    name = (argument.metavar or argument.name.upper()).removeprefix("[").removesuffix("]")
    return (name if argument.required else f"[{name}]") + ("" if argument.nargs == 1 else "...")


def _examples(text: str) -> tuple[list[str], list[str]]:
    """The examples, and the paragraphs around them."""
    calls = [each.strip() for each in text.splitlines() if each.startswith("  ")]
    return calls, [each.strip() for each in text.split("\n\n") if each and not each.startswith(("  ", "Examples:"))]


def _call(example: str, width: int) -> Iterator[str]:
    """The line of shell; a long one continues behind a backslash."""
    lines = textwrap.wrap(example, width - 4, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False)
    if len(example) + 2 <= width:
        lines = [example]
    for number, line in enumerate(lines, 1):
        yield f"  {line}" + (" \\" if number < len(lines) else "")


def panel_of(option: Any) -> str:
    return (getattr(option, "rich_help_panel", None) or OWN).removesuffix(RARE)


def _panel(title: str, params: Iterable[Any], width: int) -> Iterator[str]:
    options = [each for each in params if each.param_type_name == "option" and panel_of(each) == title]
    rare = [each for each in options if (each.rich_help_panel or "").endswith(RARE)]
    names = ["/".join([*_long(each.opts), *_long(each.secondary_opts)]) for each in rare]
    names += ["--no-color", "-h, --help"] if title == OUTPUT else []
    if not options and not names:
        return
    yield from ("", f"{title}:")
    for each in options:
        if each not in rare:
            left, text, choices = option_names(each), short_text(each.help), ", ".join(choices_of(each))
            if choices and len(left) > _NAMES - 2:
                left, text = (
                    option_names(each, short=True),
                    choices if "--output" in each.opts else f"{text}: {choices}",
                )
            yield from _described(left, text, width)
    if names:
        text = ", ".join(names) + _ABOUT.get(title, "")
        yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def option_names(option: Any, *, short: bool = False) -> str:
    """`-f, --filename FILE`. `short`: without the values to choose from."""
    names = ", ".join(option.opts) + "".join(f" / {each}" for each in option.secondary_opts)
    choices = choices_of(option)
    values = "" if short and choices else "|".join(choices) or "N"
    return names if option.is_flag else f"{names} {option.metavar or values}".rstrip()


def _long(names: Sequence[str]) -> list[str]:
    return [each for each in names if each.startswith("--")] or list(names)


def _described(names: str, text: str, width: int) -> Iterator[str]:
    """Names on the left, the text on the right; below each other if the names are long."""
    indent = " " * (_NAMES + 2)
    lines = textwrap.wrap(text, width - _NAMES - 2, break_on_hyphens=False)
    if len(names) + 4 > _NAMES + 2:
        yield f"  {names}"
        yield from (indent + each for each in lines)
        return
    yield f"  {names:<{_NAMES}}{lines[0]}"
    yield from (indent + each for each in lines[1:])


def _wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    joined = " ".join(text.split())
    return iter(textwrap.wrap(joined, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))


def all_options(commands: dict[str, Any], width: int) -> Iterator[str]:
    """Every option of every command with its whole help: those that several commands share by group, then the own
    options of each command."""
    users: dict[tuple[str, str], list[str]] = {}
    found: dict[tuple[str, str], Any] = {}
    for name, command in commands.items():
        for option in command.params:
            if option.param_type_name == "option":
                key = (option_names(option), option.help)
                users.setdefault(key, []).append(name)
                found[key] = option
    for panel in PANELS[1:]:
        yield from ("", f"{panel}:")
        for key, option in found.items():
            if panel_of(option) == panel:
                yield from _described(key[0], key[1], width)
    for name in commands:
        own = [key for key, option in found.items() if panel_of(option) == OWN and users[key][0] == name]
        if own:
            shared = sorted({each for key in own for each in users[key]} - {name})
            yield from ("", *_wrapped(f"{', '.join([name, *shared])}:", width, ""))
            for key in own:
                yield from _described(key[0], key[1], width)


# The end of the first sentence, or of a first part that is long enough.
_END = re.compile(r"(?<=[.;]) |(?<=.{18}): ")


def short_text(text: str) -> str:
    """The first sentence, in one line and without its full stop."""
    first: str = _END.split(" ".join(text.split()))[0]
    return first.rstrip(".;")


def choices_of(param: Any) -> tuple[str, ...]:
    """The values of an option that takes one or several of an enumeration. Older versions of typer leave the type to
    click."""
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return tuple(each.value for each in kind)
    return tuple(map(str, getattr(getattr(param, "type", None), "choices", ())))


def without_models(params: Sequence[Any]) -> list[Any]:
    """The same parameters. Those of a kind that is known here read their value without a model."""
    for param in params:
        descriptor = getattr(param, "type_descriptor", None)
        if descriptor is None or not hasattr(param, "get_runtime_param"):
            continue
        kind = descriptor.annotation
        kind = get_args(kind)[0] if get_origin(kind) is list else kind
        if kind in (str, bool, int) or (isinstance(kind, type) and issubclass(kind, Enum)):
            value = PlainValue(kind, descriptor.parameter_info.min)
            param.get_runtime_param = lambda value=value: value
    return list(params)


class PlainValue:
    """What typer calls to read the value of a parameter. `least`: the least number, if there is one."""

    def __init__(self, kind: type[Any], least: float | None) -> None:
        self._kind, self._least = kind, least

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        return [self._one(each, param, ctx) for each in value] if several else self._one(value, param, ctx)

    def _one(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, self._kind):
            return value
        try:
            read = self._kind(value)
        except ValueError:
            known = ", ".join(repr(each.value) for each in self._kind) if issubclass(self._kind, Enum) else ""
            text = f"{value!r} is not one of {known}." if known else f"{value!r} is not a valid integer."
            raise typer.BadParameter(text, ctx=ctx, param=param) from None
        if self._least is not None and read < self._least:
            raise typer.BadParameter(f"{read} is not in the range x>={self._least}.", ctx=ctx, param=param)
        return read
