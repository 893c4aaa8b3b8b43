"""TopologyPlacementGenerator against a plain reading: one placement per value of the label, of the nodes that have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.cluster.pod_groups import GroupKey
from ksched_cli.framework.status import Code, Status
from ksched_cli.plugins.pod_groups import TopologyPlacementGenerator
from tests.builders import make_node
from tests.harness import make_bench
from tests.lanes import examples
from tests.pod_groups import group, member

KEY = GroupKey("default", "g")


RACKS = {"n0": "b", "n1": "a", "n2": "a", "n3": "a", "n4": "c", "n5": None}


def generated(
    offered: list[str], running: dict[str, str], *, topology: str = "rack", exists: bool = True
) -> dict[str, list[str]] | Status:
    nodes = [make_node(name).label("rack", rack) if rack else make_node(name) for name, rack in RACKS.items()]
    pods = [member(name).on(node).obj() for name, node in running.items()]
    objects = [group(topology=topology)] if exists else []
    made = make_bench(
        TopologyPlacementGenerator, [node.obj() for node in nodes], member("p").obj(), pods, objects=objects
    )
    table = made.cluster.nodes
    rows = np.array(sorted(table.row_of[name] for name in offered), dtype=np.int64)
    answer = made.plugin.generate_placements(KEY, rows)
    if isinstance(answer, Status):
        return answer
    return {each.name: sorted(table.names[row] for row in each.rows) for each in answer}


@pytest.mark.parametrize(
    ("offered", "running", "topology", "expected"),
    [
        pytest.param(["n0", "n1"], {}, "", {"": ["n0", "n1"]}, id="anywhere"),
        pytest.param(["n0", "n1", "n2"], {}, "rack", {"a": ["n1", "n2"], "b": ["n0"]}, id="each domain"),
        pytest.param(["n0", "n1"], {}, "zone", {}, id="a label that no node has"),
        pytest.param(["n0", "n1"], {"r": "n2", "s": "n3"}, "rack", {"a": ["n1"]}, id="where the others are"),
        pytest.param(["n0"], {"r": "n2", "s": "n3"}, "rack", {}, id="where the others are is not offered"),
        pytest.param(["n0", "n5"], {"r": "n5"}, "", {"": ["n0", "n5"]}, id="others matter not without a constraint"),
    ],
)
def test_placements(offered: list[str], running: dict[str, str], topology: str, expected: dict[str, list[str]]) -> None:
    assert generated(offered, running, topology=topology) == expected


UNKNOWN = "cannot determine domain for already scheduled pods: "


@pytest.mark.parametrize(
    ("running", "text"),
    [
        pytest.param({"r": "n0", "s": "n1"}, "more than 1 domain found for pod group: ", id="in two domains"),
        pytest.param(
            {"r": "n1", "s": "gone"},
            'getting node for pod default/s: nodeinfo not found for node name "gone"',
            id="on an unknown node",
        ),
        pytest.param({"r": "n5"}, "no topology domain found for pod default/r", id="on a node without the label"),
    ],
)
def test_scheduled_pods_without_a_common_domain(running: dict[str, str], text: str) -> None:
    answer = generated(["n0", "n1"], running)
    assert isinstance(answer, Status)
    assert answer.code is Code.ERROR
    assert answer.texts[0].startswith(UNKNOWN + text)


def test_a_group_that_is_gone() -> None:
    answer = generated(["n0"], {}, exists=False)
    assert isinstance(answer, Status)
    assert answer.code is Code.ERROR


@given(
    st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(0, 5)),
    st.sets(st.integers(0, 5)),
)
@settings(max_examples=examples(100), deadline=None)
def test_as_a_plain_reading_has_it(racks: list[str], runs_on: int | None, offered: set[int]) -> None:
    nodes: list[Any] = []
    for index, rack in enumerate(racks):
        node = make_node(f"n{index}")
        nodes.append((node.label("rack", rack) if rack else node).obj())
    on = None if runs_on is None else runs_on % len(racks)
    running = [] if on is None else [member("r").on(f"n{on}").obj()]
    bench = make_bench(TopologyPlacementGenerator, nodes, member("p").obj(), running, objects=[group(topology="rack")])
    rows = [row for row in sorted(offered) if row < len(racks)]
    answer = bench.plugin.generate_placements(KEY, np.array(rows, dtype=np.int64))
    if on is not None and not racks[bench.cluster.nodes.row_of[f"n{on}"]]:
        assert isinstance(answer, Status)
        return
    expected: dict[str, list[str]] = {}
    for row in rows:
        name = bench.cluster.nodes.names[row]
        rack = racks[int(name[1:])]
        if rack and (on is None or rack == racks[on]):
            expected.setdefault(rack, []).append(name)
    assert {each.name: [bench.cluster.nodes.names[row] for row in each.rows] for each in answer} == expected
    assert [each.name for each in answer] == sorted(expected)
