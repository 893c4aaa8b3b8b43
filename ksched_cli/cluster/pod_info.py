"""What one pod means to the scheduler, worked out once (framework.PodInfo)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ksched_cli.api.core import Pod, PodStatus
from ksched_cli.api.pod_facts import parse_time, pod_key, pod_priority
from ksched_cli.api.pod_resources import nonzero_requests_of, nonzero_requests_without_sidecars, requests_of
from ksched_cli.cluster.ports import ANY_ADDRESS, HostPort
from ksched_cli.cluster.resources import ResourceIndex
from ksched_cli.releases.minors import NEWEST, Release
from ksched_cli.releases.pod_rules import PodInfoRules


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


class PodSums(NamedTuple):
    """(resource row, amount) pairs, and cpu and memory with defaults for containers without requests."""

    requests: tuple[tuple[int, int], ...]
    incoming_requests: tuple[tuple[int, int], ...]
    nonzero: tuple[int, int]


class PodInfo:
    """A pod with its sums. `requests` are (resource row, amount) pairs as the cache counts them, status included."""

    def __init__(self, pod: Pod, resources: ResourceIndex, release: Release = NEWEST) -> None:
        self.pod = pod
        self.name = pod.metadata.name
        self.namespace = pod.metadata.namespace
        self.key = pod_key(pod)
        self.uid = pod.metadata.uid or self.key
        self.labels = pod.metadata.labels
        self.priority = pod_priority(pod)
        self._resources = resources
        self._release = release

    @cached_property
    def template(self) -> bytes:
        """Everything but the pod's name, age and status: equal for pods of one template."""
        metadata = self.pod.metadata
        return msgspec.msgpack.encode(
            (metadata.namespace, metadata.labels, metadata.annotations, metadata.owner_references, self.pod.spec)
        )

    def share_template(self, other: PodInfo) -> None:
        """Keep one copy of the template of two pods whose templates are equal."""
        self.__dict__["template"] = other.template

    def shares_parts_with(self, other: PodInfo) -> bool:
        """Whether the two pods have equal templates because they share all parts of it."""
        mine, its = self.pod.metadata, other.pod.metadata
        return (
            self.pod.spec is other.pod.spec
            and mine.labels is its.labels
            and mine.annotations is its.annotations
            and mine.owner_references is its.owner_references
            and mine.namespace == its.namespace
        )

    @cached_property
    def created(self) -> float:
        """Seconds since the epoch; a pod without a timestamp is as old as can be."""
        stamp = self.pod.metadata.creation_timestamp
        return parse_time(stamp) if stamp else 0.0

    @property
    def requests(self) -> tuple[tuple[int, int], ...]:
        """What the pod takes from its node (PodInfo.CalculateResource)."""
        return self._sums.requests

    @property
    def incoming_requests(self) -> tuple[tuple[int, int], ...]:
        """The requests of the pod before it is placed (noderesources.computePodResourceRequest): no status yet."""
        return self._sums.incoming_requests

    @cached_property
    def containers_are_all(self) -> bool:
        """Whether the requests of the containers are all that counts: no init containers, overhead, requests of the pod
        as a whole, or resizes in place."""
        spec = self.pod.spec
        beside = spec.init_containers or spec.overhead or spec.resources is not None
        return not (beside or _has_actuated(self.pod.status))

    @cached_property
    def _sums(self) -> PodSums:
        """The sum, computed once for all pods whose containers have the same requests."""
        if not self.containers_are_all:
            return self._added_up()
        asked = tuple(tuple(container.resources.requests.items()) for container in self.pod.spec.containers)
        key = self._release, asked
        known: PodSums | None = self._resources.known_sums.get(key)
        if known is None:
            known = self._resources.known_sums[key] = self._added_up()
        return known

    def _added_up(self) -> PodSums:
        rules, placed = PodInfoRules.of(self._release), self.pod
        if not rules.init_containers_count:
            placed = replace(placed, spec=replace(placed.spec, init_containers=()))
        requests = self._resources.amounts(requests_of(placed, use_status=True))
        incoming = self._resources.amounts(requests_of(self.pod, use_status=False))
        if rules.sidecars_run_beside_containers:
            return PodSums(requests, incoming, nonzero_requests_of(placed, use_status=True))
        return PodSums(requests, incoming, nonzero_requests_without_sidecars(placed))

    @property
    def nonzero_cpu(self) -> int:
        return self._sums.nonzero[0]

    @property
    def nonzero_memory(self) -> int:
        return self._sums.nonzero[1]

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        return host_ports_of(self.pod, sidecars=PodInfoRules.of(self._release).sidecar_ports_count)

    def later(self, pod: Pod) -> PodInfo:
        """The info of a later version of this pod. Sums are kept where nothing that they are made of has changed."""
        new = PodInfo(pod, self._resources, self._release)
        if takes_the_same(self.pod, pod):
            new.__dict__.update({name: self.__dict__[name] for name in _SUMS if name in self.__dict__})
        return new

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


_SUMS = ("containers_are_all", "_sums", "host_ports")


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
    """Whether a pod that is resized in place may hold something else than its spec requests."""
    return bool(status.container_statuses or status.init_container_statuses or status.resources)
