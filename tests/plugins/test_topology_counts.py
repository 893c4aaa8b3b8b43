"""Counts by topology value that are kept up to date, against counting afresh."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.cache import PodCount
from ksched_cli.cluster.nodes import LabelColumn
from ksched_cli.plugins.inter_pod_affinity.index import TopologyCounts
from ksched_cli.plugins.lib.topology_spread import CountedNodes

# Six nodes in two zones, one of them without a zone.
ZONES = ["a", "b", "a", None, "b", "a"]
steps = st.lists(st.tuples(st.integers(0, len(ZONES) - 1), st.booleans()), max_size=30)


def zones() -> LabelColumn:
    return LabelColumn.of(ZONES, len(ZONES))


@given(steps)
def test_counts_list_the_values_that_become_positive_or_zero(history: list[tuple[int, bool]]) -> None:
    column = zones()
    counts = TopologyCounts("zone", column)
    on, turns = dict.fromkeys(("a", "b"), 0), []
    for row, comes in history:
        zone = ZONES[row]
        if zone is None:
            counts.add(row, 1)
            continue
        if not comes and not on[zone]:
            continue
        amount = 1 if comes else -1
        counts.add(row, amount)
        if {on[zone], on[zone] + amount} == {0, 1}:
            turns.append(column.values.index(zone))
        on[zone] += amount
    assert counts.turns == turns
    plain = [0 if zone is None else on[zone] for zone in column.values]
    assert counts.counts.tolist() == plain
    assert counts.total == sum(plain)


@given(steps, st.lists(st.booleans(), min_size=len(ZONES), max_size=len(ZONES)))
def test_matching_pods_of_domains_follow_the_changes_of_nodes(
    history: list[tuple[int, bool]], counted: list[bool]
) -> None:
    column, counts = zones(), np.array(counted, dtype=np.bool_)
    present = np.bincount(column.ids, minlength=len(column.values)) > 0
    nodes = CountedNodes(present, counts, counts, column.ids)
    count = PodCount(np.array([2, 0, 1, 0, 0, 3]), 0, 0)
    held = []
    for row, comes in history:
        held.append((nodes.matching(count), nodes.summed_up(count.per_node).tolist()))
        count.per_node[row] += 1 if comes else -1
        count.changes.append((row, 1 if comes else -1))
    held.append((nodes.matching(count), nodes.summed_up(count.per_node).tolist()))
    assert [found.tolist() for found, _ in held] == [wanted for _, wanted in held]
    afresh = PodCount(np.array([1, 1, 1, 1, 1, 1]), 0, 0)
    assert nodes.matching(afresh).tolist() == nodes.summed_up(afresh.per_node).tolist()
