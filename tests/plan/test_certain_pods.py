"""Trials of fixes without the cycles of pods that find a node in any case: the same results as with all cycles."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ksched_cli import Simulator
from ksched_cli.plan.reasons.fixes.search import CertainPods, FixTrials, OwnPods
from ksched_cli.plan.reasons.fixes.values import TrialResult
from tests.builders import PodBuilder, make_node, make_pod, write_list
from tests.lanes import sampled
from tests.plan.test_explain import anti, running

SEEDS = [str(seed) for seed in range(200)]


def _node(name: str, chance: random.Random) -> Any:
    node = make_node(name).allocatable(cpu=str(chance.choice((4, 6, 8))), memory="32Gi", pods=20)
    node.zone(chance.choice("ab")).label(disk=chance.choice(("hdd", "ssd")))
    if chance.random() < 0.1:
        node.taint("dedicated", "x", chance.choice(("NoSchedule", "NoSchedule", "NoExecute")))
    return node.cordoned() if chance.random() < 0.1 else node


def _wishes(pod: PodBuilder, chance: random.Random) -> PodBuilder:
    """One in ten pods depends on pods of other nodes."""
    wish = chance.random()
    if wish < 0.1:
        pod.selector(disk=chance.choice(("hdd", "ssd")))
    elif wish < 0.2:
        pod.toleration("dedicated", "Exists")
    elif wish < 0.3:
        pod.host_port(80)
    elif wish < 0.4:
        pod.label(tier="x")
        pod.spec(affinity=anti(tier="x"))
    return pod


def _workload(name: str, pods: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """The pods with a ReplicaSet of a Deployment, with an owner that the input lacks, or with none. One in four sets
    lacks a pod, and one in four Deployments has another template."""
    kind = chance.choice(("ReplicaSet", "ReplicaSet", "Job", "Absent", ""))
    if not kind:
        return pods
    made: list[dict[str, Any]] = []
    for pod in pods:
        labels = pod["metadata"].setdefault("labels", {})
        labels["app"] = name
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
    if kind == "ReplicaSet":
        template = {"metadata": {"labels": labels}, "spec": {**pods[0]["spec"], "nodeName": ""}}
        spec = {
            "replicas": len(pods) + (chance.random() < 0.25),
            "selector": {"matchLabels": labels},
            "template": template,
        }
        above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"d-{name}", "controller": True}
        of_set = {"name": name, "namespace": "default", "uid": name, "labels": labels, "ownerReferences": [above]}
        made.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": of_set, "spec": spec})
        if chance.random() < 0.25:
            spec = {**spec, "template": {**template, "spec": {**template["spec"], "terminationGracePeriodSeconds": 7}}}
        metadata = {"name": name, "namespace": "default", "uid": f"d-{name}"}
        made.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    return [*made, *pods]


def cluster(seed: int) -> list[dict[str, Any]]:
    """Some nodes with pods, pending pods that mostly fit, and `default/p` that fits on no node."""
    chance = random.Random(seed)
    names = [f"n{index}" for index in range(chance.randint(3, 12))]
    items = [_node(name, chance).doc() for name in names]
    for index in range(chance.randint(0, 9)):
        items.append(running(f"r{index}", chance.choice(names), str(chance.choice((1, 2, 3)))).doc())
    for index in range(chance.randint(1, 3)):
        size, priority = chance.choice((100, 500, 3000, 5000)), chance.choice((0, 0, 0, 5))
        pods = [
            _wishes(
                make_pod(f"w{index}-{number}")
                .requests(cpu=f"{size}m")
                .created(f"2026-01-01T00:00:0{chance.randint(0, 9)}Z")
                .priority(priority),
                chance,
            ).doc()
            for number in range(chance.randint(1, 4))
        ]
        items += _workload(f"w{index}", pods, chance)
    wanted = (
        make_pod("p")
        .requests(cpu=str(chance.choice((3, 9, 10))))
        .created("2026-01-01T00:00:02Z")
        .priority(chance.choice((0, 5, 5)))
    )
    if chance.random() < 0.4:
        wanted.selector(disk="nvme")
    return [*items, wanted.doc()]


def _summary(found: TrialResult) -> Any:
    """All that fixes are made of."""
    replaced = {pod.replaces for pod in found.world.final}
    gone = {pod.pod for pod in found.world.final if pod.state == "gone" and pod.why.startswith("preempted")}
    own = sorted((pod.pod, pod.node, pod.replaces, pod.state == "scheduled") for pod in found.own)
    unplaced = sorted(pod.pod for pod in found.world.unplaced)
    return found.fits, found.survives, found.accepts_node, found.preempted, own, unplaced, gone - replaced


def compare(items: list[dict[str, Any]], path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each trial left out cycles; all have the result of a run with all cycles."""
    run, all_find_nodes, brief = FixTrials._run_world, CertainPods.all_find_nodes, list[bool]()

    def noted(certain: CertainPods, cycles: int) -> bool:
        brief[-1] = all_find_nodes(certain, cycles)
        return brief[-1]

    def run_twice(trials: FixTrials, *, rolls_out: bool) -> TrialResult:
        brief.append(False)
        found = run(trials, rolls_out=rolls_out)
        with monkeypatch.context() as plain:
            plain.setattr(OwnPods, "leading_cycles", lambda own: 0)
            assert _summary(found) == _summary(run(trials, rolls_out=rolls_out))
        return found

    monkeypatch.setattr(CertainPods, "all_find_nodes", noted)
    monkeypatch.setattr(FixTrials, "_run_world", run_twice)
    write_list(path, *items)
    Simulator.load(str(path)).explain("default/p")
    monkeypatch.undo()
    return brief


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(SEEDS, 20))
def test_a_trial_without_the_cycles_of_certain_pods_has_the_result_of_one_with_them(
    seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(cluster(int(seed)), tmp_path / "c.json", monkeypatch)


def _nodes_and_pods(*pods: PodBuilder, nodes: int = 8) -> list[dict[str, Any]]:
    """Nodes in two zones, and `default/p`, which is tried first and fits on none of them."""
    made = [make_node(f"n{index}").allocatable(cpu="4", pods=20).zone("ab"[index % 2]) for index in range(nodes)]
    wanted = make_pod("p").requests(cpu="9").created("2026-01-01T00:00:00Z")
    return [each.doc() for each in (*made, *(pod.created("2026-01-02T00:00:00Z") for pod in pods), wanted)]


def _pods(count: int, **spec: Any) -> list[PodBuilder]:
    return [make_pod(f"w{index}").label(tier="x").requests(cpu="100m").spec(**spec) for index in range(count)]


def _set_that_lacks_a_pod(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All pods but the last belong to a ReplicaSet, which creates another pod that fits on no node."""
    made = _workload("w", items[8:-1], random.Random(3))
    replica_set = next(each for each in made if each["kind"] == "ReplicaSet")
    replica_set["spec"]["replicas"] = len(items[8:-1]) + 1
    del replica_set["metadata"]["ownerReferences"]
    made = [each for each in made if each["kind"] != "Deployment"]
    replica_set["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "none"}
    return [*items[:8], *made, items[-1]]


def _owned_by(
    kind: str, items: list[dict[str, Any]], above: int | None = None, grace: int = 30
) -> list[dict[str, Any]]:
    """All pods but the last have an owner of this kind, which wants three pods. `above`: it belongs to a Deployment that
    wants so many, whose template has this grace period."""
    pods = items[8:-1]
    for number, pod in enumerate(pods):
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": "w", "uid": "u", "controller": True}
        pod["metadata"] |= {"name": f"w-{number}", "ownerReferences": [owner]}
    labels = {"tier": "x"}
    template = {"metadata": {"labels": labels}, "spec": pods[0]["spec"]}
    spec = {"replicas": 3, "serviceName": "w", "selector": {"matchLabels": labels}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w", "namespace": "default", "uid": "u"}}
    owners = [{**made, "spec": spec}] if kind != "Absent" else []
    if above is not None:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": True}
        made["metadata"] |= {"ownerReferences": [owner], "labels": labels}
        newer = {**template, "spec": {**template["spec"], "terminationGracePeriodSeconds": grace}}
        metadata = {"name": "d", "namespace": "default", "uid": "d"}
        owners.append(
            {**made, "kind": "Deployment", "metadata": metadata, "spec": {**spec, "replicas": above, "template": newer}}
        )
    return [*items[:8], *owners, *pods, items[-1]]


def _with_a_selector(nodes: int) -> list[dict[str, Any]]:
    """`default/p` fits once a node has a label, or without its selector."""
    items = _nodes_and_pods(*_pods(3), nodes=nodes)
    wanted = make_pod("p").requests(cpu="1").created("2026-01-01T00:00:00Z").selector(disk="nvme")
    return [*items[:-1], wanted.doc()]


LEAVING = make_pod("gone").requests(cpu="1").on("n0").started("2026-01-01T00:00:01Z").terminating().doc()
ADOPTING: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "w", "namespace": "default", "uid": "u"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"tier": "x"}},
        "template": {"metadata": {"labels": {"tier": "x"}}, "spec": _pods(1)[0].doc()["spec"]},
    },
}
OLD_SET = {
    **ADOPTING,
    "metadata": {
        **ADOPTING["metadata"],
        "name": "old",
        "uid": "old",
        "labels": {"tier": "x"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": True}
        ],
    },
    "spec": {
        **ADOPTING["spec"],
        "replicas": 0,
        "template": {"metadata": {"labels": {"tier": "x"}}, "spec": _pods(1, hostNetwork=True)[0].doc()["spec"]},
    },
}
EVICTING = make_node("t").allocatable(cpu="4", pods=20).taint("x", "y", "NoExecute").doc()


@pytest.mark.parametrize(
    ("items", "leaving_out"),
    [
        pytest.param(_nodes_and_pods(*_pods(3)), [False, True], id="room for all"),
        pytest.param(_nodes_and_pods(*_pods(3), nodes=4), [False, True], id="as many nodes as pods"),
        pytest.param(_nodes_and_pods(*_pods(3), nodes=3), [False], id="fewer nodes than pods"),
        pytest.param(
            _nodes_and_pods(*_pods(2), make_pod("x").requests(cpu="8")), [False, False], id="one fits nowhere"
        ),
        pytest.param(_owned_by("Absent", _nodes_and_pods(*_pods(3))), [False, True], id="the input lacks their owner"),
        pytest.param(
            _owned_by("StatefulSet", _nodes_and_pods(*_pods(1))), [False, False], id="a set makes its next pod"
        ),
        pytest.param(_owned_by("ReplicaSet", _nodes_and_pods(*_pods(3))), [False, True], id="a set has all its pods"),
        pytest.param(_owned_by("ReplicaSet", _nodes_and_pods(*_pods(3)), 3), [False, True], id="so has its Deployment"),
        pytest.param(
            _owned_by("ReplicaSet", _nodes_and_pods(*_pods(3)), 4), [False, False], id="its Deployment wants more"
        ),
        pytest.param(
            _owned_by("ReplicaSet", _nodes_and_pods(*_pods(3)), 3, 7),
            [False, False],
            id="its Deployment has another template",
        ),
        pytest.param(_nodes_and_pods(*_pods(3, affinity=anti(tier="x"))), [False, False], id="one pod in each zone"),
        pytest.param(
            _with_a_selector(5), [True, True, False], id="a node that changes may take another pod: a node more"
        ),
        pytest.param(_with_a_selector(4), [False, True, False], id="a node that changes, and as many nodes as pods"),
        pytest.param(
            _nodes_and_pods(*_pods(2), make_pod("x").requests(cpu="1").gate("g")), [False, True], id="one is gated"
        ),
        pytest.param(
            _nodes_and_pods(*_pods(2), make_pod("x").requests(cpu="1").nominated("n0")),
            [False, False],
            id="a node is kept for one",
        ),
        pytest.param([*_nodes_and_pods(*_pods(3)), ADOPTING], [False, False], id="a set adopts them"),
        pytest.param([*_nodes_and_pods(*_pods(3)), LEAVING], [False, False], id="a pod leaves meanwhile"),
        pytest.param([*_nodes_and_pods(*_pods(3)), EVICTING], [False, False], id="a node evicts pods"),
        pytest.param(
            _set_that_lacks_a_pod(_nodes_and_pods(*_pods(3))), [False, False], id="a controller creates a pod"
        ),
    ],
)
def test_only_cycles_of_independent_pods_with_room_are_left_out(
    items: list[dict[str, Any]], leaving_out: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By trial: that without any change, where it is made, and one of each proposal."""
    assert compare(items, tmp_path / "c.json", monkeypatch) == leaving_out
