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

from ksched_cli.cli.help_layout import choices_of, short_text

# Before the words, for shells that drop an empty word at the end.
TYPING = "--typing="
NO_FILES, FILES, NO_SPACE = 4, 0, 6

# Metavars begin with what the value begins with: NODE, NODE=N, NAMESPACE, POD, KIND/NAME of a workload, X.Y of a minor.
_METAVAR = re.compile(r"\[?(NODE|NAMESPACE|POD|KIND/NAME|X\.Y|TOPIC)\b")
_KIND_OF = {"KIND/NAME": "workload", "X.Y": "minor"}
_FILE = re.compile(r"\[?(FILE|SOURCE|DIR|CHART|DOCUMENT|TEMPLATE|\w+\.yaml)\b")
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
    """Where the words have led: click's command, what its options were given, and the option that waits for its
    value."""

    command: Any
    given: tuple[tuple[str, str], ...]
    waiting: Any

    def of(self, *names: str) -> list[str]:
        return [value for name, value in self.given if name in names]


def complete(words: Sequence[str], root: Any) -> Completion:
    """`words` are those after the program's name; the last is the one that is being typed, which may be empty."""
    if words and words[0].startswith(TYPING):
        words = [*words[1:], words[0].removeprefix(TYPING)]
    *before, current = words or [""]
    typed = _read(before, root)
    command, option, prefix = typed.command, typed.waiting, ""
    if option is None and current.startswith("--") and "=" in current:
        name, _, current = current.partition("=")
        option, prefix = _options(command).get(name), f"{name}="
    if option is not None:
        return _of_value(option, typed, prefix, current)
    if current.startswith("-"):
        found = [(name, each.help) for name, each in _options(command).items()]
        found += [("-h", _SHOWS_HELP), ("--help", _SHOWS_HELP)]
        return Completion(
            tuple(f"{name}\t{short_text(text)}" for name, text in found if _is_whole(name, current)), NO_FILES
        )
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    found = [(name, each.short_help) for name, each in getattr(command, "commands", {}).items()]
    found += [(value, "") for each in arguments for value in choices_of(each)]
    found += [(name, "") for each in arguments for name in _names(kind_of(each), typed, current)]
    directive = FILES if any(map(_is_file, arguments)) else NO_FILES
    shown = ((name, short_text(text)) for name, text in found if name.startswith(current))
    return Completion(tuple(f"{name}\t{text}" if text else name for name, text in shown), directive)


_SHOWS_HELP = "Show the help"


def _is_whole(name: str, current: str) -> bool:
    """A lone dash begins everything: then only the long names are worth a line."""
    return name.startswith(current) and (current != "-" or name.startswith("--"))


def _options(command: Any) -> dict[str, Any]:
    """The options of click's command by each of their names."""
    options = (each for each in command.params if each.param_type_name == "option")
    return {name: each for each in options for name in (*each.opts, *each.secondary_opts)}


def _read(words: Sequence[str], command: Any) -> _Typed:
    given: list[tuple[str, str]] = []
    waiting: Any = None
    for word in words:
        if waiting is not None:
            given += [(name, word) for name in waiting.opts]
            waiting = None
            continue
        name, equals, value = word.partition("=")
        option = _options(command).get(name)
        if option is not None and equals:
            given += [(name, value) for name in option.opts]
        elif option is not None:
            waiting = None if option.is_flag else option
        else:
            command = getattr(command, "commands", {}).get(word, command)
    return _Typed(command, tuple(given), waiting)


def _of_value(option: Any, typed: _Typed, prefix: str, current: str) -> Completion:
    values = [*choices_of(option), *_names(kind_of(option), typed, current, counted="--scale" in option.opts)]
    found = [each for each in values if each.startswith(current)]
    directive = FILES if _is_file(option) else NO_SPACE if found and found[0].endswith("=") else NO_FILES
    return Completion(tuple(f"{prefix}{each}\t{short_text(option.help)}" for each in found), directive)


def kind_of(param: Any) -> str:
    """The kind of object that the value of click's parameter names."""
    found = _METAVAR.match(param.metavar or "")
    return _KIND_OF.get(found[1], found[1].lower()) if found else ""


def _is_file(param: Any) -> bool:
    return bool(_FILE.match(param.metavar or ""))


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
