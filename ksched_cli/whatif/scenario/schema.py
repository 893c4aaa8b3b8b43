"""The JSON Schema of scenario files, for editors and CI."""

from __future__ import annotations

from typing import Any

from msgspec.json import schema_components

from ksched_cli.whatif.scenario.document import API_VERSION, KIND, ScenarioDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_BOUNDS = {"maxSkew": {"minimum": 0}}


def schema() -> dict[str, Any]:
    (root,), components = schema_components([ScenarioDocument], ref_template=_REF)
    definitions = {name: _tidied(component) for name, component in components.items()}
    document = dict(definitions.pop(root["$ref"].rpartition("/")[2]))
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
        "steps": {**document["properties"]["steps"], "minItems": 1},
    }
    document["required"] = ["apiVersion", "kind", "steps"]
    definitions["SpreadDocument"]["required"] = ["of"]
    survives = definitions["ExpectDocument"]["properties"]["survives"]
    survives["additionalProperties"] = {"type": "integer", "minimum": 1}
    return {"$schema": DIALECT, **document, "title": "A scenario of ksched", "$defs": definitions}


def _tidied(component: dict[str, Any]) -> dict[str, Any]:
    """Defaults say nothing to an editor."""
    properties = {
        name: {**{key: value for key, value in each.items() if key != "default"}, **_BOUNDS.get(name, {})}
        for name, each in component.get("properties", {}).items()
    }
    return {**component, "properties": properties}
