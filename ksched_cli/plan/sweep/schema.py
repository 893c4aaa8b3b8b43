"""The JSON Schema of sweep files, for editors and CI."""

from __future__ import annotations

from typing import Any

from msgspec.json import schema_components

from ksched_cli.plan.sweep.document import API_VERSION, KIND, SweepDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_LEAST = {"orders": 1, "ties": 1, "sample": 1, "keepWorst": 1}


def sweep_schema() -> dict[str, Any]:
    (root,), components = schema_components([SweepDocument], ref_template=_REF)
    definitions = {name: _tidied(component) for name, component in components.items()}
    document = dict(definitions.pop(root["$ref"].rpartition("/")[2]))
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
    }
    document["required"] = ["apiVersion", "kind", "dimensions"]
    definitions["DimensionsDocument"]["minProperties"] = 1
    return {"$schema": DIALECT, **document, "title": "A sweep of ksched", "$defs": definitions}


def _tidied(component: dict[str, Any]) -> dict[str, Any]:
    """Defaults say nothing to an editor, and neither does null."""
    properties = {
        name: {key: value for key, value in _bounded(name, each).items() if key != "default"}
        for name, each in component.get("properties", {}).items()
    }
    return {**component, "properties": properties}


def _bounded(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if not choices:
        return schema
    bounds = {"minimum": _LEAST[name]} if name in _LEAST else {}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, **({**choices[0], **bounds} if len(choices) == 1 else {"anyOf": choices})}
