"""TopologyPlacementGenerator: a pod group that is to stay within one topology domain is tried in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ksched_cli.cluster.columns import NOWHERE, RowColumn
from ksched_cli.cluster.pod_groups import GroupKey, PodGroups, not_found
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Placement, PlacementGeneratePlugin
from ksched_cli.framework.status import Status, error
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import DEFAULT_PREEMPTION, NODE_RESOURCES_FIT, POD_GROUP_PODS_COUNT


class TopologyPlacementGeneratorRules(ReleaseRules, plugins="TopologyPlacementGenerator"):
    notes = (
        Rule(
            "TopologyAwareWorkloadScheduling",
            "preemption search",
            "Pod groups with constraints are placed in one topology; without the gate, anywhere.",
            plugins=f"TopologyPlacementGenerator {POD_GROUP_PODS_COUNT} {NODE_RESOURCES_FIT} {DEFAULT_PREEMPTION}",
        ),
    )


class TopologyPlacementGenerator(PlacementGeneratePlugin):
    name = "TopologyPlacementGenerator"
    since = "1.36"
    summary = "Proposes the nodes of each domain of a pod group's topology constraint as places for the whole group."

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = PodGroups(handle.cluster, handle.scheduler_names)

    def generate_placements(self, key: GroupKey, nodes: RowColumn) -> Sequence[Placement] | Status:
        """The nodes of each domain, in the order of the domains' names; Go has the order of a map."""
        group = self._groups.get(key)
        if group is None:
            return error(not_found(key))
        constraints = group.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return [Placement("", nodes)]
        topology = constraints.topology[0].key
        required = self._domain_of_scheduled(key, topology)
        if isinstance(required, Status):
            return required
        column = self.handle.cluster.nodes.labels.column(topology)
        ids = column.ids[nodes]
        domains = ((value, index) for index, value in enumerate(column.values) if value is not None)
        return [
            Placement(value, nodes[ids == index])
            for value, index in sorted(domains)
            if required in (None, value) and bool(np.any(ids == index))
        ]

    def _domain_of_scheduled(self, key: GroupKey, topology: str) -> str | Status | None:
        """getScheduledPodsTopologyDomain: where pods of the group are already, the others have to go."""
        cluster = self.handle.cluster
        found: str | None = None
        for pod_row in self._groups.scheduled(key):
            pod, row = cluster.pods.infos[pod_row], int(cluster.pods.node_row[pod_row])
            if row == NOWHERE:
                name = pod.pod.spec.node_name
                return _undetermined(f'getting node for pod {pod.key}: nodeinfo not found for node name "{name}"')
            domain = cluster.nodes.objects[row].metadata.labels.get(topology)
            if domain is None:
                return _undetermined(f"no topology domain found for pod {pod.key}")
            if found and found != domain:
                return _undetermined(f"more than 1 domain found for pod group: {found}, {domain}")
            found = domain
        return found


def _undetermined(why: str) -> Status:
    return error(f"cannot determine domain for already scheduled pods: {why}")


SPEC = Spec(plugins=(TopologyPlacementGenerator,))
