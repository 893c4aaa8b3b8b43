"""The shape of an instance type in a catalog, and what the formulas of all three clouds share.

A catalog is the document that `--instance-types FILE` reads: `{"instanceTypes": [{"name", "requirements",
"offerings", "capacity", "overhead"}]}`. The modules `ec2`, `azure` and `gce` make such entries from the built-in
tables with the formulas of the Karpenter provider of their cloud (pkg/providers/instancetype of each). They read of a
node class what changes sizes: the kubelet's settings, the number of pods, the disk. What selects machines (subnets,
images, security groups) cannot be read from a dump, apart from the zones in the status.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

MEBI = 1024 * 1024

# One row of a table: column -> value.
Row = Mapping[str, Any]
# (name of the type, capacity type, zone) -> dollars an hour, or None if the type is not sold there.
PriceOf = Callable[[str, str, str], float | None]

CAPACITY_TYPES = ("on-demand", "spot")


def entry(
    name: str,
    labels: Mapping[str, object],
    offerings: Sequence[Mapping[str, object]],
    capacity: Mapping[str, str],
    kube_reserved: Mapping[str, str],
    system_reserved: Mapping[str, str],
    eviction_threshold: Mapping[str, str],
) -> dict[str, Any]:
    """An instance type of a catalog. A label whose value is empty or 0 is a label that the type does not have."""
    requirements: dict[str, list[str]] = {
        label: [str(value)] if value not in ("", 0, None) else [] for label, value in labels.items()
    }
    requirements["topology.kubernetes.io/zone"] = sorted({str(each["zone"]) for each in offerings})
    requirements["karpenter.sh/capacity-type"] = sorted({str(each["capacityType"]) for each in offerings})
    return {
        "name": name,
        "requirements": requirements,
        "offerings": list(offerings),
        "capacity": dict(capacity),
        "overhead": {
            "kubeReserved": dict(kube_reserved),
            "systemReserved": dict(system_reserved),
            "evictionThreshold": dict(eviction_threshold),
        },
    }


def offerings_of(name: str, zones: Iterable[str], price_of: PriceOf) -> list[dict[str, object]]:
    """One offering for each zone and capacity type that has a price."""
    found = []
    for zone in zones:
        for capacity_type in CAPACITY_TYPES:
            price = price_of(name, capacity_type, zone)
            if price is not None:
                found.append({"zone": zone, "capacityType": capacity_type, "price": price, "available": True})
    return found


def evicted_at(signal: str, capacity: int) -> str:
    """The bytes that an eviction threshold of the kubelet keeps free: a quantity, or a percentage of the capacity."""
    if not signal.endswith("%"):
        return signal
    percentage = float(signal.rstrip("%"))
    # 100 % switches the threshold off.
    return str(math.ceil(capacity / 100 * percentage)) if percentage != 100 else "0"
