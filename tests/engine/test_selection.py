"""The best nodes by name, against sorting their names."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.cache import Cluster
from ksched_cli.engine.decision import ScoreTable, best_rows
from tests.builders import make_node

NAMES = ["a", "b", "c", "d", "e"]
orders = st.one_of(st.just(NAMES), st.permutations(NAMES))


@given(orders, st.data())
def test_the_best_nodes_come_by_name(names: list[str], data: st.DataObject) -> None:
    nodes = Cluster([make_node(name).obj() for name in names]).nodes
    some = data.draw(st.one_of(st.none(), st.permutations(range(5)).flatmap(lambda each: st.just(each[:4]))))
    rows = nodes.all_rows if some is None else np.array(some, dtype=np.int64)
    totals = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    found = best_rows(ScoreTable(rows, {}, {}, {}, np.array(totals, dtype=np.int64)), nodes)
    plain = sorted(nodes.names[row] for row, total in zip(rows.tolist(), totals, strict=True) if total == max(totals))
    assert [nodes.names[row] for row in found] == plain
