"""JSON patches: `add`, `replace` and `remove` of RFC 6902 and the pointers of RFC 6901. Fixes are written in them. The
operations `move`, `copy` and `test` are not supported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.api.core import Pod

# One operation of a JSON patch (RFC 6902).
Operation = Mapping[str, Any]


class PodPatch(Struct, frozen=True):
    """One change of the pod. Changes of one `kind` differ only by the node that they are for."""

    text: str
    kind: str
    cost: float
    operations: tuple[Operation, ...]


def patch_pod(pod: Pod, operations: Iterable[Operation]) -> Pod:
    """A pod with the operations made, in order."""
    return msgspec.convert(apply_patch(msgspec.json.decode(msgspec.json.encode(pod)), operations), Pod)


def apply_patch(document: Any, operations: Iterable[Operation]) -> Any:
    """Changes the document and returns it. Raises LookupError for a path that the document does not have."""
    for operation in operations:
        *parents, last = pointer_steps(operation["path"])
        parent = document
        for step in parents:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
            if not isinstance(parent, list | dict):
                raise LookupError(operation["path"])
        if operation["op"] == "remove":
            del parent[int(last) if isinstance(parent, list) else last]
        elif isinstance(parent, list) and operation["op"] == "add":
            parent.insert(len(parent) if last == "-" else int(last), operation["value"])
        elif isinstance(parent, list):
            parent[int(last)] = operation["value"]
        else:
            parent[last] = operation["value"]
    return document


def pointer(*steps: str | int) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def add(value: Any, *steps: str | int) -> Operation:
    return {"op": "add", "path": pointer(*steps), "value": value}


def put(value: Any, *steps: str | int) -> Operation:
    return {"op": "replace", "path": pointer(*steps), "value": value}


def drop(*steps: str | int) -> Operation:
    return {"op": "remove", "path": pointer(*steps)}


def pointer_steps(path: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
