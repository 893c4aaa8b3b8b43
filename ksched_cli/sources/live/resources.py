"""The resources that are read of a live cluster, and their paths."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.api import core, dynamic_resources, policy, storage, workloads
from ksched_cli.api.kinds import KINDS, versions_of

# The largest lists come first: the others are read while these arrive.
_LARGEST: tuple[type[Struct], ...] = (
    core.Pod,
    core.Node,
    workloads.ReplicaSet,
    storage.PersistentVolumeClaim,
    storage.PersistentVolume,
    dynamic_resources.ResourceSlice,
    dynamic_resources.ResourceClaim,
)
# Kinds that decide nothing about the pods of a running cluster.
_NOT_READ = (workloads.PodTemplate, workloads.CronJob, policy.Workload)
READ = tuple(dict.fromkeys((*_LARGEST, *(kind for kind in KINDS.values() if kind not in _NOT_READ))))
# Without these kinds no question can be answered.
NEEDED = frozenset({core.Pod, core.Node})


class Resource(Struct, frozen=True):
    """A kind under one version of its group."""

    kind: type[Struct]
    version: str

    @property
    def plural(self) -> str:
        name = self.kind.__name__.lower()
        if name.endswith("s"):
            return f"{name}es"
        return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

    @property
    def path(self) -> str:
        return f"/{'apis' if '/' in self.version else 'api'}/{self.version}/{self.plural}"


def resources_of(kind: type[Struct]) -> tuple[Resource, ...]:
    """The kind under every version that ksched reads, the newest first."""
    return tuple(Resource(kind, version) for version in versions_of(kind))
