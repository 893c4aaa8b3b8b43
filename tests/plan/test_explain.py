"""What an explanation says: sentences, all rejections, margins, weights, preemption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import Namespace, ObjectMeta
from ksched_cli.api.workloads import DaemonSet, PriorityClass
from ksched_cli.framework.interfaces import PreEnqueuePlugin, ReservePlugin
from ksched_cli.framework.per_node import PerNodeFilter
from ksched_cli.framework.status import SUCCESS, Status, unresolvable, unschedulable
from ksched_cli.plan.explain.explain import _needed
from ksched_cli.plan.results.nodes import Score, ScoredNode
from ksched_cli.simulator import Simulator
from tests.builders import PodBuilder, make_node, make_pod
from tests.clusters import clusters
from tests.lanes import examples
from tests.plan.explaining import explained, why
from tests.pod_groups import GATES_OF_MINOR, group, member

ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str = "a", cpu: str = "4") -> Any:
    return make_node(name).allocatable(cpu=cpu, memory="8Gi", pods=10).zone(zone)


def sentence(items: list[Any], pod: str = "p") -> str:
    objects = [each.obj() if hasattr(each, "obj") else each for each in items]
    return " ".join(explained(objects, pod).summary)


def ending(name: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, deletion_timestamp="2026-01-01T09:00:00Z"))


def never_preempts(*more: Any, evicted: int = 0) -> list[Any]:
    waiting = make_pod("p").requests(cpu="3").priority(5).spec(preemptionPolicy="Never", priorityClassName="batch")
    return [node("n1"), running("r", "n1", "3").priority(evicted), waiting, *more]


def batch(policy: str) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name="batch"), value=5, preemption_policy=policy)


def running(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return make_pod(name).requests(cpu=cpu).on(on)


def anti(**labels: str) -> dict[str, Any]:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(skew: int = 1) -> list[dict[str, Any]]:
    own = {"topologyKey": ZONE, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**own, "labelSelector": {"matchLabels": {"app": "web"}}}]


@pytest.mark.parametrize(
    ("items", "said"),
    [
        pytest.param(
            [
                node("n1"),
                node("n2"),
                running("r", "n1", "3"),
                make_pod("p").requests(cpu="3500m"),
                running("s", "n2", "1"),
            ],
            "All 2 nodes lack cpu; closest is n2, short by 500m cpu.",
            id="cpu",
        ),
        pytest.param(
            [node("n"), make_pod("p").requests(cpu="5", memory="9Gi")],
            "The only node lacks cpu, 1 lacks memory; closest is n, short by 1 cpu and 1Gi memory.",
            id="two resources of the only node",
        ),
        pytest.param(
            [make_node("n").allocatable(cpu="4", memory="1Gi", pods=1), running("r", "n"), make_pod("p")],
            "The only node is full (pods); closest is n, short by 1 pod.",
            id="full of pods",
        ),
        pytest.param(
            [node("n1").taint("gpu", "yes"), node("n2").cordoned(), make_pod("p")],
            "1 of 2 nodes is cordoned, 1 has taint gpu=yes:NoSchedule; closest is n1, tainted gpu=yes:NoSchedule.",
            id="taint and cordon",
        ),
        pytest.param(
            [node("n1").label(disk="hdd"), make_pod("p").selector(disk="ssd")],
            "The only node lacks label disk=ssd; closest is n1, disk should be ssd and is hdd.",
            id="node selector",
        ),
        pytest.param(
            [node("n1"), make_pod("r").host_port(80).on("n1"), make_pod("p").host_port(80)],
            "The only node has host port 80/TCP taken; closest is n1, host port 80/TCP is held by default/r.",
            id="host port",
        ),
        pytest.param(
            [node("n1"), make_pod("r").label(app="db").on("n1"), make_pod("p").spec(affinity=anti(app="db"))],
            "The only node has pods near that it keeps away from; closest is n1, keeps away from default/r in "
            f"{ZONE}=a.",
            id="anti-affinity",
        ),
        pytest.param(
            [node("n1"), make_pod("r").spec(affinity=anti(app="db")).on("n1"), make_pod("p").label(app="db")],
            f"The only node has pods near that keep it away; closest is n1, is kept away by default/r in {ZONE}=a.",
            id="anti-affinity of another pod",
        ),
        pytest.param(
            [
                node("n1", "a"),
                node("n2", "b", cpu="1"),
                make_pod("r").label(app="web").on("n1"),
                make_pod("p").label(app="web").requests(cpu="2").spec(topologySpreadConstraints=spread()),
            ],
            f"1 of 2 nodes lacks cpu, 1 would break the spread over {ZONE}; closest is n2, short by 1 cpu.",
            id="spread",
        ),
        pytest.param(
            [
                node("n1"),
                node("n2").cordoned(),
                make_pod("p").node_affinity({"matchExpressions": [{"key": "disk", "operator": "Exists"}]}),
            ],
            "Nodes with a single problem: 1 does not match its node affinity. All problems: no node matches its node "
            "affinity, 1 is cordoned; closest is n1",
            id="no node matches",
        ),
        pytest.param(
            [node("n1", cpu="1"), node("n2", cpu="1").cordoned(), make_pod("p").requests(cpu="2")],
            "Nodes with a single problem: 1 lacks cpu. All problems: all 2 nodes lack cpu, 1 is cordoned; closest is n1",
            id="all nodes",
        ),
        pytest.param(
            [
                node("n1", cpu="1").cordoned(),
                node("n2", cpu="1").taint("gpu"),
                node("n3", cpu="1").taint("gpu").cordoned(),
                make_pod("p").requests(cpu="2"),
            ],
            "Every node has 2 problems or more. The fewest: 1 is cordoned and lacks cpu, 1 has taint gpu:NoSchedule and lacks "
            "cpu. All problems: all 3 nodes lack cpu, 2 are cordoned, 2 have taint gpu:NoSchedule; closest is n1, cordoned and short by 1 cpu.",
            id="two problems of every node",
        ),
        pytest.param(
            [
                node("n1", cpu="1"),
                node("n2").cordoned(),
                node("n3").cordoned(),
                node("n4").taint("gpu").cordoned(),
                make_pod("p").requests(cpu="2"),
            ],
            "Nodes with a single problem: 2 are cordoned, 1 lacks cpu. All problems: 3 of 4 nodes are cordoned, 1 has taint",
            id="a node that is too small when empty comes last",
        ),
        pytest.param(
            [
                node("n1"),
                running("r", "n1", "3"),
                node("n2").cordoned(),
                node("n3").cordoned(),
                node("n4").taint("gpu").cordoned(),
                make_pod("p").requests(cpu="2"),
            ],
            "Nodes with a single problem: 1 lacks cpu, 2 are cordoned. All problems: 3 of 4 nodes are cordoned, 1 has taint",
            id="a node that is full comes first",
        ),
        pytest.param([make_pod("p")], "There are no nodes.", id="no nodes"),
        pytest.param(
            [node("n1"), make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}])],
            'No node is even looked at: persistentvolumeclaim "gone" not found (VolumeRestrictions, VolumeBinding, VolumeZone).',
            id="a claim that is not there",
        ),
        pytest.param([node("n1"), make_pod("p")], "It goes to n1, the only one of 1 node that fits.", id="one node"),
        pytest.param(
            [node("n1"), node("n2"), running("r", "n1"), make_pod("p")],
            "It goes to n2, the best of the 2 nodes that fit: its score of ",
            id="the better node",
        ),
        pytest.param(
            [node("n"), make_pod("p").terminating()], "It is being deleted, so it is not tried.", id="leaving"
        ),
        pytest.param(
            [node("n1"), running("r", "n1", "3"), make_pod("p").requests(cpu="3").priority(5)],
            "On n1 it fits when default/r leaves: it preempts that pod and waits.",
            id="preemption",
        ),
        pytest.param(
            never_preempts(batch("PreemptLowerPriority")),
            "The preemptionPolicy of the pod is Never, so that it evicts no pod: otherwise it would fit on n1 when "
            "default/r leaves.",
            id="it may not preempt",
        ),
        pytest.param(
            [
                node("n1"),
                *(running(f"r{at}", "n1", "600m") for at in range(6)),
                make_pod("p").requests(cpu="4").priority(5).spec(preemptionPolicy="Never"),
            ],
            "otherwise it would fit on n1 when default/r5, default/r4, default/r3, default/r2, default/r1 and 1 more leave.",
            id="it may not preempt six",
        ),
        pytest.param(
            never_preempts(batch("Never")),
            "The preemptionPolicy of its PriorityClass batch is Never, so that it evicts no pod",
            id="its class does not let it preempt",
        ),
        pytest.param(
            [node("n1"), make_pod("p").requests(cpu="9"), ending("default")],
            "Namespace default is being deleted: this pod is deleted too, and no new pod can be created there. The only",
            id="its namespace goes away",
        ),
    ],
)
def test_the_sentence(items: list[Any], said: str) -> None:
    assert said in sentence(items)


def test_a_pod_that_is_being_deleted_has_no_turn() -> None:
    items = [node("n").obj(), make_pod("p").terminating().obj(), make_pod("q").priority(1).obj()]
    assert not any("Tried" in note for note in explained(items, "p").notes)


def test_a_policy_without_effect_is_left_out() -> None:
    assert "preemptionPolicy" not in sentence(never_preempts(batch("Never"), evicted=5))


MEMORY = 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("20Gi"))'
MODEL = 'device.attributes["gpu.example.com"].model == "a100"'


def device(name: str, memory: str, model: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"model": {"string": model}}, "capacity": {"memory": {"value": memory}}, **more}


TAINTED = device("d", "40Gi", "a100", taints=[{"key": "broken", "effect": "NoSchedule"}])
DEVICES = [device("a", "40Gi", "a100"), device("b", "16Gi", "t4"), device("c", "40Gi", "t4"), TAINTED]


def request(name: str, count: int, *expressions: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {"name": name, "exactly": {"deviceClassName": "gpu", "count": count, "selectors": selectors}}


@pytest.mark.parametrize(
    ("requests", "constraints", "devices", "said"),
    [
        pytest.param(
            [request("r", 3, MEMORY)], [], DEVICES,
            f"request r of claim default/c needs 3 devices of class gpu, 2 of 4 fit (1 does not match {MEMORY}, "
            "1 is tainted)",
            id="a selector and a taint",
        ),
        pytest.param(
            [request("r", 2, MEMORY, MODEL)], [], DEVICES[:3],
            f"request r of claim default/c needs 2 devices of class gpu, 1 of 3 fits (1 does not match {MEMORY}, "
            f"2 do not match {MODEL})",
            id="two selectors",
        ),
        pytest.param(
            [request("big", 1, MEMORY), request("any", 3)], [], DEVICES[:2],
            "request any of claim default/c needs 3 devices of class gpu, 2 of 2 fit",
            id="the second request",
        ),
        pytest.param(
            [request("r", 1)], [], [], "request r of claim default/c needs 1 device of class gpu, the node has none",
            id="no device",
        ),
        pytest.param(
            [request("r", 2)], [{"requests": ["r"], "matchAttribute": "gpu.example.com/model"}], DEVICES[:2],
            "default/c: 2 of 2 devices free, enough for each request, but not for all together with the constraint on "
            "gpu.example.com/model",
            id="a constraint",
        ),
        pytest.param(
            [request("one", 2), request("two", 1)], [], DEVICES[:2],
            "default/c: 2 of 2 devices free, enough for each request, but not for all together",
            id="requests for the same devices",
        ),
        pytest.param(
            [request("r", 9), request("bad", 1, 'device.attributes["gpu.example.com"].none == "x"')], [], DEVICES[:1],
            "default/c: 1 of 1 devices free, none that fits",
            id="a selector that fails later",
        ),
    ],
)  # fmt: skip
def test_which_request_of_a_claim_fell_short(
    requests: list[dict[str, Any]], constraints: list[dict[str, Any]], devices: list[dict[str, Any]], said: str
) -> None:
    api, named = {"apiVersion": "resource.k8s.io/v1"}, {"name": "c", "namespace": "default"}
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    driver = "gpu.example.com"
    by_driver = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
    claim = {"requests": requests, "constraints": constraints}
    items = [
        node("n").doc(),
        {**api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": by_driver}},
        {**api, "kind": "ResourceSlice", "metadata": {"name": "s"},
         "spec": {"driver": driver, "nodeName": "n", "pool": pool, "devices": devices}},
        {**api, "kind": "ResourceClaim", "metadata": named, "spec": {"devices": claim}},
        make_pod("p").spec(resourceClaims=[{"name": "d", "resourceClaimName": "c"}]).doc(),
    ]  # fmt: skip
    found = Simulator.load(*items).explain("p").explanation
    assert " ".join(found.summary) == f"The only node cannot allocate all claims; closest is n, {said}."


def test_a_copy_of_the_node_with_devices_is_a_fix_and_that_node_is_the_closest() -> None:
    """Its only device is in use. Smaller nodes have none, and there are more kinds of them than are tried."""
    api, driver = {"apiVersion": "resource.k8s.io/v1"}, "gpu.example.com"
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    results = [{"request": "r", "driver": driver, "pool": "n", "device": "a"}]
    held = {
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": "q", "uid": "q"}],
    }
    items = [
        node("gpu", cpu="9").doc(),
        *(node(f"small-{cpu}", cpu=str(cpu)).doc() for cpu in range(1, 6)),
        {**api, "kind": "DeviceClass", "metadata": {"name": "gpu"}},
        {**api, "kind": "ResourceSlice", "metadata": {"name": "s"},
         "spec": {"driver": driver, "nodeName": "gpu", "pool": pool, "devices": [{"name": "a"}]}},
        *({**api, "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"},
           "spec": {"devices": {"requests": [request("r", 1)]}}, "status": status} for name, status in (("c", {}), ("d", held))),
        make_pod("p").spec(resourceClaims=[{"name": "d", "resourceClaimName": "c"}]).doc(),
    ]  # fmt: skip
    found = Simulator.load(*items).explain("p").explanation
    assert "closest is gpu, request r of claim default/c needs 1 device" in " ".join(found.summary)
    assert found.fixes is not None
    assert "one more node like gpu" in [each.text for each in found.fixes.found]


@pytest.mark.slow
@given(clusters())
@settings(max_examples=examples(100), deadline=None)
def test_a_node_is_rejected_or_feasible_and_the_first_rejection_counts(drawn: Any) -> None:
    nodes, others, pod = drawn
    found = explained([*nodes, *others, pod], pod.metadata.name)
    assert found.outcome is not None
    assert found.outcome.detail is not None
    if found.outcome.pre_filter is None:
        rejected = {each.name: each.rejections[0] for each in found.nodes if each.rejections}
        asked = {name: each for name, each in found.outcome.detail.filters.items() if each.plugin}
        assert {name: rejected[name].plugin for name in asked} == {name: each.plugin for name, each in asked.items()}
        assert not rejected.keys() & set(found.outcome.detail.feasible)
    assert found.summary
    for each in found.nodes:
        assert all(rejection.describe() for rejection in each.rejections)


def test_a_pod_that_runs_is_taken_off_its_node_first() -> None:
    found = explained([node("n").obj(), running("p", "n", "4").obj()], "p")
    assert (found.standing, found.node, found.unplaced) == ("running", "n", False)
    assert found.outcome is not None
    assert found.outcome.node == "n"
    assert " ".join(found.summary).startswith("It runs on n. Were it pending now")


def test_a_pod_that_runs_where_it_would_not_go_now() -> None:
    cluster = [node("n1").cordoned().obj(), node("n2").obj(), running("p", "n1").obj()]
    found = explained(cluster, "p", node="n1")
    assert found.outcome is not None
    assert found.outcome.node == "n2"
    assert found.focus is not None
    assert found.focus.text == ("Not on n1: cordoned.",)


def test_pods_nominated_to_a_node_count_there() -> None:
    waiting = make_pod("first").priority(9).requests(cpu="3").nominated("n1").gate("x")
    pods = waiting.obj(), make_pod("p").requests(cpu="2").obj()
    found = explained([node("n1").obj(), *pods], "p", kube_version="1.37")
    ((rejection,),) = [each.rejections for each in found.nodes]
    assert rejection.beside
    assert rejection.detail["cpu"]["free"] == 1000
    assert rejection.describe().endswith("with the pods nominated there")
    assert "Pods that wait for a node which preemption clears for them count there." in found.notes


# --node


def weighed(**labels: str) -> list[Any]:
    """Two nodes: n1 is emptier, n2 is preferred."""
    pod = make_pod("p").requests(cpu="1").prefers(10, {"matchExpressions": [{"key": "gen", "operator": "Exists"}]})
    return [node("n1").obj(), node("n2").label(gen="2").obj(), running("r", "n2", "3").obj(), pod.obj()]


def test_why_not_this_node_and_with_which_weight() -> None:
    found = explained(weighed(), "p")
    assert found.outcome is not None
    assert found.outcome.node == "n2"
    focus = explained(weighed(), "p", node="n1").focus
    assert focus is not None
    assert focus.behind is not None
    assert focus.rank == 2
    assert sum(focus.behind.by_plugin.values()) == focus.behind.total
    assert [(each.plugin, each.weight, each.new_weight) for each in focus.weights] == [("NodeResourcesFit", 1, 6)]
    assert focus.text[1] == "With weight 6 instead of 1 for NodeResourcesFit it goes to n1."


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_the_nearest_weight_is_that_of_trying_all(data: Any) -> None:
    """Scores of two plugins on up to four nodes; the node asked about stands at any place by name."""
    numbers, weight = st.integers(0, 3), data.draw(st.integers(1, 6))
    scored = []
    for name in data.draw(st.permutations("abcd"))[: data.draw(st.integers(1, 4))]:
        mine, others = data.draw(numbers), data.draw(numbers)
        scores = {"Mine": Score(mine, mine, mine * weight), "Other": Score(others, others, others)}
        scored.append(ScoredNode(name, mine * weight + others, scores))
    own = data.draw(st.sampled_from(scored))

    def comes_first(new: int) -> bool:
        totals = {each.node: each.scores["Other"].raw + new * each.scores["Mine"].raw for each in scored}
        return min(totals, key=lambda name: (-totals[name], name)) == own.node

    # No two totals differ by more than 3 + 3 * 6, so that a change of 22 decides whatever any change can decide.
    fitting = [new for new in range(1, weight + 23) if comes_first(new)]
    nearest = min(fitting, key=lambda new: abs(new - weight), default=None)
    assert _needed(own, scored, "Mine", weight) == nearest


@pytest.mark.slow
@given(clusters(max_nodes=4, max_running=4))
@settings(max_examples=examples(60), deadline=None)
def test_every_weight_that_is_named_takes_the_pod_there_and_no_nearer_one_does(drawn: Any) -> None:
    nodes, others, pod = drawn
    items = [*nodes, *others, pod]
    plain = explained(items, pod.metadata.name)
    assert plain.outcome is not None
    for scored in plain.outcome.top:
        focus = explained(items, pod.metadata.name, node=scored.node).focus
        assert focus is not None
        for change in focus.weights:
            step = 1 if change.weight < change.new_weight else -1
            for weight in (change.new_weight, change.new_weight - step):
                totals = {
                    each.node: each.total + (weight - change.weight) * each.scores[change.plugin].normalized
                    for each in plain.outcome.top
                }
                best = min(totals, key=lambda name: (-totals[name], name))
                assert (best == scored.node) is (weight == change.new_weight)


# Preemption


def crowded(priority: int = 9, **spec: Any) -> list[Any]:
    """n1 has one victim of priority 1, n2 two of priority 0, n3 one that may not be evicted, n4 is too small."""
    return [
        *(node(f"n{index}").obj() for index in (1, 2, 3)),
        node("n4", cpu="1").obj(),
        running("one", "n1", "4").priority(1).obj(),
        running("two-a", "n2", "2").obj(),
        running("two-b", "n2", "2").obj(),
        running("high", "n3", "4").priority(100).obj(),
        make_pod("p").requests(cpu="3").priority(priority).spec(**spec).obj(),
    ]


def test_candidates_and_why_they_were_or_were_not_chosen() -> None:
    found = explained(crowded(), "p")
    study = found.preemption
    assert study is not None
    assert [(each.node, each.victims, each.why) for each in study.candidates] == [
        ("n2", ("default/two-b", "default/two-a"), "chosen"),
        ("n1", ("default/one",), "a victim has priority 1, on n2 none over 0"),
    ]
    assert study.others == {"n3": "No preemption victims found for incoming pod"}
    assert study.beyond_help == 1
    assert found.outcome is not None
    assert found.outcome.nominated_node == "n2"


def test_looking_at_preemption_evicts_nobody() -> None:
    found = explained(crowded(priority=0), "p")
    assert found.preemption is not None
    assert found.preemption.candidates == ()
    assert found.outcome is not None
    assert found.outcome.preemption is None


def test_a_pod_that_may_not_preempt() -> None:
    found = explained(crowded(preemptionPolicy="Never"), "p")
    assert found.preemption is not None
    assert found.preemption.ineligible == "not eligible due to preemptionPolicy=Never."


@pytest.mark.parametrize(
    ("victims", "why_not"),
    [
        pytest.param(
            [
                running("a1", "n1", "4").priority(1),
                running("b1", "n2", "2").priority(1),
                running("b2", "n2", "2").priority(1),
            ],
            "its victims weigh more by their number and priorities than those of n1",
            id="more of them",
        ),
        pytest.param(
            [
                running("a1", "n1", "4").priority(1),
                running("b1", "n2", "2").priority(1),
                running("b2", "n2", "2").priority(0),
            ],
            "2 victims, n1 1",
            id="one more that adds nothing to the sum",
        ),
        pytest.param(
            [
                running("a1", "n1", "4").started("2026-01-02T00:00:00Z"),
                running("b1", "n2", "4").started("2026-01-01T00:00:00Z"),
            ],
            "its most important victim has run longer than that of n1",
            id="older",
        ),
        pytest.param(
            [running("a1", "n1", "4"), running("b1", "n2", "4")],
            "as good as n1: kube-scheduler takes any of them",
            id="a tie",
        ),
    ],
)
def test_by_which_criterion_a_candidate_loses(victims: list[Any], why_not: str) -> None:
    pod = make_pod("p").requests(cpu="4").priority(9)
    found = explained([node("n1").obj(), node("n2").obj(), *(each.obj() for each in victims), pod.obj()], "p")
    assert found.preemption is not None
    assert [each.why for each in found.preemption.candidates] == ["chosen", why_not]


def test_all_plugins_that_reject_a_node_are_named() -> None:
    cluster = [node("n1").cordoned().taint("gpu").obj(), make_pod("p").requests(cpu="9").selector(disk="ssd").obj()]
    names = ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"]
    assert why(explained(cluster, "p")) == {"n1": names}


def test_a_pod_is_held_back_with_another_pod_of_its_group() -> None:
    """No plugin holds the pod itself back: the reason is that of the group."""
    items = [node("n1").obj(), group(min_count=2), member("p").obj(), member("q").gate("wait").obj()]
    for pod in ("p", "q"):
        found = explained(items, pod, kube_version="1.37", feature_gates=GATES_OF_MINOR["1.37"])
        (held,) = [each for each in found.pre_enqueue if each.rejects]
        assert (found.standing, held.plugin) == ("gated", "SchedulingGates")
        assert ("default/q" in " ".join(held.reasons)) == (pod == "p")


# Plugins of one's own


class OddNodesOnly(PerNodeFilter):
    """For `--plugin tests.plan.test_explain:OddNodesOnly`: breaks on a node whose name has no number."""

    name = "OddNodesOnly"

    def filter_one(self, pod: Any, node: Any) -> Status:
        return SUCCESS if int(node.metadata.name[1:]) % 2 else unresolvable(f"{node.metadata.name} is even")


class NoRoomInTheEnd(ReservePlugin[Any]):
    name = "NoRoomInTheEnd"

    def reserve(self, state: Any, pod: Any, row: int) -> Status:
        return unschedulable("the room is gone")

    def unreserve(self, state: Any, pod: Any, row: int) -> None:
        return


class Breaks(PreEnqueuePlugin):
    name = "Breaks"

    def pre_enqueue(self, pod: Any) -> Status:
        raise RuntimeError("no idea")


def own_plugin(tmp_path: Path, plugin: str = "OddNodesOnly", point: str = "filter") -> dict[str, Any]:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        f"- plugins:\n    {point}:\n      enabled:\n      - name: {plugin}\n"
    )
    return {"config": str(config), "plugins": [f"{__name__}:{plugin}"]}


def test_a_plugin_of_ones_own_is_told_by_its_reasons(tmp_path: Path) -> None:
    found = explained([node("n2").obj(), make_pod("p").obj()], "p", **own_plugin(tmp_path))
    assert " ".join(found.summary) == "The only node n2 is even; closest is n2, n2 is even."
    assert found.fixes is not None
    assert found.fixes.found == ()
    assert found.retries == {"OddNodesOnly": ("anything that happens",)}


def test_a_node_is_lost_when_the_pod_is_about_to_be_bound(tmp_path: Path) -> None:
    """The filters of the node have passed: the reason is that of the cycle."""
    own = own_plugin(tmp_path, "NoRoomInTheEnd", "reserve")
    found = explained([node("n1").obj(), node("n2", cpu="1").obj(), make_pod("p").requests(cpu="2").obj()], "p", **own)
    assert {each.name: [(one.plugin, one.texts) for one in each.rejections] for each in found.nodes} == {
        "n1": [("NoRoomInTheEnd", ("the room is gone",))],
        "n2": [("NodeResourcesFit", ("Insufficient cpu",))],
    }


def test_a_plugin_that_breaks_before_the_queue(tmp_path: Path) -> None:
    found = explained([node("n1").obj(), make_pod("p").obj()], "p", **own_plugin(tmp_path, "Breaks", "preEnqueue"))
    assert (found.standing, found.unplaced, found.nodes, found.queue) == ("pending", True, (), None)
    assert found.summary[0].startswith("Its cycle ends in an error: ")
    assert "no idea" in found.summary[0]


def test_a_plugin_that_breaks_is_named(tmp_path: Path) -> None:
    found = explained([node("n1").obj(), node("x").obj(), make_pod("p").obj()], "p", **own_plugin(tmp_path))
    assert found.outcome is not None
    assert found.outcome.result == "error"
    assert "OddNodesOnly" in found.problems["OddNodesOnly"]
    assert found.summary[0].startswith("Its cycle ends in an error: ")


def test_a_fix_of_a_daemon_set_pod_whose_template_lacks_the_affinity() -> None:
    """The controller has added the affinity for the node: no template has the path of its fields."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod = make_pod("d-1").label(app="d").requests(cpu="9").spec(affinity=affinity)
    pod.owner("DaemonSet", "d", apiVersion="apps/v1", uid="d")
    containers = pod.doc()["spec"]["containers"]
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}}
    daemon_set = msgspec.convert(
        {
            "metadata": {"name": "d", "namespace": "default", "uid": "d"},
            "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template},
        },
        DaemonSet,
    )
    large = make_node("m").allocatable(cpu="16", memory="32Gi", pods=110)
    found = explained([node("n").obj(), large.obj(), daemon_set, pod.obj()], "d-1")
    assert found.unplaced


def test_a_pod_that_has_a_node_and_does_not_run() -> None:
    waiting = {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    starting = {"name": "d", "state": {"waiting": {"reason": "ContainerCreating"}}}
    pod = running("p", "n").status(containerStatuses=[{"name": "a", "state": {"running": {}}}, starting, waiting])
    found = explained([node("n").obj(), pod.obj()], "p")
    text = "It is bound to n and does not run there: waits: ImagePullBackOff (container c). Were it pending now"
    assert " ".join(found.summary).startswith(text)


def test_a_pod_on_a_node_that_is_not_there() -> None:
    found = explained([node("n").obj(), running("p", "gone").obj()], "p")
    text = "It is bound to gone and does not run there: the input does not have this node."
    assert " ".join(found.summary).startswith(text)
