"""Why a pod's resource claims keep it off a node, or off all nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.core import Pod
from ksched_cli.framework.reasons import FieldPath, Reason, ReasonCode, ReasonKind, ReasonTable, fixed_field

_TAKEN = ReasonCode(
    "KS141",
    "devices-taken",
    "the nodes lack the devices that the pod claims",
    "No choice of free devices satisfies all claims of the pod with their selectors and constraints.",
    ("ask for fewer devices or loosen the selector", "free devices, or add nodes that have them"),
)
_CLASS_MISSING = ReasonCode(
    "KS142",
    "device-class-missing",
    "a device class does not exist",
    "A request of a claim names a DeviceClass that is not in the input.",
    ("add the DeviceClass", "correct deviceClassName"),
)
_CLAIM_MISSING = ReasonCode(
    "KS143",
    "resource-claim-missing",
    "a resource claim does not exist",
    "The pod refers to a ResourceClaim that is not there, or whose ResourceClaimTemplate is not.",
    ("add the ResourceClaim or the template", "correct its name"),
)
_ELSEWHERE = ReasonCode(
    "KS144",
    "devices-elsewhere",
    "the claim's devices are on other nodes",
    "The claim was allocated before, and its devices can be used only where they are.",
    ("let the pod go there", "use a claim of its own"),
)
_INVALID = ReasonCode(
    "KS145",
    "resource-claim-invalid",
    "a resource claim cannot be used",
    "It is being deleted, belongs to another pod, is used on the node by another pod although its devices stand for "
    "the node's own cpu or memory, or has a kind of request that is unknown or switched off.",
    ("correct the claim", "see which feature gates it needs"),
)
_NODE_LACKS = ReasonCode(
    "KS146",
    "claims-exceed-node",
    "the pod and its claims need more than is free",
    "Devices of the claims stand for cpu, memory or other resources of the node (nodeAllocatableResourceMappings). "
    "They are added to the requests of the pod, and the sum has to fit.",
    ("ask for fewer devices or lower the requests of the pod", "move or scale down what runs there, or add nodes"),
)


def _field(pod: Pod, reasons: Sequence[Reason], detail: Mapping[str, Any]) -> FieldPath:
    """The claim that the reason names, else the first."""
    if not pod.spec.resource_claims:
        return ("spec", "containers")
    named = {reason.param("claim") for reason in reasons} - {""}
    claims = [each.resource_claim_name for each in pod.spec.resource_claims]
    return ("spec", "resourceClaims", next((at for at, claim in enumerate(claims) if claim in named), 0))


class DeviceReasons(ReasonTable):
    field = _field
    cannot_allocate = ReasonKind("cannot allocate all claims", _TAKEN)
    cannot_schedule_extended = ReasonKind("cannot schedule extended resource claim", _TAKEN)
    cannot_fit = ReasonKind("cannot fit resource", _TAKEN)
    class_missing = ReasonKind("request {request}: device class {name} does not exist", _CLASS_MISSING)
    claim_missing = ReasonKind('could not find ResourceClaim "{namespace}/{claim}"', _CLAIM_MISSING)
    not_created = ReasonKind('pod "{pod}": ResourceClaim not created yet', _CLAIM_MISSING)
    elsewhere = ReasonKind("resourceclaim not available on the node", _ELSEWHERE)
    being_deleted = ReasonKind('resourceclaim "{claim}" is being deleted', _INVALID)
    of_other_pod = ReasonKind(
        "ResourceClaim {namespace}/{claim} was not created for Pod {namespace}/{pod} (Pod is not owner)", _INVALID
    )
    of_other_group = ReasonKind(
        "ResourceClaim {namespace}/{claim} was not created for Pod {namespace}/{pod} "
        "(neither Pod nor PodGroup {group} is the owner)",
        _INVALID,
    )
    group_missing = ReasonKind('podgroup.scheduling.k8s.io "{group}" not found', _INVALID)
    without_fields = ReasonKind(
        'pod "{pod}", spec.resourceClaim "{reference}": none of the supported fields are set', _INVALID
    )
    unknown_request = ReasonKind(
        "resource claim {namespace}/{claim}, request {request}: unknown request type", _INVALID
    )
    subrequests_off = ReasonKind(
        "resource claim {namespace}/{claim}, request {request}: has subrequests, but the DRAPrioritizedList feature is "
        "disabled",
        _INVALID,
    )
    used_by_other = ReasonKind("node allocatable resource claim {claim} is already used by another pod", _INVALID)
    used_by_several = ReasonKind("node allocatable resource claim {claim} shared by multiple pods", _INVALID)
    in_no_container = ReasonKind(
        "claim {claim}: node-allocatable resource claim not referenced by any container within the pod", _INVALID
    )
    over_pod_level = ReasonKind(
        "pod level request for {resource} is insufficient to cover the aggregated container and node-allocatable DRA "
        "requests",
        _NODE_LACKS,
        field=fixed_field("spec", "resources"),
    )
    node_lacks = ReasonKind("Insufficient {resource}", _NODE_LACKS, lacks="{resource}", problem="lack {resource}")
    failed_on_node = ReasonKind("{problem}", _INVALID)
