"""Kubernetes 1.37 as a user meets it: a cluster of 1.37.1, its status, its list of changes, and a diff that names a
rule."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_pod
from tests.cli.test_kube_version import taken
from tests.cli.transcripts import same_as_golden
from tests.pod_groups import GANG, member
from tests.running import Ksched

MIB = 1024 * 1024


def written(path: Path, *objects: Any) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def node(name: str, *images: str) -> dict[str, Any]:
    made = make_node(name).status(nodeInfo={"kubeletVersion": "v1.37.1"})
    for image in images:
        made.image(1000 * MIB, image)
    return made.doc()


@pytest.mark.parametrize("version", ["v1.37.0", "v1.37.1", "v1.37.2-eks-1234abc"])
def test_a_snapshot_of_1_37_is_answered_without_a_warning(version: str, tmp_path: Path, ksched: Ksched) -> None:
    shown = ksched("simulate", "--from", taken(tmp_path / "c.ksched.gz", version), "-o", "json", "--exit-zero", code=0)
    coverage = json.loads(shown.out)["coverage"]
    assert (coverage["kubeVersion"], coverage["kubeVersionReadFromSource"]) == ("1.37", "1.37")
    assert "kubeVersionNotModelled" not in coverage
    assert "warning" not in shown.err


def test_1_37_is_read_from_the_source(ksched: Ksched) -> None:
    versions = {each["version"]: each["recorded"] for each in json.loads(ksched("versions", "-o", "json", code=0).out)}
    assert (versions["1.37"], versions["1.36"]) == (False, True)


@pytest.mark.parametrize(
    "change",
    [
        "Image volumes raise",
        "The message of a pod that preempts names its node",
        "A pod that is resized in place counts",
        "The room of a nominated pod is kept while the pod is gated",
        "Shared counters belong to the pool of one driver",
        "A device that is refused",
        "A pod group looks for places once",
        "All pods of a group that preempts are nominated",
        "A pod group evicts no more pods while victims",
        "Pod groups with topology constraints preempt",
        "Messages about preemption for a pod group",
        "Nodes score by the room for the pod",
        "A capacity request that is negative",
        "A StatefulSet with OnDelete is up to date",
        "PodSecurity allows the sysctls",
        "minReplicas of a HorizontalPodAutoscaler may be 0",
    ],
)
def test_versions_lists_the_changes(change: str, ksched: Ksched) -> None:
    changes = json.loads(ksched("versions", "1.37", "-o", "json", code=0).out)
    assert any(change in each["change"] for each in changes), [each["change"] for each in changes]


@pytest.mark.parametrize(("version", "is_refused"), [("v1.36.3", False), ("v1.37.1", True)])
def test_a_removed_version_is_refused_by_the_server_of_the_snapshot(
    version: str, is_refused: bool, tmp_path: Path, ksched: Ksched
) -> None:
    """scheduling.k8s.io/v1alpha2 is served up to 1.36."""
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g"}}
    spec = {"schedulingPolicy": {"basic": {}}}
    manifests = written(tmp_path / "m.json", make_pod("p").doc(), {**group, "spec": spec})
    command = ["check", "--from", taken(tmp_path / "c.ksched.gz", version), "-f", manifests]
    shown = ksched(*command).out
    assert ("scheduling.k8s.io/v1alpha2 PodGroup is no longer served" in shown) is is_refused, shown


@pytest.mark.parametrize(("version", "is_refused"), [("v1.36.3", True), ("v1.37.1", False)])
def test_a_new_field_is_refused_by_the_server_that_lacks_it(
    version: str, is_refused: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = written(tmp_path / "m.json", make_pod("p").spec(evictionResponders=[]).doc())
    code = run(["check", "--from", taken(tmp_path / "c.ksched.gz", version), "-f", manifests])
    shown = " ".join(capsys.readouterr().out.split())
    assert ('unknown field "evictionResponders" (Kubernetes 1.37 added it)' in shown) is is_refused, shown
    assert code == (2 if is_refused else 0)


def test_a_diff_names_the_rule_that_moved_the_pod(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In 1.36 the image volume makes the score of node b, in 1.37 half as much: the pod goes to the free node."""
    volume = {"name": "v", "image": {"reference": "data:v1"}}
    pod = make_pod("p").image("app:v1").requests(cpu="1").spec(volumes=[volume]).doc()
    used = make_pod("busy").requests(cpu="2").on("b").doc()
    nodes = [
        make_node("a").allocatable(cpu="4", memory="8Gi", pods="10").status(nodeInfo={"kubeletVersion": "v1.36.3"}),
        make_node("b").allocatable(cpu="4", memory="8Gi", pods="10").image(1000 * MIB, "data:v1"),
    ]
    file = written(tmp_path / "c.json", *(each.doc() for each in nodes), pod, used)
    assert run(["diff", "--from", file, "--to-kube-version", "1.37", "-o", "json"]) in (0, 1)
    (change,) = json.loads(capsys.readouterr().out)["pods"]
    assert (change["before"]["node"], change["after"]["node"]) == ("b", "a")
    (decider,) = change["cause"]["deciders"]
    assert (decider["plugin"], decider["aspect"]) == ("ImageLocality", "score")
    assert [rule["text"].partition(" how ")[0] for rule in decider["rules"]] == ["Image volumes raise"]


def pod_group_that_preempts(path: Path) -> str:
    """1.36 lets the stronger pod stay, because the group finds other places without its node."""
    group = make_object(
        "PodGroup", "g", {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 10}, namespace="default"
    )
    items = [make_node(name).allocatable(cpu="4", memory="8Gi", pods="10") for name in "abc"]
    for name, where, priority in (("strong", "a", 5), ("weak", "b", 0), ("other", "c", 0)):
        items.append(make_pod(name).requests(cpu="4").priority(priority).on(where).started("2026-01-01T00:00:01Z"))
    items += [member(name, cpu="4").priority(10) for name in ("p1", "p2")]
    return written(path, group, *(each.doc() for each in items))


OF_GROUPS = (
    *("--kube-version", "1.36", "--feature-gates", f"{GANG},WorkloadAwarePreemption=true"),
    *("--to-kube-version", "1.37", "--to-feature-gates", "GenericWorkload=true"),
)


def test_a_diff_names_the_rule_of_pod_groups_in_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["diff", "--from", pod_group_that_preempts(tmp_path / "c.json"), *OF_GROUPS]) == 0
    # Each rule that is added to the minor is one more that moved no pod here.
    shown = re.sub(r"^\d+ more rules", "N more rules", capsys.readouterr().out, flags=re.MULTILINE)
    same_as_golden("diff-of-pod-groups", shown, columns=120)


@pytest.mark.slow
def test_a_diff_names_the_rule_of_pod_groups_in_its_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["diff", "--from", pod_group_that_preempts(tmp_path / "c.json"), *OF_GROUPS, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    causes = {(each["before"] or each["after"])["pod"]: each["cause"] for each in document["pods"]}
    assert {pod: (cause["kind"], cause.get("preemptor")) for pod, cause in causes.items()} == {
        "default/p1": ("rule", None),
        "default/strong": ("preemption", "pod group default/g"),
        "default/other": ("preemption", "pod group default/g"),
    }
    for cause in causes.values():
        (decider,) = cause["deciders"]
        assert (decider["plugin"], decider["aspect"]) == ("DefaultPreemption", "preemption")
        assert [rule["text"].partition(",")[0] for rule in decider["rules"]] == ["A pod group looks for places once"]
        assert [(each["node"], each["before"], each["after"]) for each in decider["nodes"]] == [
            ("a", None, "evicts default/strong"),
            ("c", "evicts default/other", None),
        ]
    assert [each["pods"] for each in document["rules"] if each["pods"]] == [3]


def test_gates_that_are_not_modelled_are_in_the_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "c.json", node("a"), make_pod("p").doc())
    gates = "DRADerivedAttributes=true,GenericWorkload=true"
    assert run(["simulate", "--from", file, "--feature-gates", gates, "-o", "json"]) == 0
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert coverage["featureGatesNotModelled"] == ["DRADerivedAttributes", "GenericWorkload"]


@pytest.mark.parametrize(
    ("version", "is_noted"), [("1.35.3", False), ("1.35.4", True), ("1.36", True), ("1.37", False)]
)
def test_check_says_where_max_unavailable_is_not_in_force(
    version: str, is_noted: bool, tmp_path: Path, ksched: Ksched
) -> None:
    """1.35.0 to 1.35.3 and 1.37 have MaxUnavailableStatefulSet on by default."""
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "db:v1"}]}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "db"}}, "template": template}
    item = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"}}
    cluster = written(tmp_path / "c.json", make_node("a").allocatable(cpu="4", memory="8Gi", pods="10").doc())
    manifests = written(tmp_path / "m.json", {**item, "spec": {**spec, "updateStrategy": strategy}})
    shown = " ".join(ksched("check", "--from", cluster, "-f", manifests, "--kube-version", version, code=0).out.split())
    assert ("maxUnavailable is not in force unless MaxUnavailableStatefulSet is switched on" in shown) is is_noted


@pytest.mark.parametrize(("version", "is_refused"), [("v1.36.3", True), ("v1.37.1", False)])
def test_manifests_of_a_scenario_are_read_as_the_minor_reads_them(
    version: str, is_refused: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """minReplicas may be 0 since 1.37."""
    metric = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "3"}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": 0, "maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}
    autoscaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    written(tmp_path / "m.json", {**autoscaler, "spec": spec})
    (tmp_path / "s.yaml").write_text("apiVersion: ksched/v1\nkind: Scenario\nsteps:\n- name: add\n  apply: m.json\n")
    snapshot = taken(tmp_path / "c.ksched.gz", version)
    code = run(["simulate", "--from", snapshot, "--scenario", str(tmp_path / "s.yaml"), "--exit-zero"])
    assert code == (2 if is_refused else 0)
    assert ("minReplicas: Invalid value: 0" in capsys.readouterr().err) is is_refused
