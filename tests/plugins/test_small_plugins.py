"""NodeName, NodeUnschedulable, SchedulingGates, PrioritySort and DefaultBinder, each with its plain reading."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plugins.default_binder import DefaultBinder
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.node_unschedulable import NodeUnschedulable
from ksched_cli.plugins.priority_sort import PrioritySort
from ksched_cli.plugins.scheduling_gates import SchedulingGates
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.harness import make_bench
from tests.lanes import examples

CORDONED = ("UnschedulableAndUnresolvable", ("node(s) were unschedulable",))
OTHER = ("UnschedulableAndUnresolvable", ("node(s) didn't match the requested node name",))


@pytest.mark.parametrize(
    ("wanted", "rejected"),
    [
        pytest.param("", set(), id="no wish"),
        pytest.param("a", {"b"}, id="one node"),
        pytest.param("elsewhere", {"a", "b"}, id="a node that is not there"),
    ],
)
def test_node_name(wanted: str, rejected: set[str]) -> None:
    pod = make_pod().obj()
    made = make_bench(NodeName, [make_node("a").obj(), make_node("b").obj()], pod)
    pod.spec.node_name = wanted
    assert made.statuses() == dict.fromkeys(rejected, OTHER)


@given(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), st.sampled_from(("", "a", "b", "e")))
def test_node_name_agrees_with_the_plain_reading(names: list[str], wanted: str) -> None:
    pod = make_pod().obj()
    made = make_bench(NodeName, [make_node(name).obj() for name in names], pod)
    pod.spec.node_name = wanted
    assert made.statuses() == {name: OTHER for name in names if wanted not in ("", name)}


@pytest.mark.parametrize(
    ("toleration", "rejected"),
    [
        pytest.param(None, True, id="no toleration"),
        pytest.param(("node.kubernetes.io/unschedulable", "Exists"), False, id="tolerates the taint"),
        pytest.param(("", "Exists"), False, id="tolerates everything"),
        pytest.param(("node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"), True, id="another effect"),
    ],
)
def test_node_unschedulable(toleration: Any, rejected: bool) -> None:
    pod = make_pod()
    if toleration:
        pod.toleration(*toleration)
    made = make_bench(NodeUnschedulable, [make_node("up").obj(), make_node("down").cordoned().obj()], pod.obj())
    assert made.statuses() == ({"down": CORDONED} if rejected else {})


@given(clusters())
@settings(max_examples=examples(60), deadline=None)
def test_node_unschedulable_agrees_with_the_plain_reading(drawn: Any) -> None:
    nodes, running, pod = drawn
    # None of the random tolerations is for the unschedulable taint.
    cordoned = {node.metadata.name for node in nodes if node.spec.unschedulable}
    assert set(make_bench(NodeUnschedulable, nodes, pod, running).statuses()) == cordoned


def test_scheduling_gates_names_the_gates() -> None:
    made = make_bench(SchedulingGates, [], make_pod().gate("a").gate("b").obj())
    assert made.plugin.pre_enqueue(made.pod).texts == ("waiting for scheduling gates: [a b]",)
    free = make_bench(SchedulingGates, [], make_pod().obj())
    assert free.plugin.pre_enqueue(free.pod).ok


def test_priority_sort_puts_the_highest_first() -> None:
    keys = []
    for priority in (0, 100, -5):
        made = make_bench(PrioritySort, [], make_pod().priority(priority).obj())
        keys.append((made.plugin.sort_key(made.pod), priority))
    assert [priority for _, priority in sorted(keys)] == [100, 0, -5]


def test_default_binder_binds() -> None:
    made = make_bench(DefaultBinder, [make_node().obj()], make_pod().obj())
    assert made.plugin.bind(None, made.pod, 0).ok
