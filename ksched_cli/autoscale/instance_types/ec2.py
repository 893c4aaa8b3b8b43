"""Instance types of EC2 as the Karpenter provider for AWS computes them (pkg/providers/instancetype/types.go,
`NewInstanceType`).

Reads of an EC2NodeClass: the AMI family, `spec.kubelet`, the size of the root volume and `instanceStorePolicy`. Not
modelled: capacity reservations, placement groups, network interfaces of the node class, and types that are sold as
spot or on demand only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.api.quantity import value
from ksched_cli.autoscale.instance_types.entries import MEBI, PriceOf, Row, entry, evicted_at, offerings_of

PREFIX = "karpenter.k8s.aws/"
FALLBACK_REGION = "us-east-1"
VM_MEMORY_OVERHEAD = 0.075

# Millicores reserved for the kubelet: from this many millicores of the machine on, this share.
_RESERVED_CPU = ((0, 1000, 0.06), (1000, 2000, 0.01), (2000, 4000, 0.005), (4000, 1 << 31, 0.0025))
# `m6i`: category m, generation 6. `u-12tb1`: category u, generation 1.
_CATEGORY_AND_GENERATION = re.compile(r"([a-z]+)(?:-\d+tb)?(\d+)")
_WINDOWS_BUILDS = {"windows2019": "10.0.17763", "windows2022": "10.0.20348"}


def instance_type(
    row: Row, region: str, zones: Sequence[str], node_class: Mapping[str, Any], price_of: PriceOf
) -> dict[str, Any]:
    name, cpus = row["name"], row["cpu"]
    family, _, size = name.partition(".")
    ami_family = _ami_family(node_class)
    kubelet = (node_class.get("spec") or {}).get("kubelet") or {}
    pods = _pods(row, ami_family, kubelet)
    # Amazon Linux reserves memory for as many pods as the network interfaces allow, whatever maxPods is.
    reserved_for = row["pods"] if ami_family in ("al2", "al2023", "custom") else pods
    memory = _memory(row)
    storage = _ephemeral_storage(row, ami_family, node_class.get("spec") or {})
    parts = _CATEGORY_AND_GENERATION.match(name)
    windows = ami_family.startswith("windows")
    labels = {
        "node.kubernetes.io/instance-type": name,
        "kubernetes.io/arch": row["arch"],
        "kubernetes.io/os": "windows" if windows else "linux",
        "node.kubernetes.io/windows-build": _WINDOWS_BUILDS.get(ami_family, ""),
        "topology.kubernetes.io/region": region,
        PREFIX + "capacity-reservation-id": "",
        PREFIX + "instance-family": family,
        PREFIX + "instance-size": size,
        PREFIX + "instance-category": parts[1] if parts else "",
        PREFIX + "instance-generation": parts[2] if parts else "",
        PREFIX + "instance-cpu": cpus,
        PREFIX + "instance-memory": row["memoryMiB"],
        PREFIX + "instance-cpu-manufacturer": row["cpuManufacturer"],
        PREFIX + "instance-cpu-sustained-clock-speed-mhz": row["clockMHz"],
        PREFIX + "instance-ebs-bandwidth": row["ebsMbps"],
        PREFIX + "instance-network-bandwidth": row["networkMbps"],
        PREFIX + "instance-hypervisor": row["hypervisor"],
        PREFIX + "instance-encryption-in-transit-supported": row["encryptionInTransit"],
        PREFIX + "instance-capability-flex": "true" if "-flex" in family else "false",
        PREFIX + "instance-local-nvme": row["localNVMeGB"],
        PREFIX + "instance-gpu-name": row["gpuName"],
        PREFIX + "instance-gpu-manufacturer": row["gpuManufacturer"],
        PREFIX + "instance-gpu-count": row["gpus"],
        PREFIX + "instance-gpu-memory": row["gpuMemoryMiB"],
        PREFIX + "instance-accelerator-name": row["acceleratorName"],
        PREFIX + "instance-accelerator-manufacturer": row["acceleratorManufacturer"],
        PREFIX + "instance-accelerator-count": row["accelerators"],
    }
    capacity = {"cpu": str(cpus), "memory": f"{memory}Mi", "ephemeral-storage": storage, "pods": str(pods)}
    capacity |= {resource: str(count) for resource, count in _devices(row).items() if count}
    eviction = {"memory": "100Mi", "ephemeral-storage": str(math.ceil(value(storage) / 100 * 10))}
    hard = kubelet.get("evictionHard") or {}
    if "memory.available" in hard:
        eviction["memory"] = evicted_at(hard["memory.available"], memory * MEBI)
    if "nodefs.available" in hard:
        eviction["ephemeral-storage"] = evicted_at(hard["nodefs.available"], value(storage))
    kube_reserved = {
        "cpu": f"{_reserved_cpu(cpus)}m",
        "memory": f"{11 * reserved_for + 255}Mi",
        "ephemeral-storage": "1Gi",
    }
    # a1 machines do not start with Amazon Linux 2023.
    sold = [] if ami_family == "al2023" and family == "a1" else offerings_of(name, zones, price_of)
    return entry(
        name,
        labels,
        sold,
        capacity,
        kube_reserved | (kubelet.get("kubeReserved") or {}),
        kubelet.get("systemReserved") or {},
        eviction,
    )


def _ami_family(node_class: Mapping[str, Any]) -> str:
    """`amiFamily` or the family of an alias such as `bottlerocket@latest`, in lower case.

    Without a node class it is Amazon Linux 2023.
    """
    spec = node_class.get("spec") or {}
    if spec.get("amiFamily"):
        return str(spec["amiFamily"]).lower()
    aliases = [str(term["alias"]) for term in spec.get("amiSelectorTerms") or () if term.get("alias")]
    if aliases:
        return aliases[0].partition("@")[0].lower()
    return "custom" if spec else "al2023"


def _memory(row: Row) -> int:
    """Mebibytes that the operating system has: minus the hypervisor's, and 64 MiB that Graviton machines keep."""
    size = row["memoryMiB"] - (64 if row["arch"] == "arm64" else 0)
    return int(size - math.ceil(size * MEBI * VM_MEMORY_OVERHEAD / 1024 / 1024))


def _reserved_cpu(cpus: int) -> int:
    return sum(
        int((min(cpus * 1000, end) - start) * share) for start, end, share in _RESERVED_CPU if cpus * 1000 >= start
    )


def _pods(row: Row, ami_family: str, kubelet: Mapping[str, Any]) -> int:
    if kubelet.get("maxPods") is not None:
        count = int(kubelet["maxPods"])
    else:
        count = 110 if ami_family.startswith("windows") else row["pods"]
    if kubelet.get("podsPerCore") and ami_family != "bottlerocket":
        count = min(count, int(kubelet["podsPerCore"]) * row["cpu"])
    return int(count)


def _ephemeral_storage(row: Row, ami_family: str, spec: Mapping[str, Any]) -> str:
    if spec.get("instanceStorePolicy") == "RAID0" and row["localNVMeGB"]:
        return f"{row['localNVMeGB']}G"
    mappings = spec.get("blockDeviceMappings") or ()
    root = [each for each in mappings if each.get("rootVolume")]
    if not root and ami_family == "custom":
        root = list(mappings[-1:])
    elif not root:
        device = {"bottlerocket": "/dev/xvdb"}.get(
            ami_family, "/dev/sda1" if ami_family.startswith("windows") else "/dev/xvda"
        )
        root = [each for each in mappings if each.get("deviceName") == device]
    size = (root[0].get("ebs") or {}).get("volumeSize") if root else None
    return str(size or ("50Gi" if ami_family.startswith("windows") else "20Gi"))


def _devices(row: Row) -> dict[str, int]:
    manufacturer = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "habana": "habana.ai/gaudi"}.get(
        row["gpuManufacturer"], ""
    )
    devices = {
        "vpc.amazonaws.com/pod-eni": row["podENI"],
        "vpc.amazonaws.com/efa": row["efa"],
        "aws.amazon.com/neuron": row["neuron"],
        "aws.amazon.com/neuroncore": row["neuronCores"],
    }
    return devices | ({manufacturer: row["gpus"]} if manufacturer else {})
