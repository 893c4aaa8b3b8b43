"""Taint eviction, the node lifecycle controller and the pod garbage collector."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeCondition, Pod, Taint, Toleration
from tests.builders import make_node, make_pod
from tests.controlplane.harness import ControlPlane, make, nodes, rested, started

_RUNS_FOR_EVER = "for ever"


def _pod(name: str, seconds: Any = None, key: str = "a", *, waits: bool = False) -> Pod:
    """A pod on node-1, or on none yet, that tolerates `key` for so many seconds, or not at all. "" is every key."""
    pod = make_pod(name).obj() if waits else started(make_pod(name).obj(), "node-1")
    if seconds is None:
        return pod
    limit = None if seconds == _RUNS_FOR_EVER else seconds
    tolerations = (Toleration(key=key, operator="Exists", toleration_seconds=limit),)
    return replace(pod, spec=replace(pod.spec, tolerations=tolerations))


def _deleted(control_plane: ControlPlane) -> list[tuple[float, str]]:
    return [(moment, name) for moment, what, name in control_plane.events if what == "deleted"]


def _node(control_plane: ControlPlane, name: str) -> Node:
    node = control_plane.store.get(Node, name)
    assert node is not None
    return node


@pytest.mark.parametrize(
    ("seconds", "moment"), [(None, 0.0), (0, 0.0), (-5, 0.0), (3, 3.0), (300, 300.0), (_RUNS_FOR_EVER, None)]
)
def test_a_pod_leaves_after_its_toleration_seconds(seconds: Any, moment: float | None) -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", seconds))
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run()
    assert _deleted(control_plane) == ([] if moment is None else [(moment, "web")])
    assert control_plane.pods() == ({"web": "node-1+"} if moment is None else {})


def test_the_grace_period_comes_on_top() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", 3))
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run()
    assert control_plane.events == [(3.0, "deleted", "web"), (33.0, "gone", "web")]


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule"])
def test_other_effects_evict_nobody(effect: str) -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web"))
    control_plane.taint("node-1", f"a:{effect}")
    assert control_plane.run().pods() == {"web": "node-1+"}


def test_the_shortest_toleration_counts() -> None:
    pod = _pod("web", 300)
    tolerations = (*pod.spec.tolerations, Toleration(key="b", operator="Exists", toleration_seconds=5))
    control_plane = ControlPlane(*nodes(1), replace(pod, spec=replace(pod.spec, tolerations=tolerations)))
    control_plane.taint("node-1", "a:NoExecute", "b:NoExecute")
    control_plane.run()
    assert _deleted(control_plane) == [(5.0, "web")]


def test_a_taint_that_goes_in_time_cancels_the_eviction() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", 300))
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run(200)
    control_plane.taint("node-1")
    assert control_plane.run().pods() == {"web": "node-1+"}
    assert control_plane.queue.clock.now == 200, "no time passes for the sake of a cancelled eviction"


@pytest.mark.parametrize(
    ("seconds", "after", "taints", "moment"),
    [
        pytest.param(5, 10, "ab", 300.0, id="a shorter toleration later"),
        pytest.param(5, 0, "ab", 5.0, id="a shorter toleration at the same moment"),
        pytest.param(_RUNS_FOR_EVER, 10, "ab", 300.0, id="another taint that is tolerated for ever"),
        pytest.param(_RUNS_FOR_EVER, 10, "b", None, id="only a taint that is tolerated for ever"),
    ],
)
def test_what_is_left_of_a_scheduled_eviction_when_taints_change(
    seconds: Any, after: int, taints: str, moment: float | None
) -> None:
    """processPodOnNode keeps the earlier schedule, even where the new one would be shorter."""
    pod, limit = _pod("web", 300), None if seconds == _RUNS_FOR_EVER else seconds
    tolerations = (*pod.spec.tolerations, Toleration(key="b", operator="Exists", toleration_seconds=limit))
    control_plane = ControlPlane(*nodes(1), replace(pod, spec=replace(pod.spec, tolerations=tolerations)))
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run(after)
    control_plane.taint("node-1", *(f"{key}:NoExecute" for key in taints))
    control_plane.run()
    assert _deleted(control_plane) == ([] if moment is None else [(moment, "web")])


def test_a_pod_that_goes_by_itself_is_not_evicted() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", 300))
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run(10)
    control_plane.api.delete(control_plane.pod("web"), grace=0)
    control_plane.run()
    assert _deleted(control_plane) == [(10.0, "web")]
    assert control_plane.queue.clock.now == 10


@pytest.mark.parametrize(("seconds", "moment"), [(None, 10.0), (3, 13.0), (_RUNS_FOR_EVER, None)])
def test_a_pod_that_is_bound_to_a_tainted_node(seconds: Any, moment: float | None) -> None:
    control_plane = ControlPlane(*nodes(1), place=lambda pod: "")
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.api.create(_pod("web", seconds, waits=True))
    control_plane.run(10)
    control_plane.bind("web", "node-1")
    control_plane.run()
    assert _deleted(control_plane) == ([] if moment is None else [(moment, "web")])


def test_a_taint_that_is_not_tolerated_ends_the_wait() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", 300))
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run(10)
    control_plane.taint("node-1", "a:NoExecute", "b:NoExecute")
    control_plane.run()
    assert _deleted(control_plane) == [(10.0, "web")]


def test_a_pod_that_comes_onto_a_tainted_node_leaves_again_and_again() -> None:
    spec = {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}], "containers": [{"name": "m"}]}
    item = make("ReplicaSet", "web", replicas=1, template={"metadata": {"labels": {"app": "web"}}, "spec": spec})
    control_plane = rested(*nodes(1), item)
    control_plane.taint("node-1", "a:NoExecute")
    control_plane.run(10)
    assert [moment for moment, _ in _deleted(control_plane)] == [3.0, 6.0, 9.0]


def test_mirror_pods_stay() -> None:
    pod = _pod("kube-proxy")
    pod = replace(pod, metadata=replace(pod.metadata, annotations={"kubernetes.io/config.mirror": "x"}))
    control_plane = ControlPlane(*nodes(1), pod)
    control_plane.taint("node-1", "a:NoExecute")
    assert control_plane.run().pods() == {"kube-proxy": "node-1+"}


def test_a_taint_of_the_input_evicts_nobody_before_controllers_start() -> None:
    node = nodes(1)[0]
    node = replace(node, spec=replace(node.spec, taints=(Taint(key="a", effect="NoExecute"),)))
    control_plane = ControlPlane(node, _pod("web"))
    control_plane.api.update(replace(node, metadata=replace(node.metadata, labels={"x": "y"})))
    assert control_plane.run().pods() == {"web": "node-1+"}


# The youngest pod was created when the run begins; the node was lost 100 s before it.
_LOST_AT, _BEGIN = "2026-01-01T00:00:00Z", "2026-01-01T00:01:40Z"
_UNREACHABLE = "node.kubernetes.io/unreachable"


def _lost(name: str, *taints: str, ready: str = "Unknown", since: str | None = _LOST_AT) -> Node:
    """A node whose condition Ready has this status, with NoExecute taints."""
    node, found = make_node(name).obj(), tuple(Taint(key=key, effect="NoExecute") for key in taints)
    conditions = (NodeCondition("MemoryPressure", ready), NodeCondition("Ready", ready, last_transition_time=since))
    return replace(node, spec=replace(node.spec, taints=found), status=replace(node.status, conditions=conditions))


def _created_at(pod: Pod, stamp: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, creation_timestamp=stamp))


def _woken(*objects: Any) -> ControlPlane:
    """A control plane whose controllers have started."""
    control_plane = ControlPlane(*objects, _created_at(started(make_pod("youngest").obj(), "node-2"), _BEGIN))
    control_plane.registry.wake()
    return control_plane.run()


@pytest.mark.parametrize(
    ("seconds", "taints", "more", "moment"),
    [
        pytest.param(None, [_UNREACHABLE], {}, 0.0, id="not tolerated"),
        pytest.param(0, [_UNREACHABLE], {}, 0.0, id="for no time"),
        pytest.param(300, [_UNREACHABLE], {}, 200.0, id="since the node was lost"),
        pytest.param(100, [_UNREACHABLE], {}, 0.0, id="time is over"),
        pytest.param(300, [_UNREACHABLE], {"since": None}, 300.0, id="without a time"),
        pytest.param(300, [_UNREACHABLE], {"since": "2026-01-01T01:00:00Z"}, 300.0, id="lost after the youngest pod"),
        pytest.param(300, [_UNREACHABLE], {"ready": "True"}, 300.0, id="a taint that the condition does not explain"),
        pytest.param(300, [_UNREACHABLE, "b"], {}, 0.0, id="another taint is not tolerated"),
        pytest.param(300, [_UNREACHABLE, "b"], {"key": ""}, 300.0, id="another taint is tolerated, too"),
        pytest.param(_RUNS_FOR_EVER, [_UNREACHABLE], {}, None, id="tolerated for ever"),
        pytest.param(None, [], {}, None, id="no taint"),
    ],
)
def test_taints_of_the_input_evict_when_controllers_start(
    seconds: Any, taints: list[str], more: dict[str, Any], moment: float | None
) -> None:
    more = {"key": _UNREACHABLE, **more}
    pod = _pod("web", seconds, more.pop("key"))
    control_plane = _woken(_lost("node-1", *taints, **more), nodes(2)[1], pod)
    assert _deleted(control_plane) == ([] if moment is None else [(moment, "web")])


def test_a_pod_tolerates_from_its_creation_at_the_earliest() -> None:
    late = _created_at(_pod("web", 300, _UNREACHABLE), "2026-01-01T00:01:00Z")
    assert _deleted(_woken(_lost("node-1", _UNREACHABLE), nodes(2)[1], late)) == [(260.0, "web")]


def test_a_custom_taint_of_the_input_counts_from_the_start() -> None:
    assert _deleted(_woken(_lost("node-1", "a"), nodes(2)[1], _pod("web", 300))) == [(300.0, "web")]


@pytest.mark.parametrize(
    ("ready", "after"),
    [
        pytest.param("Unknown", {"web": "node-1-"}, id="no kubelet reports"),
        pytest.param("False", {}, id="not ready"),
        pytest.param("True", {}, id="ready"),
    ],
)
@pytest.mark.parametrize("is_terminating", [False, True])
def test_only_a_kubelet_that_reports_removes_a_deleted_pod(
    ready: str, after: dict[str, str], is_terminating: bool
) -> None:
    pod = _pod("web")
    if is_terminating:
        pod = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=_LOST_AT))
    control_plane = ControlPlane(_lost("node-1", ready=ready), pod)
    if not is_terminating:
        control_plane.api.delete(control_plane.pod("web"))
    assert control_plane.run().pods() == after
    for left in after:
        control_plane.api.delete(control_plane.pod(left), grace=0)
    assert control_plane.run().pods() == {}, "a grace period of 0 needs no kubelet"


def test_a_pod_does_not_become_ready_where_no_kubelet_reports() -> None:
    control_plane = ControlPlane(_lost("node-1"), place=lambda pod: "node-1")
    control_plane.api.create(make_pod("web").obj())
    assert control_plane.run().pods() == {"web": "node-1"}


@pytest.mark.parametrize(
    ("kind", "spec", "after"),
    [
        pytest.param("ReplicaSet", {"replicas": 1}, ["node-1-", "node-2+"], id="ReplicaSet"),
        pytest.param("StatefulSet", {"replicas": 1}, ["node-1-"], id="StatefulSet"),
        pytest.param("DaemonSet", {}, ["node-1-", "node-2+"], id="DaemonSet: none on the lost node"),
    ],
)
def test_who_replaces_a_pod_that_stays_terminating(kind: str, spec: dict[str, Any], after: list[str]) -> None:
    control_plane = rested(*nodes(2), make(kind, "web", **spec))
    node = _node(control_plane, "node-1")
    control_plane.api.update(replace(node, status=replace(node.status, conditions=_conditions(Ready="Unknown"))))
    (own,) = (name for name, place in control_plane.pods().items() if place.startswith("node-1"))
    control_plane.api.delete(control_plane.pod(own))
    control_plane.place = lambda pod: "node-2"
    assert control_plane.run().nodes_of("web") == after


@pytest.mark.parametrize("is_terminating", [False, True])
def test_pods_of_a_node_out_of_service_go_when_controllers_start(is_terminating: bool) -> None:
    pod = _pod("web")
    if is_terminating:
        pod = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=_LOST_AT))
    control_plane = _woken(_lost("node-1", "node.kubernetes.io/out-of-service"), nodes(2)[1], pod)
    assert control_plane.pods() == {"youngest": "node-2+"}
    assert (0.0, "gone", "web") in control_plane.events


# Node lifecycle


def _conditions(**conditions: str) -> tuple[NodeCondition, ...]:
    return tuple(NodeCondition(kind, status) for kind, status in conditions.items())


def _taints(control_plane: ControlPlane) -> set[str]:
    return {
        f"{each.key.removeprefix('node.kubernetes.io/')}:{each.effect}"
        for each in _node(control_plane, "node-1").spec.taints
    }


@pytest.mark.parametrize(
    ("conditions", "taints"),
    [
        ({"Ready": "True"}, set()),
        ({"Ready": "False"}, {"not-ready:NoSchedule", "not-ready:NoExecute"}),
        ({"Ready": "Unknown"}, {"unreachable:NoSchedule", "unreachable:NoExecute"}),
        ({"MemoryPressure": "True"}, {"memory-pressure:NoSchedule"}),
        ({"MemoryPressure": "Unknown"}, set()),
        ({"DiskPressure": "True", "PIDPressure": "True"}, {"disk-pressure:NoSchedule", "pid-pressure:NoSchedule"}),
        ({"NetworkUnavailable": "True"}, {"network-unavailable:NoSchedule"}),
    ],
)
def test_conditions_become_taints_and_go_again(conditions: dict[str, str], taints: set[str]) -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", _RUNS_FOR_EVER, ""))
    node = _node(control_plane, "node-1")
    control_plane.api.update(replace(node, status=replace(node.status, conditions=_conditions(**conditions))))
    control_plane.run()
    assert _taints(control_plane) == taints
    is_ready = conditions.get("Ready", "True") == "True"
    assert control_plane.pods() == {"web": "node-1+" if is_ready else "node-1"}
    node = _node(control_plane, "node-1")
    control_plane.api.update(replace(node, status=replace(node.status, conditions=_conditions(Ready="True"))))
    control_plane.run()
    assert _taints(control_plane) == set()


def test_a_cordon_is_a_taint_too() -> None:
    control_plane = ControlPlane(*nodes(1))
    for unschedulable, taints in ((True, {"unschedulable:NoSchedule"}), (False, set[str]())):
        node = _node(control_plane, "node-1")
        control_plane.api.update(replace(node, spec=replace(node.spec, unschedulable=unschedulable)))
        control_plane.run()
        assert _taints(control_plane) == taints


def test_taints_of_others_stay() -> None:
    control_plane = ControlPlane(*nodes(1))
    control_plane.taint("node-1", "a:NoExecute", "node.kubernetes.io/unreachable:NoExecute")
    node = _node(control_plane, "node-1")
    control_plane.api.update(replace(node, spec=replace(node.spec, unschedulable=True)))
    control_plane.run()
    assert _taints(control_plane) == {"a:NoExecute", "unreachable:NoExecute", "unschedulable:NoSchedule"}


def test_pods_of_a_failed_node_are_not_ready_and_leave_after_their_tolerations() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web", 300, "node.kubernetes.io/unreachable"))
    node = _node(control_plane, "node-1")
    control_plane.api.update(replace(node, status=replace(node.status, conditions=_conditions(Ready="Unknown"))))
    assert control_plane.run(1).pods() == {"web": "node-1"}
    control_plane.run()
    assert _deleted(control_plane) == [(300.0, "web")]


# Pod garbage collection


def test_pods_of_a_lost_node_are_collected_after_the_quarantine() -> None:
    control_plane = rested(*nodes(2), make("ReplicaSet", "web", replicas=2))
    lost = next(name for name, node in control_plane.pods().items() if node == "node-1+")
    control_plane.api.delete(_node(control_plane, "node-1"))
    assert control_plane.run(39).nodes_of("web") == ["node-1+", "node-2+"]
    assert control_plane.run().nodes_of("web") == ["node-2+", "node-2+"]
    assert (40.0, "gone", lost) in control_plane.events


def test_a_terminating_pod_of_a_lost_node_waits_for_the_collector() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web"))
    control_plane.api.delete(control_plane.pod("web"))
    control_plane.api.delete(_node(control_plane, "node-1"))
    control_plane.run()
    assert control_plane.events == [(0.0, "deleted", "web"), (40.0, "gone", "web")]


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web"))
    control_plane.api.delete(_node(control_plane, "node-1"))
    control_plane.run(30)
    control_plane.api.create(make_node("node-1").obj())
    assert control_plane.run().pods() == {"web": "node-1+"}


def test_pods_of_nodes_that_the_input_lacks_stay() -> None:
    control_plane = ControlPlane(*nodes(1), started(make_pod("web").obj(), "node-9"))
    control_plane.api.delete(_node(control_plane, "node-1"))
    assert control_plane.run().pods() == {"web": "node-9+"}


@pytest.mark.parametrize(
    ("conditions", "at_once"),
    [
        pytest.param({"Ready": "False"}, True, id="not ready"),
        pytest.param({"MemoryPressure": "True", "Ready": "False"}, True, id="another condition"),
        pytest.param({"MemoryPressure": "False", "Ready": "True"}, False, id="ready"),
    ],
)
def test_terminating_pods_of_a_node_out_of_service_go_at_once(conditions: dict[str, str], at_once: bool) -> None:
    control_plane = ControlPlane(*nodes(1), _pod("web"), _pod("db"))
    node = _node(control_plane, "node-1")
    control_plane.api.delete(control_plane.pod("web"))
    control_plane.api.update(replace(node, status=replace(node.status, conditions=_conditions(**conditions))))
    node = _node(control_plane, "node-1")
    control_plane.api.update(
        replace(
            node, spec=replace(node.spec, taints=(Taint(key="node.kubernetes.io/out-of-service", effect="NoSchedule"),))
        )
    )
    control_plane.run(1)
    assert ((0.0, "gone", "web") in control_plane.events) == at_once
