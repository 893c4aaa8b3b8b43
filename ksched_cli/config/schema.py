"""A JSON Schema of KubeSchedulerConfiguration, for editors and CI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.json import schema_components

from ksched_cli.config.legacy.load import AlphaDocument
from ksched_cli.config.load import ConfigDocument
from ksched_cli.config.plugin_args import ARGS_OF, args_of
from ksched_cli.releases.minors import Release

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"


def configuration_schema(release: Release, models: Mapping[str, type[Any]] | None = None) -> dict[str, Any]:
    """The JSON Schema, derived from the types that decode a file. `models` are the models of arguments in the rooms of
    plugins. Every field may be null: Go reads null as an absent field."""
    # Before there were profiles a file had no arguments of plugins but one's own.
    document_type: type[Struct] = AlphaDocument if release.before_plugins else ConfigDocument
    named = () if release.before_plugins else ARGS_OF
    args = {name: struct for name in named if (struct := args_of(name, release)) is not None} | dict(models or {})
    (root, *_), components = schema_components([document_type, *args.values()], ref_template=_REF)
    definitions = {name: _nullable(component) for name, component in components.items()}
    document = dict(definitions.pop(root["$ref"].rpartition("/")[2]))
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"enum": list(release.config.read)},
        "kind": {"const": "KubeSchedulerConfiguration"},
    }
    document["required"] = ["apiVersion", "kind"]
    definitions["PluginConfig"] = _typed_by_name(definitions["PluginConfig"], args)
    title = f"KubeSchedulerConfiguration of Kubernetes {release.version}"
    return {"$schema": DIALECT, **document, "title": title, "$defs": definitions}


def _nullable(component: dict[str, Any]) -> dict[str, Any]:
    """Every optional field may be null; an editor has no use for defaults and Python's docstrings."""
    component = {key: value for key, value in component.items() if key != "description"}
    properties = {
        name: _or_null({key: value for key, value in each.items() if key != "default"})
        for name, each in component.get("properties", {}).items()
    }
    return {**component, "properties": properties} if properties else component


def _or_null(each: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [each, {"type": "null"}]}


def _typed_by_name(component: dict[str, Any], args: Mapping[str, type[Any]]) -> dict[str, Any]:
    """The arguments of an in-tree plugin have that plugin's type."""
    cases = [
        {
            "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
            "then": {"properties": {"args": _or_null({"$ref": _REF.format(name=struct.__name__)})}},
        }
        for name, struct in args.items()
    ]
    return {**component, "allOf": cases}
