"""What the API server refuses of services and claims because of other objects: addresses, ports, families, labels."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, write_list

NETWORKS = "networking.k8s.io/v1"


def ranges(*cidrs: str, name: str = "kubernetes", ready: str = "True", **metadata: Any) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": ready}]} if ready else {}
    meta = {"name": name, **metadata}
    return {"apiVersion": NETWORKS, "kind": "ServiceCIDR", "metadata": meta, "spec": {"cidrs": cidrs}, "status": status}


def service(name: str, *ports: int, **spec: Any) -> dict[str, Any]:
    found = [{"name": f"p{port}", "port": 80 + at, "nodePort": port} for at, port in enumerate(ports)]
    spec = {"selector": {"app": name}, "ports": found or [{"port": 80}], **spec}
    spec = {"type": "NodePort", **spec} if ports else spec
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def balancer(port: int) -> dict[str, Any]:
    return service("lb", type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=port)


def space(**labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}


def claim(*admin: bool, template: bool = False, version: str = "v1") -> dict[str, Any]:
    exactly = [{"deviceClassName": "gpu", **({"adminAccess": each} if each else {})} for each in admin]
    spec: dict[str, Any] = {"devices": {"requests": [{"name": f"r{at}", "exactly": e} for at, e in enumerate(exactly)]}}
    kind = "ResourceClaimTemplate" if template else "ResourceClaim"
    metadata = {"name": "c", "namespace": "shop"}
    spec = {"spec": spec} if template else spec
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def check(
    capsys: pytest.CaptureFixture[str], cluster: list[Any], manifests: list[Any], *options: str
) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of `ksched check` in the working directory."""
    node = make_node("n").allocatable(cpu="8", memory="8Gi", pods=20)
    given = write_list(Path("c.json"), node, *cluster), write_list(Path("m.json"), *manifests)
    code = run(["check", "--from", given[0], "-f", given[1], "--allow-empty", "-o", "json", *options])
    return code, json.loads(capsys.readouterr().out)


SINGLE, DUAL = ranges("10.96.0.0/16"), ranges("10.96.0.0/16", "fd00:1::/112")
V6 = {"ipFamilies": ["IPv6"]}
TAKEN = "provided IP is already allocated"
PORT = "provided port is already allocated"


@pytest.mark.parametrize(
    ("cluster", "manifests", "refusals"),
    [
        pytest.param([SINGLE], [service("a", clusterIP="10.96.3.1")], [], id="inside"),
        pytest.param(
            [SINGLE], [service("a", clusterIP="10.97.0.1")], ["does not match the current range"], id="outside"
        ),
        pytest.param([SINGLE], [service("a", clusterIP="10.96.0.0")], ["does not match"], id="the network itself"),
        pytest.param([SINGLE], [service("a", clusterIP="10.96.255.255")], ["does not match"], id="the last address"),
        pytest.param([SINGLE], [service("a", clusterIP="10.96.255.254")], [], id="the last but one"),
        pytest.param([], [service("a", clusterIP="10.97.0.1")], [], id="no ranges"),
        pytest.param(
            [SINGLE, ranges("10.97.0.0/24", name="more")],
            [service("a", clusterIP="10.97.0.1")],
            [],
            id="a second range",
        ),
        pytest.param(
            [SINGLE, ranges("10.97.0.0/24", name="more", ready="False")],
            [service("a", clusterIP="10.97.0.1")],
            ["does not match"],
            id="a range that is not ready",
        ),
        pytest.param(
            [SINGLE, ranges("10.97.0.0/24", name="more", ready="")],
            [service("a", clusterIP="10.97.0.1")],
            [],
            id="a range without a condition",
        ),
        pytest.param(
            [SINGLE, ranges("10.97.0.0/24", name="more", deletionTimestamp="2026-01-01T00:00:00Z")],
            [service("a", clusterIP="10.97.0.1")],
            ["does not match"],
            id="a range that goes",
        ),
        pytest.param(
            [SINGLE],
            [ranges("10.97.0.0/24", name="more", ready=""), service("a", clusterIP="10.97.0.1")],
            [],
            id="a range of the manifests",
        ),
        pytest.param([SINGLE], [service("a", clusterIP="None")], [], id="headless"),
        pytest.param([SINGLE], [service("a", type="ExternalName", externalName="a.b", ports=[])], [], id="external"),
        pytest.param(
            [service("b", clusterIP="10.96.3.1")], [service("a", clusterIP="10.96.3.1")], [TAKEN], id="of another"
        ),
        pytest.param([service("a", clusterIP="10.96.3.1")], [service("a", clusterIP="10.96.3.1")], [], id="its own"),
        pytest.param(
            [SINGLE, service("a", clusterIP="10.97.3.1")],
            [service("a", clusterIP="10.97.3.1")],
            [],
            id="of an old range",
        ),
        pytest.param(
            [],
            [service("a", clusterIP="10.96.3.1"), service("b", clusterIP="10.96.3.1")],
            [TAKEN],
            id="of an earlier manifest",
        ),
        pytest.param([SINGLE], [service("a", **V6)], ["spec.ipFamilies[0]", "not configured on this cluster"], id="v6"),
        pytest.param([DUAL], [service("a", **V6)], [], id="v6 on two families"),
        pytest.param([DUAL], [service("a", clusterIP="fd00:1::ffff", **V6)], [], id="the last address of v6"),
        pytest.param([], [service("a", **V6)], [], id="v6 of an unknown cluster"),
        pytest.param(
            [SINGLE, ranges("fd00:1::/112", name="more")], [service("a", **V6)], ["spec.ipFamilies[0]"], id="a later v6"
        ),
        pytest.param(
            [SINGLE],
            [service("a", ipFamilyPolicy="RequireDualStack")],
            ["spec.ipFamilyPolicy", "not configured for dual-stack"],
            id="two families",
        ),
        pytest.param([DUAL], [service("a", ipFamilyPolicy="RequireDualStack")], [], id="two families of two"),
        pytest.param([SINGLE], [service("a", ipFamilyPolicy="PreferDualStack")], [], id="preferred"),
        pytest.param(
            [SINGLE],
            [service("a", clusterIP="fd00:1::5")],
            ["spec.clusterIPs[0]", "IPv6 is not configured on this cluster"],
            id="an address of v6",
        ),
        pytest.param(
            [SINGLE], [service("a", clusterIP="None", selector={}, **V6)], [], id="headless without a selector"
        ),
        pytest.param([SINGLE], [service("a", clusterIP="None", **V6)], ["spec.ipFamilies[0]"], id="headless v6"),
        pytest.param([SINGLE, service("a", **V6)], [service("a", **V6)], [], id="v6 that is there"),
        pytest.param([service("b", 30080)], [service("a", 30080)], ["spec.ports[0].nodePort", PORT], id="port"),
        pytest.param([service("b", 30080)], [service("a", 30081, 30080)], ["spec.ports[1].nodePort"], id="second port"),
        pytest.param([service("b", 30080)], [service("a", 30081)], [], id="another port"),
        pytest.param([service("a", 30080)], [service("a", 30080)], [], id="its own port"),
        pytest.param([], [service("a", 30080), service("b", 30080)], [PORT], id="port of an earlier manifest"),
        pytest.param(
            [service("b", 30080)], [service("b", 30081), service("a", 30080)], [], id="port that was given back"
        ),
        pytest.param(
            [], [balancer(8080)], ["spec.healthCheckNodePort", "valid range"], id="a port for checks, outside"
        ),
        pytest.param(
            [service("b", 30080)], [balancer(30080)], ["spec.healthCheckNodePort", PORT], id="for checks, taken"
        ),
        pytest.param(
            [], [balancer(30081), service("b", 30081)], ["spec.ports[0].nodePort", PORT], id="of checks, taken"
        ),
        pytest.param([], [balancer(30081), service("b", 30080)], [], id="for checks, free"),
        pytest.param(
            [space()], [claim(True)], ["requests[0]", "`resource.kubernetes.io/admin-access: true`"], id="admin"
        ),
        pytest.param([space()], [claim(False, True)], ["requests[1]"], id="admin of the second request"),
        pytest.param([space()], [claim(False)], [], id="no admin"),
        pytest.param(
            [space(**{"resource.kubernetes.io/admin-access": "true"})], [claim(True)], [], id="admin, labelled"
        ),
        pytest.param(
            [space(**{"resource.kubernetes.io/admin-access": "yes"})],
            [claim(True)],
            ["adminAccess"],
            id="another value",
        ),
        pytest.param(
            [], [space(**{"resource.kubernetes.io/admin-access": "true"}), claim(True)], [], id="label of a manifest"
        ),
        pytest.param([], [claim(True)], [], id="admin, unknown namespace"),
        pytest.param([space()], [claim(True, template=True)], ["spec.spec.devices.requests[0]"], id="template"),
    ],
)
def test_registries(
    cluster: list[Any],
    manifests: list[Any],
    refusals: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, document = check(capsys, cluster, manifests)
    assert code == (2 if refusals else 0), document
    told = json.dumps([each for each in document["findings"] if each["level"] == "error"])
    for each in refusals:
        assert each in told


def api_server(*flags: str, container: str = "command", **metadata: Any) -> dict[str, Any]:
    meta = {"name": "kube-apiserver-a", "namespace": "kube-system", "labels": {"component": "kube-apiserver"}}
    containers = [{"name": "kube-apiserver", "image": "i", container: ["kube-apiserver", "--secure-port=6443", *flags]}]
    spec = {"containers": containers, "nodeName": "n"}
    status = {"phase": "Running"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, **metadata}, "spec": spec, "status": status}


def live(*ports: int, **spec: Any) -> dict[str, Any]:
    """A service that the API server has stored."""
    found = service("a", *ports, **spec)
    found["metadata"] |= {"uid": "u", "resourceVersion": "5"}
    return found


LOW = "--service-node-port-range=80-32767"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "port", "refusal", "assumed"),
    [
        pytest.param([], 30080, "", "30000-32767", id="in the default range"),
        pytest.param([], 29999, "is 30000-32767", "", id="below it"),
        pytest.param([], 32767, "", "30000-32767", id="its last port"),
        pytest.param([], 32768, "is 30000-32767", "", id="above it"),
        pytest.param([], -5, "Invalid value: -5: provided port is not in the valid range", "", id="negative"),
        pytest.param([api_server(LOW)], 8080, "", "", id="in the range of the flag"),
        pytest.param([api_server(LOW, container="args")], 8080, "", "", id="a flag of args"),
        pytest.param([api_server("--service-node-port-range", "80+100")], 180, "", "", id="the last port of a sum"),
        pytest.param([api_server("--service-node-port-range", "80+100")], 181, "is 80-180", "", id="above a sum"),
        pytest.param([api_server("--service-node-port-range=30000+40000")], 80, "is 30000-65535", "", id="a large sum"),
        pytest.param([api_server("--service-node-port-range=8080")], 8080, "", "", id="a range of one port"),
        pytest.param([api_server("--service-node-port-range=8080")], 30080, "is 8080-8080", "", id="beside it"),
        pytest.param([api_server(LOW)], 79, "is 80-32767", "", id="below the flag"),
        pytest.param([api_server()], 30080, "", "", id="without the flag"),
        pytest.param([api_server()], 8080, "is 30000-32767", "", id="without the flag, below"),
        pytest.param([api_server("--service-node-port-range=low")], 30080, "", "30000-32767", id="a flag of no range"),
        pytest.param([api_server(LOW, namespace="shop")], 8080, "is 30000-32767", "", id="a pod of a user"),
        pytest.param([api_server(LOW, labels={})], 8080, "is 30000-32767", "", id="another pod of the system"),
        pytest.param([service("b", 20080)], 20080, "already allocated", "", id="a port that proves another range"),
        pytest.param([service("b", 20080)], 25000, "", "20080-32767", id="above a port that proves another range"),
        pytest.param([service("b", 20080)], 20079, "is 20080-32767", "", id="below such a port"),
        pytest.param([service("b", 40000)], 35000, "", "30000-40000", id="below a high port"),
        pytest.param([service("b", 20080), api_server()], 25000, "is 30000-32767", "", id="the flag is certain"),
        pytest.param([live(8080)], 8080, "", "", id="a port that the service has"),
        pytest.param([live(8080)], 8081, "", "8080-32767", id="another port of such a service"),
        pytest.param([service("b", type="ExternalName", externalName="x.y")], 8080, "is 30000", "", id="no port there"),
    ],
)
def test_the_range_of_node_ports(
    cluster: list[Any],
    port: int,
    refusal: str,
    assumed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    code, document = check(capsys, cluster, [service("a", port), pod])
    assert code == (2 if refusal else 0), document
    assert refusal in json.dumps(document["findings"])
    told = [each for each in document["coverage"].get("admissionNotModelled", []) if "nodePort" in each]
    text = "Service shop/a: nodePort: the input has no pod of kube-apiserver with its range of node ports"
    if not refusal:
        assert told == ([f"{text}: {assumed} is assumed"] if assumed else [])


def test_the_addresses_of_the_flag_count_without_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The flag may have two ranges; ServiceCIDRs of the cluster come before it."""
    monkeypatch.chdir(tmp_path)
    server = api_server("--service-cluster-ip-range=10.96.0.0/16,fd00:1::/112")
    inside, outside = service("a", clusterIP="10.96.3.1"), service("a", clusterIP="10.97.0.1")
    for cluster, manifest, wanted in (
        ([server], inside, 0),
        ([server], outside, 2),
        ([server], service("a", **V6), 0),
        ([api_server("--service-cluster-ip-range=10.96.0.0/16")], service("a", **V6), 2),
        ([server, ranges("10.97.0.0/24")], outside, 0),
        ([api_server("--service-cluster-ip-range=?")], outside, 0),
    ):
        assert check(capsys, cluster, [manifest])[0] == wanted


def test_a_snapshot_keeps_the_ranges_unless_it_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    node = make_node("n").allocatable(cpu="8", memory="8Gi", pods=20)
    cluster = write_list(
        Path("c.json"), node, SINGLE, ranges("10.98.0.0/16", name="no", ready="False"), api_server(LOW)
    )
    assert run(["snapshot", "--from", cluster, "-o", "s.ksched"]) == 0
    assert run(["snapshot", "--from", cluster, "-o", "r.ksched", "--redact"]) == 0
    assert b"10.96" not in gzip.decompress(Path("r.ksched").read_bytes())
    capsys.readouterr()
    for spec, plain, redacted in (
        ({"clusterIP": "10.96.3.1"}, 0, 0),
        ({"clusterIP": "10.97.3.1"}, 2, 0),
        ({"clusterIP": "10.98.3.1"}, 2, 0),
    ):
        manifest = write_list(Path("m.json"), service("a", **spec))
        for name, wanted in (("s", plain), ("r", redacted)):
            assert run(["check", "--from", f"{name}.ksched", "-f", manifest, "--allow-empty"]) == wanted, (spec, name)
    manifest = write_list(Path("m.json"), service("a", 8080))
    for name in ("s", "r"):
        assert run(["check", "--from", f"{name}.ksched", "-f", manifest, "--allow-empty"]) == 0


def test_an_older_api_server_drops_admin_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    off = ("1.34", "--feature-gates", "DRAAdminAccess=false")
    for code, *options in ((0, "1.33"), (2, "1.34"), (0, *off), (2, "1.37")):
        asked = claim(True, version="v1beta2" if options == ["1.33"] else "v1")
        assert check(capsys, [space()], [asked], "--kube-version", *options)[0] == code


@pytest.mark.parametrize(
    ("cluster", "manifests", "gap"),
    [
        pytest.param([], [service("a", clusterIP="10.0.0.1")], "Service shop/a: clusterIP: the input has no", id="ip"),
        pytest.param([], [service("a", **V6)], "Service shop/a: ipFamilies: the input has no ServiceCIDR", id="family"),
        pytest.param([], [service("a", ipFamilyPolicy="RequireDualStack")], "ipFamilyPolicy: the input", id="policy"),
        pytest.param([], [service("a", ipFamilyPolicy="PreferDualStack")], "", id="preferred"),
        pytest.param([], [service("a")], "", id="no field"),
        pytest.param(
            [service("a", clusterIP="10.0.0.1")], [service("a", clusterIP="10.0.0.1")], "", id="that is there"
        ),
        pytest.param([SINGLE], [service("a", clusterIP="10.96.0.1")], "", id="known"),
        pytest.param(
            [], [claim(True)], "ResourceClaim shop/c: adminAccess: the input has no Namespace shop", id="admin"
        ),
        pytest.param([], [claim(False)], "", id="no admin"),
    ],
)
def test_what_the_input_does_not_show_is_in_coverage(
    cluster: list[Any],
    manifests: list[Any],
    gap: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    for more in ([], [pod]):
        code, document = check(capsys, cluster, [*manifests, *more])
        told = "\n".join(document["coverage"].get("admissionNotModelled", []))
        assert code == 0
        assert gap in told if gap else "ServiceCIDR" not in told and "adminAccess" not in told


def test_a_job_whose_environment_changes_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rules of updates compare the whole live object in `check`, too, and not only when manifests are applied."""
    monkeypatch.chdir(tmp_path)
    old, new = (job("1"), job("2"))
    assert check(capsys, [old], [old])[0] == 0
    code, document = check(capsys, [old], [new])
    assert code == 2
    assert [each["code"] for each in document["findings"]] == ["KS013"]


def job(value: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "env": [{"name": "A", "value": value}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": "j", "namespace": "shop", "resourceVersion": "5", "uid": "u"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
