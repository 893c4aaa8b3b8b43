"""Makes ksched_cli/api/known_fields.txt from Kubernetes' api/openapi-spec/swagger.json of each minor, the newest last:

    python -m tests.known_fields 16=swagger-1.16.json ... 37=swagger-1.37.json > ksched_cli/api/known_fields.txt

A line has a type and its fields. What a field holds stands after `=`: nothing for text, `i` a whole number of 32 bits,
`l` one of 64 bits, `n` a number, `b` true or false, `q` a quantity, `t` a time, `y` text in base64, `x` a number or
text, `o` anything, else the name of a type. `*` before it makes a list of it, `%` a map. Statuses hold anything: users
do not write them. `@29` after it: since 1.29, `@-24`: up to 1.24, `@17-21`: both; a field without it is in each minor
that has the type. A line that begins with `@` has a version of a group and its kinds.

In the present file the types are those of the specification of 1.36 with the additions of 1.37, the minors those of
the models of the Python client, whose versions 12.0 to 37.0 are made from the specifications of 1.16 to 1.37.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ksched_cli.api.decode import KINDS

REF = "#/definitions/"
_SCALARS = {"string": "", "integer": "l", "boolean": "b", "number": "n"}
_FORMATS = {"int32": "i", "byte": "y"}
_NAMED = {"Quantity": "q", "IntOrString": "x", "Time": "t", "MicroTime": "t", "FieldsV1": "o", "RawExtension": "o"}
# As ksched_cli/api/core.py calls it: a plugin has the name of the type.
_RENAMED = {"NodeAffinity": "NodeAffinityTerms"}
_ANYTHING = ("status",)
# Kinds that decide nothing about pods: their fields are checked, and nothing else.
_MORE_KINDS = (
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("autoscaling/v1", "HorizontalPodAutoscaler"),
    *(("v1", kind) for kind in ("ConfigMap", "Secret", "ServiceAccount", "Endpoints")),
    *(("networking.k8s.io/v1", kind) for kind in ("Ingress", "IngressClass", "NetworkPolicy")),
    *(("rbac.authorization.k8s.io/v1", kind) for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
    ("coordination.k8s.io/v1", "Lease"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
)
# Kinds of requests and answers.
_NO_OBJECTS = ("DeleteOptions", "WatchEvent", "Status", "Scale", "Eviction", "Binding", "TokenRequest", "APIGroup")


class Types:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self.lines: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def reserve(self, reference: str) -> str:
        """A name of its own: several groups and versions have types of one name. The first has the short name."""
        group, version, name = reference.split(".")[-3:]
        name = _RENAMED.get(name, name)
        taken = name in self.names.values() and self.names.get(reference) != name
        return self.names.setdefault(reference, f"{name}.{group}.{version}" if taken else name)

    def add(self, reference: str) -> str:
        """The short name of a type; its line and those of the types it uses are there afterwards."""
        name = self.reserve(reference)
        if name in self.lines:
            return name
        self.lines[name] = ""
        fields = self._definitions[reference]["properties"]
        self.lines[name] = " ".join(_written(field, self._holds(field, each)) for field, each in sorted(fields.items()))
        return name

    def _holds(self, field: str, described: dict[str, Any]) -> str:
        if field in _ANYTHING:
            return "o"
        if "$ref" in described:
            reference = described["$ref"].removeprefix(REF)
            short = reference.split(".")[-1]
            if short in _NAMED:
                return _NAMED[short]
            return self.add(reference) if "properties" in self._definitions[reference] else "o"
        kind = described.get("type")
        if kind == "array":
            return "*" + self._holds("", described["items"])
        if kind == "object":
            return (
                "%" + self._holds("", described["additionalProperties"]) if "additionalProperties" in described else "o"
            )
        return _FORMATS.get(described.get("format", "")) or _SCALARS.get(kind, "o")


def _written(field: str, holds: str) -> str:
    return f"{field}={holds}" if holds else field


def kinds_of(definitions: dict[str, Any]) -> dict[tuple[str, str], str]:
    """The name of the definition of each kind, by version of its group and kind."""
    return {
        (f"{each['group']}/{each['version']}".lstrip("/"), each["kind"]): name
        for name, definition in definitions.items()
        for each in definition.get("x-kubernetes-group-version-kind", ())
    }


def types_of(definitions: dict[str, Any], by_kind: Mapping[tuple[str, str], str]) -> Types:
    """The types of the kinds that ksched reads, and those that they use."""
    types = Types(definitions)
    roots = [by_kind[identity] for identity in (*KINDS, *_MORE_KINDS) if identity in by_kind]
    for root in roots:
        types.reserve(root)
    for root in roots:
        types.add(root)
    return types


def lines_of(swagger: dict[str, Any]) -> Iterator[str]:
    definitions = swagger["definitions"]
    by_kind = kinds_of(definitions)
    types = types_of(definitions, by_kind)
    kinds: dict[str, list[str]] = {}
    for version, kind in sorted(by_kind):
        if kind not in _NO_OBJECTS and not kind.endswith("List"):
            kinds.setdefault(version, []).append(kind)
    for version, names in kinds.items():
        yield f"@{version} {' '.join(names)}"
    for name, fields in sorted(types.lines.items()):
        yield f"{name} {fields}".rstrip()


def with_minors(lines_by_minor: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """The lines of the newest minor, with the minors of each field that not all have; fields that it lost are there,
    too."""
    newest = max(lines_by_minor)
    types = {minor: dict(_type_and_fields(each) for each in lines) for minor, lines in lines_by_minor.items()}
    for line in lines_by_minor[newest]:
        name, fields = _type_and_fields(line)
        having = [minor for minor in sorted(types) if name in types[minor]]
        if line.startswith("@"):
            yield line
            continue
        for minor in reversed(having):
            fields = {**types[minor][name], **fields}
        written = []
        for field, each in sorted(fields.items()):
            found = [minor for minor in having if field in types[minor][name]]
            first = "" if found[0] == having[0] else str(found[0])
            last = "" if found[-1] == newest else f"-{found[-1]}"
            written.append(f"{each}@{first}{last}" if first or last else each)
        yield " ".join((name, *written))


def _type_and_fields(line: str) -> tuple[str, dict[str, str]]:
    name, *fields = line.split()
    return name, {each.partition("=")[0]: each for each in fields}


def _main(arguments: Sequence[str]) -> None:
    by_minor = {}
    for minor, _, path in (each.partition("=") for each in arguments):
        by_minor[int(minor)] = list(lines_of(json.loads(Path(path).read_text(encoding="utf-8"))))
    sys.stdout.writelines(f"{line}\n" for line in with_minors(by_minor))


if __name__ == "__main__":
    _main(sys.argv[1:])
