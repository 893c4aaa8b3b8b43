"""Claims that are created in the run get their volumes as a provisioner makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, write_list
from tests.lanes import sampled
from tests.running import Ksched

ZONE = "topology.kubernetes.io/zone"
NODES = [make_node(name).label(**{ZONE: zone}).doc() for name, zone in (("a", "east"), ("b", "west"))]


def storage_class(mode: str = "Immediate", provisioner: str = "csi.example.com", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def claim_spec(storage: str = "10Gi") -> dict[str, Any]:
    return {
        "storageClassName": "fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage}},
    }


def stateful_set(replicas: int = 2, **spec: Any) -> dict[str, Any]:
    mounts = [{"name": "data", "mountPath": "/data"}]
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], **spec},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "template": template,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec()}],
        },
    }


def pool(name: str, zone: str, capacity: str, of_class: str = "fast", largest: str | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": of_class,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "capacity": capacity,
        "maximumVolumeSize": largest,
    }


DRIVER = make_object("CSIDriver", "csi.example.com", {"storageCapacity": True})


def check(tmp_path: Path, capsys: pytest.CaptureFixture[str], cluster: list[Any], *manifests: Any) -> dict[str, Any]:
    arguments = [
        "--from",
        write_list(tmp_path / "c.json", *NODES, *cluster),
        "-f",
        write_list(tmp_path / "m.json", *manifests),
    ]
    code = run(["check", *arguments, "-o", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {**document, "code": code}


def placed(document: dict[str, Any]) -> list[str]:
    return [pod.get("node", "") for pod in document["final"]]


AT_ONCE = "claims of StorageClass fast are provisioned at once: each gets a volume that "


def test_a_claim_that_binds_at_once_gets_a_volume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was an error: KS122, a volume claim is not bound yet."""
    found = check(tmp_path, capsys, [storage_class()], stateful_set())
    assert (found["code"], found["findings"]) == (0, [])
    assert [text for text in found["warnings"] if text.startswith(AT_ONCE)] == [f"{AT_ONCE}every node reaches"]


def test_the_topologies_of_the_class_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    west = [{"matchLabelExpressions": [{"key": ZONE, "values": ["west"]}]}]
    found = check(tmp_path, capsys, [storage_class(allowedTopologies=west)], stateful_set())
    assert (found["code"], placed(found)) == (0, ["b", "b"])
    assert f"{AT_ONCE}the nodes of the class's allowedTopologies reach" in found["warnings"]
    found = check(tmp_path, capsys, [storage_class(allowedTopologies=west)], stateful_set(nodeSelector={ZONE: "east"}))
    assert found["code"] == 1


@pytest.mark.parametrize("command", sampled(["simulate", "capacity"], 2))
def test_commands_without_a_world_provision_too(command: str, tmp_path: Path, ksched: Ksched) -> None:
    arguments = ["--from", write_list(tmp_path / "c.json", *NODES, storage_class())]
    claim = make_object("PersistentVolumeClaim", "shared", claim_spec(), namespace="default")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}]
    pod = make_object(
        "Pod", "p", {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}, namespace="default"
    )
    assert AT_ONCE in ksched(command, *arguments, "-f", write_list(tmp_path / "m.json", claim, pod), code=0).err
    ksched(command, *arguments, "-f", write_list(tmp_path / "m.json", stateful_set()), code=0)


def test_a_class_without_a_provisioner_binds_volumes_that_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = storage_class(provisioner="kubernetes.io/no-provisioner")
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["west"]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "20Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
        "status": {"phase": "Available"},
    }
    found = check(tmp_path, capsys, [local, volume], stateful_set(1))
    assert (found["code"], placed(found), found["warnings"]) == (0, ["b"], [])
    found = check(tmp_path, capsys, [local, volume], stateful_set(2))
    assert (found["code"], [each["code"] for each in found["findings"]]) == (1, ["KS122"])


def test_a_claim_that_waits_in_the_input_stays_unbound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its provisioner has had the time to make a volume, and has not."""
    waiting = make_object("PersistentVolumeClaim", "data-db-0", claim_spec(), namespace="default")
    found = check(tmp_path, capsys, [storage_class(), waiting], stateful_set(1))
    assert [each["code"] for each in found["findings"]] == ["KS122"]


@pytest.mark.parametrize(
    ("east", "west", "nodes", "codes"),
    [
        pytest.param("100Gi", "5Gi", ["a", "a", "a"], [], id="room in one zone"),
        pytest.param("20Gi", "5Gi", ["", "a", "a"], ["KS126"], id="two claims take all of the room"),
        pytest.param("25Gi", "15Gi", ["a", "a", "b"], [], id="the third claim goes to the other zone"),
        pytest.param("25Gi", "5Gi", ["", "a", "a"], ["KS126"], id="no room for the third claim"),
    ],
)
@pytest.mark.parametrize("largest", [None, "15Gi"])
def test_storage_pools_shrink(
    largest: str | None,
    east: str,
    west: str,
    nodes: list[str],
    codes: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All claims fitted into the same free space. One pool is of another class, no node reaches the next one, and the
    third is too small."""
    unread = {"matchExpressions": [{"key": ZONE, "operator": "Odd"}]}
    pools = [
        pool("a", "east", "100Gi", "slow"),
        {**pool("b", "", "100Gi"), "nodeTopology": unread},
        pool("c", "east", "9Gi"),
        pool("east", "east", east, largest=largest),
        pool("west", "west", west),
    ]
    cluster = [storage_class("WaitForFirstConsumer"), DRIVER, *pools]
    found = check(tmp_path, capsys, cluster, stateful_set(3))
    assert (sorted(placed(found)), [each["code"] for each in found["findings"]]) == (sorted(nodes), codes)
    assert found["code"] == int(bool(codes))
    assert any(text.startswith("volumes of StorageClass fast are provisioned from") for text in found["warnings"])


def test_storage_pools_shrink_from_cycle_to_cycle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --settle too: each claim fitted into the same free space."""
    cluster = [
        storage_class("WaitForFirstConsumer"),
        DRIVER,
        pool("east", "east", "25Gi"),
        pool("west", "west", "15Gi"),
    ]
    arguments = ["--from", write_list(tmp_path / "c.json", *NODES, *cluster)]
    items = [item for name in ("p1", "p2", "p3", "p4") for item in with_claim(name)]
    assert run(["simulate", *arguments, "-f", write_list(tmp_path / "m.json", *items), "-o", "name"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert sorted(row[1] for row in rows) == ["-", "node/a", "node/a", "node/b"]


def test_capacity_ends_with_the_storage_pools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each replica has a claim of its own: three fit into the pools, though the nodes have room for more."""
    cluster = [
        storage_class("WaitForFirstConsumer"),
        DRIVER,
        pool("east", "east", "25Gi"),
        pool("west", "west", "15Gi"),
    ]
    arguments = ["--from", write_list(tmp_path / "c.json", *NODES, *cluster)]
    run(["capacity", *arguments, "-f", write_list(tmp_path / "m.json", stateful_set(1)), "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["capacities"]
    assert found["shapes"][0]["fits"] == 3


def test_two_claims_of_one_pod_share_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = [storage_class("WaitForFirstConsumer"), DRIVER, pool("east", "east", "35Gi")]
    arguments = ["--from", write_list(tmp_path / "c.json", *NODES, *cluster)]
    items = [item for name in ("p1", "p2") for item in with_claim(name, ("data", "log"))]
    # The first pod takes 20Gi of 35Gi. kube-scheduler looks at each claim alone, and each still fits.
    assert run(["simulate", *arguments, "-f", write_list(tmp_path / "m.json", *items), "-o", "name"]) == 0
    items += with_claim("p3")
    capsys.readouterr()
    assert run(["simulate", *arguments, "-f", write_list(tmp_path / "m.json", *items), "-o", "name"]) == 1


def with_claim(name: str, volumes: tuple[str, ...] = ("data",)) -> list[dict[str, Any]]:
    """A pod, and a claim of its own for each volume."""
    claims = [
        make_object("PersistentVolumeClaim", f"{name}-{each}", claim_spec(), namespace="default") for each in volumes
    ]
    sources = [{"name": each, "persistentVolumeClaim": {"claimName": f"{name}-{each}"}} for each in volumes]
    pod = make_object(
        "Pod", name, {"containers": [{"name": "c", "image": "i"}], "volumes": sources}, namespace="default"
    )
    return [*claims, pod]


def csi_node(name: str, *keys: str, driver: str = "csi.example.com") -> dict[str, Any]:
    drivers = [{"name": driver, "nodeID": name, "topologyKeys": list(keys)}]
    return make_object("CSINode", name, {"drivers": drivers})


ANYWHERE = "volumes of StorageClass fast are provisioned for their first pod: every node reaches each of them"
STAYS = "volumes of StorageClass fast are provisioned for their first pod: each stays in the"


@pytest.mark.parametrize(
    ("provisioner", "more", "remark", "replaced_on"),
    [
        pytest.param("csi.example.com", [], "", "b", id="nothing is known of the driver"),
        pytest.param(
            "csi.example.com", [csi_node("a", ZONE), csi_node("b", ZONE)], ZONE, "", id="the driver's topology"
        ),
        pytest.param("csi.example.com", [csi_node("a"), csi_node("b")], "", "b", id="a driver without topology"),
        pytest.param("ebs.csi.aws.com", [], ZONE, "", id="a zonal driver without CSINode"),
        pytest.param("kubernetes.io/gce-pd", [], ZONE, "", id="an in-tree driver that is zonal"),
    ],
)
def test_a_volume_stays_where_its_first_pod_ran(
    provisioner: str, more: list[Any], remark: str, replaced_on: str, tmp_path: Path, ksched: Ksched
) -> None:
    """The driver publishes no capacity: the claim stayed unbound, and the replaced pod was free to go anywhere."""
    (tmp_path / "s.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Scenario\nmetadata: {name: zones}\nsteps:\n"
        "- name: place\n  apply: [m.json]\n- name: empty\n  drain: [a]\n"
    )
    write_list(tmp_path / "m.json", stateful_set(1))
    cluster = write_list(tmp_path / "c.json", *NODES, storage_class("WaitForFirstConsumer", provisioner), *more)
    shown = ksched("simulate", "--from", cluster, "--settle", "--scenario", str(tmp_path / "s.yaml"), "-o", "json")
    final = json.loads(shown.out)["final"]
    assert [pod.get("node", "") for pod in final if pod["state"] != "gone"] == [replaced_on]
    steps = json.loads(shown.out)["steps"]
    (said,) = [text for text in steps[0]["warnings"] if "volumes of StorageClass fast" in text]
    assert said == (f"{STAYS} {remark} of that pod's node" if remark else ANYWHERE)


def volume(name: str = "v", storage: str = "10Gi", **spec: Any) -> dict[str, Any]:
    own = {"capacity": {"storage": storage}, "accessModes": ["ReadWriteOnce"], "storageClassName": "manual"}
    body = {**own, "hostPath": {"path": "/mnt"}, **spec}
    kind = {"apiVersion": "v1", "kind": "PersistentVolume"}
    return {**kind, "metadata": {"name": name, "labels": {"type": "local"}}, "spec": body}


def claim(name: str = "c", storage: str = "3Gi", **spec: Any) -> dict[str, Any]:
    own = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual", **spec}
    body = {**own, "resources": {"requests": {"storage": storage}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": body}


def user(name: str = "p", of: str = "c") -> dict[str, Any]:
    spec = {
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": of}}],
        "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


LOCAL = {
    "hostPath": None,
    "local": {"path": "/mnt"},
    "nodeAffinity": {
        "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["west"]}]}]}
    },
}
LATER = {**storage_class("WaitForFirstConsumer", "kubernetes.io/no-provisioner"), "metadata": {"name": "manual"}}
MINE = {"namespace": "default", "name": "c"}
THEIRS = {"namespace": "default", "name": "other"}


@pytest.mark.parametrize(
    ("manifests", "nodes"),
    [
        pytest.param([volume(), claim(), user()], ["a"], id="a volume of the class"),
        pytest.param([claim(), user(), volume()], ["a"], id="the volume is written last"),
        pytest.param([volume(), claim(), user("p"), user("q")], ["a", "b"], id="two pods of one claim"),
        pytest.param([volume(), claim(), claim("d"), user(), user("q", "d")], ["a", ""], id="one volume, two claims"),
        pytest.param([volume(storage="2Gi"), claim(), user()], [""], id="too small"),
        pytest.param([volume(storageClassName="nfs"), claim(), user()], [""], id="another class"),
        pytest.param([volume(storageClassName=""), claim(storageClassName=""), user()], ["a"], id="no class at all"),
        pytest.param([volume(volumeMode="Block"), claim(), user()], [""], id="another volume mode"),
        pytest.param([volume(), claim(accessModes=["ReadWriteMany"]), user()], [""], id="another access mode"),
        pytest.param(
            [volume(), claim(selector={"matchLabels": {"type": "local"}}), user()], ["a"], id="its selector matches"
        ),
        pytest.param(
            [volume(), claim(selector={"matchLabels": {"type": "ssd"}}), user()], [""], id="its selector does not"
        ),
        pytest.param([volume(), claim(volumeName="v"), user()], ["a"], id="it names the volume"),
        pytest.param([claim(volumeName="v"), user(), volume()], ["a"], id="it names a volume that is written last"),
        pytest.param([volume(), claim(volumeName="w"), user()], [""], id="it names another volume"),
        pytest.param([volume(storage="1Gi"), claim(volumeName="v"), user()], [""], id="the named volume is too small"),
        pytest.param([volume(claimRef=MINE), claim(), user()], ["a"], id="the volume names it"),
        pytest.param([volume(claimRef=THEIRS), claim(), user()], [""], id="the volume names another claim"),
        pytest.param(
            [volume(claimRef=THEIRS), claim(volumeName="v"), user()], [""], id="the volume that it names names another"
        ),
        pytest.param([volume(**LOCAL), claim(), user()], ["b"], id="only one zone reaches it"),
        pytest.param([LATER, volume(**LOCAL), claim(), user()], ["b"], id="it waits for its first pod"),
        pytest.param([LATER, claim(), user(), volume(**LOCAL)], ["b"], id="it waits, the volume is written last"),
        pytest.param([LATER, claim(), user()], [""], id="it waits, there is no volume"),
        pytest.param([LATER, volume(claimRef=MINE), claim(), user()], ["a"], id="it would wait, the volume names it"),
    ],
)
def test_volumes_of_manifests_are_bound(
    manifests: list[Any], nodes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check(tmp_path, capsys, [], *manifests)
    assert placed(found) == nodes
    assert found["code"] == ("" in nodes)
