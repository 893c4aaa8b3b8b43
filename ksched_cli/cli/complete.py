"""`ksched __complete WORD...`: what may come next, for shells and for kubectl (kubectl_complete-ksched).

One candidate a line, with a tab and what it does if that is known, and a last line with what the shell is to do, as
cobra's programs print them: `:4` for nothing else, `:0` for files, `:6` for no space behind the candidate.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ksched_cli.cli.help_layout import Command, Option, commands_of

HIDDEN = "__complete"
# Before the words, for shells that drop an empty word at the end.
TYPING = "--typing="
NO_FILES, FILES, NO_SPACE = 4, 0, 6

_KINDS = {"node": ("Node",), "namespace": ("Namespace",), "pod": ("Pod",)}
_WORKLOADS = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
_OWNERS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_DEFAULT_NAMESPACE = "default"
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Completion(Struct, frozen=True):
    candidates: tuple[str, ...]
    directive: int

    def __str__(self) -> str:
        return "\n".join([*self.candidates, f":{self.directive}", ""])


class _Typed(Struct, frozen=True):
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
        found = [
            (name, each.about) for each in typed.command.options for name in each.names if _is_whole(name, current)
        ]
        return Completion(tuple(f"{name}\t{about}" for name, about in found), NO_FILES)
    about = typed.command.about
    found = [(name, about.get(name, "")) for name in typed.command.next_words]
    found += [(name, "") for name in _names(typed.command.names, typed, current)]
    directive = FILES if typed.command.files else NO_FILES
    candidates = (f"{name}\t{text}" if text else name for name, text in found if name.startswith(current))
    return Completion(tuple(candidates), directive)


def _is_whole(name: str, current: str) -> bool:
    """A lone dash begins everything: then only the long names are worth a line."""
    return name.startswith(current) and (current != "-" or name.startswith("--"))


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
    values = [*option.values, *_names(option.kind, typed, current, counted="--scale" in option.names)]
    found = [each for each in values if each.startswith(current)]
    directive = FILES if option.files else NO_SPACE if found and found[0].endswith("=") else NO_FILES
    return Completion(tuple(f"{prefix}{each}\t{option.about}" for each in found), directive)


def _names(kind: str, typed: _Typed, current: str, *, counted: bool = False) -> Iterator[str]:
    """Of the dumps that --from names. `counted`: the number of replicas follows."""
    if kind == "minor":
        from ksched_cli.releases.minors import RELEASES

        yield from RELEASES
    elif kind == "topic":
        from ksched_cli.cli.help import OPTIONS, TOPICS
        from ksched_cli.cli.main import COMMANDS

        yield from (*TOPICS, OPTIONS, *COMMANDS)
    elif kind == "workload":
        ends = "=" if counted else ""
        yield from (f"{name}{ends}" for name in _workloads(typed, _WORKLOADS if counted else (*_OWNERS, "Pod")))
    elif kind == "pod":
        yield from _pods(typed, current)
        yield from _workloads(typed, _OWNERS)
    elif kind in _KINDS:
        yield from (name for _, name in _objects(typed, _KINDS[kind]))


def _objects(typed: _Typed, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Namespace and name of each object. A shell puts a candidate on the command line as it is."""
    sources = typed.of("--from")
    if not sources:
        return
    from ksched_cli.simulator import Simulator

    for kind in kinds:
        for namespace, name in Simulator.object_names(sources, kind):
            if _SAFE.fullmatch(f"{namespace}{name}"):
                yield namespace or _DEFAULT_NAMESPACE, name


def _pods(typed: _Typed, current: str) -> Iterator[str]:
    """Names of pods with -n, or where no namespace begins with what is typed; else names with their namespaces."""
    namespaces, pods = typed.of("--namespace"), list(_objects(typed, _KINDS["pod"]))
    if namespaces:
        yield from (name for namespace, name in pods if namespace == namespaces[-1])
        return
    whole = [f"{namespace}/{name}" for namespace, name in pods]
    yield from whole
    if current and not any(each.startswith(current) for each in whole):
        yield from (name for _, name in pods)


def _workloads(typed: _Typed, kinds: Sequence[str]) -> Iterator[str]:
    """`deployment/web`; with the namespace where the name alone would not do."""
    namespaces = typed.of("--namespace")
    for kind in kinds:
        found = list(_objects(typed, (kind,)))
        names = Counter(name for _, name in found)
        for namespace, name in found:
            if namespaces and namespace == namespaces[-1]:
                yield f"{kind.lower()}/{name}"
            elif not namespaces:
                where = "" if names[name] == 1 else f"{namespace}/"
                yield f"{kind.lower()}/{where}{name}"


def print_completion(words: Sequence[str]) -> int:
    """Completion offers nothing where something fails: an error message would stand in the middle of a command line.
    Only the command that is typed is imported."""
    from ksched_cli.cli.main import COMMANDS, program_with

    before = words[1:] if words and words[0].startswith(TYPING) else words[:-1]
    sys.stdout.write(str(complete(words, program_with(next((each for each in before if each in COMMANDS), "")))))
    return 0
