"""NodeDeclaredFeatures: rejects nodes whose kubelet does not declare a feature that the pod needs
(nodedeclaredfeatures/nodedeclaredfeatures.go). Only features that decide where a pod is placed are inferred from its
spec; those about updates of running pods are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ksched_cli.api.core import PodSpec
from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import NOTHING, Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreFilterPlugin, PreFilterResult
from ksched_cli.framework.reasons import Figures, ReasonCode, ReasonKind, ReasonTable, RejectionGuide
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import SKIP, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.plugin_names import GANG_SCHEDULING

Features = frozenset[str]

_FEATURE_MISSING = ReasonCode(
    "KS116",
    "node-feature",
    "the nodes lack a feature that the pod needs",
    "The pod uses fields that kubelets must have declared as supported (status.declaredFeatures).",
    ("upgrade the kubelets", "leave the field out"),
)


class NodeDeclaredFeaturesReasons(ReasonTable, plugins="NodeDeclaredFeatures"):
    feature_missing = ReasonKind(
        "node(s) didn't match Pod's required features", _FEATURE_MISSING, problem="lack features that it requires"
    )


class FeaturesGuide(RejectionGuide):
    def describe(self, figures: Figures) -> str:
        return f"its kubelet does not declare {', '.join(figures['missing'])}"


class NodeDeclaredFeaturesRules(ReleaseRules, plugins="NodeDeclaredFeatures"):
    notes = (
        Rule(
            "1.35",
            "filter queue",
            "There is such a plugin, which is enabled where the gate of its name is on; before, there was none.",
            plugins=f"NodeDeclaredFeatures {GANG_SCHEDULING}",
        ),
        Rule(
            "NodeDeclaredFeatures",
            "filter queue",
            "A pod goes to nodes whose kubelet declares the features that it needs; without the gate, anywhere.",
        ),
    )


def _restarts_all_containers(spec: PodSpec) -> bool:
    for container in (*spec.containers, *spec.init_containers):
        for rule in container.restart_policy_rules:
            if rule.action == "RestartAllContainers":
                return True
    return False


def _user_namespace_on_the_hosts_network(spec: PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


# The features of 1.36 that placing a pod depends on; the others concern updates of running pods.
NEEDED_BY: Mapping[str, Callable[[PodSpec], bool]] = {
    "RestartAllContainersOnContainerExits": _restarts_all_containers,
    "UserNamespacesHostNetworkSupport": _user_namespace_on_the_hosts_network,
}


def _needed_by(spec: PodSpec) -> Features:
    return frozenset([name for name, needs in NEEDED_BY.items() if needs(spec)])


class NodeDeclaredFeatures(PreFilterPlugin[Features], FilterPlugin[Features]):
    name = "NodeDeclaredFeatures"
    since = "1.35"
    summary = "Rejects nodes whose kubelet does not declare a feature that the pod needs."
    events = (
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE),
        ClusterEvent("Pod", Action.UPDATE),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._enabled = handle.gates.enabled("NodeDeclaredFeatures")

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return self.events if self._enabled else ()

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        if event.resource == "Pod":
            return is_same_pod(new, info.pod) and _needed_by(old.spec) != _needed_by(new.spec)
        return old is None or old.status.declared_features != new.status.declared_features

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", _needed_by(info.pod.spec)) if self._enabled else NOTHING

    def pre_filter(self, info: PodInfo) -> PreFilterResult[Features] | Status:
        if not self._enabled:
            return SKIP
        needed = _needed_by(info.pod.spec)
        return PreFilterResult(needed) if needed else SKIP

    def filter(self, state: Features | None, info: PodInfo, nodes: NodeRows) -> Verdict:
        if state is None:
            return Verdict.of_all(
                len(nodes), error('error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found')
            )
        objects = nodes.cluster.nodes.objects
        declared = (objects[row].status.declared_features for row in nodes.rows)
        lacking = np.array([not state.issubset(each) for each in declared], dtype=np.bool_)
        return Verdict.rejecting(lacking, unresolvable(NodeDeclaredFeaturesReasons.feature_missing()))

    def explain(self, state: Features | None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        declared = nodes.cluster.nodes.objects[nodes.rows[index]].status.declared_features
        return {"missing": sorted((state or frozenset()).difference(declared))}


SPEC = Spec(plugins=(NodeDeclaredFeatures,), reasons=(NodeDeclaredFeaturesReasons,), guide=FeaturesGuide())
