"""Where the minors differ, rule by rule, on the smallest cluster that shows it. Those of which there are recordings are
held against them as well; the others are read from their sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.storage import PersistentVolume
from ksched_cli.config.load import load_config
from ksched_cli.engine.decision import Decision
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plugins.image_locality import ImageLocality
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.plugins.taint_toleration import TaintToleration
from ksched_cli.plugins.volume_zone import VolumeZone
from ksched_cli.releases.minors import RELEASES, nearest_release
from tests.builders import make_node, make_pod, term, write_list
from tests.harness import decide, make_bench, make_scheduler
from tests.plugins.storage import claim
from tests.running import prepare

MB = 1024 * 1024
NOT_FOUND = 'persistentvolumeclaim "gone" not found'
VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
HOPELESS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


def decided(minor: str, nodes: list[Node], pod: Pod, running: Any = (), **options: Any) -> Decision:
    scheduler = make_scheduler(nodes, [*running, pod], current=nearest_release(minor), **options)
    return decide(scheduler)[f"default/{pod.metadata.name}"]


def node(name: str = "n") -> Node:
    return make_node(name).allocatable(cpu="1", memory="1Gi", pods=10).obj()


@pytest.mark.parametrize(
    ("minors", "after"),
    [
        pytest.param(("1.21", "1.22", "1.23"), "", id="nothing of preemption"),
        pytest.param(("1.24", "1.25"), f" {VICTIMS}", id="since 1.24"),
        pytest.param(("1.26", "1.27", "1.28"), f" {VICTIMS}.", id="with a full stop more"),
        pytest.param(("1.29", "1.30", "1.31", "1.32", "1.33"), f" {VICTIMS}", id="since 1.29"),
        pytest.param(("1.34", "1.35", "1.36"), f" {HOPELESS}", id="since 1.34 hopeless"),
    ],
)
def test_a_node_that_is_too_small(minors: tuple[str, ...], after: str) -> None:
    for minor in minors:
        found = decided(minor, [node()], make_pod("new").requests(cpu="8").obj())
        dra = " no new claims to deallocate," if minor in ("1.34", "1.35", "1.36") else ""
        assert found.message == f"0/1 nodes are available: 1 Insufficient cpu.{dra}{after}", minor


@pytest.mark.parametrize(
    ("minors", "reasons", "after"),
    [
        pytest.param(("1.21", "1.23"), f"1 {NOT_FOUND}.", "", id="counted"),
        pytest.param(("1.24", "1.25"), f"1 {NOT_FOUND}.", f" {HOPELESS}", id="counted, preemption"),
        pytest.param(("1.26.0", "1.26.8", "1.27.5", "1.28.1"), f"{NOT_FOUND}.", f" {VICTIMS}.", id="on no node"),
        pytest.param(("1.26", "1.26.9", "1.27.6", "1.28"), f"{NOT_FOUND}.", f" {HOPELESS}.", id="on every node"),
        pytest.param(("1.29", "1.33"), f"{NOT_FOUND}.", f" {HOPELESS}", id="since 1.29"),
    ],
)
def test_a_claim_that_is_not_there(minors: tuple[str, ...], reasons: str, after: str) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]
    for minor in minors:
        found = decided(minor, [node()], make_pod("new").spec(volumes=volumes).obj())
        assert found.message == f"0/1 nodes are available: {reasons}{after}", minor


def test_a_rejection_that_reaches_no_node_makes_evictions_fail() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]
    pod = make_pod("new").spec(volumes=volumes).priority(9).obj()
    found = decided("1.27.5", [node()], pod, [busy("weak", "n", 1).obj()])
    why = 'running RemovePod on PreFilter plugin "VolumeRestrictions": cannot read'
    assert found.message.startswith(f"0/1 nodes are available: {NOT_FOUND}. preemption: {why}")
    assert not found.nominated_node


@pytest.mark.parametrize(
    ("minors", "result"),
    [
        pytest.param(("1.24", "1.27.13", "1.28.9", "1.29.4"), "error", id="an error"),
        pytest.param(("1.27.14", "1.28", "1.29.5", "1.30", "1.36"), "unschedulable", id="no node is left"),
    ],
)
def test_pre_filter_names_a_node_that_does_not_exist(minors: tuple[str, ...], result: str) -> None:
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
    for minor in minors:
        found = decided(minor, [node()], make_pod("new").node_affinity(fields).obj())
        assert found.result == result, minor
        assert ('nodeinfo not found for node name "gone"' in found.message) is (result == "error"), minor


@pytest.mark.parametrize(
    ("minors", "reason"),
    [
        pytest.param(("1.21", "1.23"), "1 node(s) didn't match Pod's node affinity/selector, ", id="filtered"),
        pytest.param(("1.24", "1.28.9", "1.28", "1.29", "1.30.2", "1.30", "1.31"), "", id="not spoken of"),
        pytest.param(
            ("1.27.14", "1.28.10", "1.29.5", "1.30.0", "1.30.1"),
            "1 node is filtered out by the prefilter result, ",
            id="filtered out",
        ),
        pytest.param(("1.32", "1.36"), "1 node(s) didn't satisfy plugin(s) [NodeAffinity], ", id="since 1.32"),
    ],
)
def test_nodes_that_pre_filter_left_out(minors: tuple[str, ...], reason: str) -> None:
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    pod = make_pod("new").requests(cpu="8").node_affinity(fields).obj()
    for minor in minors:
        found = decided(minor, [node("a"), node("b")], pod)
        histogram = sorted(filter(None, (*reason.removesuffix(", ").split(", "), "1 Insufficient cpu")))
        assert found.message.startswith(f"0/2 nodes are available: {', '.join(histogram)}."), minor


@pytest.mark.parametrize(
    ("minors", "reason"),
    [
        pytest.param(("1.21", "1.23"), "node(s) had taint {a: b}, that the pod didn't tolerate", id="1.21"),
        pytest.param(("1.24", "1.28", "1.33", "1.34.1"), "node(s) had untolerated taint {a: b}", id="1.24"),
        pytest.param(("1.34.2", "1.34", "1.36"), "node(s) had untolerated taint(s)", id="1.34.2"),
    ],
)
def test_taints(minors: tuple[str, ...], reason: str) -> None:
    tainted = make_node("n").taint("a", "b").obj()
    for minor in minors:
        release = nearest_release(minor)
        statuses = make_bench(TaintToleration, [tainted], make_pod().obj(), current=release).statuses()
        assert statuses == {"n": ("UnschedulableAndUnresolvable", (reason,))}, minor


@pytest.mark.parametrize(
    ("patches", "every"),
    [
        pytest.param(("1.24.0", "1.24.9", "1.25.2", "1.25.5", "1.26.0"), True, id="all reasons"),
        pytest.param(("1.23", "1.24.10", "1.24", "1.25.6", "1.26.1", "1.26", "1.27.0"), False, id="first reason"),
    ],
)
def test_a_node_that_two_filters_reject(patches: tuple[str, ...], every: bool) -> None:
    small = make_node("n").allocatable(cpu="1", pods=9).taint("a", "b").obj()
    taint, cpu = "1 node(s) had untolerated taint {a: b}", "1 Insufficient cpu"
    for patch in patches:
        found = decided(patch, [small], make_pod("new").requests(cpu="2").obj())
        reasons = found.message.replace(
            "had taint {a: b}, that the pod didn't tolerate", "had untolerated taint {a: b}"
        )
        expected = f"{cpu}, {taint}" if every else taint
        assert reasons.startswith(f"0/1 nodes are available: {expected}."), patch


@pytest.mark.parametrize(
    ("patch", "why", "of_preemption"),
    [
        ("1.24.9", "1 Insufficient cpu, 1 {label}", "1 Preemption is not helpful for scheduling."),
        ("1.24.10", "1 Insufficient cpu", "1 {label}."),
    ],
)
def test_the_gravest_of_all_reasons_decides_on_preemption(patch: str, why: str, of_preemption: str) -> None:
    label = "node(s) didn't match pod topology spread constraints (missing required label)"
    constraint = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    pod = make_pod("new").requests(cpu="1").priority(9).spec(topologySpreadConstraints=[constraint]).obj()
    found = decided(patch, [node()], pod, [busy("weak", "n", 1).obj()])
    text = f"0/1 nodes are available: {why}. preemption: 0/1 nodes are available: {of_preemption}"
    assert found.message == text.format(label=label)


@pytest.mark.parametrize(("minor", "feasible"), [("1.29", 2), ("1.30", 1)])
def test_a_profile_without_scores(minor: str, feasible: int) -> None:
    """Since 1.30 the first node that fits will do."""
    release = RELEASES[minor]
    off = {"score": {"disabled": [{"name": "*"}]}, "preScore": {"disabled": [{"name": "*"}]}}
    document = {
        "apiVersion": release.config.read[0],
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": off}],
    }
    from tests.config.test_minors import points

    configuration = load_config(json.dumps(document), "c", release, release.gates(), points(release))
    found = decided(minor, [node("a"), node("b")], make_pod("new").obj(), configuration=configuration)
    assert len(found.feasible) == feasible
    # prioritizeNodes: without plugins every node has the score 1.
    assert (found.scores.totals.tolist() if found.scores is not None else []) == ([1, 1] if feasible > 1 else [])


def test_best_effort_pods_are_balanced_up_to_1_32() -> None:
    for minor, scored in (("1.26", True), ("1.32", True), ("1.33", False)):
        found = decided(minor, [node("a"), node("b")], make_pod("new").obj())
        assert found.scores is not None
        assert ("NodeResourcesBalancedAllocation" in found.scores.raw) is scored, minor


@pytest.mark.parametrize(
    ("minor", "score"),
    [
        pytest.param("1.21", 50, id="difference"),
        pytest.param("1.22", 75, id="deviation"),
        pytest.param("1.36", 62, id="gain"),
    ],
)
def test_balance(minor: str, score: int) -> None:
    """A pod that takes 3/4 of the cpu and 1/4 of the memory of an empty node."""
    empty = make_node("n").allocatable(cpu="4", memory="4Gi", pods=10).obj()
    pod = make_pod().requests(cpu="3", memory="1Gi").obj()
    assert make_bench(NodeResourcesBalancedAllocation, [empty], pod, current=RELEASES[minor]).scores() == {"n": score}


@pytest.mark.parametrize(
    ("minor", "scores"),
    [
        pytest.param("1.28", {"a": 23, "b": 48}, id="as many holders as there were when the node came"),
        pytest.param("1.29", {"a": 48, "b": 48}, id="all holders"),
    ],
)
def test_how_many_nodes_hold_an_image(minor: str, scores: dict[str, int]) -> None:
    nodes = [make_node(name).image(500 * MB, "a:v1").obj() for name in ("a", "b")]
    made = make_bench(ImageLocality, nodes, make_pod().image("a:v1").obj(), current=RELEASES[minor])
    assert made.scores() == scores


@pytest.mark.parametrize(
    ("minor", "score"),
    [pytest.param("1.29", 0, id="none"), pytest.param("1.30", 49, id="init"), pytest.param("1.36", 100, id="volume")],
)
def test_whose_images_count(minor: str, score: int) -> None:
    holder = make_node("n").image(1000 * MB, "init:v1").image(1000 * MB, "volume:v1").obj()
    volume = [{"name": "v", "image": {"reference": "volume:v1"}}]
    pod = make_pod().image("x:v1").init(image="init:v1").spec(volumes=volume).obj()
    assert make_bench(ImageLocality, [holder], pod, current=RELEASES[minor]).scores() == {"n": score}


@pytest.mark.parametrize(
    ("minor", "clash"),
    [("1.28", False), ("1.32", False), ("1.33.5", False), ("1.33.6", True), ("1.33", True), ("1.36", True)],
)
def test_ports_of_sidecars(minor: str, clash: bool) -> None:
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"hostPort": 80, "containerPort": 80}]}
    running = [make_pod("run").host_port(80).on("n").phase("Running").obj()]
    pod = make_pod("new").init(**sidecar).obj()
    assert bool(make_bench(NodePorts, [node()], pod, running, current=nearest_release(minor)).statuses()) is clash


@pytest.mark.parametrize(
    ("minor", "gates", "refused"),
    [
        pytest.param("1.28", "", True, id="alpha"),
        pytest.param("1.28", "SidecarContainers=true", False, id="switched on"),
        pytest.param("1.29", "", False, id="beta"),
    ],
)
def test_sidecars_while_their_gate_is_off(minor: str, gates: str, refused: bool) -> None:
    pod = make_pod("new").init(name="s", restartPolicy="Always").obj()
    statuses = make_bench(NodeResourcesFit, [node()], pod, current=RELEASES[minor], gates=gates).statuses()
    text = "Pod has a restartable init container and the SidecarContainers feature is disabled"
    assert statuses == ({"n": ("UnschedulableAndUnresolvable", (text,))} if refused else {})


def test_an_overcommitted_node_took_nobody_before_1_28() -> None:
    running = [make_pod("run").requests(cpu="2").on("n").phase("Running").obj()]
    pod = make_pod("new").requests(memory="1Mi").obj()
    for minor, full in (("1.27", True), ("1.28", False)):
        made = make_bench(NodeResourcesFit, [node()], pod, running, current=RELEASES[minor])
        assert made.statuses() == ({"n": ("Unschedulable", ("Insufficient cpu",))} if full else {}), minor


SPREAD: dict[str, Any] = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone"}


@pytest.mark.parametrize(("minor", "refused"), [("1.26", True), ("1.27", False)])
def test_an_empty_selector_of_a_constraint(minor: str, refused: bool) -> None:
    """It counted everybody before it counted nobody."""
    nodes = [make_node("a").zone("z0").obj(), make_node("b").zone("z1").obj()]
    running = [make_pod(f"run-{index}").on("a").phase("Running").obj() for index in range(2)]
    constraint = {**SPREAD, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    pod = make_pod("new").spec(topologySpreadConstraints=[constraint]).obj()
    assert ("a" in make_bench(PodTopologySpread, nodes, pod, running, current=RELEASES[minor]).statuses()) is refused


@pytest.mark.parametrize(("minor", "refused"), [("1.23", True), ("1.24", False)])
def test_pods_on_nodes_that_the_pod_may_not_go_to(minor: str, refused: bool) -> None:
    """They counted in a zone where another node would do."""
    nodes = [
        make_node("a").zone("z0").label("disk", "ssd").obj(),
        make_node("full").zone("z0").obj(),
        make_node("b").zone("z1").label("disk", "ssd").obj(),
    ]
    running = [make_pod(f"run-{index}").label("app", "x").on("full").phase("Running").obj() for index in range(2)]
    selector = {"matchLabels": {"app": "x"}}
    constraint = {**SPREAD, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    builder = make_pod("new").label("app", "x").node_affinity(term(("disk", "In", ["ssd"])))
    pod = builder.spec(topologySpreadConstraints=[constraint]).obj()
    assert ("a" in make_bench(PodTopologySpread, nodes, pod, running, current=RELEASES[minor]).statuses()) is refused


def persistent(name: str, **fields: Any) -> PersistentVolume:
    labels = fields.pop("labels", {})
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "spec": fields}, PersistentVolume)


MOUNTED = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]


@pytest.mark.parametrize(("minor", "refused"), [("1.28", True), ("1.29", False)])
def test_a_volume_with_the_beta_label_of_a_zone(minor: str, refused: bool) -> None:
    """A node that has only the label which took its place."""
    volume = persistent("pv", labels={"failure-domain.beta.kubernetes.io/zone": "z0"})
    made = make_bench(
        VolumeZone,
        [make_node("a").zone("z0").obj()],
        make_pod("new").spec(volumes=MOUNTED).obj(),
        objects=[volume, claim("data", volume="pv")],
        current=RELEASES[minor],
    )
    assert bool(made.statuses()) is refused


@pytest.mark.parametrize(
    ("minor", "said"),
    [
        pytest.param("1.23", "2 node(s) had volume node affinity conflict", id="filtered"),
        pytest.param("1.27", "plugin VolumeBinding", id="narrowed"),
        pytest.param("1.29.10", "plugin VolumeBinding", id="narrowed in 1.29.10"),
        pytest.param("1.30.6", "plugin VolumeBinding", id="narrowed in 1.30.6"),
        pytest.param("1.31.2", "plugin VolumeBinding", id="narrowed in 1.31.2"),
        pytest.param("1.29.11", "2 node(s) had volume node affinity conflict", id="filtered in 1.29.11"),
        pytest.param("1.30.7", "2 node(s) had volume node affinity conflict", id="filtered in 1.30.7"),
        pytest.param("1.31.3", "2 node(s) had volume node affinity conflict", id="filtered in 1.31.3"),
        pytest.param("1.32", "2 node(s) had volume node affinity conflict", id="filtered again"),
        pytest.param("1.33", "2 node(s) didn't match PersistentVolume's node affinity", id="other words"),
    ],
)
def test_two_local_volumes_on_different_nodes(minor: str, said: str) -> None:
    def local(name: str, on: str) -> PersistentVolume:
        wanted = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}]}]
        return persistent(name, local={"path": "/"}, nodeAffinity={"required": {"nodeSelectorTerms": wanted}})

    objects = [local("pv-a", "a"), local("pv-b", "b"), claim("a", volume="pv-a"), claim("b", volume="pv-b")]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("a", "b")]
    nodes = [make_node(name).label("kubernetes.io/hostname", name).obj() for name in ("a", "b")]
    found = decided(minor, nodes, make_pod("new").spec(volumes=volumes).obj(), objects=objects)
    assert said in found.message


@pytest.mark.parametrize(("minor", "scheduled"), [("1.26", True), ("1.31.2", False), ("1.31.3", True)])
def test_a_local_volume_on_a_node_that_is_not_named_after_its_host(minor: str, scheduled: bool) -> None:
    wanted = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["host"]}]}]
    volume = persistent("pv", local={"path": "/"}, nodeAffinity={"required": {"nodeSelectorTerms": wanted}})
    pod = make_pod("new").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]).obj()
    nodes = [make_node("n").label("kubernetes.io/hostname", "host").obj()]
    found = decided(minor, nodes, pod, objects=[volume, claim("data", volume="pv")])
    assert (found.result == "scheduled") is scheduled


def test_the_first_victim_decided_in_earlier_patches_even_if_another_one_mattered_more() -> None:
    """Those that violate a budget come first in the list of victims, which was not sorted once more."""
    from ksched_cli.api.workloads import PodDisruptionBudget

    budget = msgspec.convert(
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
            "status": {"disruptionsAllowed": 0},
        },
        PodDisruptionBudget,
    )
    running = []
    for name, priorities in (("a", (1, 5)), ("b", (2, 3))):
        guarded, free = priorities
        running.append(busy(f"{name}-guarded", name, guarded).label("app", "guarded").obj())
        running.append(busy(f"{name}-free", name, free).obj())
    pod = make_pod("new").requests(cpu="1").priority(100).obj()
    for minor, chosen in (("1.28", "a"), ("1.31.2", "a"), ("1.31.3", "b"), ("1.31", "b"), ("1.32", "b")):
        found = decided(minor, [node("a"), node("b")], pod, running, objects=[budget])
        assert found.nominated_node == chosen, minor


def busy(name: str, on: str, priority: int) -> Any:
    return (
        make_pod(name).requests(cpu="500m").priority(priority).on(on).phase("Running").started("2026-01-01T00:00:00Z")
    )


@pytest.mark.parametrize(
    ("minor", "counts"),
    [("1.18", True), ("1.19", False), ("1.20", False), ("1.24", False)],
)
def test_ephemeral_storage_without_its_gate(minor: str, counts: bool, tmp_path: Path) -> None:
    nodes = [make_node("n").allocatable(cpu="4", memory="8Gi", pods=9, **{"ephemeral-storage": "1Gi"})]
    pod = make_pod("new").requests(**{"ephemeral-storage": "2Gi"})
    cluster = write_list(tmp_path / "cluster.json", *(each.doc() for each in (*nodes, pod)))
    gates = "LocalStorageCapacityIsolation=false"
    options = RunOptions([cluster], kube_version=minor, feature_gates=gates)
    (found,) = prepare(options).simulate().outcomes
    assert (found.result == "scheduled") is not counts
