"""The edits there are: one for each file of the folder above."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ksched_cli.whatif import edits
from ksched_cli.whatif.edits.lib.edit import EditSpec


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
