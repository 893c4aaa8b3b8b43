"""What a cluster with Karpenter prints, and which mistakes of NodePools and instance types are refused."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.autoscale.autoscaler import _options
from ksched_cli.cli.main import run
from ksched_cli.simulator import RunOptions, Simulator
from tests.autoscale.karpenter.test_recordings import differences, recorded
from tests.builders import make_object
from tests.builders import write_list as write
from tests.cli.karpenter import KARPENTER_DEMO, TYPE, document_of, managed, node_pool, pending, requesting, running_on
from tests.cli.transcripts import DEMO, ROOT, same_as_golden
from tests.running import Ksched, prepare


def simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str, items: Any = ()) -> tuple[int, Any]:
    cluster = write(tmp_path / "cluster.json", *(items or (node_pool(), pending())))
    code = run(["simulate", "--from", cluster, "-o", "json", *arguments])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


@pytest.mark.parametrize("columns", [80, 140])
def test_transcript_of_the_demo(columns: int, ksched: Ksched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    same_as_golden(f"demo-autoscaled-{columns}", ksched("demo", "--autoscaled", code=0).out, columns=columns)


@pytest.mark.parametrize("name", ["mixed-2402", "existing-1402", "minvalues-1208", "reserved-2304", "unplaceable-2220"])
def test_simulate_decides_as_karpenter(name: str, tmp_path: Path) -> None:
    case = next(case for case in recorded()[name.rpartition("-")[0]] if case["name"] == name)
    cluster, types = tmp_path / "cluster.json", tmp_path / "types.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": case["items"]}))
    types.write_text(json.dumps({"instanceTypes": case["instanceTypes"]}))
    flags = {"preferencePolicy": "preference-policy", "minValuesPolicy": "min-values-policy"}
    given = tuple(f"{flags[key]}={value}" for key, value in case["settings"].items())
    options = RunOptions([str(cluster)], autoscaler="auto", instance_types=str(types), autoscaler_flags=given)
    found = prepare(options).simulate()
    assert found.autoscaling is not None
    assert list(differences(case["expected"], found.autoscaling.document())) == []


def test_a_pod_on_a_new_node_is_no_failure_unless_it_is_asked_to_be(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = simulated(tmp_path, capsys, "--instance-types", catalog)
    assert (code, document["pods"][0]["result"]) == (0, "unschedulable")
    assert document["autoscaling"]["newNodes"][0]["cheapest"]["price"] == 0.1
    assert "notRead" not in document["coverage"]
    assert simulated(tmp_path, capsys, "--instance-types", catalog, "--fail-on", "new-node")[0] == 1


def test_pods_of_manifests_get_new_nodes_too(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    pod = pending("api")
    del pod["status"]
    manifest = write(tmp_path / "manifest.json", pod)
    arguments = ("--instance-types", catalog, "-f", manifest)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    code, document = simulated(tmp_path, capsys, *arguments, items=(node_pool(), namespace))
    assert (code, document["autoscaling"]["newNodes"][0]["pods"]) == (0, ["shop/api"])


@pytest.mark.slow
def test_check_is_green_where_a_new_node_takes_the_pods(
    tmp_path: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    template = {
        "metadata": {"labels": {"app": "api"}},
        "spec": {"containers": [{"name": "api", "image": "api:1", "resources": {"requests": {"cpu": "1"}}}]},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "api"}}, "template": template}
    workload = make_object("Deployment", "api", spec, namespace="shop")
    monkeypatch.chdir(tmp_path)
    write(Path("api.json"), workload)
    arguments = ["check", "-f", "api.json", "--from", KARPENTER_DEMO]
    same_as_golden("check-autoscaled-80", ksched(*arguments, code=0).out)
    assert run([*arguments, "--fail-on", "new-node"]) == 1
    ksched(*arguments, "--autoscaler", "none", code=1)
    document = json.loads(ksched(*arguments, "-o", "json", code=0).out)
    assert len(document["autoscaling"]["newNodes"]) == 4
    assert [each["message"] for each in document["autoscaling"]["unplaced"]] != []


@pytest.mark.slow
def test_explain_has_the_reason_of_each_node_pool(ksched: Ksched) -> None:
    arguments = ["explain", "--from", KARPENTER_DEMO, "-o", "json", "--no-fixes"]
    found = json.loads(ksched(*arguments, "shop/legacy-9a7c-hhhhh", code=1).out)["autoscaling"]
    assert found["newNodes"] == []
    assert found["unplaced"][0]["codes"] == {"general": "limit", "gpu": "taint"}
    found = json.loads(ksched(*arguments, "shop/train-6f4d-ggggg", code=0).out)["autoscaling"]
    assert [each["cheapest"]["instanceType"] for each in found["newNodes"]] == ["g4dn.xlarge"]
    assert run([*arguments, "shop/train-6f4d-ggggg", "--autoscaler", "none"]) == 1


def test_drain_moves_pods_to_new_nodes(tmp_path: Path, catalog: str, ksched: Ksched) -> None:
    resources = {"cpu": "4", "memory": "16Gi", "pods": "50"}
    ready = {"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "old", "uid": "old"}, "status": ready}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": pending()["spec"]["containers"]}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "rs"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    running = pending(nodeName="old")
    running["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [owner]}
    running["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    cluster = write(tmp_path / "cluster.json", node_pool(), node, replica_set, running)
    arguments = ["drain", "old", "--from", cluster, "--instance-types", catalog, "-o", "json"]
    document = json.loads(ksched(*arguments, code=0).out)
    new = document["autoscaling"]["newNodes"]
    assert [each["name"] for each in new] == ["general-1"]
    assert [each["node"] for each in document["final"] if each["pod"] in new[0]["pods"]] == ["general-1"]
    assert run([*arguments, "--autoscaler", "none"]) == 1


def test_with_settle_new_nodes_join_the_world(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    pods = [pending(f"web-{number}") for number in range(5)]
    pool = node_pool(limits={"cpu": "4"}, template=None)
    pool["spec"]["template"] = node_pool()["spec"]["template"]
    arguments = ("--settle", "--instance-types", catalog, "--node-startup", "90s", "--max-time", "20m")
    code, document = simulated(tmp_path, capsys, *arguments, items=(pool, *pods))
    # The first node takes three or four pods and the whole limit; what is left stays pending.
    nodes = [each["name"] for each in document["autoscaling"]["newNodes"]]
    assert (code, nodes) == (1, ["general-1"])
    places = {each["pod"]: each.get("node", "") for each in document["final"]}
    assert sorted(places.values()) == ["", "general-1", "general-1", "general-1", "general-1"]
    bound = [each["time"] for each in document["timeline"] if each.get("node") == "general-1"]
    assert min(bound) == 91.0
    created = [(each["time"], each["message"]) for each in document["timeline"] if each["event"] == "NodeClaimCreated"]
    assert created == [(1.0, "general-1: small of NodePool general for 4 pods")]
    unplaced = document["autoscaling"]["unplaced"]
    assert [each["message"] for each in unplaced] == [
        "all available instance types exceed limits for nodepool (NodePool=general)"
    ]


def test_a_later_pass_counts_on_nodes_that_start(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two pods of which kube-scheduler sees the second later: the node that is starting is for both."""
    first, second = pending("first"), pending("second")
    manifest = write(tmp_path / "second.json", {**second, "status": {}})
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    arguments = ("--settle", "--instance-types", catalog, "-f", manifest)
    code, document = simulated(tmp_path, capsys, *arguments, items=(node_pool(), namespace, first))
    assert code == 0
    assert [each["pods"] for each in document["autoscaling"]["newNodes"]] == [["shop/first", "shop/second"]]


def test_without_an_autoscaler_nothing_is_added(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--instance-types", catalog, "--autoscaler", "none", "--add-node", "cpu=500m")
    code, document = simulated(tmp_path, capsys, *arguments)
    assert code == 1
    assert "autoscaling" not in document
    assert document["coverage"]["notRead"] == {"karpenter.sh/v1/NodePool": 1}


def test_diff_shows_the_nodes_of_both_sides(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = write(tmp_path / "cluster.json", node_pool(), *managed(), *running_on("old"), pending("waits"))
    arguments = ("diff", "--from", cluster, "--instance-types", catalog, "--remove-node", "old")
    found = document_of(capsys, *arguments)
    assert [each["name"] for each in found["autoscaling"]["newNodes"]] == ["general-1"]
    assert found["autoscalingBefore"]["newNodes"] == []
    assert found["pods"][0]["after"]["node"] == "general-1"
    found = document_of(capsys, *arguments, "--autoscaler", "none", code=1)
    assert "autoscaling" not in found


def test_a_claim_goes_with_its_node(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim without a node is a node that starts: pods would wait for a node that is gone."""
    cluster = write(tmp_path / "cluster.json", node_pool(), *managed(), *running_on("old"))
    arguments = ("simulate", "--settle", "--from", cluster, "--instance-types", catalog, "--remove-node", "old")
    found = document_of(capsys, *arguments)
    assert [each["name"] for each in found["autoscaling"]["newNodes"]] == ["general-1"]


@pytest.mark.parametrize(("autoscaler", "result"), [("auto", "safe"), ("none", "no place")])
def test_sweep_adds_nodes_in_each_variant(
    autoscaler: str, result: str, tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [*managed("one"), *managed("two")]
    cluster = write(tmp_path / "cluster.json", node_pool(), *nodes, *running_on("one", replicas=2, cpu="3"))
    arguments = ("sweep", "--fail", "node:one", "--from", cluster, "--autoscaler", autoscaler)
    code = 0 if result == "safe" else 1
    found = document_of(capsys, *arguments, "--instance-types", catalog, code=code)
    assert found["result"] == result
    # The pods of the failed node are on node two and on a new node.
    assert found["figures"]["nodes"]["most"] == (2 if result == "safe" else 1)


@pytest.mark.slow
def test_capacity_counts_until_the_limit(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    pool = node_pool(limits={"cpu": "12"}, template=node_pool()["spec"]["template"])
    cluster = write(tmp_path / "cluster.json", pool, *managed(), *running_on("old"))
    manifest = write(tmp_path / "api.json", {**pending("api"), "status": {}})
    arguments = ("capacity", "--from", cluster, "--instance-types", catalog, "-f", manifest)
    (found,) = document_of(capsys, *arguments)["capacities"]
    # Three on the node that is there, and four on each of two new nodes: 12 cores are the limit.
    assert (found["sets"], len(found["autoscaling"]["newNodes"])) == (11, 2)
    assert [each["codes"] for each in found["autoscaling"]["unplaced"]] == [{"general": "limit"}]
    (found,) = document_of(capsys, *arguments, "--max", "5")["capacities"]
    assert (found["sets"], found["end"]["by"], len(found["autoscaling"]["newNodes"])) == (5, "max", 1)
    (found,) = document_of(capsys, *arguments, "--autoscaler", "none")["capacities"]
    assert (found["sets"], found.get("autoscaling")) == (3, None)
    (found,) = document_of(capsys, *arguments, "--mix", "api=2", "--max", "40")["capacities"]
    assert (found["sets"], found["shapes"][0]["fits"]) == (5, 11)


def test_capacity_of_a_cluster_without_any_node(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pods of DaemonSets take their share of the new nodes, and pending pods come first."""
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop", "uid": "ds"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": pending()["spec"]},
        },
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    pool = node_pool(limits={"cpu": "8"}, template=node_pool()["spec"]["template"])
    cluster = write(tmp_path / "cluster.json", namespace, pool, agent, pending("waits"))
    manifest = write(tmp_path / "api.json", {**pending("api"), "status": {}})
    arguments = ("capacity", "--from", cluster, "--instance-types", catalog, "-f", manifest)
    (found,) = document_of(capsys, *arguments, "--max", "40")["capacities"]
    assert (found["sets"], len(found["autoscaling"]["newNodes"])) == (5, 2)
    assert found["pending"] == {"placed": 1, "unplaced": 0, "heldBack": 0, "preempting": 0}


def test_a_scenario_has_the_nodes_of_all_steps(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = write(tmp_path / "cluster.json", node_pool(), *managed(), *running_on("old"))
    steps = [
        {"name": "grow", "scale": "replicaset/shop/web=5", "expect": {"schedulable": True}},
        {"name": "grow again", "scale": "replicaset/shop/web=9", "expect": {"schedulable": True}},
    ]
    scenario = tmp_path / "grow.yaml"
    scenario.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "steps": steps}))
    arguments = ("simulate", "--from", cluster, "--instance-types", catalog, "--scenario", str(scenario))
    found = document_of(capsys, *arguments)
    assert [each["name"] for each in found["autoscaling"]["newNodes"]] == ["general-1", "general-2"]
    assert found["held"]
    found = document_of(capsys, *arguments, "--autoscaler", "none", code=4)
    assert "autoscaling" not in found


def test_size_and_consolidate_take_shapes_from_the_node_pools(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = write(tmp_path / "cluster.json", node_pool(), *managed(), *running_on("old"), *map(pending, "abcdef"))
    arguments = ("--from", cluster, "--instance-types", catalog)
    # An offering without a price is no shape.
    offerings = [{"zone": "a", "capacityType": "spot"}, *TYPE["offerings"]]
    Path(catalog).write_text(json.dumps({"instanceTypes": [{**TYPE, "offerings": offerings}]}))
    found = document_of(capsys, "size", *arguments)
    assert [(each["shape"], each["count"], each["cost"]) for each in found["nodes"]] == [("small", 1, "0.1")]
    found = document_of(capsys, "consolidate", *arguments)
    assert (found["costBefore"], found["unit"]) == ("0.1", "$/h")
    assert run(["size", "--autoscaler", "none", *arguments]) == 2
    assert "--catalog FILE" in capsys.readouterr().err


def test_the_python_interface_has_the_autoscaler(tmp_path: Path, catalog: str) -> None:
    cluster = write(tmp_path / "cluster.json", node_pool(), *managed(cpu="500m"), pending())
    found = Simulator.load(cluster, instance_types=catalog).simulate()
    assert found.autoscaling is not None
    assert found.autoscaling.placed == {"shop/web"}
    assert Simulator.load(cluster, instance_types=catalog, autoscaler="none").simulate().autoscaling is None


def karpenter_deployment(*args: str, **env: str) -> dict[str, Any]:
    variables = [{"name": name, "value": value} for name, value in env.items()]
    container = {"name": "controller", "image": "karpenter/controller:1.13.0", "args": list(args), "env": variables}
    labels = {"app.kubernetes.io/name": "karpenter"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "karpenter", "namespace": "kube-system", "uid": "karpenter", "labels": labels},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }


IN_TWO_TYPES = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2}


@pytest.mark.parametrize(
    ("deployment", "arguments", "added", "note"),
    [
        pytest.param(karpenter_deployment(), (), 0, "", id="the defaults"),
        pytest.param(karpenter_deployment(MIN_VALUES_POLICY="BestEffort"), (), 1, "min-values-policy=BestEffort", id="env"),
        pytest.param(karpenter_deployment("--min-values-policy=BestEffort"), (), 1, "BestEffort", id="argument"),
        pytest.param(karpenter_deployment("--min-values-policy", "BestEffort"), (), 1, "BestEffort", id="two words"),
        pytest.param(karpenter_deployment("--min-values-policy=Strict", MIN_VALUES_POLICY="BestEffort"), (), 0, "",
                     id="an argument wins over the environment"),
        pytest.param(karpenter_deployment(MIN_VALUES_POLICY="BestEffort"), ("--autoscaler-flag", "min-values-policy=Strict"),
                     0, "", id="the command line wins"),
        pytest.param(karpenter_deployment(MIN_VALUES_POLICY="Later"), (), 0, "min-values-policy=Later, which is not modelled",
                     id="unknown value"),
        pytest.param(karpenter_deployment(FEATURE_GATES="NodeOverlay=true,ReservedCapacity=true"), (), 0,
                     "feature gate NodeOverlay is on", id="a gate that is not modelled"),
        pytest.param(karpenter_deployment(FEATURE_GATES="NodeRepair=false, NodeOverlay = T"), (), 0,
                     "feature gate NodeOverlay is on", id="spaces, and true in one letter"),
        pytest.param(karpenter_deployment(FEATURE_GATES="NodeOverlay=on"), (), 0,
                     "feature-gates=NodeOverlay=on, which is not modelled", id="a gate that is no boolean"),
        pytest.param(karpenter_deployment(FEATURE_GATES="NodeOverlay=on", MIN_VALUES_POLICY="BestEffort"), (), 1,
                     "feature-gates=NodeOverlay=on, which is not modelled", id="a value that is modelled after another"),
    ],
)  # fmt: skip
def test_flags_come_from_the_deployment(
    deployment: Any, arguments: tuple[str, ...], added: int, note: str, tmp_path: Path, catalog: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    items = (node_pool(IN_TWO_TYPES), *managed(cpu="500m")[:1], deployment, pending())
    cluster = write(tmp_path / "cluster.json", *items)
    snapshot = str(tmp_path / "cluster.ksched.gz")
    assert run(["snapshot", "--from", cluster, "-o", snapshot]) == 0
    capsys.readouterr()
    for source in (cluster, snapshot):
        arguments_of = ("simulate", "--exit-zero", "--from", source, "--instance-types", catalog, *arguments)
        found = document_of(capsys, *arguments_of)
        assert len(found["autoscaling"]["newNodes"]) == added
        assert note in " ".join(found["coverage"].get("autoscalerAssumed", []))


@pytest.mark.parametrize(
    ("gates", "reserved"),
    [
        ("ReservedCapacity=false", False),
        ("NodeRepair=true, ReservedCapacity=0", False),
        ("ReservedCapacity=TRUE", True),
        ("NodeRepair=false,", True),
    ],
)
def test_the_gate_of_reserved_capacity(gates: str, reserved: bool) -> None:
    # The flag of device requests has one value that is accepted, and decides nothing.
    assert _options([f"feature-gates={gates}", "ignore-dra-requests=true"]).reserved_capacity is reserved


@pytest.mark.slow
def test_a_snapshot_keeps_the_objects_of_karpenter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump, snapshot, redacted = str(ROOT / "fixtures/clusters/karpenter-eks.yaml"), "all.ksched.gz", "share.ksched.gz"
    snapshot, redacted = str(tmp_path / snapshot), str(tmp_path / redacted)
    assert run(["snapshot", "--from", dump, "-o", snapshot]) == 0
    documents = []
    for source in (dump, snapshot):
        capsys.readouterr()
        document = document_of(capsys, "simulate", "--exit-zero", "--from", source)
        del document["stats"], document["run"]
        documents.append(document)
    assert documents[0] == documents[1]
    assert len(documents[0]["autoscaling"]["newNodes"]) > 1
    text = gzip.decompress(Path(snapshot).read_bytes()).decode()
    assert "karpenter-shop" not in text  # the role of the NodeClass, which nothing reads
    # Zones and instance types would have pseudonyms: Karpenter's objects are left out, and counted.
    assert run(["snapshot", "--redact", "--from", dump, "-o", redacted]) == 0
    assert "NodeClaim, NodePool are left out" in " ".join(capsys.readouterr().err.split())
    document = document_of(capsys, "simulate", "--exit-zero", "--from", redacted)
    assert sum(document["coverage"]["notRead"].values()) == 5
    assert "autoscaling" not in document


def test_a_finding_of_check_has_the_reasons_of_the_node_pools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = {"metadata": {"labels": {"app": "infer"}}, "spec": {"nodeSelector": {"team": "ml"}, **requesting("1")}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "infer"}}, "template": template}
    manifest = write(tmp_path / "infer.json", make_object("Deployment", "infer", spec, namespace="shop"))
    found = document_of(capsys, "check", "-f", manifest, "--from", KARPENTER_DEMO, code=1)
    (finding,) = found["findings"]
    reasons = "NodePool general: the NodePool does not define a label that the pod requires; "
    reasons += "NodePool gpu: the pod does not tolerate a taint of the NodePool."
    assert finding["message"].endswith(f" Karpenter adds no node: {reasons}")
    found = document_of(capsys, "check", "-f", manifest, "--from", KARPENTER_DEMO, "--autoscaler", "none", code=1)
    assert "Karpenter" not in found["findings"][0]["message"]


def test_drain_of_each_node_has_the_new_nodes_of_each(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [*managed("one"), *managed("two")]
    cluster = write(tmp_path / "cluster.json", node_pool(), *nodes, *running_on("one", replicas=2, cpu="3"))
    arguments = ("drain", "--each", "node", "--from", cluster, "--instance-types", catalog)
    found = document_of(capsys, *arguments)
    assert [len(each["autoscaling"]["newNodes"]) for each in found["trials"]] == [1, 0]
    run(list(arguments))
    assert "NEW NODES" in capsys.readouterr().out
    found = document_of(capsys, *arguments, "--autoscaler", "none", code=1)
    assert "autoscaling" not in found["trials"][0]


def test_a_node_pool_that_leaves_no_instance_type_is_named(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = node_pool({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["elsewhere"]})
    code, document = simulated(tmp_path, capsys, "--instance-types", catalog, items=(pool, pending()))
    assert code == 1
    (unplaced,) = document["autoscaling"]["unplaced"]
    assert unplaced["message"] == "nodepool requirements filtered out all available instance types"
    cluster = write(tmp_path / "cluster.json", pool, pending())
    assert run(["simulate", "--from", cluster, "--instance-types", catalog]) == 1
    assert "NodePool general has no instance type that meets its requirements" in capsys.readouterr().out


@pytest.mark.slow
def test_a_node_class_that_is_not_in_the_dump_is_in_coverage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]}
    code, document = simulated(tmp_path, capsys, items=(node_pool(zone), pending()))
    assert code == 0
    assumed = document["coverage"]["autoscalerAssumed"]
    assert "EC2NodeClass default is not in the input: its defaults are assumed" in assumed


@pytest.mark.slow
def test_a_catalog_of_5000_types(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    types = [
        {
            **TYPE,
            "name": f"type-{number}",
            "capacity": {"cpu": str(4 + number % 60), "memory": f"{8 + number % 500}Gi", "pods": "100"},
            "offerings": [
                {"zone": zone, "capacityType": kind, "price": 0.1 + number / 1000}
                for zone in "abc"
                for kind in ("spot", "on-demand")
            ],
            "requirements": {"node.kubernetes.io/instance-type": [f"type-{number}"]},
        }
        for number in range(5000)
    ]
    Path(catalog).write_text(json.dumps({"instanceTypes": types}))
    pods = [pending(f"web-{number}") for number in range(200)]
    started = time.process_time()
    code, document = simulated(tmp_path, capsys, "--instance-types", catalog, items=(node_pool(), *pods))
    assert time.process_time() - started < 20
    assert code == 0
    # Karpenter sends 600 types at most.
    assert max(len(each["instanceTypes"]) for each in document["autoscaling"]["newNodes"]) <= 600


BAD = [
    ((node_pool({"key": "a", "operator": "Near"}), pending()), {}, (), "unsupported operator Near"),
    ((node_pool({"key": "a", "operator": "Gt", "values": ["x"]}), pending()), {}, (), "a single positive integer"),
    ((node_pool(weight="heavy"), pending()), {}, (), "weight"),
    ((pending(),), {}, ("--autoscaler", "karpenter"), "the input has no NodePool"),
    ((), {"instanceTypes": []}, (), "the list is empty"),
    ((), {"instanceTypes": [TYPE, TYPE]}, (), "there are 2 types 'small'"),
    ((), {"instanceTypes": [{**TYPE, "capacity": {"cpu": "four"}}]}, (), "'four' is not a quantity"),
    ((), {"instanceTypes": [{**TYPE, "size": 4}]}, (), "size"),
    ((), {}, ("--autoscaler-flag", "preference-policy=Sometimes"), "expected preference-policy=Respect|Ignore"),
    ((), {}, ("--autoscaler-flag", "colour=blue"), "Karpenter has no flag colour"),
    ((), {}, ("--autoscaler-flag", "feature-gates=ReservedCapacity=no"), "expected feature-gates=NAME=true|false"),
    ((), {}, ("--autoscaler-flag", "feature-gates=A=true=B"), "feature-gates=A=true=B: expected"),
    ((), {}, ("--autoscaler-flag", "feature-gates=A"), "feature-gates=A: expected"),
    ((), {}, ("--autoscaler-flag", "ignore-dra-requests=false"), "Karpenter's allocation of devices is not modelled"),
]


@pytest.mark.parametrize(("items", "types", "arguments", "words"), BAD, ids=[each[3] for each in BAD])
def test_mistakes_are_refused(
    items: Any, types: Any, arguments: tuple[str, ...], words: str, tmp_path: Path, catalog: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if types:
        Path(catalog).write_text(json.dumps(types))
    code, error = simulated(tmp_path, capsys, "--instance-types", catalog, *arguments, items=items)
    assert code == 2
    assert words in error


@pytest.mark.parametrize("name", ["cluster.yaml", "cluster.json"])
def test_a_mistake_of_a_node_pool_has_its_file_and_line(
    name: str, tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pools = [node_pool({"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Near"}), pending()]
    file = tmp_path / name
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pools}, indent=1)
    file.write_text(text)
    line = text[: text.index('"key": "b"')].count("\n")
    assert run(["simulate", "--from", str(file), "--instance-types", catalog, "--autoscaler", "karpenter"]) == 2
    error = capsys.readouterr().err
    assert f"{file}:{line}: NodePool" in error
    assert "spec.template.spec.requirements[1]: key b has an unsupported operator Near" in error


def test_prices_decide_which_type_is_the_cheapest(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    large = json.loads(json.dumps(TYPE).replace("small", "large"))
    Path(catalog).write_text(
        json.dumps({"instanceTypes": [TYPE, {**large, "capacity": {**TYPE["capacity"], "cpu": "8"}}]})
    )
    prices = tmp_path / "prices.yaml"
    prices.write_text("small: {on-demand: 0.3}\nlarge: {on-demand: {a: 0, b: 0.1}}\n")
    arguments = ("--instance-types", catalog, "--prices", str(prices))
    _, document = simulated(tmp_path, capsys, *arguments)
    cheapest = document["autoscaling"]["newNodes"][0]["cheapest"]
    assert (cheapest["instanceType"], cheapest["price"]) == ("large", 0)


def test_prices_win_over_the_built_in_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]}
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m6i.4xlarge": {"on-demand": 0.001, "spot": {"us-east-1a": 0.0005}}}))
    items = (node_pool(zone), pending())
    _, document = simulated(tmp_path, capsys, "--prices", str(prices), items=items)
    cheapest = document["autoscaling"]["newNodes"][0]["cheapest"]
    assert (cheapest["instanceType"], cheapest["price"]) == ("m6i.4xlarge", 0.0005)
    assumed = " ".join(document["coverage"]["autoscalerAssumed"])
    assert "prices of 1 instance types: " in assumed
    assert "no spot prices" not in assumed
    prices.write_text(json.dumps({"m6i.vast": {"spot": 1}, "m0.large": {"spot": 1}}))
    code, error = simulated(tmp_path, capsys, "--prices", str(prices), items=items)
    assert code == 2
    assert "unknown instance types: m0.large, m6i.vast (not in the built-in types of EC2)" in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("small: {on-demand: -1}", "prices.yaml:1: small.on-demand: expected a price in dollars an hour"),
        ("small:\n  spot: cheap", "prices.yaml:2: small.spot: expected a price in dollars an hour"),
        ("small: {spot: {a: true}}", "small.spot.a: expected a price in dollars an hour, a number of 0 or more"),
        ("small: {spot: {}}", "small.spot: expected a price in dollars an hour"),
        ("small: {reserved: 1}", "small.reserved: unknown capacity type; expected on-demand or spot"),
        ("small: 0.1\nother: 0.2", "small: expected prices by capacity type"),
        ("small: 0.1\nother: 0.2", "other: expected prices by capacity type"),
        ("small: {spot: -1, other: 1}", "small.other: unknown capacity type"),
        ("- small", "expected one object of prices by instance type"),
        ("", "expected one object of prices by instance type"),
        ("large: {spot: 1}\nvast: {spot: 1}", "unknown instance types: large, vast (not in "),
    ],
)  # fmt: skip
def test_mistakes_of_prices_are_refused(
    text: str, words: str, tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(text)
    arguments = ("--instance-types", catalog, "--prices")
    code, error = simulated(tmp_path, capsys, *arguments, str(prices))
    assert code == 2
    assert words in " ".join(error.split())
    code, error = simulated(tmp_path, capsys, *arguments, str(tmp_path / "none.yaml"))
    assert (code, "cannot be read" in error) == (2, True)


def test_a_pod_stays_off_the_new_node_of_a_pod_that_refuses_it(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "b"}}, "topologyKey": "kubernetes.io/hostname"}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = [pending("a", affinity=alone), pending("b"), pending("c")]
    pods[1]["metadata"]["labels"] = {"app": "b"}
    _, document = simulated(tmp_path, capsys, "--instance-types", catalog, items=(node_pool(), *pods))
    nodes = [each["pods"] for each in document["autoscaling"]["newNodes"]]
    assert sorted(nodes, key=len) == [["shop/b"], ["shop/a", "shop/c"]]


def test_a_volume_of_a_zone_that_the_node_pool_excludes(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    zone = "topology.kubernetes.io/zone"
    terms = [{"matchExpressions": [{"key": zone, "operator": "In", "values": ["b"]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "claimRef": {"namespace": "shop", "name": "c"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "csi": {"driver": "d", "volumeHandle": "h"},
        },
    }
    claim = make_object(
        "PersistentVolumeClaim",
        "c",
        {"volumeName": "v", "storageClassName": ""},
        namespace="shop",
        annotations={"pv.kubernetes.io/bind-completed": "yes"},
        status={"phase": "Bound"},
    )
    pod = pending(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}])
    pool = node_pool({"key": zone, "operator": "In", "values": ["a"]})
    _, document = simulated(tmp_path, capsys, "--instance-types", catalog, items=(pool, pod, volume, claim))
    (unplaced,) = document["autoscaling"]["unplaced"]
    problem = f"incompatible volume requirements, key {zone}, {zone} In [b] not in {zone} In [a]"
    assert unplaced["message"] == problem


def test_what_is_not_known_is_in_coverage(tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    without_price = {**TYPE, "offerings": [{"zone": "a", "capacityType": "spot"}]}
    Path(catalog).write_text(json.dumps({"instanceTypes": [without_price]}))
    _, document = simulated(tmp_path, capsys, "--instance-types", catalog)
    assert document["coverage"]["autoscalerAssumed"] == [
        "1 offerings of instance types have no price: they are never the cheapest"
    ]
    assert document["autoscaling"]["newNodes"][0]["cheapest"]["price"] is None
    text = "node affinity of PersistentVolumes without a claimRef (Karpenter): v0, v1, v2"
    for count, more in ((3, ""), (4, " and 1 more")):
        volumes = [
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{at}"}} for at in range(count)
        ]
        items = (node_pool(), pending(), *volumes)
        _, document = simulated(tmp_path, capsys, "--instance-types", catalog, items=items)
        assert text + more in document["coverage"]["autoscalerAssumed"]
    _, document = simulated(tmp_path, capsys)
    assert "give --instance-types FILE" in document["coverage"]["admissionNotModelled"][0]


def test_a_node_pool_without_a_status_is_taken_for_ready(
    tmp_path: Path, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = {**node_pool(), "apiVersion": "karpenter.sh/v1beta1"}
    del pool["status"]
    reference = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"}
    pool["spec"]["template"]["spec"]["nodeClassRef"] = reference
    code, document = simulated(tmp_path, capsys, "--instance-types", catalog, items=(pool, pending()))
    assert code == 0
    labels = document["autoscaling"]["newNodes"][0]["requirements"]
    assert labels["karpenter.k8s.aws/ec2nodeclass"] == [{"operator": "In", "values": ["default"]}]
    assert "NodePool general has no conditions" in document["coverage"]["autoscalerAssumed"][0]


KIND = "fixtures/clusters/kind.yaml"


WITHOUT_NODE_POOLS = [
    f"simulate --from {DEMO}",
    f"simulate --settle --from {KIND}",
    f"explain --from {KIND}",
    f"check -f fixtures/manifests/autoscaled.yaml --from {KIND}",
    f"drain kind-worker --from {KIND}",
    f"diff --cordon kind-worker --from {KIND}",
    f"capacity -f fixtures/manifests/autoscaled.yaml --from {KIND}",
    f"consolidate --from {KIND}",
    f"sweep --fail node --from {KIND}",
]
# One process runs all commands: a module that the first imports is there after the others, too.
RUN_ALL = """
import contextlib, io, json, sys
from ksched_cli.cli.main import run
found = []
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()):
        code = run([*command.split(), "-o", "json"])
    found.append((code, [name for name in sys.modules if "autoscale." in name]))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, tuple[int, list[str]]]:
    """The exit code of each command, and the modules of autoscalers after it."""
    command = [sys.executable, "-c", RUN_ALL, json.dumps(WITHOUT_NODE_POOLS)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return dict(zip(WITHOUT_NODE_POOLS, json.loads(done.stdout), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("command", WITHOUT_NODE_POOLS, ids=lambda command: " ".join(command.split()[:2]))
def test_a_cluster_without_node_pools_imports_no_autoscaler(
    command: str, imported: dict[str, tuple[int, list[str]]]
) -> None:
    code, modules = imported[command]
    assert code in (0, 1)
    assert modules == []
