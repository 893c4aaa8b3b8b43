"""The JSON Schema of sweep files, for editors and CI."""

from __future__ import annotations

from typing import Any

from ksched_cli.plan.sweep.document import KIND, SweepDocument
from ksched_cli.sources.own_documents import API_VERSION, components_of, json_schema

_LEAST = {"orders": 1, "ties": 1, "sample": 1, "keepWorst": 1}


def sweep_schema() -> dict[str, Any]:
    document, definitions = components_of(SweepDocument, _bounded)
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
    }
    document["required"] = ["apiVersion", "kind", "dimensions"]
    definitions["DimensionsDocument"]["minProperties"] = 1
    return json_schema(document, definitions, "A sweep of ksched")


def _bounded(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out null, which an editor has no use for."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if not choices:
        return schema
    bounds = {"minimum": _LEAST[name]} if name in _LEAST else {}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, **({**choices[0], **bounds} if len(choices) == 1 else {"anyOf": choices})}
