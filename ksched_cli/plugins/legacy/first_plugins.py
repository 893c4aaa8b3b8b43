"""Plugins that had other names in 1.17 and 1.18, or that the minors after 1.18 dropped."""

from __future__ import annotations

from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.interfaces import PreScorePlugin, ScorePlugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status, error
from ksched_cli.plugins.legacy.priorities.resources import within_limits
from ksched_cli.plugins.legacy.successors import SelectorSpreadPlugin
from ksched_cli.releases.changes import Note, ReleaseRules
from ksched_cli.releases.plugin_names import (
    DEFAULT_POD_TOPOLOGY_SPREAD,
    NODE_RESOURCE_LIMITS,
    RESOURCE_LIMITS_PRIORITY,
    SELECTOR_SPREAD,
)


class FirstPluginsRules(ReleaseRules, plugins=f"{SELECTOR_SPREAD} {NODE_RESOURCE_LIMITS}"):
    notes = (
        Note(
            "1.17",
            "message",
            f"The plugin has this name; before, it was the priority {RESOURCE_LIMITS_PRIORITY}.",
            plugins=NODE_RESOURCE_LIMITS,
        ),
        Note(
            "1.19",
            "message",
            f"The plugin has this name; before, it was {DEFAULT_POD_TOPOLOGY_SPREAD}.",
            plugins=SELECTOR_SPREAD,
        ),
        Note(
            "1.19",
            "score",
            "The plugin is gone; before, the gate ResourceLimitsPriorityFunction enabled it.",
            plugins=NODE_RESOURCE_LIMITS,
        ),
    )


class DefaultPodTopologySpread(SelectorSpreadPlugin):
    name = DEFAULT_POD_TOPOLOGY_SPREAD
    since = "1.17"
    until = "1.18"


class NodeResourceLimits(PreScorePlugin[None, bool], ScorePlugin[bool]):
    name = NODE_RESOURCE_LIMITS
    since = "1.17"
    until = "1.18"
    summary = "Prefers nodes that are large enough for the pod's limits on cpu or memory."

    def pre_score(self, state: None, pod: PodInfo, nodes: NodeRows) -> bool:
        return True

    def score(self, state: bool | None, pod: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """1 where one of the limits fits; an error where the profile leaves out PreScore."""
        if state is None:
            return error(f'Error reading "PreScore{self.name}" from cycleState: not found')
        return within_limits(pod.pod, nodes)
