"""Fixes that came with a minor and were also brought to patches of earlier minors."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct


class UpstreamFix(Struct, frozen=True, dict=True):
    """One pull request of kubernetes/kubernetes: the first minor that has it from its first release on, and the first
    patch of each earlier minor that has it."""

    pull_request: int
    since: str
    patches: tuple[str, ...]

    @cached_property
    def patch_of(self) -> dict[int, int]:
        """The first patch with the fix, by minor."""
        numbers = (version.split(".") for version in self.patches)
        return {int(minor): int(patch) for _, minor, patch in numbers}


# The first filter that rejects a node decides; 1.24 to 1.26.0 ran the others too.
FIRST_REJECTION_DECIDES = UpstreamFix(114518, "1.27", ("1.24.10", "1.25.6", "1.26.1"))
# The scheduler treats a rejection by PreFilter as the status of every node, so that preemption is not tried.
REJECTION_REACHES_NODES = UpstreamFix(119778, "1.29", ("1.26.9", "1.27.6", "1.28.2"))
# Nodes that PreFilter left out are beyond help; #119779 in the first minor.
LEFT_OUT_NODES_ARE_SKIPPED = UpstreamFix(124559, "1.30", ("1.27.14", "1.28.10", "1.29.5"))
# Nodes that PreFilter left out have no status of their own any more.
LEFT_OUT_NODES_HAVE_NO_STATUS = UpstreamFix(125197, "1.31", ("1.27.15", "1.28.11", "1.29.6", "1.30.2"))
# Preemption ranks a node by its most important victim.
MIXED_VICTIMS_ARE_SORTED = UpstreamFix(128307, "1.32", ("1.29.11", "1.30.7", "1.31.3"))
# The nodes of a pod with local volumes are all tried, whatever their names and host names are.
LOCAL_VOLUMES_KEEP_ALL_NODES = UpstreamFix(125398, "1.32", ("1.29.11", "1.30.7", "1.31.3"))
# Host ports of restartable init containers count.
SIDECAR_PORTS_COUNT = UpstreamFix(132040, "1.34", ("1.33.6",))
# The reason of an untolerated taint no longer names it.
TAINTS_ARE_NOT_NAMED = UpstreamFix(134740, "1.35", ("1.34.2",))
# Devices are scored for pods that have allocated claims beside new ones.
ALLOCATED_CLAIMS_ARE_SCORED = UpstreamFix(139017, "1.37", ("1.35.6", "1.36.2"))
# An extender that left out nodes is one of those that rejected the pod.
EXTENDERS_REJECT = UpstreamFix(122022, "1.30", ("1.27.9", "1.28.5", "1.29.2"))
# The requests of init containers count on nodes and in scores.
INIT_CONTAINERS_COUNT = UpstreamFix(89222, "1.19", ("1.16.10", "1.17.6", "1.18.3"))

FIXES = (
    FIRST_REJECTION_DECIDES,
    REJECTION_REACHES_NODES,
    LEFT_OUT_NODES_ARE_SKIPPED,
    LEFT_OUT_NODES_HAVE_NO_STATUS,
    MIXED_VICTIMS_ARE_SORTED,
    LOCAL_VOLUMES_KEEP_ALL_NODES,
    SIDECAR_PORTS_COUNT,
    TAINTS_ARE_NOT_NAMED,
    ALLOCATED_CLAIMS_ARE_SCORED,
    EXTENDERS_REJECT,
    INIT_CONTAINERS_COUNT,
)
