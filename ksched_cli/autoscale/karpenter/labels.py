"""Labels that Karpenter and its cloud providers know, and which requirements they refuse.

Mirrors pkg/apis/v1/labels.go, `ValidateRequirement` of nodeclaim_validation.go, and the label lists that the providers
of AWS, Azure and GCP add at their start. A pod may require a well-known label that no NodePool defines; a label of a
restricted domain that is not well known is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from ksched_cli.api.core import NodeSelectorRequirement
from ksched_cli.api.label_names import STABLE_LABELS, key_problems, value_problems
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, ZONE, integer

NODEPOOL: Final = "karpenter.sh/nodepool"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
REGISTERED: Final = "karpenter.sh/registered"
INITIALIZED: Final = "karpenter.sh/initialized"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
RESERVED: Final = "reserved"
GROUP: Final = "karpenter.sh"

_CORE = (
    NODEPOOL, ZONE, "topology.kubernetes.io/region", INSTANCE_TYPE, "kubernetes.io/arch", "kubernetes.io/os",
    CAPACITY_TYPE, "node.kubernetes.io/windows-build",
)  # fmt: skip
_AWS = "karpenter.k8s.aws"
_AZURE = "karpenter.azure.com"
_GCP = "karpenter.k8s.gcp"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")


class Provider(Struct, frozen=True):
    """What a cloud provider adds to the labels of Karpenter. `group`: the API group of its NodeClass."""

    group: str
    well_known: frozenset[str]
    restricted_domains: tuple[str, ...]
    restricted: frozenset[str] = frozenset((HOSTNAME,))
    capacity_types: tuple[str, ...] = ("on-demand", RESERVED, "spot")
    reservation_label: str = ""


def _under(domain: str, names: str) -> Iterator[str]:
    return (f"{domain}/{name}" for name in names.split())


AWS: Final = Provider(
    _AWS,
    frozenset((
        *_CORE,
        "topology.k8s.aws/zone-id",
        *_under(_AWS, (
            "capacity-reservation-id capacity-reservation-interruptible capacity-reservation-type "
            "instance-accelerator-count instance-accelerator-manufacturer instance-accelerator-name "
            "instance-capability-flex instance-category instance-cpu instance-cpu-manufacturer "
            "instance-cpu-sustained-clock-speed-mhz instance-ebs-bandwidth instance-encryption-in-transit-supported "
            "instance-family instance-generation instance-gpu-count instance-gpu-manufacturer instance-gpu-memory "
            "instance-gpu-name instance-hypervisor instance-local-nvme instance-memory instance-network-bandwidth "
            "instance-size instance-tenancy placement-group-id placement-group-partition"
        )),
    )),
    (_AWS, GROUP),
    reservation_label=f"{_AWS}/capacity-reservation-id",
)  # fmt: skip
AZURE: Final = Provider(
    _AZURE,
    frozenset((
        *_CORE,
        *_under(_AZURE, (
            "sku-name sku-family sku-series sku-version sku-cpu sku-memory sku-networking-accelerated "
            "sku-storage-premium-capable sku-storage-ephemeralos-maxsize sku-gpu-name sku-gpu-manufacturer "
            "sku-gpu-count placement-scope"
        )),
        *_under(
            "kubernetes.azure.com", "sku-cpu sku-memory cluster mode scalesetpriority priority os-sku fips_enabled"
        ),
    )),
    (_AZURE, GROUP),
    frozenset((
        HOSTNAME,
        f"{_AZURE}/sku-hyperv-generation",
        *("agentpool", "storageprofile", "storagetier", "accelerator"),
        *_under("kubernetes.azure.com", (
            "accelerator agentpool agentpool-family availability-zone network-policy storageprofile storagetier"
        )),
    )),
    ("on-demand", "spot"),
)  # fmt: skip
GCP: Final = Provider(
    _GCP,
    frozenset((
        *_CORE,
        *_under(_GCP, (
            "instance-category instance-family instance-shape instance-generation instance-size instance-cpu "
            "instance-cpu-model instance-memory instance-gpu-name instance-gpu-manufacturer instance-gpu-count "
            "instance-gpu-memory"
        )),
        "topology.k8s.gcp/zone-id", "projectcalico.org/ds-ready", "iam.gke.io/gke-metadata-server-enabled",
        "node.kubernetes.io/masq-agent-ds-ready", "addon.gke.io/node-local-dns-ds-ready",
        *_under("cloud.google.com", "gke-netd-ready gke-accelerator gke-cpu-scaling-level"),
    )),
    (_GCP, GROUP),
)  # fmt: skip
# A provider that is not known here, such as kwok: Karpenter's own labels.
PLAIN: Final = Provider("", frozenset(_CORE), (GROUP,))
_PROVIDERS = {each.group: each for each in (AWS, AZURE, GCP)}


def provider_of(groups: Iterable[str]) -> Provider:
    """The provider whose NodeClasses the NodePools name."""
    return next((_PROVIDERS[group] for group in groups if group in _PROVIDERS), PLAIN)


def requirement_problems(
    requirement: NodeSelectorRequirement, provider: Provider, min_values: int | None = None
) -> Iterator[str]:
    """ValidateRequirement: what is wrong with a requirement of a pod or a NodePool, in Karpenter's words."""
    key = STABLE_LABELS.get(requirement.key, requirement.key)
    operator, values = requirement.operator, requirement.values
    if operator not in _OPERATORS:
        yield f"key {key} has an unsupported operator {operator} not in [{' '.join(sorted(_OPERATORS))}]"
    if is_restricted(key, provider):
        yield (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a "
            f"well known label: [{' '.join(sorted(provider.well_known))}], or a custom label that does not use a "
            f"restricted domain: [{' '.join(sorted(provider.restricted_domains))}]"
        )
    if key == CAPACITY_TYPE and operator == "In":
        yield from _unknown_values(key, values, provider.capacity_types, min_values)
    for problem in key_problems(key):
        yield f"key {key} is not a qualified name, {problem}"
    for value in values:
        for problem in value_problems(value):
            yield f"invalid value {value} for key {key}, {problem}"
    if operator == "In" and not values:
        yield f"key {key} with operator {operator} must have a value defined"
    if operator == "In" and min_values is not None and len(values) < min_values:
        least = "must have at least minimum number of values defined in 'values' field"
        yield f"key {key} with operator {operator} {least}"
    if operator in ("Gt", "Lt", "Gte", "Lte"):
        number = integer(values[0]) if len(values) == 1 else None
        if number is None or number < 0:
            yield f"key {key} with operator {operator} must have a single positive integer value"


def is_restricted(key: str, provider: Provider) -> bool:
    """IsRestrictedLabel: not well known, and of a domain that is Karpenter's or the provider's."""
    if key in provider.well_known:
        return False
    domain = key.partition("/")[0] if "/" in key else ""
    ours = provider.restricted_domains
    return key in provider.restricted or any(domain == each or domain.endswith(f".{each}") for each in ours)


def _unknown_values(key: str, values: tuple[str, ...], known: tuple[str, ...], min_values: int | None) -> Iterator[str]:
    """validateWellKnownValues. Unknown values beside known ones are no problem."""
    good = [value for value in values if value in known]
    if not good:
        shown = " ".join(f"{each}:{{}}" for each in sorted(known))
        listed = " ".join(values)
        yield f"no valid values found in [{listed}] for {key}, expected one of: map[{shown}], got: [{listed}]"
    elif min_values is not None and len(good) < min_values:
        yield (
            f"not enough valid values found in [{' '.join(values)}] for {key}, expected at least {min_values} valid "
            f"values from: [{' '.join(sorted(known))}], got: {len(good)}"
        )
