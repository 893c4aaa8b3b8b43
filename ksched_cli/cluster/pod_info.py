"""What one pod means to the scheduler, computed once (framework.PodInfo): requests, host ports, labels, template.

Resource names are rows of a matrix, and only names that kube-scheduler counts have one. Host ports in use are kept
inverted, (protocol, port) to address to rows (fwk.HostPortInfo).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodStatus
from ksched_cli.api.object_facts import parse_time, pod_key
from ksched_cli.api.pod_resources import nonzero_requests_of, nonzero_requests_without_sidecars, requests_of
from ksched_cli.cluster.catalog import uses_storage
from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.undo import LoggedDict, LoggedSet, UndoLog
from ksched_cli.releases.engine_rules import PodInfoRules
from ksched_cli.releases.minors import DEFAULT, Release

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2

_NATIVE_PREFIX = "kubernetes.io/"
_HUGEPAGES_PREFIX = "hugepages-"
_ATTACHABLE_PREFIX = "attachable-volumes-"
_QUOTA_PREFIX = "requests."


def is_native(name: str) -> bool:
    """helper.IsNativeResource: no domain, or one under kubernetes.io."""
    return "/" not in name or _NATIVE_PREFIX in name


def is_extended(name: str) -> bool:
    """helper.IsExtendedResourceName."""
    return not is_native(name) and not name.startswith(_QUOTA_PREFIX)


def is_scalar(name: str) -> bool:
    """schedutil.IsScalarResourceName: resources other than cpu, memory and storage that the scheduler adds up."""
    return is_extended(name) or name.startswith((_HUGEPAGES_PREFIX, _ATTACHABLE_PREFIX)) or _NATIVE_PREFIX in name


class ResourceIndex:
    """Which row of the resource matrices a resource name has. Rows are added as names are met."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE}
        self.names: list[str] = list(self._rows)
        # Sums of pods by the requests of their containers. They hold rows of this index.
        self.known_sums: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.names)

    def find(self, name: str) -> int | None:
        return self._rows.get(name)

    def row(self, name: str) -> int:
        found = self._rows.get(name)
        if found is None:
            found = self._rows[name] = len(self.names)
            self.names.append(name)
        return found

    def amounts(self, quantities: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
        """(matrix row, amount) of every resource that the scheduler counts, zero amounts left out."""
        counted = [
            (self.row(name), amount)
            for name, amount in quantities.items()
            if amount and (name in ("cpu", "memory", "ephemeral-storage") or is_scalar(name))
        ]
        return tuple(counted)


ANY_ADDRESS = "0.0.0.0"


class HostPort(NamedTuple):
    address: str
    protocol: str
    port: int


class PortIndex:
    """A set and not a count, as in Go: taking away one of two pods that share a port frees the port."""

    def __init__(self, undo: UndoLog | None = None) -> None:
        self._undo = undo or UndoLog()
        self._used: LoggedDict[tuple[str, int], LoggedDict[str, LoggedSet[int]]] = LoggedDict(self._undo)

    def take(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._rows_of(port).add(row)

    def free(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._rows_of(port).discard(row)

    def _rows_of(self, port: HostPort) -> LoggedSet[int]:
        by_address = self._used.get((port.protocol, port.port))
        if by_address is None:
            by_address = self._used[port.protocol, port.port] = LoggedDict(self._undo)
        rows = by_address.get(port.address)
        if rows is None:
            rows = by_address[port.address] = LoggedSet(self._undo)
        return rows

    def holds(self, row: int, port: HostPort) -> bool:
        by_address = self._used.get((port.protocol, port.port))
        return by_address is not None and row in by_address.get(port.address, ())

    def conflicts(self, wanted: Iterable[HostPort], size: int) -> BoolColumn:
        """Rows where a wanted port is taken: the wildcard address clashes with every address."""
        taken = np.zeros(size, dtype=np.bool_)
        for port in wanted:
            by_address: Mapping[str, set[int]] = self._used.get((port.protocol, port.port), {})
            addresses = by_address if port.address == ANY_ADDRESS else (port.address, ANY_ADDRESS)
            for address in addresses:
                taken[list(by_address.get(address, ()))] = True
        return taken

    def renumbered(self, new_row: RowColumn) -> PortIndex:
        """The same ports after rows moved; rows that went away (-1) lose theirs."""
        moved = PortIndex(self._undo)
        for (protocol, number), by_address in self._used.items():
            for address, rows in by_address.items():
                kept = new_row[np.fromiter(rows, dtype=np.int64)]
                moved._rows_of(HostPort(address, protocol, number)).update(kept[kept >= 0].tolist())
        return moved


_PORTS = attrgetter("ports")


def host_ports_of(pod: Pod, *, sidecars: bool = True) -> tuple[HostPort, ...]:
    """schedutil.GetHostPorts: the ports of containers and, where the minor counts them, of sidecars, which run beside
    them."""
    beside = [each for each in pod.spec.init_containers if sidecars and each.restart_policy == "Always"]
    return tuple(
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*pod.spec.containers, *beside)
        for port in container.ports
        if port.host_port > 0
    )


_SCORED = frozenset({"cpu", "memory"})


class PodSums(NamedTuple):
    """(resource row, amount) pairs, and cpu and memory with defaults for containers without requests."""

    requests: tuple[tuple[int, int], ...]
    incoming_requests: tuple[tuple[int, int], ...]
    nonzero: tuple[int, int]


class PodParts:
    """What all copies of a pod share: everything but the name, the uid, and the times. `template`, `sums` and
    `uses_storage` are empty until they are read first. `template` is equal for equal parts. `containers_are_all`: the
    requests of the containers are all that counts: no init containers, overhead, requests of the pod as a whole,
    resizes in place, or claims that take of the node's own resources."""

    __slots__ = ("_pod", "containers_are_all", "host_ports", "release", "resources", "sums", "template", "uses_storage")

    template: bytes
    containers_are_all: bool
    sums: PodSums
    host_ports: tuple[HostPort, ...]

    def __init__(self, pod: Pod, resources: ResourceIndex, release: Release) -> None:
        """Of the pod and of all pods that `are_parts_of` accepts."""
        spec = pod.spec
        self._pod = pod
        self.resources = resources
        self.release = release
        beside = spec.init_containers or spec.overhead or spec.resources is not None
        self.containers_are_all = not (beside or _has_actuated(pod.status))
        has_ports = spec.init_containers or any(map(_PORTS, spec.containers))
        self.host_ports = host_ports_of(pod, sidecars=PodInfoRules.of(release).sidecar_ports_count) if has_ports else ()

    def __getattr__(self, name: str) -> Any:
        """Python calls this if the slot is empty."""
        if name == "sums":
            self.sums = self._summed_up()
            return self.sums
        if name == "uses_storage":
            self.uses_storage = uses_storage(self._pod)
            return self.uses_storage
        if name == "template":
            metadata = self._pod.metadata
            shared = metadata.namespace, metadata.labels, metadata.annotations, metadata.owner_references
            self.template = msgspec.msgpack.encode((*shared, self._pod.spec))
            return self.template
        raise AttributeError(name)

    def are_parts_of(self, pod: Pod) -> bool:
        """Whether this is certain without a look into the parts: the pod has the very same ones."""
        mine, its = self._pod.metadata, pod.metadata
        return (
            self._pod.spec is pod.spec
            and mine.labels is its.labels
            and mine.annotations is its.annotations
            and mine.owner_references is its.owner_references
            and mine.namespace == its.namespace
            and takes_the_same(self._pod, pod)
        )

    def _summed_up(self) -> PodSums:
        """The sums, computed once for all pods whose containers have the same requests."""
        if not self.containers_are_all:
            return self._added_up()
        requests = [tuple(container.resources.requests.items()) for container in self._pod.spec.containers]
        key = self.release.version, *requests
        known: PodSums | None = self.resources.known_sums.get(key)
        if known is None:
            known = self.resources.known_sums[key] = self._added_up()
        return known

    def _added_up(self) -> PodSums:
        rules, placed = PodInfoRules.of(self.release), self._pod
        by_sums = rules.resized_pods_count_by_sums
        if not rules.init_containers_count:
            placed = replace(placed, spec=replace(placed.spec, init_containers=()))
        taken = requests_of(placed, use_status=True, with_claims=True, by_sums=by_sums)
        incoming = requests = self.resources.amounts(taken)
        if not self.containers_are_all:
            incoming = self.resources.amounts(requests_of(self._pod, use_status=False))
        elif all(each.resources.requests.keys() >= _SCORED for each in placed.spec.containers):
            # No container counts with a default.
            return PodSums(requests, requests, (taken.get("cpu", 0), taken.get("memory", 0)))
        if rules.sidecars_run_beside_containers:
            return PodSums(requests, incoming, nonzero_requests_of(placed, by_sums=by_sums))
        return PodSums(requests, incoming, nonzero_requests_without_sidecars(placed))

    def later(self, pod: Pod) -> PodParts:
        """The parts of a later version of the pod. Sums are kept where nothing that they are made of has changed."""
        if self.are_parts_of(pod):
            return self
        new = PodParts(pod, self.resources, self.release)
        if takes_the_same(self._pod, pod):
            new.sums = self.sums
        return new


class PodInfo:
    """A pod with its sums. A cluster may have 200,000 copies of one pod: what they share is in `parts`."""

    __slots__ = ("_created", "_key", "labels", "name", "namespace", "parts", "pod", "priority", "uid")

    def __init__(
        self, pod: Pod, resources: ResourceIndex, release: Release = DEFAULT, parts: PodParts | None = None
    ) -> None:
        """`parts` are those of a pod that this pod may be a copy of."""
        metadata = pod.metadata
        self.pod = pod
        self.parts = parts if parts is not None and parts.are_parts_of(pod) else PodParts(pod, resources, release)
        self.name, self.namespace, self.labels = metadata.name, metadata.namespace, metadata.labels
        self._key: str | None = None
        self._created: float | None = None
        self.uid = metadata.uid or self.key
        # corev1helpers.PodPriority: no priority counts as 0.
        self.priority = pod.spec.priority or 0

    @property
    def key(self) -> str:
        """`namespace/name`."""
        if self._key is None:
            self._key = pod_key(self.pod)
        return self._key

    @property
    def nonzero_cpu(self) -> int:
        """The cpu that scores count, in thousandths: a container without a request counts, too. For plugins."""
        return self.parts.sums.nonzero[0]

    @property
    def nonzero_memory(self) -> int:
        """The memory that scores count, in bytes. For plugins."""
        return self.parts.sums.nonzero[1]

    @property
    def template(self) -> bytes:
        """Everything but the pod's name, age and status: equal for pods of one template."""
        return self.parts.template

    @property
    def created(self) -> float:
        """Seconds since the epoch; a pod without a timestamp is as old as can be."""
        if self._created is None:
            stamp = self.pod.metadata.creation_timestamp
            self._created = parse_time(stamp) if stamp else 0.0
        return self._created

    @property
    def requests(self) -> tuple[tuple[int, int], ...]:
        """What the pod takes from its node (PodInfo.CalculateResource)."""
        return self.parts.sums.requests

    @property
    def incoming_requests(self) -> tuple[tuple[int, int], ...]:
        """The requests of the pod before it is placed (noderesources.computePodResourceRequest): no status yet."""
        return self.parts.sums.incoming_requests

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        return self.parts.host_ports

    def later(self, pod: Pod) -> PodInfo:
        """The info of a later version of this pod."""
        parts = self.parts.later(pod)
        return PodInfo(pod, parts.resources, parts.release, parts)

    def takes_as_much_as(self, earlier: PodInfo) -> bool:
        """Whether the sums of an earlier version of this pod are certain to hold for this one."""
        return self.parts is earlier.parts or self.parts.sums is earlier.parts.sums

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


def takes_the_same(old: Pod, new: Pod) -> bool:
    """Whether this is certain without a look into the containers: versions share the parts that have not changed."""
    before, now = old.spec, new.spec
    if before is not now and not (
        before.containers is now.containers
        and before.init_containers is now.init_containers
        and before.overhead is now.overhead
        and before.resources is now.resources
    ):
        return False
    return old.status is new.status or not any(map(_has_actuated, (old.status, new.status)))


def _has_actuated(status: PodStatus) -> bool:
    """Whether a pod that is resized in place, or has claims, may hold something else than its spec requests."""
    return bool(
        status.container_statuses
        or status.init_container_statuses
        or status.resources
        or status.node_allocatable_resource_claim_statuses
    )
