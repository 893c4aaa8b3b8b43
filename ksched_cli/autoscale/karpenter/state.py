"""The nodes that Karpenter knows: Nodes and NodeClaims joined by their provider ID.

Mirrors pkg/controllers/state (cluster.go, statenode.go) and pkg/utils/{pod,pdb,node}. A NodeClaim stands for its node
until the node has registered: its labels, taints, capacity. Not modelled: marks that live in Karpenter's memory only
(MarkForDeletion before the NodeClaim is deleted, nominations of earlier passes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.karpenter import NodeClaim as NodeClaimObject
from ksched_cli.api.karpenter import is_true
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.selectors import selector_of_controller
from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.autoscale.karpenter.labels import DO_NOT_DISRUPT, INITIALIZED, INSTANCE_TYPE, NODEPOOL, REGISTERED
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME
from ksched_cli.autoscale.karpenter.resources import Amounts, amounts_of, with_overrides
from ksched_cli.autoscale.karpenter.taints import Taints, lasting, untolerated
from ksched_cli.config.model import parse_duration

_DISRUPTED = Taint("karpenter.sh/disrupted", "", "NoSchedule")


class StateNode(Struct, eq=False):
    """A node, a claim for one, or both (state.StateNode)."""

    node: Node | None = None
    claim: NodeClaimObject | None = None

    @property
    def is_registered(self) -> bool:
        return self.claim is None or self._has_label(REGISTERED)

    @property
    def is_initialized(self) -> bool:
        return self.claim is None or self._has_label(INITIALIZED)

    def _has_label(self, key: str) -> bool:
        return self.node is not None and self.node.metadata.labels.get(key) == "true"

    @property
    def _stands_for_node(self) -> NodeClaimObject | None:
        """The claim, if it counts in place of the node."""
        return self.claim if self.node is None or not self.is_registered else None

    @property
    def name(self) -> str:
        return self._named().metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self._named().metadata.labels

    def _named(self) -> Node | NodeClaimObject:
        claim = self._stands_for_node
        if claim is not None:
            return claim
        assert self.node is not None
        return self.node

    @property
    def hostname(self) -> str:
        return self.labels.get(HOSTNAME) or self.name

    @property
    def taints(self) -> Taints:
        """Taints without those that a starting node loses."""
        claim = self._stands_for_node
        given = claim.spec.taints if claim is not None else self.node.spec.taints if self.node is not None else ()
        if self.claim is not None and not self.is_initialized:
            return lasting(given, self.claim.spec.startup_taints)
        return given

    @property
    def capacity(self) -> Amounts:
        return self._amounts("capacity")

    @property
    def allocatable(self) -> Amounts:
        return self._amounts("allocatable")

    def _amounts(self, field: str) -> Amounts:
        """Those of the node; before it is initialized, the claim's where the node has none."""
        own = amounts_of(getattr(self.node.status, field)) if self.node is not None else {}
        if self.claim is None or self.is_initialized:
            return own
        return with_overrides(own, amounts_of(getattr(self.claim.status, field)))

    @property
    def is_deleting(self) -> bool:
        """MarkedForDeletion."""
        if self.claim is not None:
            conditions = self.claim.status.conditions
            return bool(self.claim.metadata.deletion_timestamp) or is_true(conditions, "InstanceTerminating")
        return self.node is not None and bool(self.node.metadata.deletion_timestamp)


def state_nodes(nodes: Iterable[Node], claims: Iterable[NodeClaimObject]) -> list[StateNode]:
    """The nodes that Karpenter's state has (Cluster.UpdateNode, UpdateNodeClaim)."""
    found: dict[str, StateNode] = {}
    for claim in claims:
        if claim.status.provider_id:
            found[claim.status.provider_id] = StateNode(claim=claim)
    for node in nodes:
        labels, provider_id = node.metadata.labels, node.spec.provider_id
        is_managed = bool(labels.get(NODEPOOL))
        # Karpenter waits until its nodes have a provider ID and an instance type.
        if is_managed and (not provider_id or not (labels.get(INSTANCE_TYPE) or labels.get(INITIALIZED))):
            continue
        state = found.setdefault(provider_id or node.metadata.name, StateNode())
        state.node = node
    return list(found.values())


# Pods


def is_terminating(pod: Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp)


def is_owned_by(pod: Pod, api_version: str, kind: str) -> bool:
    return any(each.kind == kind and each.api_version == api_version for each in pod.metadata.owner_references)


def is_provisionable(pod: Pod) -> bool:
    """IsProvisionable: kube-scheduler found no place (only the reason of the condition is read), and nothing else will
    make one."""
    return any(
        each.type == "PodScheduled" and each.reason == "Unschedulable" for each in pod.status.conditions
    ) and may_be_provisioned(pod)


def may_be_provisioned(pod: Pod) -> bool:
    """The parts of IsProvisionable that do not depend on kube-scheduler's verdict."""
    return (
        not pod.spec.node_name
        and not pod.status.nominated_node_name
        and not is_owned_by(pod, "apps/v1", "DaemonSet")
        and not is_owned_by(pod, "v1", "Node")
    )


def is_reschedulable(pod: Pod) -> bool:
    """IsReschedulable: the pod will need another node when its node goes."""
    is_active = not is_terminal(pod) and not is_terminating(pod)
    return (
        (is_active or (is_owned_by(pod, "apps/v1", "StatefulSet") and is_terminating(pod)))
        and not is_owned_by(pod, "apps/v1", "DaemonSet")
        and not is_owned_by(pod, "v1", "Node")
    )


def is_protected(pod: Pod, now: datetime | None) -> bool:
    """IsDoNotDisruptActive: the annotation karpenter.sh/do-not-disrupt is true, or a time that has not passed."""
    value = pod.metadata.annotations.get(DO_NOT_DISRUPT)
    if value is None or value == "true":
        return value is not None
    seconds = parse_duration(value)
    if seconds is None or seconds <= 0:
        return False
    started = pod.status.start_time
    if not started or now is None:
        return True
    return (now - datetime.fromisoformat(started.replace("Z", "+00:00"))).total_seconds() < seconds


class BlockingBudgets:
    """PodDisruptionBudgets that allow no eviction at all (pkg/utils/pdb)."""

    def __init__(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        self._budgets = [(each, selector_of_controller(each.spec.selector)) for each in budgets]

    def is_fully_blocked(self, pod: Pod, now: datetime | None) -> bool:
        """isFullyBlocked: also more than one budget blocks. A pod that Karpenter does not evict is not blocked."""
        is_active = not is_terminal(pod) and not is_terminating(pod)
        tolerates = not untolerated((_DISRUPTED,), pod.spec.tolerations)
        if not is_active or tolerates or is_owned_by(pod, "v1", "Node") or is_protected(pod, now):
            return False
        found = [
            each
            for each, selector in self._budgets
            if each.metadata.namespace == pod.metadata.namespace and selector.matches(pod.metadata.labels)
        ]
        if len(found) != 1:
            return bool(found)
        spec = found[0].spec
        if spec.unhealthy_pod_eviction_policy == "AlwaysAllow" and any(
            each.type == "Ready" and each.status == "False" for each in pod.status.conditions
        ):
            return False
        return spec.max_unavailable in (0, "0%") or spec.min_available == "100%"
