"""Versions of built-in kinds that API servers do not serve any more, by the last minor that served them by default;
and whether a minor has a rule of validation.

Mirrors the deprecation guide of Kubernetes and the lifecycle functions of its API types. A version that only a gate or
`--runtime-config` serves counts as removed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.releases.minors import DEFAULT

_REMOVED: Sequence[tuple[str, str, int]] = (
    ("extensions/v1beta1", "DaemonSet Deployment ReplicaSet NetworkPolicy PodSecurityPolicy", 15),
    ("extensions/v1beta1", "Ingress", 21),
    ("apps/v1beta1", "ControllerRevision Deployment StatefulSet", 15),
    ("apps/v1beta2", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", 15),
    ("batch/v2alpha1", "CronJob", 20),
    ("batch/v1beta1", "CronJob", 24),
    ("policy/v1beta1", "PodDisruptionBudget PodSecurityPolicy", 24),
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler", 24),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 25),
    ("scheduling.k8s.io/v1beta1", "PriorityClass", 21),
    ("scheduling.k8s.io/v1alpha1", "PriorityClass", 21),
    ("node.k8s.io/v1beta1", "RuntimeClass", 24),
    ("storage.k8s.io/v1beta1", "CSIDriver CSINode StorageClass VolumeAttachment", 21),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity", 26),
    ("networking.k8s.io/v1beta1", "Ingress IngressClass", 21),
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRole ClusterRoleBinding Role RoleBinding", 21),
    ("rbac.authorization.k8s.io/v1alpha1", "ClusterRole ClusterRoleBinding Role RoleBinding", 21),
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 21),
    ("apiregistration.k8s.io/v1beta1", "APIService", 21),
    ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration ValidatingWebhookConfiguration", 21),
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest", 21),
    ("coordination.k8s.io/v1beta1", "Lease", 21),
    ("discovery.k8s.io/v1beta1", "EndpointSlice", 24),
    ("events.k8s.io/v1beta1", "Event", 24),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema PriorityLevelConfiguration", 25),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema PriorityLevelConfiguration", 28),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema PriorityLevelConfiguration", 31),
    ("resource.k8s.io/v1alpha2", "ResourceClaim ResourceClaimTemplate ResourceClass", 30),
    ("resource.k8s.io/v1alpha3", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 33),
    ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", 33),
    ("storage.k8s.io/v1alpha1", "VolumeAttributesClass", 34),
    ("scheduling.k8s.io/v1alpha2", "PodGroup Workload", 36),
    ("networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", 36),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass", 36),
    ("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 36),
    # A beta version is not served by default beside a stable one.
    ("resource.k8s.io/v1beta1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 33),
    ("resource.k8s.io/v1beta2", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 33),
)
LAST_MINORS = {(version, kind): minor for version, kinds, minor in _REMOVED for kind in kinds.split()}


def removed_in(minor: int) -> dict[str, list[str]]:
    """The versions that the minor removed, each with its kinds."""
    kinds: dict[str, list[str]] = {}
    for (version, kind), last in LAST_MINORS.items():
        if last == minor - 1:
            kinds.setdefault(version, []).append(kind)
    return kinds


def has_rule(since: int, minor: int | None) -> bool:
    """Whether an API server of this minor has a rule of validation that came with the minor `since`. None as the minor
    is the one that answers inputs without a version."""
    return since <= (DEFAULT.minor if minor is None else minor)


def removed_since(version: str, kind: str, minor: int | None) -> str:
    """The minor that removed the version of the kind, as `1.22`; empty if an API server of this `minor` serves it. None
    as the minor is the one that answers inputs without a version."""
    last = LAST_MINORS.get((version, kind))
    if last is None or (DEFAULT.minor if minor is None else minor) <= last:
        return ""
    return f"1.{last + 1}"
