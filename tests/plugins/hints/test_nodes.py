"""Queueing hints of the plugins that look at nodes: what a node's coming or changing may help."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import NodeAffinityTerms as NodeAffinitySpec
from ksched_cli.config.plugin_args import NodeAffinityArgs
from ksched_cli.framework.events import ASSIGNED_POD_DELETE, UNSCHEDULED_POD, Action, ClusterEvent
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.plugins.node_declared_features import NodeDeclaredFeatures
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.node_ports import NodePorts
from ksched_cli.plugins.node_unschedulable import NodeUnschedulable
from ksched_cli.plugins.taint_toleration import TaintToleration
from tests.builders import make_node, make_pod, term
from tests.plugins.hints.asking import CASE, case, hint

ADD = ClusterEvent("Node", Action.ADD)
TAINT = ClusterEvent("Node", Action.UPDATE_NODE_TAINT)
LABEL = ClusterEvent("Node", Action.UPDATE_NODE_LABEL)
FEATURE = ClusterEvent("Node", Action.UPDATE_NODE_DECLARED_FEATURE)
TOLERATION = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_TOLERATION)
UPDATE = ClusterEvent(UNSCHEDULED_POD, Action.UPDATE)


def node(**labels: str) -> Any:
    return make_node("n").label(**labels)


def pod(name: str = "p") -> Any:
    return make_pod(name).uid(name)


CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    CASE,
    [
        case("a-cordoned-node-comes", pod(), ADD, None, node().cordoned(), False),
        case("a-node-comes", pod(), ADD, None, node(), True),
        case("uncordoned", pod(), TAINT, node().cordoned(), node(), True),
        case("cordoned", pod(), TAINT, node(), node().cordoned(), False),
        case("other-taints", pod(), TAINT, node(), node().taint("x"), False),
        case("still-cordoned", pod(), TAINT, node().cordoned(), node().cordoned().taint("x"), False),
        case("it-tolerates-cordoning-now", pod(), TOLERATION, pod(), pod().toleration(CORDON, "Exists"), True),
        case(
            "it-tolerates-cordoning-among-others",
            pod(),
            TOLERATION,
            pod(),
            pod().toleration(CORDON, "Exists").toleration("x", "Exists"),
            True,
        ),
        case("it-tolerates-something-else", pod(), TOLERATION, pod(), pod().toleration("x", "Exists"), False),
        case("another-pod", pod(), TOLERATION, pod("q"), pod("q").toleration(CORDON, "Exists"), False),
    ],
)
def test_node_unschedulable(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(NodeUnschedulable, pod, event, old, new, options) is expected


def test_node_name_is_woken_by_every_new_node() -> None:
    assert hint(NodeName, pod(), ADD, None, node(), {})


@pytest.mark.parametrize(
    CASE,
    [
        case("a-node-without-taints-comes", pod(), ADD, None, node(), True),
        case("a-tainted-node-comes", pod(), ADD, None, node().taint("x"), False),
        case("a-tolerated-one-comes", pod().toleration("x", "Exists"), ADD, None, node().taint("x"), True),
        case("only-a-soft-taint", pod(), ADD, None, node().taint("x", effect="PreferNoSchedule"), True),
        case("the-taint-goes", pod(), TAINT, node().taint("x"), node(), True),
        case("a-taint-comes", pod(), TAINT, node(), node().taint("x"), False),
        case("one-taint-of-two-goes", pod(), TAINT, node().taint("x").taint("y"), node().taint("y"), False),
        case(
            "it-becomes-one-that-is-tolerated",
            pod().toleration("y", "Exists"),
            TAINT,
            node().taint("x"),
            node().taint("y"),
            True,
        ),
        case("it-was-tolerated-before", pod().toleration("x", "Exists"), TAINT, node().taint("x"), node(), False),
        case("it-tolerates-more", pod(), TOLERATION, pod(), pod().toleration("x", "Exists"), True),
        case("another-pod", pod(), TOLERATION, pod("q"), pod("q").toleration("x", "Exists"), False),
    ],
)
def test_taint_toleration(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(TaintToleration, pod, event, old, new, options) is expected


def enforced(zone: str) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [term(("zone", "In", [zone]))]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"args": NodeAffinityArgs(added_affinity=msgspec.convert(required, NodeAffinitySpec))}


BROKEN = term(("zone", "Gt", ["not a number"]))


@pytest.mark.parametrize(
    CASE,
    [
        case("a-node-with-the-label", pod().selector(zone="a"), ADD, None, node(zone="a"), True),
        case("a-node-without", pod().selector(zone="a"), ADD, None, node(zone="b"), False),
        case("it-gets-the-label", pod().selector(zone="a"), LABEL, node(), node(zone="a"), True),
        case("it-loses-the-label", pod().selector(zone="a"), LABEL, node(zone="a"), node(), False),
        case("it-had-it-before", pod().selector(zone="a"), LABEL, node(zone="a"), node(zone="a", x="1"), False),
        case("unrelated-labels", pod().selector(zone="a"), LABEL, node(x="1"), node(x="2"), False),
        case("by-affinity", pod().node_affinity(term(("zone", "In", ["a"]))), LABEL, node(), node(zone="a"), True),
        case("any-term", pod().node_affinity(BROKEN, term(("zone", "Exists", []))), ADD, None, node(zone="a"), True),
        case("a-term-that-cannot-be-read", pod().node_affinity(BROKEN), ADD, None, node(zone="b"), True),
        case(
            "by-name",
            pod().node_affinity(term(fields=(("metadata.name", "In", ["n"]),))),
            ADD,
            None,
            node(),
            True,
        ),
        case(
            "another-name",
            pod().node_affinity(term(fields=(("metadata.name", "In", ["m"]),))),
            ADD,
            None,
            node(),
            False,
        ),
        case("enforced-and-met", pod(), ADD, None, node(zone="a"), True, **enforced("a")),
        case("enforced-and-not-met", pod(), ADD, None, node(zone="b"), False, **enforced("a")),
        case("met-by-both", pod().selector(disk="ssd"), ADD, None, node(zone="a", disk="ssd"), True, **enforced("a")),
        case("not-by-the-pod", pod().selector(disk="ssd"), ADD, None, node(zone="a"), False, **enforced("a")),
    ],
)
def test_node_affinity(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(NodeAffinity, pod, event, old, new, options) is expected


def gone(name: str = "q") -> Any:
    return pod(name).on("n")


@pytest.mark.parametrize(
    CASE,
    [
        case("a-node-comes", pod().host_port(80), ADD, None, node(), True),
        case("the-port-is-free", pod().host_port(80), ASSIGNED_POD_DELETE, gone().host_port(80), None, True),
        case("another-port-is", pod().host_port(80), ASSIGNED_POD_DELETE, gone().host_port(81), None, False),
        case("no-port-is", pod().host_port(80), ASSIGNED_POD_DELETE, gone(), None, False),
        case("another-protocol", pod().host_port(80), ASSIGNED_POD_DELETE, gone().host_port(80, "UDP"), None, False),
        case(
            "another-address",
            pod().host_port(80, address="10.0.0.1"),
            ASSIGNED_POD_DELETE,
            gone().host_port(80, address="10.0.0.2"),
            None,
            False,
        ),
        case(
            "every-address",
            pod().host_port(80, address="10.0.0.1"),
            ASSIGNED_POD_DELETE,
            gone().host_port(80),
            None,
            True,
        ),
        case("it-was-pending", pod().host_port(80), ASSIGNED_POD_DELETE, pod("q").host_port(80), None, False),
        case(
            "it-was-nominated",
            pod().host_port(80),
            ASSIGNED_POD_DELETE,
            pod("q").host_port(80).nominated("n"),
            None,
            True,
        ),
    ],
)
def test_node_ports(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(NodePorts, pod, event, old, new, options) is expected


GATE = {"gates": "NodeDeclaredFeatures=true"}
RESTARTS = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}


def declaring(*features: str) -> Any:
    return node().status(declaredFeatures=list(features))


@pytest.mark.parametrize(
    CASE,
    [
        case("a-node-comes", pod(), ADD, None, declaring(), True, **GATE),
        case("it-declares-more", pod(), FEATURE, declaring(), declaring("A"), True, **GATE),
        case("it-declares-the-same", pod(), FEATURE, declaring("A"), declaring("A"), False, **GATE),
        case("it-needs-something-else", pod(), UPDATE, pod(), pod().container(**RESTARTS), True, **GATE),
        case("it-needs-the-same", pod(), UPDATE, pod(), pod().label(a="1"), False, **GATE),
        case("another-pod-does", pod(), UPDATE, pod("q"), pod("q").container(**RESTARTS), False, **GATE),
    ],
)
def test_node_declared_features(pod: Any, event: Any, old: Any, new: Any, expected: bool, options: Any) -> None:
    assert hint(NodeDeclaredFeatures, pod, event, old, new, options) is expected
