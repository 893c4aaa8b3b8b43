"""`ksched __complete WORD...`: what may come next, for shells and for kubectl (kubectl_complete-ksched).

One candidate a line and a last line with what the shell is to do, as cobra's programs print them: `:4` for nothing
else, `:0` for files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.cli.commands import Command, Option, commands_of

HIDDEN = "__complete"
# Before the words, for shells that drop an empty word at the end.
TYPING = "--typing="
NO_FILES, FILES = 4, 0

_KINDS = {"node": "Node", "namespace": "Namespace", "pod": "Pod"}
_DEFAULT_NAMESPACE = "default"
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Completion:
    candidates: tuple[str, ...]
    directive: int

    def __str__(self) -> str:
        return "\n".join([*self.candidates, f":{self.directive}", ""])


@dataclass(frozen=True)
class _Typed:
    """Where the words have led: the command, what its options were given, and the option that waits for its value."""

    command: Command
    given: tuple[tuple[str, str], ...]
    waiting: Option | None

    def of(self, *names: str) -> list[str]:
        return [value for name, value in self.given if name in names]


def complete(words: Sequence[str], root: Any) -> Completion:
    """`words` are those after the program's name; the last is the one that is being typed, which may be empty."""
    if words and words[0].startswith(TYPING):
        words = [*words[1:], words[0].removeprefix(TYPING)]
    *before, current = words or [""]
    typed = _read(before, {command.path: command for command in commands_of(root)})
    option, prefix = typed.waiting, ""
    if option is None and current.startswith("--") and "=" in current:
        name, _, current = current.partition("=")
        option, prefix = typed.command.option(name), f"{name}="
    if option is not None:
        return _of_value(option, typed, prefix, current)
    if current.startswith("-"):
        names = (name for each in typed.command.options for name in each.names)
        return Completion(tuple(name for name in names if name.startswith(current)), NO_FILES)
    found = [*typed.command.commands, *typed.command.arguments, *_names(typed.command.names, typed)]
    directive = NO_FILES if found or typed.command.commands else FILES
    return Completion(tuple(each for each in found if each.startswith(current)), directive)


def _read(words: Sequence[str], commands: dict[str, Command]) -> _Typed:
    command, given = commands[""], []
    waiting: Option | None = None
    for word in words:
        if waiting is not None:
            given += [(name, word) for name in waiting.names]
            waiting = None
            continue
        name, equals, value = word.partition("=")
        option = command.option(name)
        if option is not None and equals:
            given += [(name, value) for name in option.names]
        elif option is not None:
            waiting = option if option.takes_value else None
        else:
            command = commands.get(f"{command.path} {word}".strip(), command)
    return _Typed(command, tuple(given), waiting)


def _of_value(option: Option, typed: _Typed, prefix: str, current: str) -> Completion:
    found = [*option.values, *_names(option.kind, typed)]
    directive = NO_FILES if found or option.kind else FILES
    return Completion(tuple(f"{prefix}{each}" for each in found if each.startswith(current)), directive)


def _names(kind: str, typed: _Typed) -> Iterator[str]:
    """Of the dumps that --from names; pods with their namespace, unless -n says it."""
    sources = typed.of("--from")
    if kind not in _KINDS or not sources:
        return
    from ksched_cli.simulator import Simulator

    namespaces = typed.of("--namespace")
    for namespace, name in Simulator.object_names(sources, _KINDS[kind]):
        # A shell puts the candidate on the command line as it is.
        if not _SAFE.fullmatch(f"{namespace}{name}"):
            continue
        if kind != "pod":
            yield name
        elif not namespaces:
            yield f"{namespace or _DEFAULT_NAMESPACE}/{name}"
        elif (namespace or _DEFAULT_NAMESPACE) == namespaces[-1]:
            yield name


def print_completion(words: Sequence[str], root: Any) -> int:
    """Completion offers nothing where something fails: an error message would stand in the middle of a command line."""
    sys.stdout.write(str(complete(words, root)))
    return 0
