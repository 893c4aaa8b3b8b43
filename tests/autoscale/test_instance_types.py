"""Built-in instance types: figures that the providers publish, settings of node classes, prices, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Node, NodeSpec, ObjectMeta
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.autoscale.instance_types.catalog import read_catalog
from ksched_cli.autoscale.instance_types.clouds import TITLES, cloud_catalog, cloud_of, table_of
from ksched_cli.errors import InputError

ZONES = ("us-east-1a", "us-east-1b")
AL2023 = {"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]}}


def the_type(
    cloud: str, name: str, region: str, node_class: dict[str, Any] | None = None, **how: Any
) -> dict[str, Any]:
    catalog = cloud_catalog(cloud, region, how.pop("zones", ZONES), node_class, **how)
    return next(each for each in catalog.instance_types if each["name"] == name)


def allocatable(made: dict[str, Any], resource: str) -> int:
    """In thousandths, as a quantity of cpu has millicores."""
    taken = sum(parse_quantity(part.get(resource, "0")) for part in made["overhead"].values())
    return int((parse_quantity(made["capacity"][resource]) - taken) * 1000)


# What the documentation of the provider for AWS prints for Amazon Linux 2023 (instance-types.md of 1.13).
@pytest.mark.parametrize(
    ("name", "cpu", "memory", "pods"),
    [
        ("t3.nano", "1930m", "74Mi", 4),
        ("m6i.xlarge", "3920m", "14162Mi", 58),
        ("m7g.medium", "940m", "3286Mi", 8),
        ("g5.12xlarge", "47810m", "173400Mi", 737),
        ("p5.48xlarge", "191450m", "1938410Mi", 100),
    ],
)
def test_what_is_left_for_pods_on_ec2(name: str, cpu: str, memory: str, pods: int) -> None:
    made = the_type("ec2", name, "us-east-1", AL2023)
    assert allocatable(made, "cpu") == parse_quantity(cpu) * 1000
    assert allocatable(made, "memory") == parse_quantity(memory) * 1000
    assert made["capacity"]["pods"] == str(pods)
    assert allocatable(made, "ephemeral-storage") == parse_quantity("17Gi") * 1000


@pytest.mark.parametrize(
    ("spec", "where", "resource", "expected"),
    [
        pytest.param({"kubelet": {"maxPods": 20}}, "capacity", "pods", "20", id="maxPods"),
        pytest.param({"kubelet": {"podsPerCore": 5}}, "capacity", "pods", "20", id="podsPerCore below the interfaces"),
        pytest.param({"kubelet": {"podsPerCore": 50}}, "capacity", "pods", "58", id="podsPerCore above the interfaces"),
        pytest.param(
            {"kubelet": {"podsPerCore": 5}, "amiFamily": "Bottlerocket"}, "capacity", "pods", "58", id="Bottlerocket has no podsPerCore"
        ),
        pytest.param({"kubelet": {"maxPods": 20}}, "kubeReserved", "memory", "893Mi", id="Amazon Linux reserves by interfaces"),
        pytest.param(
            {"kubelet": {"maxPods": 20}, "amiFamily": "Bottlerocket"}, "kubeReserved", "memory", "475Mi", id="Bottlerocket by maxPods"
        ),
        pytest.param({"kubelet": {"kubeReserved": {"cpu": "1"}}}, "kubeReserved", "cpu", "1", id="kubeReserved replaces"),
        pytest.param({"kubelet": {"evictionHard": {"memory.available": "5%"}}}, "evictionThreshold", "memory", "794558464", id="percentage"),
        pytest.param({"kubelet": {"evictionHard": {"memory.available": "100%"}}}, "evictionThreshold", "memory", "0", id="100 % is off"),
        pytest.param({"kubelet": {"evictionHard": {"memory.available": "1Gi"}}}, "evictionThreshold", "memory", "1Gi", id="quantity"),
        pytest.param(
            {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi"}}]},
            "capacity", "ephemeral-storage", "100Gi", id="root volume",
        ),
        pytest.param(
            {"blockDeviceMappings": [{"deviceName": "/dev/xvdf", "ebs": {"volumeSize": "100Gi"}}]},
            "capacity", "ephemeral-storage", "20Gi", id="another volume",
        ),
        pytest.param(
            {"amiFamily": "Custom", "blockDeviceMappings": [{"ebs": {"volumeSize": "50Gi"}}, {"ebs": {"volumeSize": "70Gi"}}]},
            "capacity", "ephemeral-storage", "70Gi", id="the last volume of a custom image",
        ),
        pytest.param({"instanceStorePolicy": "RAID0"}, "capacity", "ephemeral-storage", "20Gi", id="RAID0 without local disks"),
    ],
)  # fmt: skip
def test_a_node_class_of_ec2_changes_sizes(spec: dict[str, Any], where: str, resource: str, expected: str) -> None:
    made = the_type("ec2", "m6i.xlarge", "us-east-1", {"spec": {"amiFamily": "AL2023"} | spec})
    assert (made["capacity"] if where == "capacity" else made["overhead"][where])[resource] == expected


@pytest.mark.parametrize(
    ("name", "labels", "devices"),
    [
        ("m6i.xlarge", "category=m family=m6i generation=6 size=xlarge cpu=4 memory=16384 capability-flex=false", ""),
        ("u-3tb1.56xlarge", "category=u family=u-3tb1 generation=1 size=56xlarge cpu=224", ""),
        ("c7i-flex.large", "category=c family=c7i-flex generation=7 size=large capability-flex=true", ""),
        (
            "g4dn.xlarge",
            "category=g local-nvme=125 gpu-name=t4 gpu-count=1 gpu-manufacturer=nvidia",
            "nvidia.com/gpu=1",
        ),
        (
            "inf2.xlarge",
            "category=inf generation=2 accelerator-name=inferentia2 accelerator-manufacturer=aws accelerator-count=1",
            "aws.amazon.com/neuron=1 aws.amazon.com/neuroncore=2",
        ),
    ],
)
def test_the_parts_of_a_type_of_ec2(name: str, labels: str, devices: str) -> None:
    made = the_type("ec2", name, "us-east-1")
    for label in labels.split():
        key, _, value = label.partition("=")
        assert made["requirements"][f"karpenter.k8s.aws/instance-{key}"] == [value]
    found = {key: value for key, value in made["capacity"].items() if "/" in key and "pod-eni" not in key}
    assert found == dict(device.split("=") for device in devices.split())


WINDOWS = {"amiFamily": "Windows2022"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "disk"),
    [
        pytest.param(WINDOWS, "50Gi", id="Windows"),
        pytest.param(
            {**WINDOWS, "blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": {"volumeSize": "90Gi"}}]},
            "90Gi",
            id="the device of Windows",
        ),
        pytest.param(
            {
                "amiSelectorTerms": [{"id": "ami-0"}, {"alias": "bottlerocket@latest"}],
                "blockDeviceMappings": [{"deviceName": "/dev/xvdb", "ebs": {"volumeSize": "90Gi"}}],
            },
            "90Gi",
            id="the device of Bottlerocket, by its alias",
        ),
        pytest.param(
            {
                "amiFamily": "AL2023",
                "blockDeviceMappings": [
                    {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "90Gi"}},
                    {"deviceName": "/dev/xvdf", "rootVolume": True, "ebs": {"volumeSize": "70Gi"}},
                ],
            },
            "70Gi",
            id="the volume that is named as the root",
        ),
    ],
)
def test_the_disk_of_an_image_of_ec2(spec: dict[str, Any], disk: str) -> None:
    assert the_type("ec2", "m6i.xlarge", "us-east-1", {"spec": spec})["capacity"]["ephemeral-storage"] == disk


def test_windows_nodes_of_ec2() -> None:
    made = the_type("ec2", "m6i.xlarge", "us-east-1", {"spec": WINDOWS})
    assert made["requirements"]["kubernetes.io/os"] == ["windows"]
    assert made["requirements"]["node.kubernetes.io/windows-build"] == ["10.0.20348"]
    # The kubelet keeps 255 MiB, and 11 for each of the pods that Windows allows.
    assert (made["capacity"]["pods"], made["overhead"]["kubeReserved"]["memory"]) == ("110", "1465Mi")


def test_local_disks_become_ephemeral_storage() -> None:
    made = the_type("ec2", "m5d.xlarge", "us-east-1", {"spec": {"amiFamily": "AL2023", "instanceStorePolicy": "RAID0"}})
    assert made["capacity"]["ephemeral-storage"] == "150G"


def test_a1_machines_do_not_start_with_amazon_linux_2023() -> None:
    names = {each["name"] for each in cloud_catalog("ec2", "us-east-1", ZONES, AL2023).instance_types}
    assert "a1.large" not in names
    assert "a1.large" in {
        each["name"]
        for each in cloud_catalog("ec2", "us-east-1", ZONES, {"spec": {"amiFamily": "Bottlerocket"}}).instance_types
    }


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("Standard_D4s_v5", {"sku-family": ["D"], "sku-series": ["Ds_v5"], "sku-version": ["5"], "sku-gpu-name": []}),
        ("Standard_NC24ads_A100_v4", {"sku-family": ["N"], "sku-series": ["NCads_A100_v4"], "sku-gpu-name": ["A100"], "sku-gpu-count": ["1"]}),
        ("Standard_M416s_8_v2", {"sku-family": ["M"], "sku-version": ["2"]}),
        ("Standard_A4_v2", {"sku-family": ["A"], "sku-version": ["2"], "sku-gpu-count": ["0"], "sku-cpu": ["4"]}),
    ],
)  # fmt: skip
def test_the_parts_of_a_size_of_azure(name: str, labels: dict[str, list[str]]) -> None:
    requirements = the_type("azure", name, "westeurope")["requirements"]
    assert {label: requirements["karpenter.azure.com/" + label] for label in labels} == labels
    assert requirements["kubernetes.azure.com/mode"] == ["system", "user"]
    assert requirements["kubernetes.azure.com/scalesetpriority"] == ["regular", "spot"]


@pytest.mark.parametrize(
    ("spec", "image", "fips"),
    [
        pytest.param({}, "Ubuntu", [], id="by default"),
        pytest.param({"imageFamily": "AzureLinux", "fipsMode": "FIPS"}, "AzureLinux", ["true"], id="Azure Linux, FIPS"),
        pytest.param({"imageFamily": "Ubuntu2204", "fipsMode": "Disabled"}, "Ubuntu", [], id="Ubuntu, no FIPS"),
    ],
)
def test_the_image_of_aks_nodes(spec: dict[str, Any], image: str, fips: list[str]) -> None:
    requirements = the_type("azure", "Standard_D4s_v5", "westeurope", {"spec": spec})["requirements"]
    assert requirements["kubernetes.azure.com/os-sku"] == [image]
    assert requirements["kubernetes.azure.com/fips_enabled"] == fips


def test_what_aks_never_offers() -> None:
    names = {each["name"] for each in cloud_catalog("azure", "westeurope", ("westeurope-1",)).instance_types}
    few_cores, little_memory, confidential, constrained, unknown_gpu = (
        "Standard_A1_v2",
        "Standard_B2ts_v2",
        "Standard_DC4s_v3",
        "Standard_E8-2s_v5",
        "Standard_NP10s",
    )
    assert not names & {few_cores, little_memory, confidential, constrained, unknown_gpu}
    assert {"Standard_A2_v2", "Standard_D4s_v3", "Standard_E8s_v5"} <= names


# 16 GiB: a quarter of 4, a fifth of 4, a tenth of 8. Four cores: 6 %, 4 %, two times 2 %.
@pytest.mark.parametrize(
    ("name", "resource", "expected"),
    [
        ("Standard_D4s_v5", "memory", "2662Mi"),
        ("Standard_D4s_v5", "cpu", "140m"),
        ("Standard_D96s_v5", "memory", "14786Mi"),
        ("Standard_D96s_v5", "cpu", "1060m"),
    ],
)
def test_what_aks_reserves(name: str, resource: str, expected: str) -> None:
    assert the_type("azure", name, "westeurope")["overhead"]["kubeReserved"][resource] == expected


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("n2-standard-8", "family=n2 shape=standard size=8 generation=2 cpu=8 memory=32768"),
        ("c3-standard-8-lssd", "family=c3 shape=standard size=8 generation=3 cpu=8 memory=32768"),
        ("e2-medium", "family=e2 shape=medium size=medium generation=2 cpu=2 memory=4096"),
        ("t2d-standard-4", "family=t2d shape=standard size=4 generation=2 cpu=4 memory=16384"),
        (
            "a2-ultragpu-2g",
            "family=a2 shape=ultragpu size=2g generation=2 cpu=24 memory=348160 gpu-name=nvidia-a100-80gb gpu-count=1",
        ),
    ],
)
def test_the_parts_of_a_machine_type_of_gce(name: str, labels: str) -> None:
    """The provider counts one GPU for a machine type with any."""
    made = the_type("gce", name, "us-central1", zones=("us-central1-a",))
    prefix = "karpenter.k8s.gcp/instance-"
    given = {key.removeprefix(prefix): of for key, of in made["requirements"].items() if key.startswith(prefix)}
    assert {key: of for key, of in given.items() if of} == {
        key: [value] for key, _, value in (label.partition("=") for label in labels.split())
    }
    has_gpu = "gpu-name" in labels
    assert made["requirements"]["cloud.google.com/gke-accelerator"] == (["nvidia-a100-80gb"] if has_gpu else [])
    assert made["capacity"].get("nvidia.com/gpu") == ("1" if has_gpu else None)
    assert made["requirements"]["topology.k8s.gcp/zone-id"] == ["us-central1-a"]


@pytest.mark.parametrize(
    ("name", "resource", "reserved"),
    [
        ("n2-standard-8", "cpu", "90m"),
        ("n2-standard-8", "memory", "3645Mi"),
        ("n2-standard-8", "ephemeral-storage", "41Gi"),
        ("e2-medium", "cpu", "1060m"),
        ("e2-medium", "memory", "1024Mi"),
        ("e2-micro", "memory", "255Mi"),
        ("z3-highmem-14-standardlssd", "ephemeral-storage", "50Gi"),
        ("z3-highmem-22-highlssd", "ephemeral-storage", "100Gi"),
        ("a2-ultragpu-2g", "cpu", "130m"),
        ("a2-ultragpu-2g", "memory", "13884Mi"),
        ("a2-ultragpu-2g", "ephemeral-storage", "75Gi"),
    ],
)
def test_what_gke_reserves(name: str, resource: str, reserved: str) -> None:
    assert (
        the_type("gce", name, "us-central1", zones=("us-central1-a",))["overhead"]["kubeReserved"][resource] == reserved
    )


def test_prices_of_a_zone_win_over_the_table() -> None:
    given = {"m6i.xlarge": {"spot": {"us-east-1a": 0.05}, "on-demand": 0.2}}
    made = the_type("ec2", "m6i.xlarge", "us-east-1", prices=given)
    assert [(each["zone"], each["capacityType"], each["price"]) for each in made["offerings"]] == [
        ("us-east-1a", "on-demand", 0.2),
        ("us-east-1a", "spot", 0.05),
        ("us-east-1b", "on-demand", 0.2),
    ]


def test_a_price_of_0_is_a_price() -> None:
    given = {"Standard_D4s_v5": {"on-demand": 0.0, "spot": 0.0}}
    made = the_type("azure", "Standard_D4s_v5", "westeurope", prices=given)
    assert {each["price"] for each in made["offerings"]} == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("region", "prices", "told", "not_told"),
    [
        pytest.param(
            "us-east-1", None, "no spot prices are known", "no on-demand prices of region", id="built-in region"
        ),
        pytest.param("eu-west-1", None, "no on-demand prices of region eu-west-1", "", id="another region"),
        pytest.param(
            "us-east-1", {"m6i.large": {"spot": 0.1}}, "built-in table", "no spot prices", id="spot prices given"
        ),
    ],
)
def test_assumptions_are_reported(region: str, prices: Any, told: str, not_told: str) -> None:
    assumed = "\n".join(cloud_catalog("ec2", region, ZONES, prices=prices).assumed)
    assert told in assumed
    assert not not_told or not_told not in assumed


@pytest.mark.parametrize("cloud", TITLES)
def test_a_table_has_whole_columns_its_source_and_three_regions(cloud: str) -> None:
    table = table_of(cloud)
    lengths = {len(column) for column in (*table.columns.values(), *table.prices.values())}
    assert len(lengths) == 1
    assert len(table.prices) >= 3
    assert all(" of 20" in source for source in table.sources)
    assert len(set(table.columns["name"])) == lengths.pop()


@pytest.mark.parametrize(
    ("provider_ids", "cloud"),
    [
        (("aws:///us-east-1a/i-0",), "ec2"),
        (("", "gce://project/zone/name"), "gce"),
        (("azure:///subscriptions/x",), "azure"),
        (("kind://docker/kind/kind-worker",), ""),
        ((), ""),
    ],
)
def test_the_cloud_of_a_provider_id(provider_ids: tuple[str, ...], cloud: str) -> None:
    nodes = [
        Node(ObjectMeta(name=f"n{at}"), NodeSpec(provider_id=identity)) for at, identity in enumerate(provider_ids)
    ]
    assert cloud_of(nodes) == cloud


def catalog_file(folder: Path, **fields: Any) -> str:
    small = {
        "name": "small",
        "capacity": {"cpu": "1"},
        "offerings": [{"zone": "a", "capacityType": "on-demand", "price": 1}],
    }
    path = folder / "catalog.json"
    path.write_text(json.dumps({"instanceTypes": [small | fields]}))
    return str(path)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({"offerings": [{"zone": "a", "capacityType": "spot", "price": 0}]}, "", id="free"),
        pytest.param(
            {"offerings": [{"zone": "a", "capacityType": "spot"}, {"zone": "a", "capacityType": "spot", "price": -1}]},
            "instanceTypes[0].offerings[1].price: expected a price of 0 or more, got -1.0",
            id="a negative price after none",
        ),
        pytest.param(
            {"offerings": [{"zone": "a", "capacityType": "reserved", "price": 1}]},
            "instanceTypes[0].offerings[0]: a reserved offering needs a reservationId",
            id="reserved without an id",
        ),
        pytest.param(
            {"offerings": [{"zone": "a", "capacityType": "reserved", "reservationId": "r", "reservationCapacity": 1}]},
            "",
            id="reserved",
        ),
        pytest.param({"capacity": {"cpu": "-1"}}, "instanceTypes[0].capacity.cpu: '-1' is negative", id="negative"),
        pytest.param({"capacity": {"cpu": "0"}}, "", id="zero"),
        pytest.param(
            {"overhead": {"kubeReserved": {"cpu": "x"}}}, "instanceTypes[0].overhead.kubeReserved.cpu: ", id="word"
        ),
        pytest.param({"name": ""}, "instanceTypes: a type has no name", id="no name"),
    ],
)
def test_mistakes_of_a_catalog_are_named(fields: dict[str, Any], problem: str, tmp_path: Path) -> None:
    path = catalog_file(tmp_path, **fields)
    if not problem:
        assert read_catalog(path).source == path
        return
    with pytest.raises(InputError) as caught:
        read_catalog(path)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file"),
        (b"{", "broken JSON"),
        (b"\xff{", "broken JSON"),
        (b'{"instanceTypes": []}', "is empty"),
    ],
)
def test_a_catalog_that_cannot_be_read(content: bytes | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "catalog.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_catalog(str(path))


LOCAL_SSD = {"sizeGiB": 375, "category": "local-ssd"}


@pytest.mark.parametrize(
    ("cloud", "name", "spec", "where", "resource", "expected"),
    [
        pytest.param(
            "gce",
            "n2-standard-8",
            {"kubeletConfiguration": {"podsPerCore": 5}},
            "capacity",
            "pods",
            "40",
            id="pods per core",
        ),
        pytest.param(
            "gce",
            "n2-standard-8",
            {"kubeletConfiguration": {"podsPerCore": 50}},
            "capacity",
            "pods",
            "110",
            id="fewer allowed",
        ),
        pytest.param("gce", "n2-standard-8", {}, "evictionThreshold", "memory", "100Mi", id="memory by default"),
        pytest.param(
            "gce", "n2-standard-8", {}, "evictionThreshold", "ephemeral-storage", "10Gi", id="a tenth of the boot disk"
        ),
        pytest.param(
            *("gce", "c3-standard-8-lssd", {}, "evictionThreshold", "ephemeral-storage", "75Gi"),
            id="a tenth of the local disks",
        ),
        pytest.param("gce", "n2-standard-8", {}, "capacity", "memory", "31954556683", id="memory of GCE"),
        pytest.param("gce", "n2-standard-8", {}, "capacity", "ephemeral-storage", "100Gi", id="disk of GCE"),
        pytest.param("gce", "n2-standard-8", {}, "systemReserved", "cpu", "100m", id="kube-proxy"),
        pytest.param(
            *("gce", "n2-standard-8", {"kubeletConfiguration": {"systemReserved": {"cpu": "200m"}}}),
            *("systemReserved", "cpu", "300m"),
            id="the user's cpu on top of kube-proxy",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"kubeletConfiguration": {"kubeReserved": {"cpu": "1"}}}),
            *("kubeReserved", "cpu", "1"),
            id="the user's instead of GKE's",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"disks": [{"sizeGiB": 300, "boot": True}]}),
            *("kubeReserved", "ephemeral-storage", "100Gi"),
            id="at most 100 GiB of the boot disk",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"disks": [{"sizeGiB": 20, "boot": True}]}),
            *("kubeReserved", "ephemeral-storage", "10Gi"),
            id="half of a small boot disk",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"kubeletConfiguration": {"evictionHard": {"memory.available": "1Gi"}}}),
            *("evictionThreshold", "memory", "1Gi"),
            id="memory",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"kubeletConfiguration": {"evictionHard": {"nodefs.available": "1Gi"}}}),
            *("evictionThreshold", "ephemeral-storage", "1Gi"),
            id="disk",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"disks": [{"sizeGiB": 50}, {"sizeGiB": 60, "boot": True}]}),
            *("capacity", "ephemeral-storage", "60Gi"),
            id="boot disk",
        ),
        pytest.param(
            "gce", "n2-standard-8", {"disks": [{"sizeGiB": 50}]}, "capacity", "ephemeral-storage", "100Gi", id="none"
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"disks": [{"sizeGiB": 60, "boot": True}, *[LOCAL_SSD] * 2]}),
            *("kubeReserved", "ephemeral-storage", "75Gi"),
            id="two local disks",
        ),
        pytest.param(
            *("gce", "n2-standard-8", {"disks": [{"sizeGiB": 60, "boot": True}, LOCAL_SSD]}),
            *("capacity", "ephemeral-storage", "375Gi"),
            id="the local disk instead of the boot disk",
        ),
        pytest.param(
            *("ec2", "m6i.xlarge", {"kubelet": {"evictionHard": {"nodefs.available": "1Gi"}}, "amiFamily": "AL2023"}),
            *("evictionThreshold", "ephemeral-storage", "1Gi"),
            id="disk of EC2",
        ),
        pytest.param(
            *(
                "azure",
                "Standard_D4s_v5",
                {"osDiskSizeGB": 256, "maxPods": 30},
                "capacity",
                "ephemeral-storage",
                "256G",
            ),
            id="disk of Azure",
        ),
        pytest.param("azure", "Standard_D4s_v5", {}, "capacity", "memory", "15891378995", id="memory of Azure"),
        pytest.param("azure", "Standard_D4s_v5", {}, "capacity", "ephemeral-storage", "128G", id="disk by default"),
        pytest.param("azure", "Standard_D4s_v5", {}, "capacity", "pods", "250", id="pods of Azure"),
        pytest.param("azure", "Standard_NC24ads_A100_v4", {}, "capacity", "nvidia.com/gpu", "1", id="GPUs of Azure"),
    ],
)
def test_node_classes_change_sizes(
    cloud: str, name: str, spec: dict[str, Any], where: str, resource: str, expected: str
) -> None:
    region = {"gce": "us-central1", "ec2": "us-east-1", "azure": "westeurope"}[cloud]
    made = the_type(cloud, name, region, {"spec": spec})
    assert (made["capacity"] if where == "capacity" else made["overhead"][where])[resource] == expected
