"""Queueing hints of the plugins that look at other pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import PodGroup
from ksched_cli.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD,
    UNSCHEDULED_POD_ADD,
    Action,
    ClusterEvent,
)
from ksched_cli.plugins.default_preemption import DefaultPreemption
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.plugins.pod_groups import GangScheduling
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.plugins.scheduling_gates import SchedulingGates
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.plugins.hints.asking import CASE, case, hint

RELABELLED = ClusterEvent(ASSIGNED_POD, Action.UPDATE_POD_LABEL)
OWN_LABEL = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_LABEL)
OWN_TOLERATION = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_TOLERATION)
UNGATED = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
NODE_ADD, NODE_DELETE = ClusterEvent("Node", Action.ADD), ClusterEvent("Node", Action.DELETE)
NODE_LABEL, NODE_TAINT = ClusterEvent("Node", Action.UPDATE_NODE_LABEL), ClusterEvent("Node", Action.UPDATE_NODE_TAINT)


def pod(name: str = "p", namespace: str = "default", **labels: str) -> Any:
    return make_pod(name, namespace).uid(f"{namespace}-{name}").label(**labels)


def placed(namespace: str = "default", **labels: str) -> Any:
    return pod("q", namespace, **labels).on("n")


def node(**labels: str) -> Any:
    return make_node("n").label(**labels)


# InterPodAffinity


def rule(key: str = "zone", **labels: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key}


def near(*rules: Any, **labels: str) -> Any:
    return pod(**labels).spec(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(rules)}})


def avoiding(builder: Any, *rules: Any) -> Any:
    return builder.spec(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(rules)}})


NEAR = near(rule(app="a"))
NEAR_BOTH = near(rule(app="a"), rule(tier="x"))
FAR = avoiding(pod(), rule(app="a"))
NEAR_TWICE = near(rule(app="a"), rule("rack", app="a"))
FAR_TWICE = avoiding(pod(), rule(app="a"), rule("rack", app="a"))
EVERYWHERE = near({**rule(app="a"), "namespaceSelector": {}})
BROKEN = near({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "?"}]}, "topologyKey": "zone"})


@pytest.mark.parametrize(
    CASE,
    [
        case("a-pod-comes-that-it-wants", NEAR, ASSIGNED_POD_ADD, None, placed(app="a"), True),
        case("a-pending-pod-comes", NEAR, UNSCHEDULED_POD_ADD, None, pod("q", app="a"), False),
        case("a-nominated-pod-comes", NEAR, UNSCHEDULED_POD_ADD, None, pod("q", app="a").nominated("n"), True),
        case("another-pod-comes", NEAR, ASSIGNED_POD_ADD, None, placed(app="b"), False),
        case("in-another-namespace", NEAR, ASSIGNED_POD_ADD, None, placed("other", app="a"), False),
        case("in-any-namespace", EVERYWHERE, ASSIGNED_POD_ADD, None, placed("other", app="a"), True),
        case("it-wants-none", pod(), ASSIGNED_POD_ADD, None, placed(app="a"), False),
        case("relabelled-to-match", NEAR, RELABELLED, placed(app="b"), placed(app="a"), True),
        case("relabelled-and-matches-still", NEAR, RELABELLED, placed(app="a"), placed(app="a", x="1"), False),
        case("relabelled-not-to-match", NEAR, RELABELLED, placed(app="a"), placed(app="b"), False),
        case("a-pending-pod-relabelled", NEAR, OWN_LABEL, pod("q", app="b"), pod("q", app="a"), False),
        case("a-pod-that-had-no-place", NEAR, RELABELLED, pod("q", app="b"), placed(app="a"), False),
        case("one-term-of-two", NEAR_BOTH, RELABELLED, placed(app="b"), placed(app="a"), False),
        case("the-second-term", NEAR_BOTH, RELABELLED, placed(app="a"), placed(app="a", tier="x"), True),
        case("the-pod-itself", NEAR, OWN_LABEL, pod(), pod(app="b"), True),
        case("it-is-avoided-no-longer", FAR, RELABELLED, placed(app="a"), placed(app="b"), True),
        case("it-is-avoided-now", FAR, RELABELLED, placed(app="b"), placed(app="a"), False),
        case("an-avoided-pod-goes", FAR, ASSIGNED_POD_DELETE, placed(app="a"), None, True),
        case("another-pod-goes", FAR, ASSIGNED_POD_DELETE, placed(app="b"), None, False),
        case("a-wanted-pod-goes", NEAR, ASSIGNED_POD_DELETE, placed(app="a"), None, False),
        case("a-nominated-pod-goes", FAR, ASSIGNED_POD_DELETE, pod("q", app="a").nominated("n"), None, True),
        case("a-nominated-pod-goes-that-is-not", FAR, ASSIGNED_POD_DELETE, pod("q").nominated("n"), None, False),
        case("a-pending-pod-goes", FAR, ASSIGNED_POD_DELETE, pod("q", app="a"), None, False),
        case(
            "one-that-avoided-it-goes",
            pod(app="a"),
            ASSIGNED_POD_DELETE,
            avoiding(placed(), rule(app="a")),
            None,
            True,
        ),
        case(
            "one-that-avoided-others-goes",
            pod(app="b"),
            ASSIGNED_POD_DELETE,
            avoiding(placed(), rule(app="a")),
            None,
            False,
        ),
        case("its-terms-cannot-be-read", BROKEN, ASSIGNED_POD_ADD, None, placed(app="b"), True),
        case("a-node-of-the-topology", NEAR, NODE_ADD, None, node(zone="1"), True),
        case("a-node-outside", NEAR, NODE_ADD, None, node(), False),
        case("a-node-of-one-topology-of-two", NEAR_TWICE, NODE_ADD, None, node(rack="r"), True),
        case(
            "it-moves-in-one-of-two", NEAR_TWICE, NODE_LABEL, node(zone="1", rack="r"), node(zone="2", rack="r"), True
        ),
        case("the-node-moves", NEAR, NODE_LABEL, node(zone="1"), node(zone="2"), True),
        case("the-node-joins", NEAR, NODE_LABEL, node(), node(zone="2"), True),
        case("the-node-leaves", NEAR, NODE_LABEL, node(zone="1"), node(), False),
        case("other-labels", NEAR, NODE_LABEL, node(zone="1"), node(zone="1", x="2"), False),
        case("any-node-may-be-free-of-others", FAR, NODE_ADD, None, node(), True),
        case("away-from-others", FAR, NODE_LABEL, node(zone="1"), node(zone="2"), True),
        case("away-in-one-of-two", FAR_TWICE, NODE_LABEL, node(zone="1", rack="r"), node(zone="2", rack="r"), True),
        case("out-of-the-topology", FAR, NODE_LABEL, node(zone="1"), node(), True),
        case("into-the-topology", FAR, NODE_LABEL, node(), node(zone="1"), False),
        case("other-labels-of-an-avoided", FAR, NODE_LABEL, node(zone="1"), node(zone="1", x="1"), False),
        case("a-node-for-a-pod-without-terms", pod(), NODE_ADD, None, node(zone="1"), False),
    ],
)
def test_inter_pod_affinity(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(InterPodAffinity, pod, event, old, new, options) is expected


# PodTopologySpread


def constraint(key: str = "zone", when: str = "DoNotSchedule", taints: str = "", **labels: str) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": labels},
        **({"nodeTaintsPolicy": taints} if taints else {}),
    }


def spread(*constraints: Any) -> Any:
    return pod().spec(topologySpreadConstraints=list(constraints))


ONE = spread(constraint(app="a"))
TWO = spread(constraint(app="a"), constraint("rack", tier="x"))
HONOUR, IGNORE = spread(constraint(taints="Honor", app="a")), spread(constraint(taints="Ignore", app="a"))
MIXED = spread(constraint(taints="Ignore", app="a"), constraint("rack", taints="Honor", app="a"))
TOLERANT = pod().toleration("x", "Exists")
BAD = spread({**constraint(), "labelSelector": {"matchExpressions": [{"key": "a", "operator": "?"}]}})


@pytest.mark.parametrize(
    CASE,
    [
        case("it-tolerates-more-for-one", MIXED, OWN_TOLERATION, MIXED, TOLERANT, True),
        case("its-label-changes-in-nothing", HONOUR, OWN_LABEL, pod(), pod(x="1"), False),
        case("a-counted-pod-comes", ONE, ASSIGNED_POD_ADD, None, placed(app="a"), True),
        case("another-pod-comes", ONE, ASSIGNED_POD_ADD, None, placed(app="b"), False),
        case("in-another-namespace", ONE, ASSIGNED_POD_ADD, None, placed("other", app="a"), False),
        case("a-pending-pod-comes", ONE, UNSCHEDULED_POD_ADD, None, pod("q", app="a"), False),
        case("a-pending-pod-changes", ONE, OWN_LABEL, pod("q", app="b"), pod("q", app="a"), False),
        case("a-pending-pod-goes", ONE, ASSIGNED_POD_DELETE, pod("q", app="a"), None, False),
        case("a-pod-comes-that-one-of-two-counts", TWO, ASSIGNED_POD_ADD, None, placed(tier="x"), True),
        case("a-counted-pod-goes", ONE, ASSIGNED_POD_DELETE, placed(app="a"), None, True),
        case("another-pod-goes", ONE, ASSIGNED_POD_DELETE, placed(app="b"), None, False),
        case("a-nominated-pod-goes", ONE, ASSIGNED_POD_DELETE, pod("q", app="a").nominated("n"), None, True),
        case("a-nominated-pod-goes-uncounted", ONE, ASSIGNED_POD_DELETE, pod("q").nominated("n"), None, False),
        case("a-pod-that-had-no-place", ONE, RELABELLED, pod("q"), placed(app="a"), False),
        case("counted-now", ONE, RELABELLED, placed(), placed(app="a"), True),
        case("counted-no-longer", ONE, RELABELLED, placed(app="a"), placed(app="b"), True),
        case("as-before", ONE, RELABELLED, placed(app="a"), placed(app="a", x="1"), False),
        case("not-counted-either-way", ONE, RELABELLED, placed(app="b"), placed(app="c"), False),
        case("counted-by-one-of-two", TWO, RELABELLED, placed(), placed(tier="x"), True),
        case("counted-by-neither-of-two", TWO, RELABELLED, placed(tier="y"), placed(tier="z"), False),
        case("more-tolerations-and-taints-count", HONOUR, OWN_TOLERATION, pod(), pod().toleration("x"), True),
        case("more-tolerations-that-do-not-count", IGNORE, OWN_TOLERATION, pod(), pod().toleration("x"), False),
        case("its-own-label-counts", ONE, OWN_LABEL, pod(), pod(app="a"), True),
        case("its-own-label-does-not", ONE, OWN_LABEL, pod(), pod(x="1"), False),
        case(
            "soft-constraints-reject-nothing",
            spread(constraint(when="ScheduleAnyway", app="a")),
            ASSIGNED_POD_ADD,
            None,
            placed(app="a"),
            False,
        ),
        case("its-selector-cannot-be-read", BAD, ASSIGNED_POD_ADD, None, placed(app="a"), True),
        case("a-node-with-the-key", ONE, NODE_ADD, None, node(zone="1"), True),
        case("a-node-without", ONE, NODE_ADD, None, node(), False),
        case("a-node-with-one-key-of-two", TWO, NODE_ADD, None, node(zone="1"), False),
        case("a-node-with-both-keys", TWO, NODE_ADD, None, node(zone="1", rack="r"), True),
        case("a-node-with-the-key-goes", ONE, NODE_DELETE, node(zone="1"), None, True),
        case("a-node-without-goes", ONE, NODE_DELETE, node(), None, False),
        case("a-node-moves", ONE, NODE_LABEL, node(zone="1"), node(zone="2"), True),
        case("a-node-joins", ONE, NODE_LABEL, node(), node(zone="2"), True),
        case("a-node-leaves", ONE, NODE_LABEL, node(zone="1"), node(), True),
        case("other-labels", ONE, NODE_LABEL, node(zone="1"), node(zone="1", x="1"), False),
        case("other-labels-outside", ONE, NODE_LABEL, node(), node(x="1"), False),
        case("one-key-of-two-changes", TWO, NODE_LABEL, node(zone="1"), node(zone="2"), False),
        case("both-keys-and-one-changes", TWO, NODE_LABEL, node(zone="1", rack="r"), node(zone="2", rack="r"), True),
        case("other-taints", ONE, NODE_TAINT, node(zone="1").taint("x"), node(zone="1"), True),
        case("other-taints-outside", TWO, NODE_TAINT, node(zone="1").taint("x"), node(zone="1"), False),
        case("a-node-while-its-selector-cannot-be-read", BAD, NODE_ADD, None, node(), True),
    ],
)
def test_pod_topology_spread(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(PodTopologySpread, pod, event, old, new, options) is expected


# SchedulingGates, GangScheduling, DefaultPreemption


@pytest.mark.parametrize(
    CASE,
    [
        case("its-gates-are-gone", pod().gate("x"), UNGATED, pod().gate("x"), pod(), True),
        case("another-pod-s-are", pod().gate("x"), UNGATED, pod("q").gate("x"), pod("q"), False),
    ],
)
def test_scheduling_gates(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(SchedulingGates, pod, event, old, new, options) is expected


def member(group: str, name: str = "p", namespace: str = "default") -> Any:
    return pod(name, namespace).spec(schedulingGroup={"podGroupName": group})


def group(name: str, namespace: str = "default") -> Any:
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}}, PodGroup)


GROUP_ADD = ClusterEvent("PodGroup", Action.ADD)


@pytest.mark.parametrize(
    CASE,
    [
        case("a-pod-of-the-group", member("g"), UNSCHEDULED_POD_ADD, None, member("g", "q"), True),
        case("a-placed-one", member("g"), ASSIGNED_POD_ADD, None, member("g", "q").on("n"), True),
        case("a-pod-of-another-group", member("g"), UNSCHEDULED_POD_ADD, None, member("h", "q"), False),
        case("a-pod-of-none", member("g"), UNSCHEDULED_POD_ADD, None, pod("q"), False),
        case("in-another-namespace", member("g"), UNSCHEDULED_POD_ADD, None, member("g", "q", "other"), False),
        case("a-pod-without-a-group", pod(), UNSCHEDULED_POD_ADD, None, member("g", "q"), False),
        case("its-group", member("g"), GROUP_ADD, None, group("g"), True),
        case("another-group", member("g"), GROUP_ADD, None, group("h"), False),
        case("a-group-of-another-namespace", member("g"), GROUP_ADD, None, group("g", "other"), False),
    ],
)
def test_gang_scheduling(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(GangScheduling, pod, event, old, new, options) is expected


def test_preemption_leaves_it_to_the_plugins_whose_rejection_it_answers() -> None:
    assert not hint(DefaultPreemption, pod(), ASSIGNED_POD_DELETE, placed(), None, {})
    off = make_bench(DefaultPreemption, [], pod().obj(), gates="SchedulerAsyncPreemption=false")
    assert off.plugin.events_to_register() == ()


def _far(*keys: str) -> dict[str, Any]:
    terms = [
        {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
        for key in keys
    ]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("event", "own", "old", "new", "before", "now"),
    [
        pytest.param(
            ASSIGNED_POD_DELETE, _far("a", "b"), pod("old", a="").on("n"), None, False, True, id="one of two, deleted"
        ),
        pytest.param(
            ASSIGNED_POD_DELETE, _far("a", "b"), pod("old", a="", b="").on("n"), None, True, True, id="both, deleted"
        ),
        pytest.param(ASSIGNED_POD_DELETE, _far("a", "b"), pod("old").on("n"), None, False, False, id="none, deleted"),
        pytest.param(
            RELABELLED,
            _far("a", "b"),
            pod("old", a="").on("n"),
            pod("old").on("n"),
            False,
            True,
            id="one of two, no longer",
        ),
        pytest.param(
            RELABELLED,
            _far("a", "b"),
            pod("old", a="", b="").on("n"),
            pod("old", b="").on("n"),
            True,
            False,
            id="both, one is left",
        ),
        pytest.param(
            ASSIGNED_POD_DELETE,
            {},
            pod("old").on("n").spec(affinity=_far("mine", "x")),
            None,
            False,
            True,
            id="one of two terms of the deleted pod",
        ),
    ],
)
def test_anti_affinity_with_several_terms_by_minor(
    event: ClusterEvent, own: dict[str, Any], old: Any, new: Any, before: bool, now: bool
) -> None:
    """#139161."""
    waiting = pod("p", mine="").spec(affinity=own)
    found = {
        minor: hint(InterPodAffinity, waiting, event, old, new, {"current": RELEASES[minor]})
        for minor in ("1.36", "1.37")
    }
    assert found == {"1.36": before, "1.37": now}
