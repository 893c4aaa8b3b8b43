"""Facts that several layers compute of one pod or node alone: keys, phases, times, full names, readiness
(pkg/api/v1/pod and component-helpers). What depends on a minor or on other objects is not here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.quantity import MOST_DIGITS

POD_SCHEDULED = "PodScheduled"

# datetime reads all of ISO 8601, the API server only this.
_UTC = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
_UTC_LENGTH = len("2026-01-01T00:00:00Z")
# The ends of these times, the minutes that `is_time` has found to exist, and the most of them that it keeps.
_SECONDS = frozenset(f":{second:02}Z" for second in range(60))
_MINUTES: set[str] = set()
_MOST_MINUTES = 65536
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def pod_key(pod: Pod) -> str:
    """`namespace/name`."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def uid_of_pod(pod: Pod) -> str:
    """The pod's uid. A pod that was never stored has none, and goes by its name."""
    return pod.metadata.uid or pod_key(pod)


def is_same_pod(one: Pod, other: Pod) -> bool:
    """Whether both have the same uid."""
    return uid_of_pod(one) == uid_of_pod(other)


def holds_place(pod: Pod) -> bool:
    """On a node, or nominated to one: for other pods that is much the same."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def pod_priority(pod: Pod) -> int:
    """corev1helpers.PodPriority: no priority counts as 0."""
    return 0 if pod.spec.priority is None else pod.spec.priority


def waits_for_node(pod: Pod) -> bool:
    """Whether the pod is pending: it has no node, and it has not finished."""
    return not pod.spec.node_name and not is_terminal(pod)


def is_terminal(pod: Pod) -> bool:
    """Finished pods hold nothing; the scheduler's informer does not even list them."""
    return pod.status.phase in ("Succeeded", "Failed")


@lru_cache(maxsize=64)
def parse_time(stamp: str) -> float:
    """Seconds since the epoch of an RFC 3339 time; ValueError for anything else."""
    if _UTC.fullmatch(stamp) is not None:
        return _start_of(stamp[:10]) + int(stamp[11:13]) * 3600.0 + int(stamp[14:16]) * 60 + int(stamp[17:19])
    if _RFC3339.fullmatch(stamp) is None:
        raise ValueError(f"{stamp!r} is not a time as RFC 3339 writes it")
    return datetime.fromisoformat(stamp).timestamp()


def latest_time(stamps: Iterable[str]) -> float:
    """`parse_time` of the latest of these times, 0 for none. Times without fractions and offsets are in the order of
    their texts."""
    usual, others = "", list[str]()
    for stamp in stamps:
        if len(stamp) == _UTC_LENGTH and stamp[-1] == "Z":
            usual = max(usual, stamp)
        else:
            others.append(stamp)
    return max(map(parse_time, [usual, *others] if usual else others), default=0.0)


def is_time(stamp: str) -> bool:
    """Whether `parse_time` reads it."""
    if stamp[:16] in _MINUTES and stamp[16:] in _SECONDS:
        return True
    if _UTC.fullmatch(stamp) is not None:
        found = _is_day(stamp[:10])
        if found:
            _keep_minute(stamp[:16])
        return found
    try:
        parse_time(stamp)
    except ValueError:
        return False
    return True


def _keep_minute(minute: str) -> None:
    if len(_MINUTES) >= _MOST_MINUTES:
        _MINUTES.clear()
    _MINUTES.add(minute)


@lru_cache(maxsize=4096)
def _is_day(day: str) -> bool:
    try:
        _start_of(day)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def _start_of(day: str) -> float:
    return datetime.fromisoformat(f"{day}T00:00:00Z").timestamp()


def kubelet_reports(node: Node) -> bool:
    """Whether the condition Ready of the node is other than Unknown: then its kubelet sends heartbeats."""
    for each in node.status.conditions:
        if each.type == "Ready":
            return each.status != "Unknown"
    return True


_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def zone_of(node: Node) -> str:
    """The zone that the labels of the node name; empty if they name none."""
    labels = node.metadata.labels
    return next((labels[key] for key in _ZONES if key in labels), "")


class NodeZones(Mapping[str, str]):
    """The zone of each of these nodes, by name. Few outputs need them, so they are read when they are needed first."""

    def __init__(self, *nodes: Sequence[Node]) -> None:
        self._nodes = nodes

    @cached_property
    def _zones(self) -> dict[str, str]:
        return {node.metadata.name: zone_of(node) for nodes in self._nodes for node in nodes}

    def __getitem__(self, node: str) -> str:
        return self._zones[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._zones)

    def __len__(self) -> int:
        return len(self._zones)


def full_node_name(name: str, names: Collection[str]) -> str:
    """The name of the node that is meant: `node/NAME`, or the part before the first dot if one node has it. The name
    itself if there is no such node."""
    name = name.removeprefix("node/").removeprefix("nodes/")
    if name in names:
        return name
    meant = [each for each in names if each.startswith(f"{name}.")] if name else []
    return meant[0] if len(meant) == 1 else name


def is_active(pod: Pod) -> bool:
    """controller.IsPodActive: neither finished nor terminating."""
    return not is_terminal(pod) and pod.metadata.deletion_timestamp is None


def is_ready(pod: Pod) -> bool:
    """podutil.IsPodReady. A pod that comes without any conditions counts as ready if it runs."""
    if not pod.status.conditions:
        return bool(pod.spec.node_name) and pod.status.phase in ("Running", "")
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def ready_since(pod: Pod) -> float:
    """When the pod became ready, in seconds since the epoch; 0 without such a condition."""
    for each in pod.status.conditions:
        if each.type == "Ready" and each.status == "True" and each.last_transition_time:
            return parse_time(each.last_transition_time)
    return 0.0


def is_available(pod: Pod, min_ready_seconds: int, now: float) -> bool:
    """podutil.IsPodAvailable."""
    return is_ready(pod) and (not min_ready_seconds or ready_since(pod) + min_ready_seconds <= now)


def version_number(resource_version: str) -> int:
    """A resource version as a number, which counts up in a cluster; 0 for a text that is none."""
    return int(resource_version) if resource_version.isdecimal() and len(resource_version) <= MOST_DIGITS else 0
