"""Which rule moved a pod, and which pods only follow others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from ksched_cli.plan.diff import Cause, Diff, PodChange
from ksched_cli.plan.run.options import RunOptions
from tests.builders import make_node, make_pod, write_list
from tests.pod_groups import GANG, member
from tests.running import compare

GIB = 1 << 30


def cluster(tmp_path: Path, items: list[Any], name: str = "c") -> str:
    return write_list(tmp_path / f"{name}.json", *items)


def differ(tmp_path: Path, items: list[Any], before: str, after: str, **setup: Any) -> Diff:
    first = RunOptions(sources=[cluster(tmp_path, items)], kube_version=before, **setup)
    return compare(first, replace(first, kube_version=after)).diff


def told(change: PodChange) -> str:
    """`p: NodeResourcesFit filter 1.34 n fits>short`."""
    either = change.before or change.after
    assert either is not None
    assert change.cause is not None
    return f"{either.pod.partition('/')[2]}: {said(change.cause)}"


def said(cause: Cause) -> str:
    words = [cause.kind] if cause.kind != "rule" else []
    words += [f"{cause.side} {cause.preemptor.partition('/')[2]}"] if cause.preemptor else []
    words += [pod.partition("/")[2] for pod in cause.pods]
    for each in cause.deciders:
        rules = " ".join(f"{rule.since}{f' {rule.gate}' if rule.gate else ''}" for rule in each.rules)
        figures = " ".join(f"{node.node}:{node.before}>{node.after}" for node in each.nodes)
        words += filter(None, (each.plugin or "-", each.aspect, rules, "config" if each.configuration else "", figures))
    words += [f"alone {cause.alone or '-'}"] if cause.alone is not None else []
    return " ".join(words)


SMALL, LARGE = (
    make_node("a").allocatable(cpu="4", memory="16Gi", pods="110"),
    make_node("b").allocatable(cpu="8", memory="8Gi", pods="110"),
)
IMAGES = "registry.local/app:v1", "registry.local/init:v1"
SIDECAR = make_pod("p").requests(cpu="1").init(image="x", restartPolicy="Always")
WHOLE = make_pod("p").spec(resources={"requests": {"cpu": "3"}})
SOFT = "PreferNoSchedule"


@pytest.mark.parametrize(
    ("items", "before", "after", "expected"),
    [
        pytest.param(
            [make_node("a"), make_node("b").image(GIB, IMAGES[1]), make_pod("p").image("x").init(image=IMAGES[1])],
            "1.29", "1.30",
            ["p: ImageLocality score 1.30 a:0>0 b:0>24"], id="scores: what changed in one minor",
        ),
        pytest.param(
            [make_node("a"), make_node("b").image(GIB, IMAGES[1]), make_pod("p").image("x").init(image=IMAGES[1])],
            "1.21", "1.36",
            ["p: ImageLocality score 1.30 a:0>0 b:0>24"], id="scores: of several changes the one that mattered",
        ),
        pytest.param(
            [make_node("a"), make_node("b").image(GIB, IMAGES[1]), make_pod("p").image("x").init(image=IMAGES[1])],
            "1.36", "1.21",
            ["p: ImageLocality score 1.30 b:24>0 a:0>0"], id="scores: the other way round",
        ),
        pytest.param(
            [make_node("a").taint("t", effect=SOFT), make_node("b").image(GIB + GIB // 2, IMAGES[0]).taint("t", effect=SOFT).taint("u", effect=SOFT), make_pod("p").image(IMAGES[0])],
            "1.23", "1.22",
            ["p: TaintToleration weight 1.23 a:150>50 b:0>0"], id="weights",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="2", memory="16Gi", pods="110"), WHOLE], "1.33", "1.34",
            ["p: NodeResourcesFit filter 1.34 PodLevelResources a:fits>Insufficient cpu"], id="filters: a field that came with a gate",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="2", memory="16Gi", pods="110"), WHOLE], "1.36", "1.21",
            ["p: NodeResourcesFit filter 1.34 PodLevelResources a:Insufficient cpu>fits"], id="filters: the other way round",
        ),
        pytest.param(
            [make_node("a"), SIDECAR], "1.27", "1.28",
            ["p: NodeResourcesFit filter 1.28 a:fits>Pod has a restartable init container and the SidecarContainers feature is disabled"],
            id="filters: fields of a minor",
        ),
        pytest.param([make_node("a"), SIDECAR], "1.27", "1.29", [], id="what came and went again"),
        pytest.param(
            [make_node("a"), make_pod("p").gate("g")], "1.26", "1.27",
            ["p: SchedulingGates queue 1.27 PodSchedulingReadiness"], id="held back",
        ),
        pytest.param(
            [make_node("a"), make_pod("p").gate("g")], "1.27", "1.26",
            ["p: SchedulingGates queue 1.27 PodSchedulingReadiness"], id="held back no more",
        ),
        pytest.param(
            [make_node("a"), make_pod("p").spec(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])], "1.33", "1.34",
            ["p: DynamicResources queue 1.34 DynamicResourceAllocation"], id="held back for a claim",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="4", memory="16Gi", pods="110"), WHOLE, make_pod("q").requests(cpu="2").priority(-1)], "1.33", "1.34",
            ["q: NodeResourcesFit filter 1.34 PodLevelResources a:fits>Insufficient cpu"], id="a pod that stays where it is counts as more",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="4", memory="16Gi", pods="1"), make_node("b").allocatable(cpu="4", memory="16Gi", pods="1").image(GIB, IMAGES[1]),
             make_pod("p").priority(1).image("x").init(image=IMAGES[1]), make_pod("q")],
            "1.29", "1.30",
            ["p: ImageLocality score 1.30 a:0>0 b:0>24", "q: others p"], id="one that follows",
        ),
        pytest.param(
            [*(make_node(name).label(pool=pool).allocatable(cpu="4", memory="16Gi", pods="1") for pool, name in ("xc", "ya")),
             *(make_node(name).label(pool=pool).allocatable(cpu="4", memory="16Gi", pods="1").image(GIB, IMAGES[1]) for pool, name in ("xd", "yb")),
             make_pod("far").priority(2).selector(pool="x").image("x").init(image=IMAGES[1]),
             make_pod("p").priority(1).selector(pool="y").image("x").init(image=IMAGES[1]), make_pod("q").selector(pool="y")],
            "1.29", "1.30",
            ["far: ImageLocality score 1.30 c:0>0 d:0>24", "p: ImageLocality score 1.30 a:0>0 b:0>24", "q: others p"],
            id="one that follows the pod that took its node",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="1", memory="16Gi", pods="110"), make_node("b").allocatable(cpu="2", memory="16Gi", pods="110"),
             make_pod("low").on("b").requests(cpu="2").owner("ReplicaSet", "web"), make_pod("p").priority(1).spec(resources={"requests": {"cpu": "2"}})],
            "1.33", "1.34",
            ["low: preemption after p NodeResourcesFit filter 1.34 PodLevelResources a:fits>Insufficient cpu",
             "p: NodeResourcesFit filter 1.34 PodLevelResources a:fits>Insufficient cpu"], id="a victim of preemption",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="2", memory="16Gi", pods="1"), make_pod("low").on("a"), make_pod("p").priority(1).spec(resources={"requests": {"cpu": "3"}})],
            "1.33", "1.34",
            ["low: preemption before p NodeResourcesFit preemption 1.34 PodLevelResources a:Too many pods, preemption may help>Too many pods, Insufficient cpu, beyond help",
             "p: NodeResourcesFit preemption 1.34 PodLevelResources a:Too many pods, preemption may help>Too many pods, Insufficient cpu, beyond help"],
            id="an eviction that no longer helps",
        ),
        pytest.param(
            [make_node("a").allocatable(cpu="2", memory="16Gi", pods="1"), make_pod("low").on("a"), make_pod("p").priority(1).spec(resources={"requests": {"cpu": "3"}})],
            "1.34", "1.33",
            ["low: preemption after p NodeResourcesFit preemption 1.34 PodLevelResources a:Too many pods, Insufficient cpu, beyond help>Too many pods, preemption may help",
             "p: NodeResourcesFit preemption 1.34 PodLevelResources a:Too many pods, Insufficient cpu, beyond help>Too many pods, preemption may help"],
            id="an eviction that helps now",
        ),
        pytest.param(
            [make_node("a"), make_pod("p").gate("x/y")], "1.27", "1.25",
            ["p: SchedulingGates queue 1.27 PodSchedulingReadiness"], id="a gate holds the pod back in the version before",
        ),
        pytest.param(
            [make_node("a"), make_pod("p").gate("x/y")], "1.25", "1.27",
            ["p: SchedulingGates queue 1.27 PodSchedulingReadiness"], id="a gate holds the pod back in the version after",
        ),
    ],
)  # fmt: skip
def test_causes(tmp_path: Path, items: list[Any], before: str, after: str, expected: list[str]) -> None:
    found = differ(tmp_path, items, before, after)
    assert sorted(map(told, found.changes)) == expected


TWO = [
    make_node("a").allocatable(cpu="4", memory="4Gi", pods="9"),
    make_node("b").allocatable(cpu="16", memory="16Gi", pods="9"),
]
POD = make_pod("p").requests(cpu="2", memory="2Gi")


def config(tmp_path: Path, **profile: Any) -> str:
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**head, "profiles": [profile]}))
    return str(path)


def fuller(tmp_path: Path) -> str:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    return config(tmp_path, pluginConfig=[{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}])


def compared(tmp_path: Path, items: list[Any], after: dict[str, Any], **setup: Any) -> list[str]:
    first = RunOptions(sources=[cluster(tmp_path, items)], **setup)
    return sorted(map(told, compare(first, replace(first, **after)).diff.changes))


def test_another_configuration(tmp_path: Path) -> None:
    assert compared(tmp_path, [*TWO, POD], {"config": fuller(tmp_path)}) == [
        "p: NodeResourcesFit score config b:87>12 a:50>50"
    ]


def weights(tmp_path: Path, taints: int, affinity: int, images: int = 1) -> str:
    """Node a has all points of TaintToleration, node b those of NodeAffinity and ImageLocality."""
    names = {"TaintToleration": taints, "NodeAffinity": affinity, "ImageLocality": images}
    enabled = [{"name": name, "weight": weight} for name, weight in names.items()]
    return config(tmp_path, plugins={"score": {"enabled": enabled}})


TAINTS, AFFINITY, IMAGE = (
    "TaintToleration weight config a:{} b:0>0",
    "NodeAffinity weight config a:0>0 b:{}",
    "ImageLocality weight config a:0>0 b:{}",
)


@pytest.mark.parametrize(
    ("before", "after", "deciders"),
    [
        pytest.param((3, 2), (1, 2), [TAINTS.format("300>100")], id="one weight"),
        pytest.param((6, 3), (5, 5), [AFFINITY.format("300>500"), TAINTS.format("600>500")], id="both are needed, the larger change first"),
        pytest.param((3, 1), (2, 5), [AFFINITY.format("100>500")], id="the larger change is enough"),
        pytest.param((6, 2, 1), (5, 5, 2), [AFFINITY.format("200>500")], id="one is needed, and either of two others"),
        pytest.param((6, 1, 1), (4, 4, 4), [AFFINITY.format("100>400"), IMAGE.format("100>400")], id="two of three are enough"),
    ],
)  # fmt: skip
def test_weights_that_are_needed(
    before: tuple[int, ...], after: tuple[int, ...], deciders: list[str], tmp_path: Path
) -> None:
    pod = make_pod("p").image(IMAGES[0]).prefers(1, {"matchExpressions": [{"key": "new", "operator": "Exists"}]})
    nodes = [make_node("a"), make_node("b").label(new="").image(5 * GIB, IMAGES[0]).taint("t", effect=SOFT)]
    found = compared(tmp_path, [*nodes, pod], {"config": weights(tmp_path, *after)}, config=weights(tmp_path, *before))
    assert found == [f"p: {' '.join(deciders)}"]


def test_another_configuration_and_another_version(tmp_path: Path) -> None:
    """The plugin is the same in both versions: it is the configuration."""
    after = {"config": fuller(tmp_path), "kube_version": "1.36"}
    assert compared(tmp_path, [*TWO, POD], after, kube_version="1.34") == [
        "p: NodeResourcesFit score config b:87>12 a:50>50"
    ]


def test_a_plugin_that_a_configuration_leaves_out(tmp_path: Path) -> None:
    off = config(tmp_path, plugins={"filter": {"disabled": [{"name": "NodeUnschedulable"}]}})
    assert compared(tmp_path, [make_node("a").cordoned(), POD], {"config": off}) == [
        "p: NodeUnschedulable filter config a:node(s) were unschedulable>fits"
    ]


def test_a_configuration_without_preemption(tmp_path: Path) -> None:
    off = config(tmp_path, plugins={"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}})
    nodes = [make_node(name).allocatable(cpu="2", memory="16Gi", pods="9") for name in ("a", "b")]
    items = [*nodes, make_pod("low").on("a").requests(cpu="2"), make_pod("mid").on("b").requests(cpu="2").priority(1)]
    assert compared(tmp_path, [*items, make_pod("p").requests(cpu="2").priority(2)], {"config": off}) == [
        "low: preemption before p DefaultPreemption preemption config a:evicts default/low>None",
        "p: DefaultPreemption preemption config a:evicts default/low>None",
    ]


def test_nodes_that_fit_on_one_side_only_change_the_scores_of_the_others(tmp_path: Path) -> None:
    """The pod goes from the large node to the one that it prefers, since scores are normalised over the nodes that
    fit. NodePorts lets one more node in, NodeUnschedulable two: it is the cause."""
    off = config(tmp_path, plugins={"filter": {"disabled": [{"name": "NodePorts"}, {"name": "NodeUnschedulable"}]}})
    pod = make_pod("p").requests(cpu="1", memory="1Gi").host_port(80)
    for weight, label in ((1, {"operator": "Exists"}), (100, {"operator": "In", "values": ["most"]})):
        pod.prefers(weight, {"matchExpressions": [{"key": "k", **label}]})

    def soft(name: str) -> Any:
        return make_node(name).label(k="most").taint("t", effect=SOFT)

    items = [
        soft("c"), soft("d").cordoned(), soft("e").cordoned(), make_pod("on-c").on("c").host_port(80),
        make_node("a").label(k="some").allocatable(cpu="4", memory="4Gi", pods="9"),
        make_node("b").allocatable(cpu="16", memory="16Gi", pods="9"), pod,
    ]  # fmt: skip
    assert compared(tmp_path, items, {"config": off}) == [
        "p: NodeUnschedulable filter config d:node(s) were unschedulable>fits"
    ]


def test_a_profile_that_a_configuration_does_not_have(tmp_path: Path) -> None:
    named = config(tmp_path, schedulerName="mine")
    assert compared(tmp_path, [*TWO, POD], {"config": named}) == ["p: - queue config"]


def test_other_gates(tmp_path: Path) -> None:
    off = "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"
    items = [make_node("a").allocatable(cpu="2", memory="16Gi", pods="110"), WHOLE]
    assert compared(tmp_path, items, {"feature_gates": off}) == [
        "p: NodeResourcesFit filter 1.34 PodLevelResources a:Insufficient cpu>fits"
    ]


def test_other_gates_and_another_configuration(tmp_path: Path) -> None:
    """Each pod by what moved it."""
    off = "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"
    items = [*TWO, POD, make_pod("q").priority(-1).spec(resources={"requests": {"cpu": "15"}})]
    found = compared(tmp_path, items, {"feature_gates": off, "config": fuller(tmp_path)})
    assert found == [
        "p: NodeResourcesFit score config b:87>12 a:50>50",
        "q: NodeResourcesFit filter 1.34 PodLevelResources b:Insufficient cpu>fits alone b",
    ]


GROUP = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "default"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param({"kube_version": "1.36"}, {"feature_gates": GANG}, "xy", id="gates"),
        # 1.35 lets those that have a place wait for the others for five minutes, and then they lose it.
        pytest.param({"kube_version": "1.35", "feature_gates": GANG}, {"kube_version": "1.36"}, "", id="versions"),
    ],
)
def test_pods_of_a_group(tmp_path: Path, before: dict[str, Any], after: dict[str, Any], changed: str) -> None:
    """What becomes of one cannot be told from the others: that they share a cycle is what is told."""
    room = make_node("a").allocatable(cpu="2", memory="16Gi", pods="110")
    first = RunOptions(sources=[cluster(tmp_path, [room, GROUP, *map(member, "xyz")])], **before)
    changes = compare(first, replace(first, **after)).diff.changes
    assert sorted(map(told, changes)) == [f"{name}: - search  GenericWorkload" for name in changed]


def test_rules_are_summed_up_over_the_pods_that_are_told_of(tmp_path: Path) -> None:
    node = make_node("a").allocatable(cpu="2", memory="16Gi", pods="110")
    items = [node, WHOLE, *(make_pod(name, "other").spec(resources={"requests": {"cpu": "3"}}) for name in "xy")]
    found = differ(tmp_path, items, "1.33", "1.34", namespace="other")
    assert found.rules is not None
    assert [(each.gate, each.pods) for each in found.rules if each.pods] == [("PodLevelResources", 2)]
    assert len(found.rules) > 5


def test_shadow_are_told_of_pods_of_other_namespaces(tmp_path: Path) -> None:
    one = {"cpu": "4", "memory": "16Gi", "pods": "1"}
    first, other = make_pod("p").priority(1).image("x").init(image=IMAGES[1]), make_pod("q", "other")
    nodes = [make_node("a").allocatable(**one), make_node("b").allocatable(**one).image(GIB, IMAGES[1])]
    (change,) = differ(tmp_path, [*nodes, first, other], "1.29", "1.30", namespace="other").changes
    assert change.cause == Cause("others", pods=("default/p",))


def test_nothing_is_told_of_rules_where_more_than_rules_differs(tmp_path: Path) -> None:
    paths = [cluster(tmp_path, [make_node(node), POD], name=node) for node in "ab"]
    found = compare(
        RunOptions(sources=paths[:1], kube_version="1.33"), RunOptions(sources=paths[1:], kube_version="1.36")
    ).diff
    assert [change.cause for change in found.changes] == [None]
    assert found.rules is None


def test_rules_that_move_nothing_are_known(tmp_path: Path) -> None:
    found = differ(tmp_path, [make_node("a"), POD], "1.33", "1.34")
    assert found.changes == ()
    assert found.rules is not None
    assert {each.pods for each in found.rules} == {0}
