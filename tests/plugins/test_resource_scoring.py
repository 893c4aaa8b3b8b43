"""The resources that count towards a score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.core import Pod
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.pod_info import CPU, MEMORY
from ksched_cli.config.plugin_args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ScoringStrategy,
)
from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.status import Code, Status
from ksched_cli.plugins.lib.resource_scoring import (
    MeasuredResource,
    MeasuredResources,
    floor_quotient,
    go_round,
    measured,
)
from ksched_cli.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.releases.minors import release
from tests.builders import make_node, make_pod
from tests.harness import make_bench

MIB = 2**20


def resources_of(pod: Pod, *names: str, use_requested: bool) -> MeasuredResources:
    cluster = Cluster([make_node("n").allocatable(cpu=4, memory="8Gi", **{"example.com/gpu": 2}).obj()], [])
    info = cluster.pods.infos[cluster.register(pod)]
    return measured(info, list(names), NodeRows(cluster), use_requested=use_requested)


def test_missing_requests_have_stand_ins_unless_requests_count() -> None:
    pod = make_pod("p").requests(cpu="250m").obj()
    with_stand_ins = resources_of(pod, "cpu", "memory", use_requested=False)
    assert with_stand_ins.requests.tolist() == [[250], [200 * MIB]]
    assert resources_of(pod, "cpu", "memory", use_requested=True).requests.tolist() == [[250], [0]]


def test_cpu_and_memory_are_the_first_columns() -> None:
    found = resources_of(make_pod("p").requests(cpu=1).obj(), "cpu", "memory", use_requested=True)
    assert found.are_cpu_and_memory
    assert found.resources == (MeasuredResource(CPU, 1000, "cpu"), MeasuredResource(MEMORY, 0, "memory"))


def test_other_resources_or_another_order_are_not_taken_for_cpu_and_memory() -> None:
    pod = make_pod("p").requests(cpu=1, **{"example.com/gpu": 1}).obj()
    assert not resources_of(pod, "memory", "cpu", use_requested=True).are_cpu_and_memory
    assert not resources_of(pod, "cpu", "memory", "example.com/gpu", use_requested=True).are_cpu_and_memory


def test_an_extended_resource_counts_for_pods_that_request_it() -> None:
    names = ("cpu", "memory", "example.com/gpu")
    with_gpu = resources_of(make_pod("p").requests(**{"example.com/gpu": 1}).obj(), *names, use_requested=True)
    without = resources_of(make_pod("p").requests(cpu=1).obj(), *names, use_requested=True)
    assert with_gpu.resources[2].row is not None
    assert without.resources[2] == MeasuredResource(None, 0, "example.com/gpu")


_AMOUNTS = st.tuples(st.integers(0, 9000), st.integers(0, 2**14))


@pytest.mark.slow
@pytest.mark.parametrize("minor", ["1.35", "1.36"])
@given(nodes=st.lists(st.tuples(_AMOUNTS, _AMOUNTS), min_size=2, max_size=5), asked=_AMOUNTS)
def test_a_node_alone_has_the_scores_and_the_verdict_that_it_has_among_others(
    minor: str, nodes: list[tuple[tuple[int, int], tuple[int, int]]], asked: tuple[int, int]
) -> None:
    """Nodes with less of a resource than their pods request, or without it, are among them."""
    objects = [
        make_node(f"n{at}")
        .allocatable(cpu=f"{has[0]}m", memory=f"{has[1]}Mi", ephemeral_storage="1Gi", pods=at or 1)
        .obj()
        for at, (has, _) in enumerate(nodes)
    ]
    running = [
        make_pod(f"r{at}").requests(cpu=f"{used[0]}m", memory=f"{used[1]}Mi").on(f"n{at}").obj()
        for at, (_, used) in enumerate(nodes)
    ]
    pod = make_pod("p").requests(cpu=f"{asked[0]}m", memory=f"{asked[1]}Mi").obj()
    for plugin in (NodeResourcesFit, NodeResourcesBalancedAllocation):
        made = make_bench(plugin, objects, pod, running, current=release(minor))
        together = made.scores()
        if not isinstance(together, Status):
            for at in range(len(nodes)):
                assert made.scores([at]) == {f"n{at}": together[f"n{at}"]}
    made = make_bench(NodeResourcesFit, objects, pod, running, current=release(minor))
    for at in range(len(nodes)):
        alone, among = made.verdict([at]), made.verdict()
        assert alone is not None
        assert among is not None
        assert alone.status(0) == among.status(at)


@pytest.mark.parametrize(
    ("dividend", "divisor"),
    [
        pytest.param(7, 2, id="small"),
        pytest.param(0, 3, id="nothing"),
        pytest.param(2**53 - 1, 2, id="the largest that float64 divides"),
        pytest.param(2**53, 2, id="one more"),
        pytest.param(2**53 + 1, 1, id="beyond float64"),
        pytest.param(2**62 + 1, 2**53 + 1, id="a large divisor"),
        pytest.param(3 * (2**53 + 1) - 1, 2**53 + 1, id="just below a whole number"),
        pytest.param(5, 2**53, id="only the divisor is large"),
    ],
)
def test_quotients_are_exact(dividend: int, divisor: int) -> None:
    assert floor_quotient(np.array([dividend, 1]), np.array([divisor, 1])).tolist() == [dividend // divisor, 1]


def test_halves_are_rounded_up() -> None:
    """The largest number below one half is not: with one half added it would be 1."""
    assert go_round(np.array([0.49999999999999994, 0.5, 1.25, 1.5, 2.75])).tolist() == [0, 1, 1, 2, 3]


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        pytest.param(NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs(resources=()), id="balanced"),
        pytest.param(NodeResourcesFit, NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(resources=())), id="fit"),
    ],
)
def test_a_score_of_no_resources_is_an_error(plugin: type[Plugin], args: object) -> None:
    made = make_bench(plugin, [make_node("n").obj()], make_pod("p").requests(cpu="1").obj(), args=args)
    answer = made.plugin.score(None, made.pod, made.nodes())
    assert isinstance(answer, Status)
    assert (answer.code, answer.message) == (Code.ERROR, "resources not found")
