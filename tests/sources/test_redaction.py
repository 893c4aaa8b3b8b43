"""A redacted snapshot: no name of the cluster is left in it, and every pod goes where it went."""

from __future__ import annotations

import gzip
import json
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ksched_cli.api.avoided_pods import AVOID_PODS_ANNOTATION, avoiding
from ksched_cli.api.dynamic_resources import ResourceSlice
from ksched_cli.cli.main import run
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.snapshot import take_redacted_snapshot
from ksched_cli.simulator import Simulator
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.redaction.unread import without_unread
from ksched_cli.sources.redaction.walk import Role, only_compare_strings, with_literals
from tests.builders import make_configuration, make_node, make_object, make_pod, write_list
from tests.clusters import clusters
from tests.lanes import examples, sampled
from tests.running import Ksched, prepare

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance" / "1.36"
SUBJECTS = sorted({path.name.rpartition("-")[0] for path in CORPUS.iterdir() if path.is_dir()})


CASES = [case for subject in SUBJECTS for case in sorted(CORPUS.glob(f"{subject}-*"))[:4]]


def placements(source: str, config: str | None) -> list[tuple[str, str, str, tuple[str, ...], tuple[str, ...]]]:
    simulation = prepare(RunOptions([source], config=config)).simulate()
    return [
        (
            each.pod,
            each.result,
            each.node or each.nominated_node,
            each.ties,
            each.preemption.victims if each.preemption else (),
        )
        for each in simulation.outcomes
    ]


def check_same_placements(source: str, config: str | None, folder: Path) -> None:
    """The redacted cluster under the redacted configuration gives the same placements, under the pseudonyms."""
    taken = Simulator.of(RunOptions([source], config=config, allow_empty=True)).snapshot("", redacted=True)
    path = folder / "redacted.gz"
    path.write_bytes(taken.data)
    redacted_config = None
    if taken.config is not None:
        (folder / "redacted.yaml").write_text(yaml.safe_dump(dict(taken.config)))
        redacted_config = str(folder / "redacted.yaml")
    nodes, namespaces, pods = (taken.names.get(role, {}) for role in (Role.NODE, Role.NAMESPACE, Role.POD))

    def renamed(key: str) -> str:
        namespace, _, name = key.partition("/")
        return f"{namespaces[namespace]}/{pods[name]}"

    before = [
        (renamed(pod), result, nodes.get(node, ""), tuple(nodes[tie] for tie in ties), tuple(map(renamed, victims)))
        for pod, result, node, ties, victims in placements(source, config)
    ]
    assert before
    assert placements(str(path), redacted_config) == before


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 20))
def test_the_same_placements_under_the_renaming(case: Path, tmp_path: Path) -> None:
    config = case / "config.yaml"
    check_same_placements(str(case / "cluster.json"), str(config) if config.exists() else None, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(CASES, 4))
def test_no_name_is_left(case: Path) -> None:
    taken = Simulator.of(RunOptions([str(case / "cluster.json")], allow_empty=True)).snapshot("", redacted=True)
    texts = set(_texts(json.loads(gzip.decompress(taken.data))["items"]))
    left = texts - {pseudonym for names in taken.names.values() for pseudonym in names.values()}
    # Claims of several kinds have names of their own, which may be words of Kubernetes as well: a container called main.
    told = {name for role, names in taken.names.items() if role not in _WORDS for name in names if name in left}
    assert told <= _KEPT


_WORDS = (Role.LOCAL, Role.CONTAINER, Role.VALUE)
_KEPT = {"system-cluster-critical", "system-node-critical"}


def _texts(value: Any) -> typing.Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "payroll",
        "namespace": "finance",
        "labels": {"team": "accounts"},
        "annotations": {"owner": "carol@example.com"},
    },
    "spec": {
        "containers": [
            {"name": "ledger", "image": "registry.corp/ledger", "env": [{"name": "PASSWORD", "value": "hunter2"}], "command": ["run-books"]}
        ],
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}],
        "nodeSelector": {"disk": "ssd-vault"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}
        ]}}},
    },
}  # fmt: skip


def write(tmp_path: Path) -> str:
    node = make_node("rack-7.corp").label(disk="ssd-vault", cores="16").doc()
    node["status"]["images"] = [{"names": ["registry.corp/ledger:latest"], "sizeBytes": 10}]
    items = [
        node,
        POD,
        make_object("PersistentVolumeClaim", "payroll-scratch", namespace="finance"),
    ]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([*items, make_pod("batch", "finance").doc()]))
    return str(path)


def test_what_a_redacted_snapshot_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, names = tmp_path / "share.gz", tmp_path / "names.json"
    assert run(["snapshot", "--from", write(tmp_path), "--redact", "--redact-names", str(names), "-o", str(out)]) == 0
    text = gzip.decompress(out.read_bytes()).decode()
    for word in (
        "payroll",
        "finance",
        "accounts",
        "carol",
        "corp",
        "ledger",
        "hunter2",
        "run-books",
        "vault",
        "scratch",
    ):
        assert word not in text
    document = json.loads(text)
    assert document["redacted"] is True
    items = {item["kind"]: item for item in document["items"] if item["metadata"]["name"] != "pod-1"}
    pod = items["Pod"]
    assert items["PersistentVolumeClaim"]["metadata"]["name"] == f"pod-2-{pod['spec']['volumes'][0]['name']}"
    assert items["Node"]["metadata"]["labels"] == {
        "disk": pod["spec"]["nodeSelector"]["disk"],
        "cores": "16",
        "kubernetes.io/hostname": "node-1",
    }
    assert items["Node"]["status"]["images"][0]["names"] == [pod["spec"]["containers"][0]["image"]]
    assert json.loads(names.read_text())["pod"] == {"batch": "pod-1", "payroll": "pod-2"}


def test_names_without_redaction_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "--from", write(tmp_path), "--redact-names", "x", "-o", "y"]) == 2
    assert "--redact-names goes with --redact" in capsys.readouterr().err


def written_cluster(tmp_path: Path, *items: dict[str, Any]) -> str:
    path = tmp_path / "cluster.json"
    return write_list(path, *items)


def redacted_items(source: str, **setup: Any) -> list[dict[str, Any]]:
    taken = Simulator.of(RunOptions([source], **setup, allow_empty=True)).snapshot("", redacted=True)
    items: list[dict[str, Any]] = json.loads(gzip.decompress(taken.data))["items"]
    return items


def test_host_ports_clash_as_before(tmp_path: Path) -> None:
    """Two pods with one port and two addresses share a node."""
    source = written_cluster(
        tmp_path,
        make_node("n").doc(),
        make_pod("a").host_port(80, address="10.0.0.1").on("n").phase("Running").doc(),
        make_pod("b").host_port(80, address="10.0.0.2").doc(),
        make_pod("c").host_port(80, address="0.0.0.0").doc(),
    )
    check_same_placements(source, None, tmp_path)
    addresses = [
        port["hostIP"]
        for item in redacted_items(source)
        if item["kind"] == "Pod"
        for port in item["spec"]["containers"][0]["ports"]
    ]
    assert len(set(addresses)) == 3
    assert "0.0.0.0" in addresses


@pytest.mark.slow
@settings(
    max_examples=examples(40),
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(clusters(), st.booleans())
def test_random_clusters_keep_their_placements(
    tmp_path: Path, drawn: tuple[list[Any], list[Any], Any], configured: bool
) -> None:
    nodes, running, pending = drawn
    items = [
        {"apiVersion": "v1", "kind": type(each).__name__, **msgspec.to_builtins(each)}
        for each in (*nodes, *running, pending)
    ]
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    check_same_placements(written_cluster(tmp_path, *items), str(config) if configured else None, tmp_path)


CONFIG: dict[str, Any] = make_configuration(
    {
        "schedulerName": "default-scheduler",
        "pluginConfig": [
            {
                "name": "NodeAffinity",
                "args": {
                    "addedAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["a"]}]},
                                {"matchExpressions": [{"key": "gen", "operator": "In", "values": ["secret", "b"]}]},
                            ]
                        }
                    }
                },
            },
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 3}},
            {"name": "OfACompany", "args": {"secret": "secret"}},
        ],
    },
    clientConnection={"kubeconfig": "/home/carol/.kube/config"},
    extenders=[
        {"urlPrefix": "https://carol:pw@quota.corp:8888", "filterVerb": "filter", "tlsConfig": {"insecure": True}}
    ],
)


def test_the_configuration_is_redacted_with_the_same_pseudonyms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = written_cluster(tmp_path, make_node("n").label(disk="b", gen="secret").doc(), make_pod("p").doc())
    config, out, snapshot = (tmp_path / name for name in ("config.yaml", "share.yaml", "share.gz"))
    config.write_text(yaml.safe_dump(CONFIG))
    arguments = ["snapshot", "--from", source, "--redact", "--config", str(config), "--redact-config", str(out)]
    assert run([*arguments, "-o", str(snapshot)]) == 0
    text = out.read_text()
    assert not any(word in text for word in ("carol", "corp", "secret", "kubeconfig", "tlsConfig"))
    document = yaml.safe_load(text)
    configs = document["profiles"][0]["pluginConfig"]
    assert [each["name"] for each in configs] == ["NodeAffinity", "InterPodAffinity"]
    assert document["extenders"] == [{"urlPrefix": "http://extender-1.example", "filterVerb": "filter"}]
    assert configs[1]["args"]["hardPodAffinityWeight"] == 3
    terms = configs[0]["args"]["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (node,) = [item for item in json.loads(gzip.decompress(snapshot.read_bytes()))["items"] if item["kind"] == "Node"]
    assert node["metadata"]["labels"]["gen"] in terms[1]["matchExpressions"][0]["values"]
    assert run(["simulate", "--from", str(snapshot), "--config", str(out), "-o", "name"]) == 0


def test_arguments_that_a_room_declares_stay_if_they_are_numbers(tmp_path: Path) -> None:
    given = [
        {"name": "Room", "args": {"limit": 5, "steps": [1, 2.5], "strict": True}},
        {"name": "NamingRoom", "args": {"limit": 5, "zone": "secret"}},
        {"name": "KeyedRoom", "args": {"limits": {"secret": 5}}},
        {"name": "OutOfTree", "args": {"limit": 5}},
    ]
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({**CONFIG, "profiles": [{**CONFIG["profiles"][0], "pluginConfig": given}]}))
    taken = take_redacted_snapshot(Loaded(), "", str(config), ["Room", "NamingRoom", "KeyedRoom"])
    assert taken.config is not None
    assert taken.config["profiles"][0]["pluginConfig"] == given[:1]
    assert [each.split()[4] for each in taken.warnings] == ["NamingRoom", "KeyedRoom", "OutOfTree"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "c"], "--config and --redact-config go together"),
        (["--redact", "--redact-config", "c"], "--config and --redact-config go together"),
        (["--config", "c", "--redact-config", "d"], "--redact-config goes with --redact"),
    ],
)
def test_options_that_go_together(arguments: list[str], message: str, ksched: Ksched) -> None:
    assert message in ksched("snapshot", "--from", "x", "-o", "y", *arguments, code=2).err


def test_a_policy_is_not_redacted(tmp_path: Path, ksched: Ksched) -> None:
    config = tmp_path / "policy.json"
    config.write_text('{"apiVersion": "v1", "kind": "Policy"}')
    source = written_cluster(tmp_path, make_node("n").doc())
    arguments = ["--redact", "--config", str(config), "--redact-config", str(tmp_path / "o"), "-o", str(tmp_path / "s")]
    assert "config migrate" in ksched("snapshot", "--from", source, *arguments, code=2).err
    assert not (tmp_path / "s").exists()


def slice_of(model: str) -> dict[str, Any]:
    device = {"name": "gpu-0", "attributes": {"model": {"string": model}, "firmware": {"version": "1.2.3"}}}
    spec = {"driver": "gpu.corp.example", "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}}
    return make_object("ResourceSlice", "slice", {**spec, "nodeName": "n", "devices": [device]})


def class_of(expression: str) -> dict[str, Any]:
    return make_object("DeviceClass", "gpu", {"selectors": [{"cel": {"expression": expression}}]})


MODEL = 'device.attributes["gpu.corp.example"].model'


@pytest.mark.parametrize(
    ("expression", "redacted"),
    [
        (f'{MODEL} == "prototype"', f'{MODEL} == "attribute-1"'),
        (f"'prototype' == {MODEL}", f'"attribute-1" == {MODEL}'),
        (f'{MODEL} in ["prototype", "zeta"]', f'{MODEL} in ["attribute-1", "attribute-2"]'),
        (
            f'device.driver == "gpu.corp.example" && {MODEL} != "zeta"',
            f'device.driver == "gpu.corp.example" && {MODEL} != "attribute-2"',
        ),
        (
            'device.capacity["gpu.corp.example"].memory.compareTo(quantity("8Gi")) >= 0',
            'device.capacity["gpu.corp.example"].memory.compareTo(quantity("8Gi")) >= 0',
        ),
    ],
)
def test_strings_of_devices_that_are_compared_have_pseudonyms(expression: str, redacted: str, tmp_path: Path) -> None:
    items = {
        item["kind"]: item
        for item in redacted_items(written_cluster(tmp_path, slice_of("prototype"), class_of(expression)))
    }
    assert items["DeviceClass"]["spec"]["selectors"][0]["cel"]["expression"] == redacted
    attributes = items["ResourceSlice"]["spec"]["devices"][0]["attributes"]
    assert attributes["model"]["string"] == "attribute-1"
    assert attributes["firmware"]["version"] == "1.2.3"


@pytest.mark.parametrize(
    "expression",
    [
        f'{MODEL}.startsWith("proto")',
        f'{MODEL}.matches("^proto")',
        f'{MODEL} + "x" == "prototypex"',
        f"size({MODEL}) == 9",
        f'{MODEL}.lowerAscii() == "prototype"',
        f'{MODEL} == "proto\\x74ype"',
        'device.attributes["gpu.corp.example"].exists(k, k == "model")',
        f'"prototype" in {MODEL}',
    ],
)
def test_an_expression_that_looks_into_strings_keeps_them(expression: str, tmp_path: Path) -> None:
    items = {
        item["kind"]: item
        for item in redacted_items(written_cluster(tmp_path, slice_of("prototype"), class_of(expression)))
    }
    assert items["DeviceClass"]["spec"]["selectors"][0]["cel"]["expression"] == expression
    assert items["ResourceSlice"]["spec"]["devices"][0]["attributes"]["model"]["string"] == "prototype"


IDS = {
    "uuid": "GPU-5ec8e7",
    "pciBusID": "0000:65:00.0",
    "serial": "1654",
    "model": "prototype",
    "productName": "Corp H9",
    "mac": "02:00:5e",
    "rack": "rack-7",
    "resource.kubernetes.io/pcieRoot": "pci0000:64",
    "parentUUID": "GPU-f00",
    "profile": "1g.corp",
    "hostInterface": "eth-corp",
}


def device_cluster(wanted: dict[str, str]) -> list[dict[str, Any]]:
    """Two devices on a node, the second with other ids, and a pod with a claim for two that share these."""
    devices = [
        {"name": f"gpu-{at}", "attributes": {key: {"string": f"{text}{end}"} for key, text in IDS.items()}}
        for at, end in enumerate(("", "x"))
    ]
    slices = slice_of("prototype")
    slices["spec"]["devices"] = devices
    selected = [
        {"cel": {"expression": f"device.attributes['gpu.corp.example']['{key}'] == '{text}'"}}
        for key, text in wanted.items()
    ]
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "selectors": selected}}]}}
    claim = make_object("ResourceClaim", "c", namespace="default")
    pod = make_pod("p").spec(resourceClaims=[{"name": "g", "resourceClaimName": "c"}]).doc()
    driver = class_of("device.driver == 'gpu.corp.example'")
    return [make_node("n").allocatable(cpu="4", pods=9).doc(), slices, driver, {**claim, "spec": spec}, pod]


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted",
    [
        *(pytest.param({key: text}, id=key) for key, text in IDS.items() if "/" not in key),
        pytest.param({"uuid": "GPU-5ec8e7", "serial": "1654"}, id="two of one device"),
        pytest.param({"uuid": "GPU-5ec8e7", "serial": "1654x"}, id="of two devices"),
        pytest.param({"uuid": "none"}, id="of no device"),
    ],
)
def test_ids_of_devices_are_hidden_and_the_placement_is_the_same(wanted: dict[str, str], tmp_path: Path) -> None:
    source = written_cluster(tmp_path, *device_cluster(wanted))
    data = Simulator.of(RunOptions([source])).snapshot("", redacted=True).data
    text = gzip.decompress(data).decode()
    assert not [each for each in IDS.values() if f'"{each}' in text or f"'{each}" in text]
    found = json.loads(text)["items"]
    devices = next(each for each in found if each["kind"] == "ResourceSlice")["spec"]["devices"]
    hidden = [[each["string"] for each in device["attributes"].values()] for device in devices]
    assert len({each for one in hidden for each in one}) == 2 * len(IDS)
    other = tmp_path / "redacted.ksched"
    other.write_bytes(data)
    has_none = not {"none", "1654x"}.isdisjoint(wanted.values())
    results = [placements(path, None)[0][1] for path in (source, str(other))]
    assert results == ["unschedulable" if has_none else "scheduled"] * 2


def test_more_that_has_a_pseudonym(tmp_path: Path) -> None:
    gated = make_pod("p").label(app="x").doc()
    gated["spec"]["schedulingGates"] = [{"name": "corp.example/secret-gate"}]
    gated["metadata"]["ownerReferences"] = [
        {"apiVersion": "corp.example/v1", "kind": "SecretSet", "name": "s", "uid": "u", "controller": True}
    ]
    gated["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Gt", "values": ["5"]}]}]
            }
        }
    }
    counted = {"count/pods": "9", "cpu": "1", "count/deployments.apps": "5", "count/ingresses.networking.k8s.io": "2"}
    quota = make_object(
        "ResourceQuota", "q", {"hard": {"count/secrets.corp.example": "3", **counted}}, namespace="default"
    )
    widget = {"apiVersion": "corp.example/v1", "kind": "SecretSet", "metadata": {"name": "s"}}
    # No object names this kind.
    other = {"apiVersion": "secret.example/v1", "kind": "SecretGauge", "metadata": {"name": "g"}}
    node = make_node("n").label(rack="7").doc()
    hidden = make_node("m").label(rack="north-wing").doc()
    source = written_cluster(tmp_path, gated, quota, widget, other, node, hidden)
    taken = Simulator.of(RunOptions([source], allow_empty=True)).snapshot("", redacted=True)
    text = gzip.decompress(taken.data).decode()
    assert not any(word in text for word in ("corp.example", "Secret", "secret", "north-wing"))
    document = json.loads(text)
    assert document["notRead"] == {"group-1/v1/Kind-2": 1, "group-2/v1/Kind-1": 1}
    items = {item["kind"]: item for item in document["items"]}
    assert items["Pod"]["metadata"]["ownerReferences"][0]["apiVersion"] == "group-1/v1"
    assert items["ResourceQuota"]["spec"]["hard"] == counted
    racks = {item["metadata"]["labels"].get("rack") for item in document["items"] if item["kind"] == "Node"}
    assert "7" in racks


def test_the_file_of_names_is_for_its_owner_and_comes_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, names = written_cluster(tmp_path, make_node("n").doc()), tmp_path / "names.json"
    arguments = ["snapshot", "--from", source, "--redact", "--redact-names", str(names)]
    assert run([*arguments, "-o", str(tmp_path / "none" / "s.gz")]) == 2
    assert not names.exists()
    assert run([*arguments, "-o", str(tmp_path / "s.gz")]) == 0
    assert names.stat().st_mode & 0o777 == 0o600


MODEL = 'device.attributes["d"].model'


@pytest.mark.parametrize(
    ("expression", "renamed", "is_shared"),
    [
        pytest.param(f'{MODEL} == "a100"', f'{MODEL} == "A100"', True, id="after the attribute"),
        pytest.param(f'"a100" != {MODEL}', f'"A100" != {MODEL}', True, id="before the attribute"),
        pytest.param(f'{MODEL} in ["a", "b"]', f'{MODEL} in ["A", "B"]', True, id="in a list"),
        pytest.param(f'{MODEL} == "a" && has({MODEL})', f'{MODEL} == "A" && has({MODEL})', True, id="with has()"),
        pytest.param('"gpu.example.com" == device.driver', '"gpu.example.com" == device.driver', True, id="a driver"),
        pytest.param(
            f'"d" == device.driver || {MODEL} == "a" && device.driver == "d"',
            f'"d" == device.driver || {MODEL} == "A" && device.driver == "d"',
            True,
            id="drivers beside an attribute",
        ),
        pytest.param(
            f'({MODEL} == "a") && {MODEL} in ["b", "c"] && device.x in ["d"]',
            f'({MODEL} == "A") && {MODEL} in ["B", "C"] && device.x in ["D"]',
            True,
            id="one literal after another",
        ),
        pytest.param(f'{MODEL} == "a" + "b"', f'{MODEL} == "A" + "b"', False, id="texts that are joined"),
        pytest.param(
            f'{MODEL} + device.x == "ab"', f'{MODEL} + device.x == "AB"', False, id="attributes that are joined"
        ),
        pytest.param(f'{MODEL}.startsWith("a")', f'{MODEL}.startsWith("a")', False, id="a part of the text"),
        pytest.param(
            f"size({MODEL}) > 1 && has({MODEL})", f"size({MODEL}) > 1 && has({MODEL})", False, id="its length"
        ),
        pytest.param(
            'quantity("8Gi").compareTo(device.capacity["d"].x) < 0',
            'quantity("8Gi").compareTo(device.capacity["d"].x) < 0',
            True,
            id="a quantity first",
        ),
        pytest.param('"d" in device.attributes', '"d" in device.attributes', True, id="a key in a whole map"),
        pytest.param(
            '"a" in device.attributes["d"].x', '"a" in device.attributes["d"].x', False, id="in one attribute"
        ),
        pytest.param('device.x == ["a"]', 'device.x == ["a"]', False, id="beside a list"),
        pytest.param('"a" in ["a"]', '"a" in ["a"]', False, id="no attribute"),
        pytest.param('device.x == "', "", False, id="not to be parsed"),
    ],
)
def test_literals_of_device_selectors(expression: str, renamed: str, is_shared: bool) -> None:
    assert only_compare_strings([expression]) is is_shared
    assert not only_compare_strings([expression, "size(device.driver) > 1"])
    if renamed:
        assert with_literals(expression, str.upper) == renamed


def test_of_avoided_pods_only_the_kind_and_uid_of_the_controller_are_kept() -> None:
    controller = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "secret", "uid": "u"}
    avoided = [{"podSignature": {"podController": controller}, "reason": "secret", "message": "secret"}]
    node = make_node("n").obj()
    node.metadata.annotations = {AVOID_PODS_ANNOTATION: json.dumps({"preferAvoidPods": avoided}), "note": "secret"}
    assert without_unread(node).metadata.annotations == {AVOID_PODS_ANNOTATION: avoiding([("ReplicaSet", "u")])}


def test_the_policy_of_each_capacity_is_reduced_to_what_is_read() -> None:
    policies = {"a": {"value": "1"}, "b": {"value": "2", "requestPolicy": {"default": "1", "note": "secret"}}}
    devices = [{"name": "d", "capacity": policies}]
    item = msgspec.convert({"metadata": {"name": "s"}, "spec": {"devices": devices}}, ResourceSlice)
    (device,) = without_unread(item).spec.devices
    assert [each.request_policy for each in device.capacity.values()] == [None, {"default": "1"}]
