"""The edits there are, one for each file of the folder above: from flags and the texts behind them
to edits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.whatif import edits
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit, EditSpec


@cache
def edit_specs() -> tuple[EditSpec, ...]:
    """The declarations, in the order in which the edits of a command line are made: first the edits that decide which
    nodes there are, then those of a node's fields, then those that evict; workloads last."""
    modules = [each.name for each in iter_modules(edits.__path__) if not each.ispkg]
    found: list[EditSpec] = [import_module(f"{edits.__name__}.{name}").SPEC for name in modules]
    return tuple(sorted(found, key=lambda spec: spec.order))


@cache
def specs_by_flag() -> dict[str, EditSpec]:
    return {spec.flag: spec for spec in edit_specs()}


def parse_edits(given: Iterable[tuple[str, str]]) -> tuple[list[Edit], list[Problem]]:
    """The edits of pairs of flag and text, such as `("cordon", "node-1")`, and all mistakes."""
    edits: list[Edit] = []
    problems: list[Problem] = []
    for flag, text in given:
        try:
            edits.append(specs_by_flag()[flag].parse(text))
        except EditMistake as mistake:
            problems.append(Problem(str(mistake), f"--{flag} {text}".rstrip(), hint=mistake.hint))
        except InputError as mistake:
            problems += mistake.problems
    return edits, problems


def parse_in_order(given: Iterable[tuple[str, str]]) -> tuple[list[Edit], list[Problem]]:
    """As `parse_edits`, in the order in which the edits of a command line are made."""
    specs = specs_by_flag()
    return parse_edits(sorted(given, key=lambda each: specs[each[0]].order))


def parse_arguments(spec: EditSpec, *arguments: Any, **named: Any) -> list[Edit]:
    """The edits of a call of the Python method. All mistakes are raised together."""
    edits: list[Edit] = []
    problems: list[Problem] = []
    for each in spec.arguments(*arguments, **named):
        parsed, found = ([each], []) if isinstance(each, Edit) else parse_edits([(spec.flag, each)])
        edits += parsed
        problems += found
    if problems:
        raise UsageError(problems)
    return edits
