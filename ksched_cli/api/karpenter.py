"""karpenter.sh/v1: NodePools and NodeClaims, and the NodeClasses of AWS, Azure and GCP as far as their status is read.

karpenter.sh/v1beta1 has the same fields where provisioning reads them, except that a nodeClassRef names an `apiVersion`
instead of a `group`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.api.core import KubernetesObject, ObjectMeta, Quantities, Taint


class NodeClassReference(Struct, rename="camel", frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    group: str = ""
    api_version: str = ""

    @property
    def api_group(self) -> str:
        return self.group or self.api_version.partition("/")[0]


class NodeSelectorRequirementWithMinValues(Struct, rename="camel", frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()
    min_values: int | None = None


class NodeClaimResources(Struct, rename="camel", gc=False):
    requests: Quantities = {}


class NodeClaimSpec(Struct, rename="camel", gc=False):
    requirements: tuple[NodeSelectorRequirementWithMinValues, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    node_class_ref: NodeClassReference = NodeClassReference()
    expire_after: str | None = None
    termination_grace_period: str | None = None
    resources: NodeClaimResources = field(default_factory=NodeClaimResources)


class Condition(Struct, rename="camel", frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class NodeClaimTemplate(Struct, rename="camel", gc=False):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: NodeClaimSpec = field(default_factory=NodeClaimSpec)


class Budget(Struct, rename="camel", frozen=True, gc=False):
    nodes: str = "10%"
    reasons: tuple[str, ...] = ()
    schedule: str | None = None
    duration: str | None = None


class Disruption(Struct, rename="camel", gc=False):
    consolidation_policy: str = ""
    consolidate_after: str | None = None
    budgets: tuple[Budget, ...] = ()


class NodePoolSpec(Struct, rename="camel", gc=False):
    template: NodeClaimTemplate = field(default_factory=NodeClaimTemplate)
    disruption: Disruption = field(default_factory=Disruption)
    limits: Quantities | None = None
    weight: int | None = None
    replicas: int | None = None


class NodePoolStatus(Struct, rename="camel", gc=False):
    conditions: tuple[Condition, ...] = ()


class NodePool(KubernetesObject):
    spec: NodePoolSpec = field(default_factory=NodePoolSpec)
    status: NodePoolStatus = field(default_factory=NodePoolStatus)


class NodeClaimStatus(Struct, rename="camel", gc=False):
    provider_id: str = field(default="", name="providerID")
    node_name: str = ""
    capacity: Quantities = {}
    allocatable: Quantities = {}
    conditions: tuple[Condition, ...] = ()


class NodeClaim(KubernetesObject):
    spec: NodeClaimSpec = field(default_factory=NodeClaimSpec)
    status: NodeClaimStatus = field(default_factory=NodeClaimStatus)


class NodeClass(KubernetesObject):
    """What a cloud makes nodes of. Its fields are read by the formulas of the cloud's instance types."""

    spec: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)


class EC2NodeClass(NodeClass):
    pass


class AKSNodeClass(NodeClass):
    pass


class GCENodeClass(NodeClass):
    pass


def is_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Whether the condition of this type is True."""
    return any(each.type == kind and each.status == "True" for each in conditions)


# The kinds by API group and name, with the versions whose fields these structs have. They are not among the kinds of
# the API server, since kube-scheduler and the controllers never read them.
KARPENTER_KINDS: dict[tuple[str, str], tuple[type[KubernetesObject], tuple[str, ...]]] = {
    ("karpenter.sh", "NodePool"): (NodePool, ("v1", "v1beta1")),
    ("karpenter.sh", "NodeClaim"): (NodeClaim, ("v1", "v1beta1")),
    ("karpenter.k8s.aws", "EC2NodeClass"): (EC2NodeClass, ("v1", "v1beta1")),
    ("karpenter.azure.com", "AKSNodeClass"): (AKSNodeClass, ("v1beta1", "v1alpha2")),
    ("karpenter.k8s.gcp", "GCENodeClass"): (GCENodeClass, ("v1alpha1",)),
}


def karpenter_versions(kind: type[Struct]) -> tuple[str, ...]:
    """The versions under which a kind of Karpenter is read, the newest first."""
    return tuple(
        f"{group}/{version}"
        for (group, _), (each, versions) in KARPENTER_KINDS.items()
        for version in versions
        if each is kind
    )


# The fields of NodeClasses that the formulas of instance types read. Others may be private, such as user data.
NODE_CLASS_FIELDS = frozenset(
    {
        *("kubelet", "kubeletConfiguration", "amiFamily", "amiSelectorTerms", "blockDeviceMappings"),
        *("instanceStorePolicy", "imageFamily", "fipsMode", "maxPods", "disks", "osDiskSizeGB", "subnets"),
    }
)


def stored(item: KubernetesObject) -> KubernetesObject:
    """The object as a snapshot has it: without annotations, and of a NodeClass only what is read."""
    own = replace(item, metadata=replace(item.metadata, annotations={}, owner_references=()))
    if not isinstance(own, NodeClass):
        return own
    kept = ({key: value for key, value in part.items() if key in NODE_CLASS_FIELDS} for part in (own.spec, own.status))
    spec, status = kept
    return replace(own, spec=spec, status=status)


def karpenter_kind(api_version: str, kind: str) -> type[KubernetesObject] | None:
    """The kind of Karpenter in this version, None if it is not read."""
    group, _, version = api_version.partition("/")
    found, versions = KARPENTER_KINDS.get((group, kind), (None, ()))
    return found if version in versions else None
