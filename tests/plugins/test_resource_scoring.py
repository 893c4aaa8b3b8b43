"""The resources that count towards a score."""

from __future__ import annotations

from ksched_cli.api.core import Pod
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.lib.devices.totals import DeviceTotals
from ksched_cli.plugins.lib.resource_scoring import MeasuredResource, MeasuredResources, measured
from tests.builders import make_node, make_pod
from tests.harness import make_scheduler

MIB = 2**20


def resources_of(pod: Pod, *names: str, use_requested: bool) -> MeasuredResources:
    cluster = Cluster([make_node("n").allocatable(cpu=4, memory="8Gi", **{"example.com/gpu": 2}).obj()], [])
    info = cluster.pods.infos[cluster.register(pod)]
    return measured(info, list(names), NodeRows(cluster), use_requested=use_requested)


def test_missing_requests_have_stand_ins_unless_requests_count() -> None:
    pod = make_pod("p").requests(cpu="250m").obj()
    with_stand_ins = resources_of(pod, "cpu", "memory", use_requested=False)
    assert with_stand_ins.asked.tolist() == [[250], [200 * MIB]]
    assert resources_of(pod, "cpu", "memory", use_requested=True).asked.tolist() == [[250], [0]]


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


def test_no_devices_stand_behind_cpu_and_memory() -> None:
    totals = DeviceTotals(make_scheduler([make_node("n").obj()], []).handle)
    assert not resources_of(make_pod("p").requests(cpu=1).obj(), "cpu", "memory", use_requested=True).are_backed(totals)
