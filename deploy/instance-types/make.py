"""Make the built-in tables of instance types: `python deploy/instance-types/make.py CHECKOUTS`.

CHECKOUTS has a checkout of each repository of `REPOSITORIES`, in OWNER/NAME. The script reads tables that the
maintainers of the providers generate from the APIs of the clouds, and writes one file of columns a cloud into
ksched_cli/autoscale/instance_types/. A file has facts only: sizes, labels and prices. The formulas that make a node
of them are in `ksched_cli/autoscale/instance_types/`.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).resolve().parents[2] / "ksched_cli" / "autoscale" / "instance_types"

AWS = "openshift/aws-karpenter-provider-aws"
AZURE = "Azure/karpenter-provider-azure"
AZURE_SIZES = "openshift/kubernetes-autoscaler"
GCE_PRICES = "cloudpilot-ai/karpenter-provider-gcp"
GCE_SIZES = "Cyclenerd/google-cloud-pricing-cost-calculator"
REPOSITORIES = (AWS, AZURE, AZURE_SIZES, GCE_PRICES, GCE_SIZES)

# The label of the Karpenter provider for AWS -> the column, whose values are numbers.
EC2_NUMBERS = {
    "karpenter.k8s.aws/instance-cpu": "cpu",
    "karpenter.k8s.aws/instance-memory": "memoryMiB",
    "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz": "clockMHz",
    "karpenter.k8s.aws/instance-ebs-bandwidth": "ebsMbps",
    "karpenter.k8s.aws/instance-network-bandwidth": "networkMbps",
    "karpenter.k8s.aws/instance-local-nvme": "localNVMeGB",
    "karpenter.k8s.aws/instance-gpu-count": "gpus",
    "karpenter.k8s.aws/instance-gpu-memory": "gpuMemoryMiB",
    "karpenter.k8s.aws/instance-accelerator-count": "accelerators",
    "pods": "pods",
    "vpc.amazonaws.com/pod-eni": "podENI",
    "vpc.amazonaws.com/efa": "efa",
    "aws.amazon.com/neuron": "neuron",
    "aws.amazon.com/neuroncore": "neuronCores",
}
EC2_WORDS = {
    "kubernetes.io/arch": "arch",
    "karpenter.k8s.aws/instance-cpu-manufacturer": "cpuManufacturer",
    "karpenter.k8s.aws/instance-hypervisor": "hypervisor",
    "karpenter.k8s.aws/instance-encryption-in-transit-supported": "encryptionInTransit",
    "karpenter.k8s.aws/instance-gpu-name": "gpuName",
    "karpenter.k8s.aws/instance-gpu-manufacturer": "gpuManufacturer",
    "karpenter.k8s.aws/instance-accelerator-name": "acceleratorName",
    "karpenter.k8s.aws/instance-accelerator-manufacturer": "acceleratorManufacturer",
}
# The column of an accelerator in the table of Google's machine types -> its name in the Compute Engine API.
GCE_ACCELERATORS = {
    "a100": "nvidia-tesla-a100",
    "a100-80gb": "nvidia-a100-80gb",
    "h100-80gb": "nvidia-h100-80gb",
    "h100-80gb-mega": "nvidia-h100-mega-80gb",
    "l4": "nvidia-l4",
    "rtx6000": "nvidia-rtx-pro-6000",
}
GCE_ARM_FAMILIES = ("t2a", "c4a", "n4a", "a4x")


def go_prices(text: str) -> dict[str, dict[str, float]]:
    """Region -> name -> price of a Go file of prices, in either of the two spellings that the providers generate."""
    found: dict[str, dict[str, float]] = {}
    region = ""
    for line in text.splitlines():
        started = re.match(r'\s*"([a-z0-9-]+)": \{$', line) or re.match(
            r'\s*initialOnDemandPrices\["([a-z0-9-]+)"\]', line
        )
        if started:
            region = started[1]
            continue
        for name, price in re.findall(r'"([^"]+)":\s*([0-9.]+)', line):
            found.setdefault(region, {})[name] = float(price)
    return found


def ec2(checkouts: Path) -> tuple[dict[str, list[Any]], dict[str, dict[str, float]]]:
    folder = checkouts / AWS
    rows: dict[str, dict[str, str]] = {}
    for line in (folder / "website/content/en/preview/reference/instance-types.md").read_text().splitlines():
        if line.startswith("### `"):
            row = rows.setdefault(line.split("`")[1], {})
        elif (line.startswith(" |") and "/" in line) or line.startswith(" |pods|"):
            _, key, value, _ = line.strip().split("|")
            row[key] = value
    names = sorted(rows)
    columns: dict[str, list[Any]] = {"name": names}
    for label, column in EC2_NUMBERS.items():
        columns[column] = [int(rows[name].get(label, 0)) for name in names]
    for label, column in EC2_WORDS.items():
        columns[column] = [rows[name].get(label, "") for name in names]
    prices: dict[str, dict[str, float]] = {}
    for suffix in ("", "_us_gov", "_cn"):
        prices |= go_prices((folder / f"pkg/providers/pricing/zz_generated.pricing_aws{suffix}.go").read_text())
    return columns, prices


def azure(checkouts: Path) -> tuple[dict[str, list[Any]], dict[str, dict[str, float]]]:
    provider, sizes = checkouts / AZURE, checkouts / AZURE_SIZES
    known = {
        each["name"] for each in yaml.safe_load((provider / "pkg/providers/instancetype/known_skus.yaml").read_text())
    }
    gpus = yaml.safe_load((provider / "pkg/utils/supported-gpus.yaml").read_text())
    table = (sizes / "cluster-autoscaler/cloudprovider/azure/azure_instance_types.go").read_text()
    pattern = re.compile(
        r'InstanceType: "([^"]+)",\s+SkuFamily:\s+"([^"]*)",\s+VCPU:\s+(\d+),'
        r'\s+MemoryMb:\s+(\d+),\s+GPU:\s+(\d+),\s+Architecture: "([^"]+)"'
    )
    rows = sorted(match.groups() for match in pattern.finditer(table) if match[1] in known)
    columns: dict[str, list[Any]] = {
        "name": [row[0] for row in rows],
        "cpu": [int(row[2]) for row in rows],
        "memoryMiB": [int(row[3]) for row in rows],
        "gpus": [int(row[4]) for row in rows],
        "gpuManufacturer": [gpus.get(row[0].lower(), {}).get("gpu", "") for row in rows],
        "arch": [row[5] for row in rows],
    }
    return columns, go_prices((provider / "pkg/providers/pricing/zz_generated.pricing.go").read_text())


def gce(checkouts: Path) -> tuple[dict[str, list[Any]], dict[str, dict[str, float]]]:
    table = yaml.safe_load((checkouts / GCE_SIZES / "build/gcp.yml").read_text())["compute"]["instance"]
    prices = json.loads((checkouts / GCE_PRICES / "pkg/providers/pricing/initial-prices.json").read_text())["prices"]
    priced = {name for region in prices.values() for name in region["on_demand"]}
    names = sorted(name for name in table if name in priced)
    accelerators = {
        name: next(((key, row[key]) for key in GCE_ACCELERATORS if key in row), None) for name, row in table.items()
    }
    columns: dict[str, list[Any]] = {
        "name": names,
        # Machine types with a shared core have two virtual CPUs.
        "cpu": [
            2 if name in ("e2-micro", "e2-small", "e2-medium") else max(1, int(table[name]["cpu"])) for name in names
        ],
        "memoryMiB": [round(table[name]["ram"] * 1024) for name in names],
        "localSSDGiB": [int(table[name].get("local-ssd", 0)) for name in names],
        "gpus": [accelerators[name][1] if accelerators[name] else 0 for name in names],  # type: ignore[index]
        "gpuName": [GCE_ACCELERATORS[accelerators[name][0]] if accelerators[name] else "" for name in names],  # type: ignore[index]
        "arch": ["arm64" if name.split("-")[0] in GCE_ARM_FAMILIES else "amd64" for name in names],
    }
    return columns, {region: found["on_demand"] for region, found in prices.items()}


def commit_of(folder: Path) -> str:
    if not (folder / ".git").exists():
        return (folder / "COMMIT").read_text().strip()
    return subprocess.run(
        ["git", "-C", str(folder), "log", "-1", "--format=%H of %as"], check=True, capture_output=True, text=True
    ).stdout.strip()


def write(cloud: str, columns: dict[str, list[Any]], prices: dict[str, dict[str, float]], sources: list[str]) -> None:
    """One column of prices a region: 0 where it does not sell the type. Regions that sell none are omitted."""
    names = columns["name"]
    by_region = {region: [found.get(name, 0) for name in names] for region, found in sorted(prices.items())}
    document = {
        "sources": sources,
        "columns": columns,
        "prices": {region: column for region, column in by_region.items() if any(column)},
    }
    path = TARGET / f"{cloud}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{path.name}: {len(names)} types, {len(document['prices'])} regions, {path.stat().st_size:,} bytes")


def main(directory: str) -> None:
    checkouts = Path(directory)
    commits = {name: f"github.com/{name} at {commit_of(checkouts / name)}" for name in REPOSITORIES}
    write("ec2", *ec2(checkouts), [commits[AWS]])
    write("azure", *azure(checkouts), [commits[AZURE], commits[AZURE_SIZES]])
    write("gce", *gce(checkouts), [commits[GCE_SIZES], commits[GCE_PRICES]])


if __name__ == "__main__":
    main(sys.argv[1])
