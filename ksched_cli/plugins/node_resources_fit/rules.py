"""What of NodeResourcesFit changed between minors."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import (
    GENERAL_PREDICATES,
    INTER_POD_AFFINITY,
    NODE_AFFINITY,
    NODE_LABEL,
    NODE_NAME,
    NODE_PORTS,
    NODE_PREFER_AVOID_PODS,
    NODE_RESOURCES_BALANCED_ALLOCATION,
    NODE_RESOURCES_LEAST_ALLOCATED,
    NODE_RESOURCES_MOST_ALLOCATED,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    POD_GROUP_PODS_COUNT,
    REQUESTED_TO_CAPACITY_RATIO,
    SERVICE_AFFINITY,
    TAINT_TOLERATION,
    TOPOLOGY_PLACEMENT_GENERATOR,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
)

# Gates that decide which of a pod's requests count.
_GATES = {
    "InPlacePodLevelResourcesVerticalScaling": (
        "A pod whose own requests are resized in place counts with what it has been given, where that is more; without "
        "the gate, with what it asks for."
    ),
    "InPlacePodVerticalScaling": (
        "A pod that is resized in place counts with what its containers have been given, where that is more; without "
        "the gate, with what it asks for."
    ),
    "LocalStorageCapacityIsolation": (
        "Ephemeral storage counts (from 1.19 to 1.24 the gate decides that); without the gate, no pod requests any and "
        "no node has any."
    ),
    "PodLevelResources": (
        "Requests of the pod as a whole (spec.resources) count; without the gate, those of its containers alone."
    ),
    "PodOverhead": "A pod's overhead counts; without the gate, it does not.",
}
_BOTH = f"NodeResourcesFit {NODE_RESOURCES_BALANCED_ALLOCATION}"


class NodeResourcesFitRules(ReleaseRules, plugins="NodeResourcesFit"):
    sees_hopeless_nodes = Rule(
        "1.34",
        "filter preemption",
        "A node that is too small for the pod even if it was empty is beyond help, and no preemption is tried there; "
        "before, it was.",
    )
    only_requested_resources_lack = Rule(
        "1.28",
        "filter",
        "Only resources that the pod asks for can lack; before, a node with more cpu, memory or storage requested "
        "than it has took no pod that asks for anything.",
    )
    overhead_counts_in_scores = Rule(
        "1.24", "score", "Scores include the overhead of the pending pod; before, scores of this plugin left it out."
    )
    notes = (
        Rule(
            "1.17",
            "score",
            "Nodes score 0 to 100; before, 0 to 10, and small differences were lost.",
            plugins=(
                f"NodeResourcesFit {NODE_RESOURCES_BALANCED_ALLOCATION} {NODE_LABEL} {NODE_PREFER_AVOID_PODS} "
                f"{SERVICE_AFFINITY} {TAINT_TOLERATION}"
            ),
        ),
        Rule(
            "1.17",
            "message",
            "Filters are plugins with words of their own; before, there were predicates, one of which, "
            f"{GENERAL_PREDICATES}, reported all that was wrong with resources, ports, host name and node selector.",
            plugins=(
                f"NodeResourcesFit {NODE_AFFINITY} {NODE_NAME} {NODE_PORTS} {INTER_POD_AFFINITY} {TAINT_TOLERATION} "
                f"{NODE_UNSCHEDULABLE} {VOLUME_RESTRICTIONS} {VOLUME_ZONE} {NODE_VOLUME_LIMITS} {SERVICE_AFFINITY} "
                f"{NODE_LABEL}"
            ),
        ),
        Rule(
            "1.22",
            "score",
            "NodeResourcesFit scores nodes by its scoringStrategy, over the resources that a node has; before, "
            f"{NODE_RESOURCES_LEAST_ALLOCATED} and two other plugins did, where a resource that a node lacks "
            "counted as 0.",
            plugins=(
                f"NodeResourcesFit {NODE_RESOURCES_LEAST_ALLOCATED} {NODE_RESOURCES_MOST_ALLOCATED} "
                f"{REQUESTED_TO_CAPACITY_RATIO}"
            ),
        ),
        Rule(
            "1.36",
            "search",
            "Placements for whole pod groups are made and scored where the gate TopologyAwareWorkloadScheduling is "
            "on; before, there were none.",
            plugins=f"NodeResourcesFit {TOPOLOGY_PLACEMENT_GENERATOR} {POD_GROUP_PODS_COUNT}",
        ),
        Rule(
            "SidecarContainers",
            "fields filter",
            "Sidecars (init containers that stay) count beside the containers; without the gate, a pod with one fits "
            "on no node.",
            plugins=_BOTH,
        ),
        *(Rule(gate, "fields", sentence, _BOTH) for gate, sentence in _GATES.items()),
    )
