"""The nodes of a document as columns: their resources, and the requests on them before and after the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.plan.results.nodes import NodeChanges


def node_table_entry(nodes: NodeChanges | None) -> dict[str, Any]:
    """The entry `nodeTable`. Amounts of cpu are in thousandths, and null if a node is absent before or after the
    run."""
    if nodes is None:
        return {}
    before, after, names = nodes.before, nodes.after, nodes.names
    zones = {
        name: zone for each in (before, after) for name, zone in zip(each.table.names, each.zones, strict=True) if zone
    }
    resources = dict.fromkeys([*before.used_resources(), *after.used_resources()])
    entry = {
        "names": names,
        "zones": [zones.get(name, "") for name in names],
        "cordoned": sorted(after.cordoned),
        "resources": {resource: _amounts(nodes, names, resource) for resource in resources},
    }
    return {"nodeTable": entry}


def _amounts(nodes: NodeChanges, names: Sequence[str], resource: str) -> dict[str, Any]:
    (had, took), (has, takes) = nodes.before.amounts(resource), nodes.after.amounts(resource)
    rows, later_rows = nodes.before.table.row_of, nodes.after.table.row_of
    return {
        "allocatable": [has[later_rows[name]] if name in later_rows else had[rows[name]] for name in names],
        "before": _by_name(names, rows, took),
        "after": _by_name(names, later_rows, takes),
    }


def _by_name(names: Sequence[str], rows: Mapping[str, int], amounts: Sequence[int]) -> list[int | None]:
    return [amounts[row] if (row := rows.get(name)) is not None else None for name in names]
