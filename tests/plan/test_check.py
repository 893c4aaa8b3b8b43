"""Rollouts over a scheduler: how far they come, and what is said where they stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.per_node import PerNodePlugin
from ksched_cli.framework.status import SUCCESS, Status, unschedulable
from ksched_cli.plan.check.check import Checker
from ksched_cli.plan.check.results import WorkloadCheck
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.run.run import Run
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.places import Places
from ksched_cli.whatif.changes import Changes
from tests.builders import make_node, make_object, make_pod, term, write_list
from tests.harness import make_scheduler
from tests.plan.rollouts import (
    OLD,
    checked,
    nodes,
    rolling,
    running,
    running_daemons,
    running_deployment,
    running_set,
    template,
    workload,
)
from tests.running import check, input_over, prepare

ROOT = Path(__file__).parents[2]
ONE_EACH = ["n0", "n1", "n2"]
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
PORT = {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "w"}},
        }
    ]
}
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "w"}}}
            ]
        }
    }
}


def summed(workload: WorkloadCheck) -> tuple[int, int, int, list[str]]:
    """Pods that run, old ones that are left, moments in which something happened, and the codes."""
    return workload.running, workload.old, len(workload.steps), [finding.code for finding in workload.findings]


DEPLOYMENTS = [
    pytest.param("8", "1", None, {}, (3, 0, 6, []), id="room for everything"),
    pytest.param("1", "1", rolling(1, 0), {}, (0, 3, 1, ["KS401"]), id="no room for the surge"),
    pytest.param("1", "1", rolling(0, 1), {}, (3, 0, 6, []), id="the old ones go first"),
    pytest.param("1", "1", rolling(1, 1), {}, (3, 0, 5, []), id="one may be missing"),
    pytest.param("1", "1", {"type": "Recreate"}, {}, (3, 0, 1, []), id="all at once"),
    pytest.param("1", "1", rolling("25%", "25%"), {}, (0, 3, 1, ["KS401"]), id="a quarter of three is a surge of one"),
    pytest.param("1", "1", rolling("0%", "25%"), {}, (3, 0, 6, []), id="both round to nothing: one goes"),
    pytest.param("1", "2", rolling(0, 1), {}, (0, 2, 2, ["KS102"]), id="larger than any node, one old pod lost"),
    pytest.param("8", "1", rolling(1, 0), PORT, (0, 3, 1, ["KS401"]), id="the old pods hold the host port"),
    pytest.param("8", "1", rolling(1, 0), APART, (0, 3, 1, ["KS401"]), id="the old pods are too near"),
    pytest.param("8", "1", rolling(1, 0), SPREAD, (3, 0, 6, []), id="spread over the nodes"),
    pytest.param("8", "1", {"type": "Recreate"}, APART, (3, 0, 1, []), id="recreated apart"),
]


@pytest.mark.parametrize(("size", "cpu", "strategy", "extra", "expected"), DEPLOYMENTS)
def test_deployment(
    size: str, cpu: str, strategy: dict[str, Any] | None, extra: dict[str, Any], expected: Any, tmp_path: Path
) -> None:
    cluster = [*nodes(size, size, size), *running_deployment(ONE_EACH, template(OLD, **extra))]
    spec = {"replicas": 3, **({"strategy": strategy} if strategy else {})}
    (found,) = checked(tmp_path, cluster, workload("Deployment", template(cpu=cpu, **extra), **spec)).workloads
    assert summed(found) == expected
    assert found.rollout


SETS = [
    pytest.param({}, "1", {}, (3, 0, 3, []), id="one after the other, from the last"),
    pytest.param({"podManagementPolicy": "Parallel"}, "1", {}, (3, 0, 3, []), id="parallel replaces one at a time too"),
    pytest.param({}, "2", {}, (0, 2, 1, ["KS102"]), id="the first that is replaced has no place"),
    pytest.param(
        {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}, "1", {}, (3, 0, 1, []),
        id="down to the partition",
    ),
    pytest.param({"updateStrategy": {"type": "OnDelete"}}, "2", {}, (3, 0, 0, ["KS405"]), id="on delete"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "cpu", "extra", "expected"), SETS)
def test_stateful_set(spec: dict[str, Any], cpu: str, extra: dict[str, Any], expected: Any, tmp_path: Path) -> None:
    cluster = [*nodes("1", "1", "1"), *running_set(ONE_EACH, template(OLD, **extra))]
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", template(cpu=cpu), replicas=3, **spec)).workloads
    assert summed(found) == expected


def test_an_ordered_set_waits_for_the_pod_before(tmp_path: Path) -> None:
    new = workload("StatefulSet", template(cpu="3"), replicas=3)
    (found,) = checked(tmp_path, nodes("4"), new).workloads
    assert summed(found) == (1, 0, 2, ["KS101"])
    assert found.findings[0].pods == ("default/w-1".removeprefix("default/"),)
    new["spec"]["podManagementPolicy"] = "Parallel"
    (found,) = checked(tmp_path, nodes("4"), new).workloads
    assert found.findings[0].pods == ("w-1", "w-2")


def test_an_ordered_set_stops_at_a_pod_that_is_not_ready(tmp_path: Path) -> None:
    cluster = [*nodes("4", "4"), *running_set(["n0", "n1"], template(OLD))]
    cluster[-2]["status"]["conditions"][0]["status"] = "False"
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", template(), replicas=2)).workloads
    assert [(each.code, each.pods) for each in found.findings] == [("KS402", ("w-0",))]


def test_scaling_a_set_down_goes_from_the_last(tmp_path: Path) -> None:
    cluster = [*nodes("4"), *running_set(["n0", "n0", "n0"], template(OLD))]
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", template(OLD), replicas=1)).workloads
    assert [step.removed for step in found.steps] == [("w-2",), ("w-1",)]
    assert found.result == "fits"


DAEMONS = [
    pytest.param(None, {}, "1", (3, 0, 3, []), id="one node after the other"),
    pytest.param(rolling(None, 2), {}, "1", (3, 0, 2, []), id="two at a time"),
    pytest.param(rolling(None, "100%"), {}, "1", (3, 0, 1, []), id="all at once"),
    pytest.param(rolling(1, 0), {}, "1", (0, 3, 1, ["KS401"]), id="no room for the surge"),
    pytest.param(rolling(1, 0), PORT, "0", (0, 3, 1, ["KS401"]), id="the old pod holds the host port"),
    pytest.param(rolling(1, 0), {}, "0", (3, 0, 6, []), id="a surge on one node after the other"),
    pytest.param(None, {}, "2", (0, 2, 1, ["KS102"]), id="stops at the first node without room"),
    pytest.param({"type": "OnDelete"}, {}, "2", (3, 0, 0, ["KS405"]), id="on delete"),
]


@pytest.mark.parametrize(("strategy", "extra", "cpu", "expected"), DAEMONS)
def test_daemon_set(
    strategy: dict[str, Any] | None, extra: dict[str, Any], cpu: str, expected: Any, tmp_path: Path
) -> None:
    cluster = [*nodes("1", "1", "1"), *running_daemons(ONE_EACH, template(OLD, **extra))]
    spec = {"updateStrategy": strategy} if strategy else {}
    (found,) = checked(tmp_path, cluster, workload("DaemonSet", template(cpu=cpu, **extra), **spec)).workloads
    assert summed(found) == expected


def test_daemon_pods_leave_nodes_that_are_no_longer_selected(tmp_path: Path) -> None:
    cluster = [*nodes("4", "4"), *running_daemons(["n0", "n1"], template(OLD))]
    made = template(OLD, nodeSelector={"kubernetes.io/hostname": "n0"})
    (found,) = checked(tmp_path, cluster, workload("DaemonSet", made)).workloads
    assert summed(found)[:2] == (1, 0)
    assert "w-n1" in {name for step in found.steps for name in step.removed}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_nothing_is_done_for_an_unchanged_template(kind: str, tmp_path: Path) -> None:
    make = {"Deployment": running_deployment, "StatefulSet": running_set, "DaemonSet": running_daemons}[kind]
    spec = {} if kind == "DaemonSet" else {"replicas": 2}
    cluster = [*nodes("2", "2"), *make(["n0", "n1"], template(OLD))]
    (found,) = checked(tmp_path, cluster, workload(kind, template(OLD), **spec)).workloads
    assert (summed(found), found.rollout) == ((2, 0, 0, []), False)
    (found,) = checked(tmp_path, cluster, workload(kind, template(OLD), **spec), restart=True).workloads
    assert found.rollout
    assert summed(found)[:2] == (2, 0)


def test_replicas_that_the_manifest_leaves_out_stay_as_they_are(tmp_path: Path) -> None:
    cluster = [*nodes("9"), *running_deployment(["n0"] * 4, template(OLD))]
    (found,) = checked(tmp_path, cluster, workload("Deployment", template(), strategy=rolling(2, 0))).workloads
    assert summed(found)[:2] == (4, 0)


def test_another_number_of_replicas_comes_before_another_template(tmp_path: Path) -> None:
    cluster = [*nodes("9"), *running_deployment(["n0"] * 2, template(OLD))]
    cluster[2]["metadata"]["annotations"] = {"deployment.kubernetes.io/desired-replicas": "2"}
    (found,) = checked(tmp_path, cluster, workload("Deployment", template(), replicas=4)).workloads
    # Two for the scale and one for the surge; then one of the old ones, which is not ready yet, gives way to a new one.
    assert len(found.steps[0].made) == 2 + 1 + 1
    assert summed(found)[:2] == (4, 0)


def test_a_paused_deployment_keeps_its_pods(tmp_path: Path) -> None:
    cluster = [*nodes("9"), *running_deployment(["n0"] * 2, template(OLD))]
    (found,) = checked(tmp_path, cluster, workload("Deployment", template(), replicas=2, paused=True)).workloads
    assert [(each.code, each.level) for each in found.findings] == [("KS405", "note")]


def test_a_quota_that_has_no_room_for_old_and_new(tmp_path: Path) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    cluster = [*nodes("9"), quota, *running_deployment(["n0"] * 2, template(OLD))]
    new = workload("Deployment", template(), replicas=2, strategy=rolling(1, 0))
    (found,) = checked(tmp_path, cluster, new).workloads
    assert [each.code for each in found.findings] == ["KS403"]
    new["spec"]["strategy"] = rolling(0, 1)
    (found,) = checked(tmp_path, cluster, new).workloads
    assert found.result == "fits"


def test_workloads_roll_out_side_by_side(tmp_path: Path) -> None:
    """What one gives up another may take."""
    cluster = [*nodes("2"), *running_deployment(["n0", "n0"], template(OLD))]
    shrinking = workload("Deployment", template(OLD), replicas=1)
    other = workload("Deployment", template(), replicas=1)
    other["metadata"] = {"name": "other"}
    found = checked(tmp_path, cluster, other, shrinking)
    assert [each.result for each in found.workloads] == ["fits", "fits"]


def test_preemption_is_a_warning_and_its_victims_are_named(tmp_path: Path) -> None:
    low = make_pod("low").on("n0").priority(0).requests(cpu="1").doc()
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    made = template(priorityClassName="high")
    found = checked(tmp_path, [*nodes("1"), low, high], workload("Deployment", made, replicas=1))
    (only,) = found.workloads
    assert (only.result, found.evicted) == ("warns", ("default/low",))
    assert [(each.code, each.message) for each in only.findings] == [
        ("KS203", "1 pod evicted to make room: default/low")
    ]


def test_pods_that_waited_before_come_first(tmp_path: Path) -> None:
    """They take the room that a rollout makes, and are nobody's finding."""
    waiting = make_pod("waiting").created("2020-01-01T00:00:00Z").requests(cpu="1").doc()
    cluster = [*nodes("1"), waiting, *running_deployment(["n0"], template(OLD))]
    new = workload("Deployment", template(), replicas=1, strategy={"type": "Recreate"})
    found = checked(tmp_path, cluster, new)
    assert [(each.code, each.pods[0][:2]) for each in found.findings] == [("KS101", "w-")]


CAUSES = [
    pytest.param({"nodeSelector": {"disk": "x"}}, "KS104", "spec.template.spec.nodeSelector.disk", id="selector"),
    pytest.param({"cpu": "3"}, "KS102", "spec.template.spec.containers[0].resources.requests.cpu", id="too large"),
    pytest.param(
        {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        "KS121", "spec.template.spec.volumes[1]", id="claim",
    ),
    pytest.param(
        {"resourceClaims": [{"name": "r", "resourceClaimName": "c"}]}, "KS143", "spec.template.spec.resourceClaims[0]",
        id="device claim",
    ),
    pytest.param({"schedulerName": "mine"}, "KS202", "spec.template.spec.schedulerName", id="another scheduler"),
    pytest.param({"nodeName": "nowhere"}, "KS109", "spec.template.spec.nodeName", id="no such node"),
    pytest.param({"priorityClassName": "p"}, "KS303", "spec.template.spec.priorityClassName", id="no such class"),
    pytest.param({"runtimeClassName": "p"}, "KS304", "spec.template.spec.runtimeClassName", id="no such runtime"),
    pytest.param(
        {"topologySpreadConstraints": [{**SPREAD["topologySpreadConstraints"][0], "topologyKey": "rack"}]},
        "KS112", "spec.template.spec.topologySpreadConstraints[0].topologyKey", id="topology key",
    ),
    pytest.param(
        {"topologySpreadConstraints": [
            {**SPREAD["topologySpreadConstraints"][0], "topologyKey": "row", "whenUnsatisfiable": "ScheduleAnyway"},
            *SPREAD["topologySpreadConstraints"],
            {**SPREAD["topologySpreadConstraints"][0], "topologyKey": "rack"}]},
        "KS112", "spec.template.spec.topologySpreadConstraints[2].topologyKey", id="topology key of the third",
    ),
    pytest.param(
        {"affinity": {"podAffinity": APART["affinity"]["podAntiAffinity"] | {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "cache"}}}]}}},
        "KS113", "spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
        id="affinity",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "path"), CAUSES)
def test_the_field_that_decides(spec: dict[str, Any], code: str, path: str, tmp_path: Path) -> None:
    new = workload("Deployment", template(**{"cpu": "1", **spec}), replicas=1)
    (own,) = checked(tmp_path, nodes("2", "2"), new).workloads
    (found,) = own.findings
    assert (found.code, found.place.path) == (code, path)


def set_of(*ready: bool) -> list[dict[str, Any]]:
    """A StatefulSet of two pods, those that are there on n0."""
    found = running_set(["n0"] * len(ready), template())
    for pod, is_ready in zip(found[1:], ready, strict=True):
        pod["status"]["conditions"][0]["status"] = str(is_ready)
    return [{**found[0], "spec": {**found[0]["spec"], "replicas": 2}}, *found[1:]]


TWO_OF_A_SET = workload("StatefulSet", template(cpu="500m"), replicas=2)
WAITS = "not ready, and the controller waits for that"


@pytest.mark.parametrize(
    ("cluster", "manifest", "code", "path", "text"),
    [
        pytest.param(set_of(False, True), TWO_OF_A_SET, "KS402", "spec.updateStrategy", f"w-0 is {WAITS}", id="one is not ready"),
        pytest.param(set_of(False, False), TWO_OF_A_SET, "KS402", "spec.updateStrategy", f"w-0, w-1 are {WAITS}", id="two are not ready"),
        pytest.param(set_of(False), workload("StatefulSet", template(), replicas=2), "KS402", "spec.updateStrategy", f"w-0 is {WAITS}", id="the first is not ready, and the second is not there"),
        pytest.param([], make_pod("p").on("nowhere").doc(), "KS109", "spec.nodeName", 'there is no node "nowhere"', id="no such node"),
        pytest.param([make_pod("p").on("n0").phase("Failed").doc()], make_pod("p").on("n0").doc(), "KS408", "spec", "the pod has failed, and no controller makes another: delete it first", id="it has failed"),
    ],
)  # fmt: skip
def test_the_sentence_about_what_stops_a_workload(
    cluster: list[dict[str, Any]], manifest: dict[str, Any], code: str, path: str, text: str, tmp_path: Path
) -> None:
    (found,) = checked(tmp_path, [*nodes("4"), *cluster], manifest).findings
    assert (found.code, found.place.path) == (code, path)
    assert found.message.endswith(text)
    assert "without a place" not in found.message


def test_a_job_that_waits_for_its_own_pods_says_in_how_many_waves_it_runs(tmp_path: Path) -> None:
    """Its first pod fills the node, so that the second follows: all pods that are made come in one wave."""
    job = make_object("Job", "w", {"parallelism": 2, "template": template(restartPolicy="Never")})
    fewer = "it finishes with fewer pods at a time than parallelism allows: there is no room for all at once"
    for first, text in (([running("w-a", "n0", "w", "Job", template())], fewer), ([], "its pods run in 2 waves")):
        (found,) = checked(tmp_path, [*nodes("1"), *first], job).findings
        assert found.message.startswith(text)


@pytest.mark.parametrize(
    ("names", "code", "path"),
    [
        pytest.param(("a", "b"), "KS141", "spec.template.spec.resourceClaims[0]", id="all lack devices"),
        pytest.param(("a", "none"), "KS143", "spec.template.spec.resourceClaims[1]", id="the second is missing"),
    ],
)
def test_the_device_claim_that_decides(names: tuple[str, ...], code: str, path: str, tmp_path: Path) -> None:
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    claims = [
        make_object("ResourceClaim", name, {"devices": {"requests": requests}}, namespace="default") for name in "ab"
    ]
    references = [{"name": f"c{at}", "resourceClaimName": name} for at, name in enumerate(names)]
    new = workload("Deployment", template(resourceClaims=references), replicas=1)
    (own,) = checked(tmp_path, [*nodes("2"), device_class, *claims], new).workloads
    (found,) = own.findings
    assert (found.code, found.place.path) == (code, path)


SPECIAL = make_node("special").label(disk="ssd").taint("dedicated").allocatable(cpu="8", example_com__gpu="1", pods="9")
CLOSEST = [
    pytest.param({"nodeSelector": {"disk": "ssd"}}, "1", "KS107", id="the node that it asks for has a taint"),
    pytest.param({"nodeSelector": {"disk": "nvme"}}, "1", "KS104", id="no node is what it asks for"),
    pytest.param({}, "5", "KS102", id="too large for all nodes that are not set apart"),
    pytest.param(
        {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"disk": "ssd"}}, "9", "KS102", id="too large for it"
    ),
    pytest.param(
        {"container": {"resources": {"limits": {"example.com/gpu": "1"}}}}, "1", "KS107", id="what has the device"
    ),
]


@pytest.mark.parametrize(("spec", "cpu", "code"), CLOSEST)
def test_the_node_that_came_closest_decides(spec: dict[str, Any], cpu: str, code: str, tmp_path: Path) -> None:
    cluster = [*nodes("4", "4"), SPECIAL.doc()]
    new = workload("Deployment", template(cpu=cpu, **spec), replicas=1)
    assert [each.code for each in checked(tmp_path, cluster, new).findings] == [code]


@pytest.mark.parametrize(
    ("cpu", "more"),
    [
        pytest.param("5", " The pod requests cpu 5; the closest node has 4 in all.", id="too large"),
        pytest.param("3", "", id="full later"),
    ],
)
def test_code_field_and_message_are_of_one_reason(cpu: str, more: str, tmp_path: Path) -> None:
    """The message of the scheduler is about the taint of the node. Another workload fills the node after that."""
    tolerant = workload("Deployment", template(cpu="3", tolerations=[{"operator": "Exists"}]), replicas=1)
    tolerant["metadata"]["name"] = "x"
    new = workload("Deployment", template(cpu=cpu), replicas=1)
    own, _ = checked(
        tmp_path, [make_node("n").taint("gpu").allocatable(cpu="4", pods="9").doc()], new, tolerant
    ).workloads
    (found,) = own.findings
    assert (found.code, found.plugin, found.reasons) == (
        "KS107",
        "TaintToleration",
        ("node(s) had untolerated taint(s)",),
    )
    assert found.place.path == "spec.template.spec.tolerations"
    assert found.message.endswith(f"0/1 nodes are available: 1 node(s) had untolerated taint(s).{more}")


def test_claims_of_a_set_are_found_in_its_templates(tmp_path: Path) -> None:
    claim = {"metadata": {"name": "data"}, "spec": CLAIM_SPEC}
    new = workload("StatefulSet", template(), replicas=1, volumeClaimTemplates=[claim])
    (found,) = checked(tmp_path, nodes("4"), new).findings
    assert (found.code, found.place.path) == ("KS122", "spec.volumeClaimTemplates[0]")


def test_a_finished_pod_of_a_set_is_made_anew(tmp_path: Path) -> None:
    cluster = [*nodes("4"), *running_set(["n0", "n0"], template(OLD))]
    cluster[-1]["status"] = {"phase": "Failed"}
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", template(OLD), replicas=2)).workloads
    assert (summed(found), found.steps[0].made) == ((2, 0, 1, []), ("w-1",))


def test_a_stranger_holds_the_name_of_a_pod(tmp_path: Path) -> None:
    stranger = make_pod("w-0").label(app="other").on("n0").doc()
    (found,) = checked(tmp_path, [*nodes("4"), stranger], workload("StatefulSet", template(), replicas=1)).workloads
    assert [(each.code, each.level) for each in found.findings] == [("KS404", "warning")]


def test_a_pod_that_runs_stays_and_one_that_waits_is_placed(tmp_path: Path) -> None:
    cluster = [*nodes("4"), make_pod("runs").on("n0").doc(), make_pod("waits").doc()]
    found = checked(tmp_path, cluster, make_pod("runs").doc(), make_pod("waits").doc()).workloads
    assert [(each.result, each.running) for each in found] == [("fits", 1), ("fits", 1)]
    assert [each.code for each in found[0].findings] == ["KS405"]


def test_a_job_that_has_pods_already_makes_the_rest(tmp_path: Path) -> None:
    job = make_object("Job", "w", {"parallelism": 3, "template": template(restartPolicy="Never")})
    (found,) = checked(tmp_path, [*nodes("2"), running("w-a", "n0", "w", "Job", template())], job).workloads
    assert (found.pods, found.running, [each.code for each in found.findings]) == (3, 3, ["KS406"])


def test_pods_without_their_workload_are_taken_as_outdated_and_that_is_told(tmp_path: Path) -> None:
    cluster = [*nodes("4"), *running_set(["n0"], template(OLD))[1:]]
    found = checked(tmp_path, cluster, workload("StatefulSet", template(OLD), replicas=1))
    assert found.workloads[0].rollout
    assert [text for text in found.warnings if "add statefulsets to the dump" in text]


def test_a_set_keeps_its_volumes(tmp_path: Path) -> None:
    """The new pod has to go to where the volume of the old one is, and there is no room there."""
    claim = {"metadata": {"name": "data"}, "spec": {**CLAIM_SPEC, "storageClassName": "local"}}
    on_n0 = {"required": {"nodeSelectorTerms": [term(("kubernetes.io/hostname", "In", ["n0"]))]}}
    volume = make_object(
        "PersistentVolume", "v", {"storageClassName": "local", "nodeAffinity": on_n0, "capacity": {"storage": "1Gi"}}
    )
    bound = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-w-0", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {**claim["spec"], "volumeName": "v"},
    }
    mounted = template(OLD, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data-w-0"}}])
    spec = {"replicas": 1, "volumeClaimTemplates": [claim]}
    old, pod = running_set(["n0"], mounted)
    old["spec"] |= {"template": template(OLD), **spec}
    cluster = [*nodes("2", "8"), volume, bound, old, pod]
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", template(cpu="1"), **spec)).workloads
    assert found.steps[-1].placed == {"w-0": "n0"}
    (found,) = checked(tmp_path, cluster, workload("StatefulSet", template(cpu="4"), **spec)).workloads
    assert found.result == "fails"
    assert "volume node affinity" in found.findings[0].message or "PersistentVolume" in found.findings[0].message


def test_new_workloads_go_where_simulate_has_them_go() -> None:
    """The world has no other scheduler: without anything to replace, its first moment is one run."""
    cluster, manifests = "ksched_cli/cli/demo_cluster.yaml", "fixtures/manifests/shop.yaml"
    setup = RunOptions(sources=[str(ROOT / cluster)], filenames=[str(ROOT / manifests)])
    simulated = {outcome.pod: outcome.node for outcome in prepare(setup).simulate().outcomes}
    found = {
        f"shop/{pod}": node
        for each in check(setup).workloads
        for step in each.steps[:1]
        for pod, node in step.placed.items()
    }
    assert len(found) == 6
    assert found.items() <= simulated.items()


def test_a_claim_for_one_pod_is_held_by_the_old_one(tmp_path: Path) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v"},
    }
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}}
    mounted = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    cluster = [*nodes("8"), claim, volume, *running_deployment(["n0"], template(OLD, **mounted))]
    for strategy, expected in ((rolling(1, 0), ["KS401"]), ({"type": "Recreate"}, [])):
        new = workload("Deployment", template(**mounted), replicas=1, strategy=strategy)
        (found,) = checked(tmp_path, cluster, new).workloads
        assert [each.code for each in found.findings] == expected


def test_what_an_earlier_rollout_left_waiting_is_cleaned_up_first(tmp_path: Path) -> None:
    """cleanupUnhealthyReplicas: a pod that never ran does not count as available."""
    cluster = [*nodes("2"), *running_deployment(["n0", "n0"], template(OLD, cpu="1"))]
    del cluster[-1]["spec"]["nodeName"]
    cluster[-1]["status"] = {"phase": "Pending"}
    cluster[-1]["spec"]["nodeSelector"] = {"no": "where"}
    new = workload("Deployment", template(), replicas=2, strategy=rolling(0, 1))
    (found,) = checked(tmp_path, cluster, new).workloads
    assert (found.result, found.steps[0].removed) == ("fits", ("w-h-1",))


def test_a_new_deployment_that_is_paused_makes_no_pods(tmp_path: Path) -> None:
    (found,) = checked(tmp_path, nodes("4"), workload("Deployment", template(), replicas=2, paused=True)).workloads
    assert [(each.code, each.message) for each in found.findings] == [
        ("KS405", "Deployment default/w is paused: it makes no pods")
    ]


def test_a_cluster_without_nodes(tmp_path: Path) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    item = workload("Deployment", template(), replicas=1)
    (found,) = checked(tmp_path, [namespace], item, allow_empty=True).findings
    assert (found.code, found.message) == ("KS118", "1 pod without a place: no nodes available to schedule pods")


def test_a_plugin_of_ones_own(tmp_path: Path) -> None:
    setup = {"plugins": ["tests.plan.test_check:Grumpy"], "config": str(tmp_path / "config.yaml")}
    (tmp_path / "config.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {multiPoint: {enabled: [{name: Grumpy}]}}}]\n"
    )
    for image, expected in (("no", ("KS190", "Grumpy")), ("broken", ("KS191", ""))):
        new = workload("Deployment", template(image), replicas=1)
        (found,) = checked(tmp_path, nodes("4"), new, **setup).findings
        assert (found.code, found.plugin) == expected
        assert "Grumpy" in found.message or "not today" in found.message


class Grumpy(PerNodePlugin):
    name = "Grumpy"

    def filter_one(self, info: PodInfo, node: Node) -> Status:
        if info.pod.spec.containers[0].image == "broken":
            raise RuntimeError("no idea")
        return unschedulable("not today") if info.pod.spec.containers[0].image == "no" else SUCCESS


def test_what_could_not_be_read_of_a_live_cluster_is_told_where_it_matters(tmp_path: Path) -> None:
    """A pod that runs already is not tried, and without a preemption no budget matters."""
    plain, mounts, runs = workload("Deployment", template(), replicas=1), make_pod("mounts"), make_pod("runs").on("n0")
    for pod in (mounts, runs):
        pod.spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    loaded = load_dump([write_list(tmp_path / "cluster.json", *nodes("4"), runs.doc())])
    manifests = load_manifests([write_list(tmp_path / "manifests.json", plain, mounts.doc(), runs.doc())])
    scheduler = make_scheduler(loaded.of(Node), loaded.of(Pod))
    missing = ["PersistentVolumeClaim", "PodDisruptionBudget", "Service"]
    checker = Checker(Run(input_over(scheduler, loaded)), Places(manifests), missing)
    found = checker.check(Changes(manifests))
    assert [each.missing for each in found.workloads] == [("Service",), ("PersistentVolumeClaim",), ()]
