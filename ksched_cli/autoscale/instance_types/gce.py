"""Machine types of Compute Engine as the Karpenter provider for Google Cloud computes them
(pkg/providers/instancetype/types.go, `NewStaticInstanceType`).

Reads of a GCENodeClass: `kubeletConfiguration` and `disks`. Not modelled: the labels of disk types that a machine
type supports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.quantity import milli_value, value
from ksched_cli.autoscale.instance_types.entries import MEBI, PriceOf, Row, entry, evicted_at, offerings_of

PREFIX = "karpenter.k8s.gcp/"
FALLBACK_REGION = "us-central1"
VM_MEMORY_OVERHEAD = 0.07
# What kube-proxy's pod on each node asks for, in millicores.
KUBE_PROXY = 100

_RESERVED_MEMORY = ((4096, 0.25), (4096, 0.20), (8192, 0.10), (114688, 0.06), (math.inf, 0.02))
_RESERVED_CPU = ((1000, 0.06), (1000, 0.01), (2000, 0.005), (math.inf, 0.0025))
_SHARED_CORE = ("e2-micro", "e2-small", "e2-medium")
# Bytes of one local disk, in GiB; 375 for all other families.
_LOCAL_DISK = {"z3": 3000}


def instance_type(
    row: Row, region: str, zones: Sequence[str], node_class: Mapping[str, Any], price_of: PriceOf
) -> dict[str, Any]:
    name, cpus, mebi = row["name"], row["cpu"], row["memoryMiB"]
    words = name.split("-")
    spec = node_class.get("spec") or {}
    kubelet = spec.get("kubeletConfiguration") or {}
    boot_disk, local_disks, count = _disks(row, spec)
    storage = local_disks or boot_disk
    labels = {
        "node.kubernetes.io/instance-type": name,
        "kubernetes.io/arch": row["arch"],
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/windows-build": "",
        "topology.kubernetes.io/region": region,
        PREFIX + "instance-cpu": cpus,
        PREFIX + "instance-memory": mebi,
        PREFIX + "instance-family": words[0],
        PREFIX + "instance-shape": words[1],
        PREFIX + "instance-size": words[-2] if len(words) > 3 else words[-1],
        PREFIX + "instance-generation": words[0][-2] if len(words[0]) == 3 else words[0][-1],
        PREFIX + "instance-gpu-name": row["gpuName"],
        # The provider counts entries of accelerators, and a machine type has one entry for all of its GPUs.
        PREFIX + "instance-gpu-count": 1 if row["gpus"] else "",
        PREFIX + "instance-gpu-manufacturer": "",
        PREFIX + "instance-gpu-memory": "",
        "cloud.google.com/gke-accelerator": row["gpuName"],
    }
    memory = mebi * MEBI - int(mebi * MEBI * VM_MEMORY_OVERHEAD)
    pods = int(kubelet.get("maxPods") or 110)
    if kubelet.get("podsPerCore"):
        pods = min(pods, int(kubelet["podsPerCore"]) * cpus)
    capacity = {"cpu": str(cpus), "memory": str(memory), "pods": str(pods), "ephemeral-storage": f"{storage}Gi"}
    if row["gpus"]:
        capacity["nvidia.com/gpu"] = "1"
    if local_disks and count:
        kept, system = int(local_disks * 0.10), {1: 50, 2: 75}.get(count, 100)
    else:
        kept, system = int(boot_disk * 0.10), min(round(boot_disk * 0.50), round(boot_disk * 0.35 + 6), 100)
    kube_reserved = {
        "cpu": f"{1060 if name in _SHARED_CORE else _taken(_RESERVED_CPU, cpus * 1000)}m",
        "memory": f"{255 if mebi <= 1024 else _taken(_RESERVED_MEMORY, mebi)}Mi",
        "ephemeral-storage": f"{system}Gi",
    }
    eviction = {"memory": "100Mi", "ephemeral-storage": f"{kept}Gi"}
    hard = kubelet.get("evictionHard") or {}
    if "memory.available" in hard:
        eviction["memory"] = evicted_at(hard["memory.available"], memory)
    if "nodefs.available" in hard:
        eviction["ephemeral-storage"] = evicted_at(hard["nodefs.available"], value(f"{storage}Gi"))
    asked = kubelet.get("systemReserved") or {}
    # What the user reserves comes on top of kube-proxy.
    system_reserved = dict(asked) | {"cpu": f"{KUBE_PROXY + milli_value(asked.get('cpu', '0'))}m"}
    made = entry(
        name,
        labels,
        offerings_of(name, zones, price_of),
        capacity,
        kube_reserved | (kubelet.get("kubeReserved") or {}),
        system_reserved,
        eviction,
    )
    made["requirements"]["topology.k8s.gcp/zone-id"] = made["requirements"]["topology.kubernetes.io/zone"]
    return made


def _disks(row: Row, spec: Mapping[str, Any]) -> tuple[int, int, int]:
    """GiB of the boot disk and of the local disks, and the number of local disks."""
    if spec.get("disks"):
        boot = [int(disk["sizeGiB"]) for disk in spec["disks"] if disk.get("boot")]
        local = [
            int(disk["sizeGiB"])
            for disk in spec["disks"]
            if not disk.get("boot") and disk.get("category") == "local-ssd"
        ]
        return boot[-1] if boot else 100, sum(local), len(local)
    bundled = row["localSSDGiB"]
    return 100, bundled, bundled // _LOCAL_DISK.get(row["name"].split("-")[0], 375)


def _taken(brackets: Sequence[tuple[float, float]], amount: int) -> int:
    """Each bracket is cut to a whole number by itself."""
    taken, left = 0, amount
    for width, share in brackets:
        taken += int(min(left, width) * share)
        left -= int(min(left, width))
    return taken
