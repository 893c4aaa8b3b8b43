"""Which templates have copies among the pods without a node."""

from __future__ import annotations

from ksched_cli.cluster.cache import Cluster
from ksched_cli.engine.copies import PodCopies
from tests.builders import make_node, make_pod


def test_a_template_has_copies_when_two_pods_of_it_have_been_without_a_node() -> None:
    cluster = Cluster([make_node("n1").obj()], [make_pod("running").spec(nodeName="n1").obj()])
    copies, infos = PodCopies(cluster), cluster.pods.infos
    first = cluster.register(make_pod("first").requests(cpu="1").obj())
    other = cluster.register(make_pod("other").requests(cpu="2").obj())
    assert [copies.has_copies(infos[row]) for row in (first, other)] == [False, False]
    cluster.place(first, 0)
    second = cluster.register(make_pod("second").requests(cpu="1").obj())
    assert [copies.has_copies(infos[row]) for row in (second, other)] == [True, False]


def test_pods_that_come_after_a_roll_back_are_counted() -> None:
    cluster = Cluster([make_node("n1").obj()])
    copies = PodCopies(cluster)
    with cluster.undo.trial():
        rows = [cluster.register(make_pod(f"gone-{index}").requests(cpu="2").obj()) for index in range(4)]
        assert copies.has_copies(cluster.pods.infos[rows[0]])
    assert not copies.has_copies(cluster.pods.infos[cluster.register(make_pod("a").requests(cpu="1").obj())])
    assert copies.has_copies(cluster.pods.infos[cluster.register(make_pod("b").requests(cpu="1").obj())])
