"""Moves that leave no trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cluster.cache import Cluster, Sandbox, UsageSandbox
from ksched_cli.cluster.pod_info import HostPort
from tests.builders import make_node, make_pod
from tests.clusters import clusters
from tests.lanes import examples

PORT = HostPort("0.0.0.0", "TCP", 80)


def rows(*wanted: int) -> Any:
    return np.array(wanted, dtype=np.int64)


def facts(cluster: Cluster) -> Any:
    usage = cluster.usage
    return (
        usage.requested.tolist(),
        usage.nonzero.tolist(),
        usage.pod_count.tolist(),
        [list(pods) for pods in usage.pods],
        [usage.ports.conflicts([HostPort("0.0.0.0", "TCP", port)], len(cluster.nodes)).tolist() for port in (80, 443)],
        cluster.pods.node_row.tolist(),
        list(cluster.journal),
    )


@pytest.mark.slow
@given(clusters(), st.data())
@settings(max_examples=examples(80), deadline=None)
def test_everything_is_as_before(drawn: Any, data: st.DataObject) -> None:
    nodes, running, waiting = drawn
    cluster = Cluster(nodes, running)
    newcomer = cluster.register(waiting)
    before = facts(cluster)
    with Sandbox(cluster) as sandbox:
        out: list[int] = []
        for _ in range(data.draw(st.integers(0, 6))):
            placed = np.nonzero(cluster.pods.node_row >= 0)[0].tolist()
            leaving = data.draw(st.lists(st.sampled_from(placed), unique=True)) if placed else []
            sandbox.move(rows(*leaving), cluster.pods.node_row[rows(*leaving)], -1)
            out = [*out, *(row for row in leaving if row != newcomer)]
            back = data.draw(st.lists(st.sampled_from(out), unique=True)) if out else []
            sandbox.move(rows(*back), sandbox.homes(rows(*back)), 1)
            out = [row for row in out if row not in back]
            if cluster.pods.node_row[newcomer] < 0:
                sandbox.move(rows(newcomer), rows(data.draw(st.integers(0, len(nodes) - 1))), 1)
    assert facts(cluster) == before


@pytest.mark.slow
@given(clusters())
@settings(max_examples=examples(40), deadline=None)
def test_many_at_once_count_as_one_after_the_other(drawn: Any) -> None:
    nodes, running, _ = drawn
    one, many = Cluster(nodes, running), Cluster(nodes, running)
    every = np.arange(len(running))
    for row in every.tolist():
        one.displace(row)
    with Sandbox(many) as sandbox:
        sandbox.move(every, many.pods.node_row[every], -1)
        assert facts(many)[:-1] == facts(one)[:-1]


def test_a_pod_that_comes_and_goes_does_not_free_the_port_of_another() -> None:
    cluster = Cluster([make_node("n").obj()], [make_pod("a").host_port(80).on("n").obj()])
    guest = cluster.register(make_pod("b").host_port(80).obj())
    with Sandbox(cluster) as sandbox:
        sandbox.move(rows(guest), rows(0), 1)
    assert cluster.usage.ports.holds(0, PORT)


def test_inside_one_of_two_pods_that_share_a_port_frees_it() -> None:
    pods = [make_pod(name).host_port(80).on("n").obj() for name in ("a", "b")]
    cluster = Cluster([make_node("n").obj()], pods)
    with Sandbox(cluster) as sandbox:
        sandbox.move(rows(0), rows(0), -1)
        assert not cluster.usage.ports.holds(0, PORT)
    assert cluster.usage.ports.holds(0, PORT)


def test_the_order_of_pods_on_a_node_is_kept() -> None:
    cluster = Cluster([make_node("n").obj()], [make_pod(name).on("n").obj() for name in "abc"])
    with Sandbox(cluster) as sandbox:
        sandbox.move(rows(0), rows(0), -1)
        assert sandbox.homes(rows(0)).tolist() == [0]
        sandbox.move(rows(0), rows(0), 1)
        assert cluster.pods_on(0) == [1, 2, 0]
    assert cluster.pods_on(0) == [0, 1, 2]


@given(clusters(), st.data())
@settings(max_examples=examples(30), deadline=None)
def test_usage_alone_counts_as_in_a_whole_sandbox(drawn: Any, data: st.DataObject) -> None:
    """Requests and numbers of pods are the same inside, and everything is as before outside."""
    nodes, running, waiting = drawn
    cluster, light = Cluster(nodes, running), Cluster(nodes, running)
    newcomer = cluster.register(waiting)
    assert light.register(waiting) == newcomer
    before = facts(light)
    with Sandbox(cluster) as whole, UsageSandbox(light) as usage_only:
        out: list[int] = []
        for _ in range(data.draw(st.integers(1, 5))):
            placed = np.nonzero(cluster.pods.node_row >= 0)[0].tolist()
            leaving = data.draw(st.lists(st.sampled_from(placed), unique=True)) if placed else []
            for sandbox in (usage_only, whole):
                sandbox.move(rows(*leaving), cluster.pods.node_row[rows(*leaving)], -1)
            out = [*out, *(row for row in leaving if row != newcomer)]
            back = data.draw(st.lists(st.sampled_from(out), unique=True)) if out else []
            homes = usage_only.homes(rows(*back))
            assert homes.tolist() == whole.homes(rows(*back)).tolist()
            for sandbox in (usage_only, whole):
                sandbox.move(rows(*back), homes, 1)
            out = [row for row in out if row not in back]
            if cluster.pods.node_row[newcomer] < 0:
                home = rows(data.draw(st.integers(0, len(nodes) - 1)))
                for sandbox in (whole, usage_only):
                    sandbox.move(rows(newcomer), home, 1)
            assert amounts(light) == amounts(cluster)
    assert facts(light) == before


def amounts(cluster: Cluster) -> Any:
    usage = cluster.usage
    return usage.requested.tolist(), usage.nonzero.tolist(), usage.pod_count.tolist()


def test_usage_alone_leaves_the_table_and_the_lists_of_pods() -> None:
    cluster = Cluster([make_node("n").obj()], [make_pod(name).requests(cpu=1).on("n").obj() for name in "ab"])
    with UsageSandbox(cluster) as sandbox:
        sandbox.move(rows(0), rows(0), -1)
        assert sandbox.homes(rows(0)).tolist() == [0]
        assert cluster.usage.pod_count.tolist() == [1]
        assert cluster.pods_on(0) == [0, 1]
        assert cluster.pods.node_row.tolist() == [0, 0]
    assert cluster.usage.pod_count.tolist() == [2]


def test_usage_alone_counts_a_newcomer() -> None:
    cluster = Cluster([make_node("n-1").obj(), make_node("n-2").obj()], [])
    guest = cluster.register(make_pod("guest").requests(cpu=1).obj())
    with UsageSandbox(cluster) as sandbox:
        sandbox.move(rows(guest), rows(1), 1)
        assert cluster.usage.pod_count.tolist() == [0, 1]
        sandbox.move(rows(guest), rows(1), -1)
        assert cluster.usage.pod_count.tolist() == [0, 0]
    assert cluster.usage.pod_count.tolist() == [0, 0]
