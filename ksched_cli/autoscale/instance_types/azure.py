"""Virtual machine sizes of Azure as the Karpenter provider for Azure computes them
(pkg/providers/instancetype/instancetype.go, `newInstanceType`).

Reads of an AKSNodeClass: `maxPods`, `osDiskSizeGB`. The network plugin is Azure CNI with overlay, the provider's
default. Not modelled: labels of capabilities that the table does not have (accelerated networking, premium disks,
ephemeral OS disks, Hyper-V generations), the quota of the subscription, and offerings without a zone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.autoscale.instance_types.entries import MEBI, PriceOf, Row, entry, offerings_of

PREFIX = "karpenter.azure.com/"
FALLBACK_REGION = "eastus"
VM_MEMORY_OVERHEAD = 0.075
# The price of a size without a known price: high, so that it is chosen last.
MISSING_PRICE = 999.0

# Taken of each GiB, and of each core, up to a bound.
_RESERVED_MEMORY = ((4.0, 0.25), (8.0, 0.20), (16.0, 0.10), (128.0, 0.06), (math.inf, 0.02))
_RESERVED_CPU = ((1.0, 0.06), (2.0, 0.04), (4.0, 0.02), (math.inf, 0.01))
# Sizes that AKS or the provider refuses.
_REFUSED = frozenset({"Standard_E64i_v3", "Standard_E64is_v3"})
# Standard_NC24ads_A100_v4: family N, more letters C, 24 cores, features ads, accelerator A100, version 4.
_SIZE = re.compile(
    r"(?:Standard|Basic)_([A-Z])([A-Z]*)(\d+)(-\d+)?([a-z]*)(?:_([A-Z]+\d+)[A-Za-z]*)?(?:_cc)?(?:_\d+)?(?:_v(\d+))?(?:_Promo)?$"
)


def instance_type(
    row: Row, region: str, zones: Sequence[str], node_class: Mapping[str, Any], price_of: PriceOf
) -> dict[str, Any] | None:
    """None for a size that the provider never offers.

    These have less than two cores or 3.5 GiB, are confidential or constrained, or have a GPU that AKS does not support.
    """
    name, cpus, mebi = row["name"], row["cpu"], row["memoryMiB"]
    parts = _SIZE.match(name)
    unsupported_gpu = row["gpus"] and not row["gpuManufacturer"]
    if not parts or parts[4] or cpus < 2 or mebi < 3584 or unsupported_gpu or name in _REFUSED:
        return None
    if parts[1] in "DE" and parts[2].startswith("C"):
        return None
    spec = node_class.get("spec") or {}
    accelerator, version = parts[6] or "", parts[7] or ""
    series = parts[1] + parts[2] + parts[5] + (accelerator and f"_{accelerator}") + (version and f"_v{version}")
    labels = {
        "node.kubernetes.io/instance-type": name,
        "kubernetes.io/arch": row["arch"],
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": region,
        PREFIX + "sku-name": name,
        PREFIX + "sku-family": parts[1],
        PREFIX + "sku-series": series,
        PREFIX + "sku-version": version or "1",
        PREFIX + "sku-cpu": cpus,
        PREFIX + "sku-memory": mebi,
        "kubernetes.azure.com/sku-cpu": cpus,
        "kubernetes.azure.com/sku-memory": mebi,
        PREFIX + "sku-gpu-count": str(row["gpus"]),
        PREFIX + "sku-gpu-manufacturer": row["gpuManufacturer"],
        PREFIX + "sku-gpu-name": accelerator if row["gpuManufacturer"] else "",
        "kubernetes.azure.com/os-sku": "AzureLinux" if spec.get("imageFamily") == "AzureLinux" else "Ubuntu",
        "kubernetes.azure.com/fips_enabled": "true" if spec.get("fipsMode") == "FIPS" else "",
    }
    whole_gib = mebi // 1024 * 1024 * MEBI
    memory = whole_gib - math.ceil(whole_gib * VM_MEMORY_OVERHEAD)
    capacity = {
        "cpu": str(cpus),
        "memory": str(memory),
        "ephemeral-storage": f"{int(spec.get('osDiskSizeGB') or 128)}G",
        "pods": str(int(spec.get("maxPods") or 250)),
    }
    if row["gpus"]:
        capacity[f"{row['gpuManufacturer']}.com/gpu"] = str(row["gpus"])
    kube_reserved = {
        "cpu": f"{int(1000 * _taken(_RESERVED_CPU, cpus))}m",
        "memory": f"{int(1024 * _taken(_RESERVED_MEMORY, mebi / 1024))}Mi",
    }

    def price_or_placeholder(*sold: str) -> float:
        found = price_of(*sold)
        return MISSING_PRICE if found is None else found

    offerings = offerings_of(name, zones, price_or_placeholder)
    made = entry(name, labels, offerings, capacity, kube_reserved, {}, {"memory": "750Mi"})
    made["requirements"]["kubernetes.azure.com/mode"] = ["system", "user"]
    made["requirements"]["kubernetes.azure.com/scalesetpriority"] = ["regular", "spot"]
    return made


def _taken(brackets: Sequence[tuple[float, float]], amount: float) -> float:
    taken = lower = 0.0
    for bound, share in brackets:
        if lower <= amount:
            taken += (min(bound, amount) - lower) * share
        lower = bound
    return taken
