"""Devices as a score counts them."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.config.plugin_args import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from ksched_cli.engine.nominator import NominatedPods
from ksched_cli.engine.scheduler import SchedulerHandle
from ksched_cli.plugins.lib.devices.inventory import DeviceTotals
from ksched_cli.plugins.node_resources_fit import NodeResourcesFit
from ksched_cli.releases.minors import release
from tests.builders import make_node, make_pod, term
from tests.harness import make_bench
from tests.plugins.lib.devices.resources import allocated, device, devices, make_claim, make_class, make_slice

GPU = "example.com/gpu"
NODES = [make_node("n1").zone("east").obj(), make_node("n2").zone("west").obj()]
EAST = {"nodeSelectorTerms": [term(("topology.kubernetes.io/zone", "In", ["east"]))]}


def totals(*objects: Any, gates: str = "", minor: str = "1.36") -> Any:
    cluster = Cluster(NODES, catalog=Catalog(objects))
    chosen = release(minor)
    handle = SchedulerHandle(cluster, chosen.gates(gates), NominatedPods(cluster), False, release=chosen)
    found = DeviceTotals(handle).of(GPU)
    return None if found is None else [column.tolist() for column in found]


CLASS = make_class("gpu", extendedResourceName=GPU)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([CLASS], [[0, 0], [0, 0]], id="no slices"),
        pytest.param([CLASS, make_slice("s", devices("a", "b"), node="n1")], [[2, 0], [0, 0]], id="of a node"),
        pytest.param([CLASS, make_slice("s", devices("a"), allNodes=True)], [[1, 1], [0, 0]], id="for all nodes"),
        pytest.param([CLASS, make_slice("s", devices("a"), nodeSelector=EAST)], [[1, 0], [0, 0]], id="by label"),
        pytest.param([CLASS, make_slice("s", devices("a"), node="gone")], [[0, 0], [0, 0]], id="of no node"),
        pytest.param(
            [
                CLASS,
                make_slice(
                    "s",
                    [
                        device("a", nodeName="n1"),
                        device("b", allNodes=True),
                        device("c", nodeSelector=EAST),
                        device("d"),
                    ],
                    perDeviceNodeSelection=True,
                ),
            ],
            [[3, 1], [0, 0]],
            id="per device",
        ),
        pytest.param(
            [CLASS, make_slice("s", devices("a", "b"), node="n1"), make_claim("c", status=allocated("a", pool="n1"))],
            [[2, 0], [1, 0]],
            id="in use",
        ),
        pytest.param(
            [
                make_class("gpu", 'device.attributes["dra.example.com"].kind == "x"', extendedResourceName=GPU),
                make_slice(
                    "s", [device("a", attributes={"kind": "x"}), device("b", attributes={"kind": "y"})], node="n1"
                ),
                make_slice("t", [device("a", attributes={"kind": "x"}), device("b")], node="n2"),
            ],
            [[1, 0], [0, 0]],
            id="as the class says, and none where it fails",
        ),
        pytest.param([make_class("gpu"), make_slice("s", devices("a"), node="n1")], None, id="no class"),
    ],
)
def test_totals(objects: list[Any], expected: Any) -> None:
    assert totals(*objects) == expected


@pytest.mark.parametrize(
    ("minor", "gates", "counted"),
    [
        pytest.param("1.36", "", [0, 0], id="without the gate"),
        pytest.param("1.36", "DRAListTypeAttributes=true", [1, 0], id="with the gate"),
        pytest.param("1.37", "", [1, 0], id="since 1.37"),
    ],
)
def test_a_class_that_reads_a_list(minor: str, gates: str, counted: list[int]) -> None:
    made = device("a") | {"attributes": {"links": {"strings": ["x", "y"]}}}
    kind = make_class("gpu", '"x" in device.attributes["dra.example.com"].links', extendedResourceName=GPU)
    assert totals(kind, make_slice("s", [made], node="n1"), gates=gates, minor=minor) == [counted, [0, 0]]


def test_the_gate() -> None:
    assert totals(CLASS, gates="DRAExtendedResource=false") is None


def test_scores_count_devices() -> None:
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("MostAllocated", (ResourceSpec(GPU, 1),)))
    slices = [make_slice("s", devices("a", "b"), node="n1"), make_slice("t", devices("a", "b", "c", "d"), node="n2")]
    wanted = make_pod().requests(example_com__gpu="1").obj()
    made = make_bench(NodeResourcesFit, NODES, wanted, args=args, objects=[CLASS, *slices])
    assert made.scores() == {"n1": 50, "n2": 25}
