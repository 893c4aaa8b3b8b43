"""GeneralPredicates and the four that are in it: resources, the node's name, ports, labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.plugin_args import NodeAffinityArgs, NodeResourcesFitArgs
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Status
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.legacy.predicates import Predicate
from ksched_cli.plugins.legacy.successors import (
    NodeAffinityPlugin,
    NodeNamePlugin,
    NodePortsPlugin,
    NodeResourcesFitPlugin,
)


class PodFitsResources(Predicate, NodeResourcesFitPlugin):
    name = "PodFitsResources"
    summary = "Rejects nodes without room for the pod's requests."


class HostName(Predicate, NodeNamePlugin):
    name = "HostName"


class PodFitsHostPorts(Predicate, NodePortsPlugin):
    name = "PodFitsHostPorts"


class MatchNodeSelector(Predicate, NodeAffinityPlugin):
    name = "MatchNodeSelector"
    summary = "Rejects nodes without the labels of nodeSelector and required node affinity."


# What the PreFilter of each part found, by the plugin that it became. One that has nothing to look at is left out.
_States = dict[str, Any]


class GeneralPredicates(Predicate, PreFilterPlugin[_States], FilterPlugin[_States]):
    """All four are evaluated, and a node gets all reasons."""

    name = "GeneralPredicates"
    summary = "Rejects nodes without room, of another name, with ports that are taken, or without the required labels."
    args: NodeResourcesFitArgs

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._parts: dict[str, FilterPlugin[Any]] = {
            NodeResourcesFitPlugin.name: PodFitsResources(args, handle),
            NodeNamePlugin.name: HostName(None, handle),
            NodePortsPlugin.name: PodFitsHostPorts(None, handle),
            NodeAffinityPlugin.name: MatchNodeSelector(NodeAffinityArgs(), handle),
        }

    def pre_filter(self, pod: PodInfo) -> PreFilterResult[_States] | Status:
        states: _States = {}
        for name, part in self._parts.items():
            answer = part.pre_filter(pod) if isinstance(part, PreFilterPlugin) else None
            if answer is None:
                states[name] = None
            elif isinstance(answer, PreFilterResult):
                states[name] = answer.state
        return PreFilterResult(states)

    def filter(self, state: _States, pod: PodInfo, nodes: NodeRows) -> Verdict:
        return Verdict.together([self._parts[name].filter(own, pod, nodes) for name, own in state.items()])

    def sign(self, pod: PodInfo) -> Hashable:
        return tuple(part.sign(pod) for part in self._parts.values())

    def explain(self, state: _States, pod: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """The reasons of each part that rejects the node, by the plugin that it became."""
        one = NodeRows(nodes.cluster, nodes.rows[index : index + 1])
        return {
            name: self._parts[name].explain(own, pod, nodes, index)
            for name, own in state.items()
            if not self._parts[name].filter(own, pod, one).passed.all()
        }
