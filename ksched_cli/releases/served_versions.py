"""Versions of built-in kinds that API servers do not serve any more, by the last minor that served them by default, and
those that came after 1.16, by their first minor; and whether a minor has a field or a rule of validation.

Mirrors the deprecation guide of Kubernetes, the lifecycle functions of its API types and the OpenAPI specifications of
its minors. A version that only a gate or `--runtime-config` serves counts as removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ksched_cli.api.validation.errors import FieldError


def _by_kind(rows: Sequence[tuple[str, str, int]]) -> Mapping[tuple[str, str], int]:
    return {(version, kind): minor for version, kinds, minor in rows for kind in kinds.split()}


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
    ("scheduling.k8s.io/v1alpha1", "Workload", 35),
    ("scheduling.k8s.io/v1alpha2", "PodGroup Workload", 36),
    ("networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", 36),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass", 36),
    ("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 36),
    # A beta version is not served by default beside a stable one.
    ("resource.k8s.io/v1beta1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 33),
    ("resource.k8s.io/v1beta2", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 33),
)
_ADDED: Sequence[tuple[str, str, int]] = (
    ("discovery.k8s.io/v1beta1", "EndpointSlice", 17),
    ("storage.k8s.io/v1", "CSINode", 17),
    ("networking.k8s.io/v1beta1", "IngressClass", 18),
    ("storage.k8s.io/v1", "CSIDriver", 18),
    ("certificates.k8s.io/v1", "CertificateSigningRequest", 19),
    ("events.k8s.io/v1", "Event", 19),
    ("networking.k8s.io/v1", "Ingress IngressClass", 19),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema PriorityLevelConfiguration", 20),
    ("node.k8s.io/v1", "RuntimeClass", 20),
    ("batch/v1", "CronJob", 21),
    ("discovery.k8s.io/v1", "EndpointSlice", 21),
    ("policy/v1", "PodDisruptionBudget", 21),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity", 21),
    ("autoscaling/v2", "HorizontalPodAutoscaler", 23),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema PriorityLevelConfiguration", 23),
    ("storage.k8s.io/v1", "CSIStorageCapacity", 24),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema PriorityLevelConfiguration", 26),
    ("resource.k8s.io/v1alpha2", "ResourceClaim ResourceClaimTemplate ResourceClass", 27),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema PriorityLevelConfiguration", 29),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding", 30),
    ("networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", 31),
    ("resource.k8s.io/v1alpha3", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 31),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass", 31),
    ("resource.k8s.io/v1beta1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 32),
    ("networking.k8s.io/v1", "IPAddress ServiceCIDR", 33),
    ("resource.k8s.io/v1alpha3", "DeviceTaintRule", 33),
    ("resource.k8s.io/v1beta2", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 33),
    ("resource.k8s.io/v1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice", 34),
    ("storage.k8s.io/v1", "VolumeAttributesClass", 34),
    ("scheduling.k8s.io/v1alpha1", "Workload", 35),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding", 36),
    ("resource.k8s.io/v1beta2", "DeviceTaintRule", 36),
    ("scheduling.k8s.io/v1alpha2", "PodGroup Workload", 36),
    ("certificates.k8s.io/v1", "ClusterTrustBundle PodCertificateRequest", 37),
    ("resource.k8s.io/v1", "DeviceTaintRule", 37),
    ("scheduling.k8s.io/v1alpha3", "CompositePodGroup PodGroup Workload", 37),
    ("scheduling.k8s.io/v1beta1", "PodGroup Workload", 37),
    ("storagemigration.k8s.io/v1", "StorageVersionMigration", 37),
)
LAST_MINORS = _by_kind(_REMOVED)
_FIRST_MINORS = _by_kind(_ADDED)


def removed_in(minor: int) -> dict[str, list[str]]:
    """The versions that the minor removed, each with its kinds."""
    kinds: dict[str, list[str]] = {}
    for (version, kind), last in LAST_MINORS.items():
        if last == minor - 1:
            kinds.setdefault(version, []).append(kind)
    return kinds


class ServerRules(Struct, frozen=True):
    """The minor of an API server and its gates that are on. Without gates these are not known, and no rule of a gate
    holds."""

    minor: int
    gates: frozenset[str] | None = None

    def hold(self, error: FieldError) -> bool:
        """Whether the API server has the rule that the error is of."""
        if error.gate is not None and (self.gates is None or (error.gate[0] in self.gates) is not error.gate[1]):
            return False
        return error.since <= self.minor < error.until


def lacks(having: tuple[int, int], minor: int) -> str:
    """Which minor brought or took a field that this one lacks; empty if it has it. `having`: the first and the last
    minor that have it."""
    first, last = having
    if minor < first:
        return f"Kubernetes 1.{first} added it"
    return f"Kubernetes 1.{last + 1} removed it" if minor > last else ""


def refusal(version: str, kind: str, minor: int) -> str:
    """Why an API server of this minor does not serve the version of the kind; empty if it does, as far as is known."""
    last, first = LAST_MINORS.get((version, kind), minor), _FIRST_MINORS.get((version, kind), minor)
    if minor > last:
        return f"is no longer served: Kubernetes 1.{last + 1} has removed it"
    return f"is not served yet: Kubernetes 1.{first} has added it" if minor < first else ""
