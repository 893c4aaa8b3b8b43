"""KS14x and KS15x: devices and pod groups."""

from __future__ import annotations

from ksched_cli.plan.codes.reason_code import SCHEDULER_ITSELF, ReasonCode

CODES = [
    ReasonCode(
        "KS141",
        "devices-taken",
        "the nodes lack the devices that the pod claims",
        "No choice of free devices satisfies all claims of the pod with their selectors and constraints.",
        ("ask for fewer devices or loosen the selector", "free devices, or add nodes that have them"),
        ("DynamicResources",),
        ("cannot allocate all claims", "cannot schedule extended resource claim", "cannot fit resource"),
    ),
    ReasonCode(
        "KS142",
        "device-class-missing",
        "a device class does not exist",
        "A request of a claim names a DeviceClass that is not in the input.",
        ("add the DeviceClass", "correct deviceClassName"),
        ("DynamicResources",),
        ("request .*: device class .* does not exist",),
    ),
    ReasonCode(
        "KS143",
        "resource-claim-missing",
        "a resource claim does not exist",
        "The pod refers to a ResourceClaim that is not there, or whose ResourceClaimTemplate is not.",
        ("add the ResourceClaim or the template", "correct its name"),
        ("DynamicResources",),
        ("could not find ResourceClaim .*", ".*: ResourceClaim not created yet"),
    ),
    ReasonCode(
        "KS144",
        "devices-elsewhere",
        "the claim's devices are on other nodes",
        "The claim was allocated before, and its devices can be used only where they are.",
        ("let the pod go there", "use a claim of its own"),
        ("DynamicResources",),
        ("resourceclaim not available on the node",),
    ),
    ReasonCode(
        "KS145",
        "resource-claim-invalid",
        "a resource claim cannot be used",
        "It is being deleted, belongs to another pod, or asks in a way that is not known or not switched on.",
        ("correct the claim", "see which feature gates it needs"),
        ("DynamicResources",),
        (".+",),
    ),
    ReasonCode(
        "KS151",
        "pod-group-incomplete",
        "the pod group does not have enough pods yet",
        "Its PodGroup is missing, or has fewer pods than its gang needs.",
        ("make as many pods as minCount", "add the PodGroup"),
        ("GangScheduling",),
        ("waiting for .*",),
        level="note",
    ),
    ReasonCode(
        "KS152",
        "pod-group-unschedulable",
        "the pod group as a whole has no place",
        "Fewer of its pods found a node than the gang needs, or no placement has room for it.",
        ("lower minCount", "make room"),
        (SCHEDULER_ITSELF,),
        ("pod group .*", "no feasible placements found"),
    ),
]
