"""Builders for pod groups."""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.api.workloads import PodGroup
from tests.builders import make_node, make_pod

GANG = "GenericWorkload=true,GangScheduling=true"
# Pod groups with gangs and their preemption. Since 1.37 GenericWorkload stands for all three.
GATES_OF_MINOR = {"1.36": f"{GANG},WorkloadAwarePreemption=true", "1.37": "GenericWorkload=true"}


def group(name: str = "g", *, min_count: int | None = None, topology: str = "", namespace: str = "default") -> PodGroup:
    """A gang of at least so many pods, or a basic group."""
    policy: dict[str, Any] = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    spec: dict[str, Any] = {"schedulingPolicy": policy}
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, PodGroup)


def member(name: str, of: str = "g", *, cpu: str = "1") -> Any:
    """A pod builder."""
    return make_pod(name).requests(cpu=cpu).spec(schedulingGroup={"podGroupName": of})


def members(count: int, **fields: Any) -> list[Any]:
    return [member(f"p{index}", **fields).obj() for index in range(1, count + 1)]


def nodes_with(*cpus: int) -> list[Any]:
    """Nodes n1, n2, ... with so many cpus."""
    return [make_node(f"n{index}").allocatable(cpu=cpu, pods=10).obj() for index, cpu in enumerate(cpus, 1)]
