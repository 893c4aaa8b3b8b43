"""Catalogs made of nodes and of the node groups of autoscalers."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.plan.size.catalog import catalog_of
from tests.builders import make_node
from tests.plan.size.cases import load, pending

TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"


def typed(name: str, kind: str, zone: str, memory: str = "15Gi", **labels: str) -> dict[str, Any]:
    builder = make_node(name).allocatable(cpu="3920m", memory=memory, pods=58).label(TYPE, kind).label(ZONE, zone)
    builder.label(**labels)
    return {"apiVersion": "v1", "kind": "Node", **builder.doc()}


def custom(version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **fields.pop("metadata", {})}, **fields}


def shapes(objects: list[Any], **options: Any) -> dict[str, dict[str, Any]]:
    found = load(objects).size_catalog(**options)
    return {each["name"]: each for each in found.document["shapes"]}


def test_nodes_of_an_instance_type_are_one_shape() -> None:
    objects = [
        typed("n1", "m5.xlarge", "a", disk="ssd", rack="1"),
        typed("n2", "m5.xlarge", "b", "14Gi", disk="ssd", rack="2"),
    ]
    assert shapes(objects) == {
        "m5.xlarge": {
            "name": "m5.xlarge",
            "price": None,
            "allocatable": {"cpu": "3920m", "memory": "14Gi", "pods": "58"},
            "labels": {"disk": "ssd"},
            "zones": ["a", "b"],
        }
    }


def test_a_node_that_reports_no_amounts_shows_no_size() -> None:
    starting = {**typed("n1", "m5.xlarge", "a"), "status": {}}
    assert shapes([starting, typed("n2", "m5.xlarge", "b")])["m5.xlarge"]["allocatable"]["cpu"] == "3920m"


def test_nodes_without_an_instance_type_are_told_apart_by_their_size() -> None:
    objects = [{"apiVersion": "v1", "kind": "Node", **make_node("n").allocatable(cpu="4", memory="16Gi", pods=9).doc()}]
    assert list(shapes(objects)) == ["cpu4-memory16"]


def test_labels_with_the_name_of_the_zone_follow_the_zone() -> None:
    """A volume of GKE is bound to `topology.gke.io/zone`: without that label no new node reaches it."""
    nodes = [
        typed(f"n{zone}", "e2", zone, **{"topology.gke.io/zone": zone, "own/zone": "a", "rack": zone}) for zone in "ab"
    ]
    (shape,) = shapes(nodes, prices=["e2=1"]).values()
    assert shape["zoneLabels"] == ["topology.gke.io/zone"]
    assert "labels" not in shape
    made = catalog_of({"apiVersion": "ksched/v1", "kind": "Catalog", "shapes": [shape]}).shapes
    assert [each.all_labels["topology.gke.io/zone"] for each in made] == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        pytest.param({"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}, {"node-role.kubernetes.io/worker": ""}, ["m6i.control-plane-master", "m6i.worker"], id="roles"),
        pytest.param({"kubernetes.azure.com/agentpool": "user"}, {"kubernetes.azure.com/agentpool": "win", "kubernetes.io/os": "windows"}, ["m6i.user", "m6i.win.windows"], id="pools and systems"),
        pytest.param({"cloud.google.com/gke-nodepool": "a"}, {}, ["m6i", "m6i.a"], id="a node of no pool"),
        pytest.param({"kubernetes.azure.com/agentpool": "user"}, {"kubernetes.azure.com/agentpool": "user"}, ["m6i"], id="one pool"),
        pytest.param({"karpenter.sh/nodepool": "p" * 62}, {"karpenter.sh/nodepool": "q"}, ["m6i.0", "m6i.q"], id="a name that is too long"),
    ],
)  # fmt: skip
def test_nodes_of_one_type_in_several_pools(first: dict[str, str], second: dict[str, str], names: list[str]) -> None:
    objects = [typed("n1", "m6i", "a", **first), typed("n2", "m6i", "b", **second)]
    found = shapes(objects, prices=["m6i=0.4"])
    assert list(found) == names
    assert {each["price"] for each in found.values()} == {"0.4"}
    if len(found) > 1:
        assert {each["labels"][TYPE] for each in found.values()} == {"m6i"}
        assert [
            each["labels"].items() >= labels.items()
            for each, labels in zip(
                sorted(found.values(), key=lambda each: each["zones"]), (first, second), strict=True
            )
        ] == [True, True]


def test_prices_are_given_or_computed_by_rates() -> None:
    objects = [typed("n1", "m5.xlarge", "a"), typed("n2", "c5.xlarge", "a", "7Gi")]
    found = load(objects).size_catalog(prices=["m5.xlarge=0.192"], rates="cpu=0.04,memory=0.005")
    assert {each["name"]: each["price"] for each in found.document["shapes"]} == {
        "m5.xlarge": "0.192",
        "c5.xlarge": "0.1918",
    }
    assert found.warnings == ()
    assert len(catalog_of(found.document).shapes) == 2


def test_missing_prices_are_named() -> None:
    (warning,) = load([typed("n1", "m5.xlarge", "a")]).size_catalog().warnings
    assert warning.startswith("fill in the price of m5.xlarge")


@pytest.mark.parametrize("options", [{"prices": ["m9=1"]}, {"prices": ["m5.xlarge=much"]}, {"rates": "cpu=-1"}])
def test_prices_that_are_none(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        load([typed("n1", "m5.xlarge", "a")]).size_catalog(**options)


def test_a_price_of_zero_is_a_price() -> None:
    found = load([typed("n1", "m5.xlarge", "a")]).size_catalog(prices=["m5.xlarge=0"])
    assert (found.document["shapes"][0]["price"], found.warnings) == ("0", ())


def test_an_input_without_nodes() -> None:
    with pytest.raises(InputError, match="no Node and no node group"):
        load([pending("p", cpu="1")]).size_catalog()


def test_a_node_pool_allows_types_that_nodes_and_node_claims_show() -> None:
    requirements = [
        {"key": TYPE, "operator": "In", "values": ["m5.xlarge", "r5.xlarge", "x9.huge"]},
        {"key": ZONE, "operator": "In", "values": ["a", "b"]},
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
    ]
    taints = [{"key": "batch", "value": "yes", "effect": "NoSchedule"}]
    template = {"metadata": {"labels": {"team": "batch"}}, "spec": {"requirements": requirements, "taints": taints}}
    pool = custom("karpenter.sh/v1", "NodePool", "batch", spec={"template": template})
    status = {"allocatable": {"cpu": "3920m", "memory": "30Gi", "pods": "58"}}
    claim = custom(
        "karpenter.sh/v1", "NodeClaim", "batch-x", metadata={"labels": {TYPE: "r5.xlarge", ZONE: "a"}}, status=status
    )
    objects = [typed("n1", "m5.xlarge", "a"), pool, claim]
    found = shapes(objects)
    assert sorted(found) == ["m5.xlarge", "m5.xlarge.batch", "r5.xlarge"]
    own = found["r5.xlarge"]
    assert own["allocatable"]["memory"] == "30Gi"
    assert own["labels"] == {
        TYPE: "r5.xlarge",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/nodepool": "batch",
        "team": "batch",
    }
    assert (own["taints"], own["zones"], own["spot"]) == (taints, ["a", "b"], True)
    warnings = load(objects).size_catalog().warnings
    assert warnings[0].startswith("NodePool batch allows x9.huge: no node and no NodeClaim")


def test_node_groups_of_cluster_api_that_scale_from_zero() -> None:
    prefix = "capacity.cluster-autoscaler.kubernetes.io"
    annotations = {
        f"{prefix}/cpu": "16",
        f"{prefix}/memory": "128Gi",
        f"{prefix}/maxPods": "100",
        f"{prefix}/gpu-type": "nvidia.com/gpu",
        f"{prefix}/gpu-count": "2",
        f"{prefix}/labels": f"pool=gpu,{ZONE}=a",
        f"{prefix}/taints": "gpu=true:NoSchedule",
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "5",
    }
    group = custom(
        "cluster.x-k8s.io/v1beta1",
        "MachineDeployment",
        "gpu",
        metadata={"annotations": annotations},
        spec={"replicas": 2},
    )
    assert shapes([group]) == {
        "gpu": {
            "name": "gpu",
            "price": None,
            "allocatable": {"cpu": "16", "memory": "128Gi", "pods": "100", "nvidia.com/gpu": "2"},
            "labels": {"pool": "gpu"},
            "taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}],
            "zones": ["a"],
            "max": 3,
        }
    }
