"""What Karpenter decides: claims for new nodes, pods on nodes that exist, and pods without a place.

`new_node` mirrors FinalizeScheduling, TruncateInstanceTypes and ToNodeClaim (nodeclaim.go, scheduler.go,
nodeclaimtemplate.go): the claim as it would be sent to the API server, with its instance types ordered by price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from ksched_cli.autoscale.instance_types.catalog import Offering
from ksched_cli.autoscale.karpenter.instance_types import InstanceTypes
from ksched_cli.autoscale.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, RESERVED
from ksched_cli.autoscale.karpenter.node_claim import OpenClaim
from ksched_cli.autoscale.karpenter.requirements import LabelRequirement, LabelRequirements
from ksched_cli.autoscale.karpenter.resources import merged


class Cheapest(Struct, rename="camel", omit_defaults=True):
    """The cheapest instance type of a claim. `zone` and `capacity_type` only if every offering of the type at this
    price has them. It is no promise of what the cloud launches. `price`: None if no price is known."""

    instance_type: str
    price: float | None
    zone: str = ""
    capacity_type: str = ""


class NewNode(Struct, rename="camel"):
    """A node that Karpenter adds. `requirements_vary` names labels whose value Karpenter draws: the one shown is an
    example."""

    node_pool: str
    pods: list[str]
    instance_types: list[str]
    requirements: dict[str, list[dict[str, object]]]
    cheapest: Cheapest
    requests: dict[str, str]
    taints: list[str] | UnsetType = UNSET
    min_values_relaxed: str | UnsetType = UNSET
    requirements_vary: list[str] | UnsetType = UNSET
    # The name of its node, in a run that goes on until it has registered.
    name: str | UnsetType = UNSET
    # The cheapest offering, which a world takes for launched. It is not part of the document.
    launch: Offering = Offering()


# What a reason of a NodePool means, by its code.
REASONS = {
    "taint": "the pod does not tolerate a taint of the NodePool",
    "host-port": "a DaemonSet pod uses the host port",
    "label": "the NodePool does not define a label that the pod requires",
    "requirement": "the NodePool and the pod require different values of a label",
    "topology": "a rule about other pods leaves no domain",
    "no-type": "no instance type meets the requirements",
    "no-room": "no instance type is large enough",
    "no-offering": "no instance type is offered in that zone and capacity type",
    "no-combination": "no instance type meets requirements, size and offering together",
    "min-values": "too few instance types are left for minValues",
    "limit": "the limit of the NodePool is used up",
    "reserved": "the capacity reservations are used up for now",
}


class PodWithoutNode(Struct, rename="camel"):
    """A pod without a place. `stage`: validate, nodepools, sync or solve. `by_pool` has the reason of each NodePool.
    `daemon_sets`: what DaemonSets take of each node of a NodePool, where the size is the reason."""

    pod: str
    stage: str
    message: str
    by_pool: dict[str, str] = {}
    codes: dict[str, str] = {}
    daemon_sets: dict[str, dict[str, str]] = {}

    def reason(self, pool: str) -> str:
        """The reason of the NodePool as a plain sentence, empty if there is none for its code."""
        taken = ", ".join(f"{name} {amount}" for name, amount in self.daemon_sets.get(pool, {}).items())
        return REASONS.get(self.codes[pool], "") + (f" (DaemonSets take {taken} of each)" if taken else "")

    @property
    def summary(self) -> str:
        """The reasons of all NodePools in one line, Karpenter's own message where it has no NodePool in it."""
        pools = (f"NodePool {pool}: {self.reason(pool) or message}" for pool, message in self.by_pool.items())
        return "; ".join(pools) or self.message


class Provisioning(Struct, rename="camel"):
    """The answer of one pass. `pools_without_types`: NodePools that no instance type meets, with the labels of which
    there are too few values. `elsewhere`: pods that kube-scheduler has bound to another node than Karpenter planned."""

    new_nodes: list[NewNode] = field(default_factory=list)
    existing: dict[str, list[str]] = field(default_factory=dict)
    unplaced: list[PodWithoutNode] = field(default_factory=list)
    not_considered: list[str] = field(default_factory=list)
    pools_without_types: dict[str, list[str]] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    @property
    def placed(self) -> frozenset[str]:
        """The pods that have a place, on new nodes or on others."""
        new = (pod for node in self.new_nodes for pod in node.pods)
        return frozenset((*new, *(pod for pods in self.existing.values() for pod in pods)))

    def about(self, pod: str) -> Provisioning:
        """The parts that concern one pod."""
        existing = {node: [pod] for node, pods in self.existing.items() if pod in pods}
        return replace(
            self,
            new_nodes=[node for node in self.new_nodes if pod in node.pods],
            existing=existing,
            unplaced=[each for each in self.unplaced if each.pod == pod],
            not_considered=[each for each in self.not_considered if each == pod],
        )

    def document(self) -> dict[str, Any]:
        """The keys `autoscaling` of a document."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        del found["poolsWithoutTypes"]
        if not self.elsewhere:
            del found["elsewhere"]
        for each in found["unplaced"]:
            for key in ("byPool", "codes", "daemonSets"):
                if not each[key]:
                    del each[key]
        for each in found["newNodes"]:
            del each["launch"]
        return found


def new_node(claim: OpenClaim, types: InstanceTypes, most: int, *, strict: bool) -> NewNode | dict[str, int]:
    """The node of a claim; or, if minValues are not met by the `most` cheapest types, what is missing."""
    state = claim.state
    if claim.reserved:
        reserved = LabelRequirement(CAPACITY_TYPE, frozenset((RESERVED,)))
        own = LabelRequirement(types.reservation_label, claim.reserved)
        state = LabelRequirements((*state.without(CAPACITY_TYPE).values(), reserved)).added(LabelRequirements((own,)))
    rows = types.by_price(state, claim.types)[:most]
    kept = np.zeros(len(types), bool)
    kept[rows] = True
    if strict and state.has_min_values:
        too_few = types.too_few_values(state, kept)
        if too_few:
            return too_few
    names = [types.names[row] for row in rows]
    least = state.allowed(INSTANCE_TYPE).min_values
    state = state.added(LabelRequirements((LabelRequirement(INSTANCE_TYPE, frozenset(names), min_values=least),)))
    capacity_types = types.capacity_types(state, kept)
    if capacity_types:
        state = state.added(LabelRequirements((LabelRequirement(CAPACITY_TYPE, frozenset(capacity_types)),)))
    requests = merged(claim.template.daemons, *(pod.of.amounts for pod in claim.pods))
    taints = [str(each) for each in claim.template.taints]
    cheapest, launch = _cheapest(rows[0], state, types)
    return NewNode(
        claim.template.name,
        sorted(pod.name for pod in claim.pods),
        names,
        {key: state[key].selectors() for key in sorted(state)},
        cheapest,
        {name: str(requests[name]) for name in sorted(requests)},
        taints or UNSET,
        "true" if claim.template.min_values_relaxed else UNSET,
        sorted(claim.drawn) or UNSET,
        launch=launch,
    )


def _cheapest(row: int, state: LabelRequirements, types: InstanceTypes) -> tuple[Cheapest, Offering]:
    """The cheapest offering of the type, for people and as one of those that are equally cheap."""
    usable = types.offerings_of(state, row)
    offerings = [each for each in usable if each.price is not None]
    price = min((each.price for each in offerings if each.price is not None), default=None)
    best = [each for each in offerings if each.price == price]
    zones, kinds = {each.zone for each in best}, {each.capacity_type for each in best}
    is_zone_fixed = len(zones) == 1
    found = Cheapest(
        types.names[row],
        price,
        next(iter(zones)) if is_zone_fixed else "",
        next(iter(kinds)) if len(kinds) == 1 else "",
    )
    return found, min(best or usable, key=lambda each: (each.zone, each.capacity_type))


def node_labels(
    of_type: Mapping[str, Sequence[str]], requirements: Mapping[str, Sequence[Mapping[str, object]]]
) -> dict[str, str]:
    """The labels of a node: those of its type, and the single values of its requirements. Of several values of a custom
    label Karpenter draws one; the first is taken."""
    labels = {key: values[0] for key, values in of_type.items() if len(values) == 1}
    for key, selectors in requirements.items():
        values = selectors[0].get("values")
        if selectors[0]["operator"] == "In" and isinstance(values, list) and (len(values) == 1 or key not in labels):
            labels[key] = str(values[0])
    return labels
