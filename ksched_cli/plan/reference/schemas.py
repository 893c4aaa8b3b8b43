"""The JSON Schemas of the files that ksched reads, for editors. That of a KubeSchedulerConfiguration depends on the
minor: `configuration_schema` of `config/load.py` makes it."""

from __future__ import annotations

from typing import Any


def file_schema(kind: str) -> dict[str, Any]:
    """The schema of a catalog, of instance types, of a scenario or of a sweep."""
    if kind == "catalog":
        from ksched_cli.plan.size.catalog import catalog_schema as schema
    elif kind == "instance-types":
        from ksched_cli.autoscale.instance_types.catalog import schema
    elif kind == "scenario":
        from ksched_cli.whatif.scenario import schema
    elif kind == "sweep":
        from ksched_cli.plan.sweep.model import sweep_schema as schema
    else:
        raise ValueError(f"no schema of {kind}")
    return schema()
