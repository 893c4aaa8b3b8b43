"""Catalogs made of nodes and of the node groups of autoscalers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ksched_cli.api.core import ObjectMeta
from ksched_cli.api.karpenter import NodePool
from ksched_cli.autoscale.instance_types.catalog import InstanceType, Offering
from ksched_cli.autoscale.karpenter.provisioner import Offer
from ksched_cli.errors import InputError, UsageError
from ksched_cli.plan.size.catalog import catalog_of
from ksched_cli.plan.size.derived import CAPACITY_TYPE, shapes_of_pools
from tests.builders import PodBuilder, make_node, make_pod
from tests.plan.size.cases import load, pending

# So many shapes without a price are named.
SHOWN = 5
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
    """The racks name the nodes one by one."""
    objects = [
        typed("n1", "m5.xlarge", "a", disk="ssd", rack="1"),
        typed("n2", "m5.xlarge", "b", "14Gi", disk="ssd", rack="2"),
        typed("n3", "m5.xlarge", "b", disk="ssd", rack="3"),
        typed("n4", "m5.xlarge", "b", disk="ssd", rack="4"),
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


def tainted(name: str, *keys: str) -> dict[str, Any]:
    node = typed(name, "m5", "a")
    return {**node, "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in keys]}}


def sized(name: str, **amounts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", **make_node(name).label(TYPE, "m5").allocatable(**amounts).doc()}


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        pytest.param([typed("n1", "m5", "a", disk="ssd"), typed("n2", "m5", "a", disk="hdd")], ["m5.hdd", "m5.ssd"], id="values of a label"),
        pytest.param([typed("n1", "m5", "a", disk="ssd"), typed("n2", "m5", "a")], ["m5", "m5.ssd"], id="a label that one has"),
        pytest.param([typed("n1", "m5", "a", disk="ssd", rack="1"), typed("n2", "m5", "a", rack="2"), typed("n3", "m5", "b", disk="ssd", rack="3"), typed("n4", "m5", "b", rack="4")], ["m5", "m5.ssd"], id="racks of a node each"),
        pytest.param([typed("n1", "m5", "a", rack="1"), typed("n2", "m5", "a", rack="1"), typed("n3", "m5", "b", rack="2")], ["m5.1", "m5.2"], id="racks of several nodes"),
        pytest.param([typed("n1", "m5", "a", **{"own/zone-id": "z1"}), typed("n2", "m5", "b", **{"own/zone-id": "z2"})], ["m5"], id="other names of zones"),
        pytest.param([typed("n1", "m5", "a", disk="ssd", pool="x/y", team="z" * 60), typed("n2", "m5", "a")], ["m5", "m5.1"], id="too much for a name"),
        pytest.param([tainted("n1", "gpu", "x.com/batch"), tainted("n2", "gpu"), typed("n3", "m5", "a")], ["m5", "m5.gpu", "m5.gpu.batch"], id="taints"),
        pytest.param([tainted("n1", "node.kubernetes.io/not-ready", "ToBeDeletedByClusterAutoscaler"), typed("n2", "m5", "a")], ["m5"], id="taints of a state"),
        pytest.param([typed("n1", "m5", "a", **{"karpenter.sh/capacity-type": "spot"}), typed("n2", "m5", "a", **{"karpenter.sh/capacity-type": "on-demand"})], ["m5.on-demand", "m5.spot"], id="spot and on demand"),
        pytest.param([sized("n1", cpu="4", memory="16Gi"), sized("n2", cpu="8", memory="16Gi")], ["m5.cpu4-memory16", "m5.cpu8-memory16"], id="sizes"),
        pytest.param([sized("n1", cpu="4", memory="16Gi"), sized("n2", cpu="3920m", memory="15Gi")], ["m5"], id="what kubelets keep back"),
        pytest.param([sized("n1", cpu="4", memory="16Gi"), sized("n2", cpu="4", memory="16Gi", example_com__gpu="1")], ["m5", "m5.gpu"], id="a device"),
        pytest.param([sized("n1", cpu="4", memory="16Gi"), sized("n2", cpu="4", memory="16Gi", example_com__gpu="0")], ["m5"], id="no device"),
        pytest.param([sized("n1", cpu="4", memory="16Gi", pods="58"), sized("n2", cpu="4", memory="16Gi", pods="110")], ["m5", "m5.1"], id="places for pods"),
    ],
)  # fmt: skip
def test_nodes_of_one_type_that_differ_are_shapes_of_their_own(nodes: list[Any], names: list[str]) -> None:
    found = shapes(nodes, prices=["m5=2"])
    assert sorted(found) == names
    assert {each["price"] for each in found.values()} == {"2"}
    if len(found) > 1:
        assert {each["labels"][TYPE] for each in found.values()} == {"m5"}


@pytest.mark.parametrize(
    ("pod", "name"),
    [
        pytest.param(make_pod("p").requests(cpu="1").selector(disk="ssd"), "m5.ssd", id="a label"),
        pytest.param(make_pod("p").requests(cpu="6"), "m5.cpu8-memory16", id="a size"),
        pytest.param(make_pod("p").requests(example_com__gpu=1).limits(example_com__gpu=1), "m5.gpu", id="a device"),
    ],
)
def test_a_pod_finds_the_shape_among_those_of_its_instance_type(pod: PodBuilder, name: str) -> None:
    nodes = [
        make_node("n1").label(TYPE, "m5").cordoned(),
        make_node("n2").label(TYPE, "m5").label(disk="ssd").cordoned(),
        make_node("n3").label(TYPE, "m5").allocatable(cpu="8", memory="16Gi", pods="110").cordoned(),
        make_node("n4").label(TYPE, "m5").taint("gpu").allocatable(cpu="4", memory="16Gi", pods="110", example_com__gpu="1").cordoned(),
    ]  # fmt: skip
    simulator = load([*(each.doc() for each in nodes), pod.toleration("gpu", "Exists").doc()])
    found = simulator.size(simulator.size_catalog(prices=["m5=1"]).document)
    assert [each.shape for each in found.nodes] == [name]


def test_a_node_that_reports_no_amounts_shows_no_size() -> None:
    starting = {**typed("n1", "m5.xlarge", "a"), "status": {}}
    assert shapes([starting, typed("n2", "m5.xlarge", "b")])["m5.xlarge"]["allocatable"]["cpu"] == "3920m"


def test_nodes_without_an_instance_type_are_told_apart_by_their_size() -> None:
    objects = [{"apiVersion": "v1", "kind": "Node", **make_node("n").allocatable(cpu="4", memory="16Gi", pods=9).doc()}]
    assert list(shapes(objects)) == ["cpu4-memory16"]


def test_labels_with_the_name_of_the_zone_follow_the_zone() -> None:
    """A volume of GKE is bound to `topology.gke.io/zone`: without that label no new node reaches it."""
    nodes = [typed(f"n{zone}", "e2", zone, **{"topology.gke.io/zone": zone, "own/zone": "a"}) for zone in "ab"]
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


@pytest.mark.parametrize(
    ("count", "shown"), [(1, "m0"), (SHOWN, "m0, m1, m2, m3, m4"), (SHOWN + 1, "m0, m1, m2, m3, m4 and others")]
)
def test_missing_prices_are_named(count: int, shown: str) -> None:
    (warning,) = load([typed(f"n{at}", f"m{at}", "a") for at in range(count)]).size_catalog().warnings
    assert warning.startswith(f"fill in the price of {shown}: ")


def test_a_price_of_an_instance_type_is_that_of_all_its_pools() -> None:
    nodes = [
        typed("n1", "m6i", "a", **{"karpenter.sh/nodepool": "p"}),
        typed("n2", "m6i", "b", **{"karpenter.sh/nodepool": "q"}),
        typed("n3", "c5", "a"),
    ]
    found = shapes(nodes, prices=["m6i=0.4", "c5=1"])
    assert {name: each["price"] for name, each in found.items()} == {"m6i.p": "0.4", "m6i.q": "0.4", "c5": "1"}


@pytest.mark.parametrize(("price", "name"), [("m9=1", "m9"), ("=1", "=1"), ("m9", "m9")])
def test_a_price_of_no_shape(price: str, name: str) -> None:
    nodes = [typed(f"n{at}", f"m{at}", "a") for at in range(6)]
    with pytest.raises(UsageError, match=f"no shape is called '{name}' .there are m0, m1, m2, m3, m4.$"):
        load(nodes).size_catalog(prices=[price])


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


def allowing(name: str, *types: str, **values: list[str]) -> dict[str, Any]:
    """A NodePool that allows these types."""
    keys = {"zones": ZONE, "arch": "kubernetes.io/arch"}
    requirements = [{"key": TYPE, "operator": "In", "values": list(types)}]
    requirements += [{"key": keys[key], "operator": "In", "values": each} for key, each in values.items()]
    return custom("karpenter.sh/v1", "NodePool", name, spec={"template": {"spec": {"requirements": requirements}}})


def claim(kind: str, memory: str = "") -> dict[str, Any]:
    status = {"allocatable": {"cpu": "4", "memory": memory, "pods": "58"}} if memory else {}
    labels = {TYPE: kind} if kind else {}
    return custom("karpenter.sh/v1", "NodeClaim", f"of-{kind or 'none'}", metadata={"labels": labels}, status=status)


def test_each_of_two_node_pools_has_a_shape_of_a_type_and_its_price() -> None:
    found = shapes([allowing("a", "r5"), allowing("b", "r5"), claim("r5", "30Gi")], prices=["r5=2"])
    assert {name: (each["price"], each["labels"]["karpenter.sh/nodepool"]) for name, each in found.items()} == {
        "r5": ("2", "a"),
        "r5.b": ("2", "b"),
    }


def test_a_node_pool_of_two_types_has_the_labels_of_each_type() -> None:
    """A requirement of one value is a label of the nodes, unless it is the zone."""
    pool = allowing("a", "r5", "r6", zones=["z"], arch=["amd64", "arm64"])
    found = shapes([pool, claim("r5", "30Gi"), claim("r6", "60Gi")])
    assert {name: each["labels"] for name, each in found.items()} == {
        name: {TYPE: name, "karpenter.sh/nodepool": "a"} for name in ("r5", "r6")
    }
    assert [each["zones"] for each in found.values()] == [["z"], ["z"]]
    (one,) = shapes([allowing("a", "r5", arch=["arm64"]), claim("r5", "30Gi")]).values()
    assert one["labels"]["kubernetes.io/arch"] == "arm64"


def test_a_type_of_a_node_pool_is_as_small_as_its_smallest_node() -> None:
    """And has the resources that all its nodes have."""
    large, small = typed("n1", "m5", "a"), typed("n2", "m5", "b", "14Gi", **{"karpenter.sh/nodepool": "p"})
    small["status"]["allocatable"] |= {"nvidia.com/gpu": "1"}
    found = shapes([large, small, allowing("a", "m5")])
    assert found["m5.a"]["allocatable"] == {"cpu": "3920m", "memory": "14Gi", "pods": "58"}


@pytest.mark.parametrize("shown", [claim("r5"), claim("", "30Gi")], ids=["no amounts", "no type"])
def test_a_node_claim_that_does_not_show_how_large_a_type_is(shown: dict[str, Any]) -> None:
    found = load([typed("n1", "m5", "a"), allowing("a", "r5"), shown]).size_catalog()
    assert [each["name"] for each in found.document["shapes"]] == ["m5"]
    assert found.warnings[0].startswith("NodePool a allows r5: no node and no NodeClaim of the input shows")


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


MEDIUM = InstanceType("m", {"cpu": "2", "memory": "4Gi", "pods": "9", "example.com/gpu": "0"}, [])
POOL_A = NodePool(ObjectMeta(name="a"))
POOL_B = NodePool(ObjectMeta(name="b"))


def sold(pool: NodePool, zone: str, price: float | None, capacity_type: str = "on-demand") -> Offer:
    return Offer(pool, MEDIUM, Offering(zone, capacity_type, price), {TYPE: "m"})


@pytest.mark.parametrize(
    ("offers", "expected"),
    [
        pytest.param([sold(POOL_A, "z", 0.5)], [("m", "z", "0.5", False)], id="one"),
        pytest.param([sold(POOL_A, "z", None), sold(POOL_A, "y", 2)], [("m", "y", "2", False)], id="no price"),
        pytest.param(
            [sold(POOL_A, "z", 2), sold(POOL_A, "y", 3)], [("m", "z", "2", False), ("m", "y", "3", False)], id="zones"
        ),
        pytest.param(
            [sold(POOL_A, "z", 2), sold(POOL_B, "z", 2)], [("m", "z", "2", False), ("m.b", "z", "2", False)], id="pools"
        ),
        pytest.param(
            [sold(POOL_A, "z", 2), sold(POOL_A, "z", 1, "spot")],
            [("m", "z", "2", False), ("m.a", "z", "1", True)],
            id="spot",
        ),
        pytest.param(
            [sold(POOL_A, "z", 2), sold(POOL_B, "z", 2), sold(POOL_B, "z", 1, "spot")],
            [("m", "z", "2", False), ("m.b", "z", "2", False), ("m.b.spot", "z", "1", True)],
            id="spot of the second pool",
        ),
    ],
)
def test_each_offer_of_a_node_pool_is_a_shape_with_a_name_of_its_own(
    offers: list[Offer], expected: list[tuple[str, str, str, bool]]
) -> None:
    source: Any = SimpleNamespace(loaded=None, autoscaler=SimpleNamespace(offers=lambda loaded: offers))
    found = shapes_of_pools(source)
    assert found is not None
    assert [(each.name, each.zone, str(each.price), each.spot) for each in found.shapes] == expected
    assert [each.labels[CAPACITY_TYPE] for each in found.shapes] == [
        "spot" if spot else "on-demand" for *_, spot in expected
    ]
    # An amount of nothing is left out.
    assert found.shapes[0].allocatable == {"cpu": "2", "memory": "4Gi", "pods": "9"}
    assert shapes_of_pools(SimpleNamespace(autoscaler=None)) is None  # type: ignore[arg-type]
