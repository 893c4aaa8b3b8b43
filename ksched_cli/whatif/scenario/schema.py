"""The JSON Schema of scenario files, for editors and CI."""

from __future__ import annotations

from typing import Any

from ksched_cli.sources.own_documents import API_VERSION, components_of, json_schema
from ksched_cli.whatif.scenario.document import KIND, ScenarioDocument

_BOUNDS = {"maxSkew": {"minimum": 0}}


def schema() -> dict[str, Any]:
    document, definitions = components_of(ScenarioDocument, lambda name, field: {**field, **_BOUNDS.get(name, {})})
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
    return json_schema(document, definitions, "A scenario of ksched")
