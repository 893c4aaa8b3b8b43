from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import LabelSelector, LabelSelectorRequirement
from ksched_cli.api.selectors import EVERYTHING, NOTHING, Selector, compile_selector
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.columns import NOWHERE
from tests.builders import make_node, make_pod
from tests.lanes import examples

# So many nodes that a few touched ones are brought up to date one by one; a small cluster is counted afresh.
MANY = 40
WEB = compile_selector(LabelSelector(match_labels={"app": "web"}))
NOT_DB = compile_selector(LabelSelector(match_expressions=(LabelSelectorRequirement("app", "NotIn", ("db",)),)))
SELECTORS = [WEB, NOT_DB, EVERYTHING, NOTHING]
NAMESPACES = ["default", "other", "unheard-of"]


def large_cluster() -> Cluster:
    return Cluster([make_node(f"n{index}").obj() for index in range(MANY)])


def plain(cluster: Cluster, namespace: str, selector: Selector) -> list[int]:
    counts = [0] * len(cluster.nodes)
    for row, info in enumerate(cluster.pods.infos):
        node = int(cluster.pods.node_row[row])
        leaving = bool(cluster.pods.terminating[row])
        if node != NOWHERE and not leaving and info.namespace == namespace and selector.matches(info.labels):
            counts[node] += 1
    return counts


steps = st.lists(
    st.tuples(
        st.sampled_from(["come", "come", "go", "preempt", "ask", "ask", "lose a node", "gain a node", "crowd"]),
        st.integers(0, 10_000),
        st.integers(0, 10_000),
    ),
    max_size=40,
)


@pytest.mark.slow
@given(steps)
@settings(max_examples=examples(150), deadline=None)
def test_counts_follow_whatever_happens_to_the_cluster(history: list[tuple[str, int, int]]) -> None:
    cluster = large_cluster()
    made = 0

    def come(first: int, second: int) -> None:
        nonlocal made
        pod = make_pod(f"p{made}", NAMESPACES[first % 2]).label(app=["web", "db", "cache", f"own-{made}"][second % 4])
        made += 1
        cluster.place(cluster.register(pod.obj()), first % len(cluster.nodes))

    for step, first, second in history:
        placed = [row for row in range(len(cluster.pods)) if cluster.pods.node_row[row] != NOWHERE]
        if step == "come":
            come(first, second)
        elif step == "crowd":
            for extra in range(12):
                come(first + extra, second + extra)
        elif step == "go" and placed:
            cluster.displace(placed[first % len(placed)])
        elif step == "preempt" and placed:
            cluster.preempt([placed[first % len(placed)]])
        elif step == "lose a node":
            cluster.remove_node(cluster.nodes.names[first % len(cluster.nodes)])
        elif step == "gain a node":
            cluster.add_node(make_node(f"late-{made}-{len(cluster.journal)}-{cluster.structure}").obj())
        else:
            namespace, selector = NAMESPACES[first % 3], SELECTORS[second % 4]
            assert cluster.counts.current(namespace, selector).per_node.tolist() == plain(cluster, namespace, selector)
    for namespace in NAMESPACES:
        for selector in SELECTORS:
            assert cluster.counts.current(namespace, selector).per_node.tolist() == plain(cluster, namespace, selector)


def test_each_placement_changes_one_entry_and_nothing_is_counted_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = large_cluster()
    before = cluster.counts.current("default", WEB).per_node
    monkeypatch.setattr(cluster.counts, "_recount", lambda *_: pytest.fail("counted afresh"))
    for row in range(MANY):
        cluster.place(cluster.register(make_pod(f"p{row}").label(app="web").obj()), row)
        after = cluster.counts.current("default", WEB).per_node
        assert after is before
        assert after.tolist() == [1] * (row + 1) + [0] * (MANY - row - 1)


def test_changes_of_a_count_are_listed() -> None:
    cluster = large_cluster()
    web, other = (cluster.register(make_pod(app).label(app=app).obj()) for app in ("web", "db"))
    versions = [cluster.counts.versions("default", [WEB])]
    for change in (
        lambda: cluster.place(web, 3),
        lambda: cluster.place(other, 3),
        lambda: cluster.displace(web),
        lambda: cluster.place(web, 5),
    ):
        change()
        versions.append(cluster.counts.versions("default", [WEB]))
    assert cluster.counts.current("default", WEB).changes == [(3, 1), (3, -1), (5, 1)]
    assert [now != before for before, now in pairwise(versions)] == [True, False, True, True]


@pytest.mark.parametrize("afresh", [False, True], ids=["brought up to date", "counted afresh"])
def test_copies_count_as_the_pod_does(afresh: bool) -> None:
    cluster = large_cluster()
    counts: list[int] = []

    def look() -> None:
        counts[:] = cluster.counts.current("default", WEB).per_node.tolist()

    if not afresh:
        look()
    made = [
        make_pod("counts").label(app="web"),
        make_pod("elsewhere", "other").label(app="web"),
        make_pod("unlike").label(app="db"),
        make_pod("leaving").label(app="web").terminating(),
    ]
    rows = [cluster.register(each.obj()) for each in made]
    for row, nodes in zip(rows, ([3, 3, 5], [3], [5], [5, 5]), strict=True):
        cluster.place_copies(row, nodes)
        if not afresh:
            look()
    for each in made:
        each.data["metadata"]["name"] += "-too"
        cluster.place(cluster.register(each.obj()), 3)
        if not afresh:
            look()
    look()
    assert counts == [{3: 3, 5: 1}.get(row, 0) for row in range(MANY)]


def test_a_label_set_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = large_cluster()
    asked: list[dict[str, str]] = []
    judge = Selector.matches

    def matches(self: Selector, labels: dict[str, str]) -> bool:
        asked.append(labels)
        return judge(self, labels)

    monkeypatch.setattr(Selector, "matches", matches)
    for index in range(6):
        cluster.place(cluster.register(make_pod(f"p{index}").label(app=["web", "db"][index % 2]).obj()), index)
        cluster.counts.current("default", WEB)
    assert asked == [{"app": "web"}, {"app": "db"}]
