"""TopologyPlacementGenerator against a plain reading: one placement per value of the label, of the nodes that have it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.framework.pod_groups import GroupKey
from ksched_cli.framework.status import Status
from ksched_cli.plugins.topology_placement_generator import TopologyPlacementGenerator
from tests.builders import make_node
from tests.harness import make_bench
from tests.pod_groups import group, member

KEY = GroupKey("default", "g")


@given(
    st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(0, 5)),
    st.sets(st.integers(0, 5)),
)
@settings(max_examples=100, deadline=None)
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
