"""Scores of groups of nodes in a run of identical pods, against the scores of each node after each pod."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.framework.rows import NodeRows
from ksched_cli.plugins.pod_topology_spread.plugin import PodTopologySpread
from ksched_cli.releases.minors import release
from tests.builders import make_node, make_pod
from tests.harness import make_bench
from tests.test_reuse import HOST, ZONE

RACK = "rack"
APPS = ("a", "b")
SELECTORS: tuple[Any, ...] = ({"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}, {}, None)
POLICIES = (None, "Honor", "Ignore")


@st.composite
def constraints(draw: st.DrawFn) -> dict[str, Any]:
    made = {
        "maxSkew": draw(st.integers(1, 4)),
        "topologyKey": draw(st.sampled_from((HOST, ZONE, RACK))),
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": draw(st.sampled_from((SELECTORS[0], *SELECTORS))),
        "nodeTaintsPolicy": draw(st.sampled_from(POLICIES)),
        "nodeAffinityPolicy": draw(st.sampled_from(POLICIES)),
    }
    return {key: value for key, value in made.items() if value is not None}


@st.composite
def labelled_nodes(draw: st.DrawFn, name: str) -> Node:
    builder = make_node(name).allocatable(cpu="8", memory="8Gi", pods=99)
    del builder.data["metadata"]["labels"][HOST]
    for key, values in ((HOST, (name, name, name, None)), (ZONE, ("z0", "z1", "", None)), (RACK, ("r0", "r1", None))):
        value = draw(st.sampled_from(values))
        if value is not None:
            builder.label(key, value)
    if draw(st.integers(0, 3)) == 0:
        builder.taint("spot", "true", "NoSchedule")
    return builder.obj()


def copy_of(kind: Pod, name: str) -> Pod:
    return replace(kind, metadata=replace(kind.metadata, name=name, uid=name))


@given(st.data(), st.sampled_from(("1.23", "1.26", "1.36")))
def test_groups_score_as_single_nodes_do_after_each_pod(data: st.DataObject, minor: str) -> None:
    names = [f"n{index}" for index in range(data.draw(st.integers(1, 7)))]
    made = [data.draw(labelled_nodes(name)) for name in names]
    running = [
        make_pod(f"run-{index}").label(app=data.draw(st.sampled_from(APPS))).on(data.draw(st.sampled_from(names))).obj()
        for index in range(data.draw(st.integers(0, 6)))
    ]
    rules = data.draw(st.lists(constraints(), min_size=1, max_size=3))
    kind = make_pod("kind").label(app="a").spec(topologySpreadConstraints=rules).obj()
    bench = make_bench(PodTopologySpread, made, kind, running, current=release(minor))
    feasible = np.array(sorted(data.draw(st.sets(st.integers(0, len(names) - 1), min_size=1))), dtype=np.int64)
    groups = bench.plugin.score_groups(
        bench.plugin.pre_score(None, bench.pod, NodeRows(bench.cluster, feasible)), bench.pod, feasible
    )
    assert groups is not None
    for index in range(8):
        nodes = NodeRows(bench.cluster, feasible)
        state = bench.plugin.pre_score(None, bench.pod, nodes)
        scores = bench.plugin.normalize(state, bench.pod, nodes, bench.plugin.score(state, bench.pod, nodes))
        found = dict(groups.scores())
        assert {row: found[groups.group_of(row)] for row in feasible.tolist()} == dict(
            zip(feasible.tolist(), scores.tolist(), strict=True)
        )
        assert len(found) == len({groups.group_of(row) for row in feasible.tolist()})
        row = data.draw(st.sampled_from(feasible.tolist()))
        bench.cluster.place(bench.cluster.register(copy_of(kind, f"copy-{index}")), row)
        stays = data.draw(st.integers(0, 3)) > 0
        groups.place(row, feasible=stays)
        if not stays:
            feasible = feasible[feasible != row]
        if not len(feasible):
            return
