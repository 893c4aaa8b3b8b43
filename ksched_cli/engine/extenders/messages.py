"""What goes to an extender and what comes back (k8s.io/kube-scheduler/extender/v1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.core import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.faults import ExtenderError

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

# Questions


def to_wire(value: Any) -> Any:
    """An object as Go writes it: fields that are empty are left out, entries of maps are not."""
    if isinstance(value, Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        fields = ((name, getattr(value, attribute)) for name, attribute in names)
        return {name: to_wire(each) for name, each in fields if each not in (None, "", ())}
    if isinstance(value, dict):
        return {key: to_wire(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(each) for each in value]
    return value


def pod_on_wire(pod: PodInfo, node: str = "") -> dict[str, Any]:
    """The pod, under the UID by which answers name it, on its node where it is on one."""
    document: dict[str, Any] = to_wire(pod.pod)
    document["metadata"]["uid"] = pod.uid
    if node:
        document["spec"]["nodeName"] = node
    return document


def node_on_wire(node: Node) -> bytes:
    return msgspec.json.encode(to_wire(node))


def ask_about_names(pod: PodInfo, names: Sequence[str]) -> bytes:
    """ExtenderArgs for an extender that caches nodes (nodeCacheCapable)."""
    return msgspec.json.encode({"Pod": pod_on_wire(pod), "Nodes": None, "NodeNames": names})


def ask_about_nodes(pod: PodInfo, nodes: Iterable[bytes]) -> bytes:
    """ExtenderArgs with the nodes, which are encoded already."""
    head = msgspec.json.encode(pod_on_wire(pod))
    return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (head, b",".join(nodes))


class Victims(Struct, frozen=True):
    """Pods of one node by UID, the most important first; `pods` has them in full."""

    uids: tuple[str, ...]
    pdb_violations: int = 0
    pods: tuple[dict[str, Any], ...] = ()


def ask_about_victims(pod: PodInfo, victims: Mapping[str, Victims], *, in_full: bool) -> bytes:
    """ExtenderPreemptionArgs."""
    by_node = {
        node: {
            "Pods": list(each.pods) if in_full else [{"UID": uid} for uid in each.uids],
            "NumPDBViolations": each.pdb_violations,
        }
        for node, each in victims.items()
    }
    return msgspec.json.encode(
        {
            "Pod": pod_on_wire(pod),
            "NodeNameToVictims": by_node if in_full else None,
            "NodeNameToMetaVictims": None if in_full else by_node,
        }
    )


# Answers. Go does not mind the case of a field's name, so all names are made small before they are looked at.


class _NodeList(Struct):
    items: list[Node] = []


class FilterResult(Struct):
    """Either list may be missing, which is not the same as empty."""

    nodes: _NodeList | None = None
    node_names: list[str] | None = msgspec.field(default=None, name="nodenames")
    failed: dict[str, str] = msgspec.field(default_factory=dict, name="failednodes")
    unresolvable: dict[str, str] = msgspec.field(default_factory=dict, name="failedandunresolvablenodes")
    error: str = ""


class HostPriority(Struct):
    host: str = ""
    score: Int64 = 0


class _Priorities(Struct):
    scores: list[HostPriority] = []


class _MetaPod(Struct):
    uid: str = ""


class _MetaVictims(Struct):
    pods: list[_MetaPod] = []
    violations: Int64 = msgspec.field(default=0, name="numpdbviolations")


class _PreemptionResult(Struct):
    victims: dict[str, _MetaVictims] = msgspec.field(default_factory=dict, name="nodenametometavictims")


def read_filter(answer: bytes) -> FilterResult:
    document = _small(_json(answer))
    if isinstance(document, dict):
        document["nodes"] = _small(document.get("nodes"))
    result: FilterResult = _typed(document, FilterResult)
    return result


def read_priorities(answer: bytes) -> list[HostPriority]:
    entries = _json(answer)
    document = {"scores": [_small(each) for each in entries] if isinstance(entries, list) else entries}
    result: _Priorities = _typed(document, _Priorities)
    return result.scores


def read_victims(answer: bytes) -> dict[str, Victims]:
    document = _small(_json(answer))
    by_node = document.get("nodenametometavictims") if isinstance(document, dict) else None
    if isinstance(by_node, dict):
        document["nodenametometavictims"] = {node: _small_victims(each) for node, each in by_node.items()}
    result: _PreemptionResult = _typed(document, _PreemptionResult)
    return {
        node: Victims(tuple(pod.uid for pod in each.pods), each.violations) for node, each in result.victims.items()
    }


def _small_victims(victims: Any) -> Any:
    victims = _small(victims)
    if isinstance(victims, dict) and isinstance(victims.get("pods"), list):
        victims["pods"] = [_small(pod) for pod in victims["pods"]]
    return victims


def _small(value: Any) -> Any:
    return {str(key).lower(): each for key, each in value.items()} if isinstance(value, dict) else value


def _json(answer: bytes) -> Any:
    if not answer.strip():
        raise ExtenderError("EOF")
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as mistake:
        shown = answer[:60].decode("utf-8", "replace")
        raise ExtenderError(f"the answer is not JSON: {mistake}; it begins with {shown!r}") from None


def _typed(document: Any, struct: type[Struct]) -> Any:
    """Go reads null as nothing at all."""
    if document is None:
        return struct()
    if not isinstance(document, dict):
        raise ExtenderError(f"the answer is not an object but {document!r:.60}")
    value, mistakes = problems_in(document, struct)
    if mistakes:
        texts = "; ".join(f"{path_text(path) or 'it'}: {text}" for path, text in mistakes)
        raise ExtenderError(f"the answer cannot be used: {texts}")
    return value
