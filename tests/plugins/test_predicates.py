"""Predicates, as kube-scheduler 1.16 asked them: what they say otherwise than the plugins that took their place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.framework.interfaces import FilterPlugin, Plugin
from ksched_cli.framework.status import SUCCESS, error
from ksched_cli.legacy.predicates import (
    PREDICATES,
    CheckNodeCondition,
    CheckNodeDiskPressure,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    GeneralPredicates,
    MaxCSIVolumeCountPred,
    NoVolumeZoneConflict,
)
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import decide, make_bench, make_scheduler, placed
from tests.lanes import examples
from tests.plugins.storage import claim, csi_node, storage_class, volume, with_claims

OLD = RELEASES["1.16"]
# Most predicates are made from a row of a table, and have no name in the module.
NAMED: dict[str, type[Any]] = {each.name: each for each in PREDICATES}
UNRESOLVABLE, RESOLVABLE = "UnschedulableAndUnresolvable", "Unschedulable"


# GeneralPredicates


@pytest.mark.slow
@given(drawn=clusters())
@settings(max_examples=examples(150), deadline=None)
def test_general_predicates_say_what_each_of_the_four_would(drawn: Any) -> None:
    nodes, running, pod = drawn
    parts = [
        make_bench(each, nodes, pod, running, current=OLD).statuses()
        for each in (
            NAMED["PodFitsResources"],
            NAMED["HostName"],
            NAMED["PodFitsHostPorts"],
            NAMED["MatchNodeSelector"],
        )
    ]
    want = {}
    for node in nodes:
        said = [part[node.metadata.name] for part in parts if node.metadata.name in part]
        if said:
            code = UNRESOLVABLE if any(code == UNRESOLVABLE for code, _ in said) else RESOLVABLE
            want[node.metadata.name] = (code, tuple(reason for _, reasons in said for reason in reasons))
    assert make_bench(GeneralPredicates, nodes, pod, running, current=OLD).statuses() == want


def test_a_node_is_told_everything_and_one_hopeless_reason_is_enough() -> None:
    node = make_node("n").allocatable(cpu="1", memory="1Gi", pods="1").obj()
    pod = make_pod("new").requests(cpu="2").selector(disk="ssd").obj()
    running = [make_pod("run").on("n").phase("Running").obj()]
    made = make_bench(GeneralPredicates, [node], pod, running, current=OLD)
    reasons = ("Insufficient pods", "Insufficient cpu", "node(s) didn't match node selector")
    assert made.statuses() == {"n": (UNRESOLVABLE, reasons)}
    numbers = made.plugin.explain(made.state(), made.pod, made.nodes(), 0)
    assert numbers["NodeResourcesFit"]["cpu"]["short"] == 1000
    assert numbers["NodeAffinity"]["nodeSelector"][0]["wanted"] == "ssd"
    assert "NodePorts" not in numbers


# Nodes


@pytest.mark.parametrize(
    ("predicate", "conditions", "requests", "reasons"),
    [
        pytest.param(CheckNodeCondition, {"Ready": "True"}, {}, (), id="ready"),
        pytest.param(CheckNodeCondition, {}, {}, (), id="nothing known"),
        pytest.param(CheckNodeCondition, {"Ready": "Unknown"}, {}, ("node(s) were not ready",), id="not ready"),
        pytest.param(
            CheckNodeCondition,
            {"Ready": "False", "NetworkUnavailable": "Unknown"},
            {},
            ("node(s) were not ready", "node(s) had unavailable network"),
            id="both",
        ),
        pytest.param(
            CheckNodeMemoryPressure, {"MemoryPressure": "True"}, {}, ("node(s) had memory pressure",), id="best effort"
        ),
        pytest.param(CheckNodeMemoryPressure, {"MemoryPressure": "True"}, {"cpu": "1m"}, (), id="burstable"),
        pytest.param(
            CheckNodeMemoryPressure,
            {"MemoryPressure": "True"},
            {"example_com__gpu": "1"},
            ("node(s) had memory pressure",),
            id="other resources do not count",
        ),
        pytest.param(CheckNodeMemoryPressure, {"MemoryPressure": "Unknown"}, {}, (), id="unknown is no pressure"),
        pytest.param(
            CheckNodeDiskPressure, {"DiskPressure": "True"}, {"cpu": "1"}, ("node(s) had disk pressure",), id="disk"
        ),
        pytest.param(
            CheckNodeDiskPressure,
            {"Ready": "True", "DiskPressure": "True", "PIDPressure": "False"},
            {},
            ("node(s) had disk pressure",),
            id="among other conditions",
        ),
        pytest.param(
            CheckNodePIDPressure, {"PIDPressure": "True"}, {"cpu": "1"}, ("node(s) had pid pressure",), id="pids"
        ),
    ],
)
def test_conditions(
    predicate: type[FilterPlugin[Any]], conditions: dict[str, str], requests: dict[str, str], reasons: tuple[str, ...]
) -> None:
    node = make_node("n").status(conditions=[{"type": key, "status": each} for key, each in conditions.items()]).obj()
    made = make_bench(predicate, [node], make_pod("new").requests(**requests).obj(), current=OLD)
    assert made.statuses() == ({"n": (UNRESOLVABLE, reasons)} if reasons else {})
    assert made.plugin.explain(None, made.pod, made.nodes(), 0) == conditions


def test_a_cordoned_node_is_out_for_pods_that_tolerate_the_taint_too_where_conditions_decide() -> None:
    nodes = [make_node("n").cordoned().obj()]
    pod = make_pod("new").toleration("node.kubernetes.io/unschedulable").obj()
    assert placed(make_scheduler(nodes, [pod], current=OLD)) == {"default/new": "n"}
    by_conditions = make_scheduler(nodes, [pod], current=OLD, gates="TaintNodesByCondition=false")
    assert decide(by_conditions)["default/new"].message == "0/1 nodes are available: 1 node(s) were unschedulable."


def test_taints_are_counted_together() -> None:
    nodes = [make_node(name).taint(name, "x", "NoSchedule").obj() for name in ("a", "b")]
    made = make_bench(NAMED["PodToleratesNodeTaints"], nodes, make_pod("new").obj(), current=OLD)
    reason = ("node(s) had taints that the pod didn't tolerate",)
    assert made.statuses() == dict.fromkeys("ab", (UNRESOLVABLE, reason))


# Pods


def near(app: str) -> dict[str, Any]:
    required = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [required]}


def together(app: str) -> dict[str, Any]:
    return {"podAffinity": near(app)}


def apart(app: str) -> dict[str, Any]:
    return {"podAntiAffinity": near(app)}


def test_the_others_anti_affinity_comes_first() -> None:
    nodes = [make_node("n").label("zone", "z").obj()]
    running = [make_pod("run").label("app", "a").spec(affinity=apart("a")).on("n").phase("Running").obj()]
    pod = make_pod("new").label("app", "a").spec(affinity={**apart("a"), **together("none")}).obj()
    made = make_bench(NAMED["MatchInterPodAffinity"], nodes, pod, running, current=OLD)
    reasons = (
        "node(s) didn't match pod affinity/anti-affinity",
        "node(s) didn't satisfy existing pods anti-affinity rules",
    )
    assert made.statuses() == {"n": (RESOLVABLE, reasons)}


def test_the_first_of_a_group_goes_to_any_node() -> None:
    """Later it needed a node that has the topology."""
    nodes = [make_node("n").obj()]
    pod = make_pod("new").label("app", "a").spec(affinity=together("a")).obj()
    assert make_bench(NAMED["MatchInterPodAffinity"], nodes, pod, current=OLD).statuses() == {}
    later = make_bench(NAMED["MatchInterPodAffinity"], nodes, pod, current=RELEASES["1.21"]).statuses()
    assert later["n"][0] == UNRESOLVABLE


# Volumes


def test_a_claim_that_is_not_there_ends_the_cycle() -> None:
    nodes = [make_node("n").obj()]
    scheduler = make_scheduler(nodes, [with_claims("gone")], current=OLD)
    (decision,) = decide(scheduler).values()
    assert (decision.result, decision.message) == ("error", 'persistentvolumeclaim "gone" not found')


def test_claims_that_nobody_binds_are_an_error_of_every_node() -> None:
    nodes = [make_node(name).obj() for name in ("a", "b", "c")]
    cordoned = make_node("d").cordoned().obj()
    objects = [claim("data", cls="now"), storage_class("now", mode="Immediate")]
    scheduler = make_scheduler([*nodes, cordoned], [with_claims("data")], objects=objects, current=OLD)
    (decision,) = decide(scheduler).values()
    text = "pod has unbound immediate PersistentVolumeClaims (repeated 3 times)"
    assert (decision.result, decision.message) == ("error", text)


@pytest.mark.parametrize(
    ("objects", "statuses"),
    [
        pytest.param([claim("data"), storage_class()], {}, id="waits for a pod"),
        pytest.param(
            [claim("data", volume="v"), volume("v", zone="z1")],
            {"there": (UNRESOLVABLE, ("node(s) had volume node affinity conflict",))},
            id="bound elsewhere",
        ),
        pytest.param(
            [claim("data", volumeName="v"), storage_class()],
            dict.fromkeys(("here", "there"), ("Error", ("pod has unbound immediate PersistentVolumeClaims",))),
            id="promised to a volume, but not bound",
        ),
        pytest.param(
            [claim("data"), storage_class(), claim("first", cls="now"), storage_class("now", mode="Immediate")],
            dict.fromkeys(("here", "there"), ("Error", ("pod has unbound immediate PersistentVolumeClaims",))),
            id="one that waits, and one without a binding",
        ),
    ],
)
def test_volume_binding(objects: list[Any], statuses: dict[str, Any]) -> None:
    nodes = [make_node("here").zone("z1").obj(), make_node("there").zone("z2").obj()]
    names = [each.metadata.name for each in objects if isinstance(each, PersistentVolumeClaim)]
    made = make_bench(NAMED["CheckVolumeBinding"], nodes, with_claims(*names), objects=objects, current=OLD)
    assert made.statuses() == statuses
    alone = made.plugin.filter(None, made.pod, made.nodes())
    assert {name for name, passes in zip(("here", "there"), alone.passed, strict=True) if not passes} == {*statuses}


@pytest.mark.parametrize(
    ("label", "statuses"),
    [
        pytest.param(
            "failure-domain.beta.kubernetes.io/zone",
            {"there": (UNRESOLVABLE, ("node(s) had no available volume zone",))},
            id="beta",
        ),
        pytest.param("topology.kubernetes.io/zone", {}, id="the label that took its place is none"),
    ],
)
def test_volume_zones(label: str, statuses: dict[str, Any]) -> None:
    nodes = [make_node("here").label(label, "z1").obj(), make_node("there").label(label, "z2").obj()]
    objects = [claim("data", volume="v"), volume("v", labels={label: "z1"})]
    made = make_bench(NoVolumeZoneConflict, nodes, with_claims("data"), objects=objects, current=OLD)
    assert made.statuses() == statuses


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        pytest.param("Immediate", 'PersistentVolumeClaim was not found: "data"', id="bound at once"),
        pytest.param(None, 'VolumeBindingMode not set for StorageClass "now"', id="no mode"),
    ],
)
def test_a_claim_without_a_volume_is_an_error_where_nodes_have_zones(mode: str | None, text: str) -> None:
    nodes = [make_node("zoned").label("failure-domain.beta.kubernetes.io/zone", "z").obj(), make_node("plain").obj()]
    objects = [claim("data", cls="now"), storage_class("now", mode=mode)]
    made = make_bench(NoVolumeZoneConflict, nodes, with_claims("data"), objects=objects, current=OLD)
    verdict = made.plugin.filter(None, made.pod, made.nodes())
    found = {name: verdict.status(row) for row, name in enumerate(made.cluster.nodes.names)}
    assert found == {"zoned": error(text), "plain": SUCCESS}


@pytest.mark.parametrize("gate", [True, False], ids=["gate on", "gate off"])
def test_what_a_node_says_of_its_disks_counts_with_the_gate_only(gate: bool) -> None:
    node = make_node("n").allocatable(**{"attachable-volumes-aws-ebs": "1"}, pods=110).obj()
    disks = [volume(name, awsElasticBlockStore={"volumeID": name}) for name in ("v1", "v2")]
    claims = [claim("c1", volume="v1"), claim("c2", volume="v2")]
    gates = f"AttachVolumeLimit={str(gate).lower()}"
    made = make_bench(
        NAMED["MaxEBSVolumeCount"], [node], with_claims("c1", "c2"), objects=[*disks, *claims], gates=gates, current=OLD
    )
    assert made.statuses() == ({"n": (RESOLVABLE, ("node(s) exceed max volume count",))} if gate else {})


@pytest.mark.parametrize("gate", [True, False], ids=["gate on", "gate off"])
def test_limits_of_drivers_count_with_the_gate_only(gate: bool) -> None:
    objects = [csi_node("n", 1), storage_class(), claim("c1"), claim("c2")]
    gates = f"AttachVolumeLimit={str(gate).lower()}"
    nodes = [make_node("n").obj()]
    made = make_bench(MaxCSIVolumeCountPred, nodes, with_claims("c1", "c2"), objects=objects, gates=gates, current=OLD)
    assert made.statuses() == ({"n": (RESOLVABLE, ("node(s) exceed max volume count",))} if gate else {})


def test_every_predicate_of_the_plugin_list_is_of_its_time() -> None:
    from ksched_cli.legacy.priorities import PRIORITIES
    from ksched_cli.plugins.in_tree import plugins_of

    listed: list[type[Plugin]] = [*PREDICATES, *PRIORITIES]
    assert {each.until for each in listed} == {"1.16"}
    assert set(listed) <= set(plugins_of(OLD))
    assert not set(listed) & set(plugins_of(RELEASES["1.21"]))
