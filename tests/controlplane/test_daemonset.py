"""The DaemonSet controller, step by step."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Node, ObjectMeta, PodCondition
from ksched_cli.api.workloads import ResourceQuota, ResourceQuotaSpec
from ksched_cli.controlplane.controllers.daemonset import DaemonSetController, DaemonStatus
from tests.builders import make_node
from tests.controlplane.harness import ControlPlane, make, nodes, rested, template


def _rolling(**values: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": values}


def _status(control_plane: ControlPlane) -> DaemonStatus:
    controller = next(each for each in control_plane.controllers if isinstance(each, DaemonSetController))
    return controller.status(control_plane.object("DaemonSet", "agent"))


def _images(control_plane: ControlPlane) -> list[str]:
    return sorted(control_plane.revisions().values())


def _pod_on(control_plane: ControlPlane, node: str) -> str:
    """The name of the ready pod of the node."""
    return next(name for name, place in control_plane.pods().items() if place == f"{node}+")


def _become_unready(control_plane: ControlPlane, name: str) -> None:
    pod = control_plane.pod(name)
    control_plane.api.update(replace(pod, status=replace(pod.status, conditions=(PodCondition("Ready", "False"),))))


def test_every_node_gets_one_pod() -> None:
    control_plane = ControlPlane(*nodes(3))
    control_plane.api.create(make("DaemonSet", "agent"))
    assert control_plane.run().nodes_of("agent") == ["node-1+", "node-2+", "node-3+"]
    assert _status(control_plane) == DaemonStatus(desired=3, current=3, misscheduled=0, ready=3, available=3, updated=3)


def test_the_status_of_a_set_of_the_input_is_there_before_any_run() -> None:
    assert _status(rested(*nodes(2), make("DaemonSet", "agent"))).available == 2


def test_a_new_node_gets_one() -> None:
    """The first DaemonSet has no template, and does not keep the second from its new pod."""
    control_plane = rested(*nodes(2), make("DaemonSet", "a-part", template=None), make("DaemonSet", "agent"))
    control_plane.api.create(make_node("node-3").obj())
    assert control_plane.run().nodes_of("agent") == ["node-1+", "node-2+", "node-3+"]


def test_a_selector_that_cannot_be_read_selects_no_node() -> None:
    broken = {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [broken]}}
    control_plane = ControlPlane(*nodes(1))
    control_plane.api.create(
        make("DaemonSet", "agent", template=template("agent", affinity={"nodeAffinity": required}))
    )
    assert control_plane.run().nodes_of("agent") == []


@pytest.mark.parametrize(
    ("taint", "tolerations", "on_new_node", "stays"),
    [
        ("a:NoSchedule", [], False, True),
        ("a:NoExecute", [], False, False),
        ("a:PreferNoSchedule", [], True, True),
        ("a:NoSchedule", [{"key": "a", "operator": "Exists"}], True, True),
        ("node.kubernetes.io/unschedulable:NoSchedule", [], True, True),
        ("node.kubernetes.io/not-ready:NoExecute", [], True, True),
    ],
)
def test_taints(taint: str, tolerations: list[Any], on_new_node: bool, stays: bool) -> None:
    item = make("DaemonSet", "agent", template=template("agent", tolerations=tolerations))
    control_plane = rested(*nodes(1), item)
    control_plane.api.create(make_node("node-2").obj())
    control_plane.taint("node-2", taint)
    control_plane.taint("node-1", taint)
    expected = [*(["node-1+"] if stays else []), *(["node-2+"] if on_new_node else [])]
    assert control_plane.run().nodes_of("agent") == expected


def test_a_pod_that_a_taint_would_not_let_in_counts_as_misscheduled_only() -> None:
    control_plane = rested(*nodes(2), make("DaemonSet", "agent"))
    control_plane.taint("node-1", "a:NoSchedule")
    control_plane.run()
    assert _status(control_plane) == DaemonStatus(desired=1, current=1, misscheduled=1, ready=1, available=1, updated=1)


def test_a_label_that_goes_takes_the_pod_with_it() -> None:
    item = make("DaemonSet", "agent", template=template("agent", nodeSelector={"gpu": "yes"}))
    control_plane = rested(make_node("node-1").label(gpu="yes").obj(), make_node("node-2").label(gpu="yes").obj(), item)
    node = control_plane.store.get(Node, "node-1")
    assert node is not None
    control_plane.api.update(replace(node, metadata=replace(node.metadata, labels={})))
    assert control_plane.run().nodes_of("agent") == ["node-2+"]


@pytest.mark.parametrize(
    ("strategy", "meanwhile"),
    [
        pytest.param(None, ["node-1-", "node-2+"], id="once it is gone"),
        pytest.param(
            _rolling(maxSurge=1, maxUnavailable=0), ["node-1+", "node-1-", "node-2+"], id="with surge: at once"
        ),
    ],
)
def test_a_deleted_pod_comes_back_on_its_node(strategy: Any, meanwhile: list[str]) -> None:
    control_plane = rested(*nodes(2), make("DaemonSet", "agent", updateStrategy=strategy))
    control_plane.api.delete(control_plane.pod(_pod_on(control_plane, "node-1")))
    assert control_plane.run(29).nodes_of("agent") == meanwhile
    assert control_plane.run().nodes_of("agent") == ["node-1+", "node-2+"]


@pytest.mark.parametrize(
    ("strategy", "at_once"),
    [
        (None, 1),
        (_rolling(maxUnavailable=2), 2),
        (_rolling(maxUnavailable=4), 4),
        (_rolling(maxUnavailable="50%"), 2),
        (_rolling(maxUnavailable="30%"), 2),
        (_rolling(maxUnavailable=9), 4),
        ({"type": "OnDelete"}, 0),
    ],
)
def test_a_rollout_deletes_so_many_at_once(strategy: Any, at_once: int) -> None:
    control_plane = rested(*nodes(4), make("DaemonSet", "agent", updateStrategy=strategy))
    control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
    control_plane.run(1)
    assert control_plane.count("deleted") == at_once
    assert bool(control_plane.api.draws.made) == (0 < at_once < 4), "which nodes are first is left open"
    control_plane.run()
    assert _images(control_plane) == (["app:v2"] * 4 if at_once else ["app:v1"] * 4)


def test_on_delete_makes_the_next_pod_of_the_new_template() -> None:
    control_plane = rested(*nodes(2), make("DaemonSet", "agent", updateStrategy={"type": "OnDelete"}))
    control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
    control_plane.api.delete(control_plane.pod(next(iter(control_plane.pods()))))
    assert _images(control_plane.run()) == ["app:v1", "app:v2"]


@pytest.mark.parametrize(("surge", "at_once"), [(1, 1), ("50%", 2)])
def test_with_surge_the_new_pod_comes_before_the_old_one_goes(surge: Any, at_once: int) -> None:
    strategy = _rolling(maxSurge=surge, maxUnavailable=0)
    control_plane = rested(*nodes(4), make("DaemonSet", "agent", updateStrategy=strategy))
    control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
    control_plane.run(0.1)
    assert (control_plane.count("created"), control_plane.count("deleted")) == (at_once, 0)
    control_plane.run()
    assert _images(control_plane) == ["app:v2"] * 4
    assert control_plane.nodes_of("agent") == ["node-1+", "node-2+", "node-3+", "node-4+"]


def _surging(count: int = 2) -> ControlPlane:
    """A rollout with surge whose new pods are given no node: one of them waits."""
    strategy = _rolling(maxSurge=1, maxUnavailable=0)
    control_plane = rested(*nodes(count), make("DaemonSet", "agent", updateStrategy=strategy))
    control_plane.place = lambda pod: ""
    return control_plane


def _roll_out(control_plane: ControlPlane) -> ControlPlane:
    control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
    return control_plane.run(1)


def test_a_surge_that_does_not_fit_keeps_the_old_pods() -> None:
    control_plane = _roll_out(_surging())
    assert control_plane.nodes_of("agent") == ["", "node-1+", "node-2+"]
    old = control_plane.pod(_pod_on(control_plane, "node-1"))
    control_plane.api.create(replace(old, metadata=replace(old.metadata, name="agent-twin", uid="twin")))
    assert control_plane.run().nodes_of("agent") == ["", "node-1+", "node-2+"], "a second old pod goes"


def test_an_old_pod_that_is_not_ready_does_not_wait_for_the_new_one() -> None:
    control_plane = _roll_out(_surging(1))
    _become_unready(control_plane, _pod_on(control_plane, "node-1"))
    assert control_plane.run().nodes_of("agent") == [""]


@pytest.mark.parametrize(
    ("unready", "deleted", "goes"),
    [
        pytest.param([], [], True, id="the other node serves"),
        pytest.param(["node-2"], [], False, id="no other pod is ready"),
        pytest.param([], ["node-2"], False, id="the other pod terminates"),
        pytest.param(["node-1", "node-2"], [], True, id="it is not ready itself"),
    ],
)
def test_with_surge_an_old_pod_where_none_may_come_stays_while_it_is_needed(
    unready: list[str], deleted: list[str], goes: bool
) -> None:
    """No pod may come to the third node either, and its pod terminates: it serves no more."""
    control_plane = _surging(3)
    own = _pod_on(control_plane, "node-1")
    for name in [_pod_on(control_plane, node) for node in unready]:
        _become_unready(control_plane, name)
    for node in ("node-1", "node-3"):
        control_plane.taint(node, "a:NoSchedule")
    for name in [_pod_on(control_plane, node) for node in (*deleted, "node-3")]:
        control_plane.api.delete(control_plane.pod(name))
    _roll_out(control_plane)
    assert (control_plane.pod(own).metadata.deletion_timestamp is not None) == goes


def test_a_lost_node_with_two_pods_counts_as_one_that_is_unavailable() -> None:
    strategy = _rolling(maxUnavailable=2)
    control_plane = rested(*nodes(3), make("DaemonSet", "agent", updateStrategy=strategy))
    own = control_plane.pod(_pod_on(control_plane, "node-1"))
    node = control_plane.store.get(Node, "node-1")
    control_plane.api.delete(node)
    control_plane.api.create(replace(own, metadata=replace(own.metadata, name="agent-twin", uid="twin")))
    assert _roll_out(control_plane).count("deleted") == 1
    assert _images(control_plane.run()) == ["app:v2"] * 2


@pytest.mark.parametrize(
    ("count", "pods", "is_open"),
    [
        pytest.param(2, 1, True, id="one of two nodes gets a pod"),
        pytest.param(1, 0, False, id="one node"),
        pytest.param(17, 16, False, id="each of the first nodes gets a pod"),
    ],
)
def test_which_nodes_get_a_pod_below_a_quota_is_a_draw(count: int, pods: int, is_open: bool) -> None:
    quota = ResourceQuota(ObjectMeta("few", "default"), ResourceQuotaSpec(hard={"pods": str(pods)}))
    control_plane = ControlPlane(*nodes(count), quota)
    control_plane.api.create(make("DaemonSet", "agent"))
    assert len(control_plane.run(0.001).pods()) == pods
    assert bool(control_plane.api.draws.made) == is_open


def test_which_nodes_are_first_is_a_draw() -> None:
    item = make("DaemonSet", "agent")
    seen = set()
    for choice in range(3):
        before = rested(*nodes(3), item)
        objects = [each for kind in before.store.kinds() for each in before.store.of(kind)]
        control_plane = ControlPlane(*objects, draws={("nodes of a rollout", "DaemonSet/default/agent", 0): choice})
        control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
        control_plane.run(1)
        draw = control_plane.api.draws.made[0]
        assert draw.options == ("node-1", "node-2", "node-3")
        seen.add(draw.taken)
    assert seen == {("node-1",), ("node-2",), ("node-3",)}


def test_an_unavailable_old_pod_goes_first_and_counts() -> None:
    control_plane = rested(*nodes(3), make("DaemonSet", "agent"))
    control_plane.place = lambda pod: ""
    control_plane.api.delete(control_plane.pod(_pod_on(control_plane, "node-2")))
    control_plane.run()
    control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
    control_plane.run(1)
    assert control_plane.nodes_of("agent") == ["", "node-1+", "node-3+"]
    assert _images(control_plane) == ["app:v1", "app:v1", "app:v2"]


def test_an_earlier_template_has_its_earlier_revision() -> None:
    control_plane = rested(*nodes(2), make("DaemonSet", "agent", updateStrategy=_rolling(maxUnavailable=2)))
    first = control_plane.pods()
    control_plane.place = lambda pod: ""
    control_plane.change(
        "DaemonSet", "agent", template=template("agent", "app:v2"), updateStrategy={"type": "OnDelete"}
    )
    control_plane.run()
    control_plane.change("DaemonSet", "agent", template=template("agent"), updateStrategy=_rolling(maxUnavailable=2))
    assert control_plane.run().pods() == first, "its pods are up to date"


def test_min_ready_seconds_are_waited_for() -> None:
    control_plane = rested(*nodes(2), make("DaemonSet", "agent", minReadySeconds=10))
    control_plane.run(60)
    control_plane.change("DaemonSet", "agent", template=template("agent", "app:v2"))
    control_plane.run()
    deleted = [moment for moment, what, _ in control_plane.events if what == "deleted"]
    assert len(deleted) == 2
    assert 39 <= deleted[1] - deleted[0] <= 41


@pytest.mark.parametrize("surge", [0, 1])
def test_finished_pods_and_second_pods_go(surge: int) -> None:
    strategy = _rolling(maxSurge=surge, maxUnavailable=1 - surge)
    control_plane = rested(*nodes(2), make("DaemonSet", "agent", updateStrategy=strategy))
    first, second = (control_plane.pod(name) for name in control_plane.pods())
    control_plane.api.update(replace(first, status=replace(first.status, phase="Failed")))
    twin = replace(second, metadata=replace(second.metadata, name="agent-twin", uid="twin"))
    control_plane.api.create(twin)
    control_plane.run()
    assert control_plane.nodes_of("agent") == ["node-1+", "node-2+"]
    assert "agent-twin" not in control_plane.pods()
