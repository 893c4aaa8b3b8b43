"""Makes ksched_cli/api/merge_rules.txt from Kubernetes' api/openapi-spec/swagger.json:

    python -m tests.merge_rules swagger.json > ksched_cli/api/merge_rules.txt

A line has a type, as known_fields.txt calls it, and those of its fields that are not merged as fields are: `=SERVER|CLIENT`.
SERVER is how server-side apply merges the field (x-kubernetes-list-type, x-kubernetes-map-type): the keys of a list,
`set`, or `atomic` for a map; without it a list is atomic and a map is not. CLIENT is the strategy of `kubectl apply`
(x-kubernetes-patch-strategy): the key of a list that is merged, `merge` for a list of texts, `replace`, and `!` for
retainKeys; without it a list is replaced and a map is merged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.known_fields import REF, kinds_of, types_of


def _server(described: dict[str, Any], definitions: dict[str, Any]) -> str:
    kind = described.get("x-kubernetes-list-type")
    if kind == "map":
        return ",".join(described["x-kubernetes-list-map-keys"])
    if kind == "set":
        return "set"
    target = definitions.get(described.get("$ref", "").removeprefix(REF), {})
    is_map = described.get("type") == "object" or "properties" in target
    atomic = "atomic" in (described.get("x-kubernetes-map-type"), target.get("x-kubernetes-map-type"))
    return "atomic" if is_map and atomic else ""


def _client(described: dict[str, Any]) -> str:
    strategies = described.get("x-kubernetes-patch-strategy", "").split(",")
    merge = described.get("x-kubernetes-patch-merge-key", "merge") if "merge" in strategies else ""
    return merge + ("replace" if "replace" in strategies else "") + ("!" if "retainKeys" in strategies else "")


def lines_of(swagger: dict[str, Any]) -> Iterator[str]:
    definitions = swagger["definitions"]
    types = types_of(definitions, kinds_of(definitions))
    references = {name: reference for reference, name in types.names.items()}
    for name in sorted(types.lines):
        found = []
        for field, described in sorted(definitions[references[name]].get("properties", {}).items()):
            server, client = _server(described, definitions), _client(described)
            if field not in ("status", "managedFields") and (server or client):
                found.append(f"{field}={server}|{client}")
        if found:
            yield " ".join([name, *found])


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines_of(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
