"""The pods at the end of a run: in one order, whether they moved or not."""

from __future__ import annotations

from ksched_cli.world.results import FinalPod, FinalPods, UnmovedPods

GONE, NEW, OTHER = FinalPod("d/b", "Pod/d/b", "gone"), FinalPod("d/b", "Pod/d/b", "scheduled"), FinalPod("d/e", "", "")


def test_all_pods_come_in_the_order_of_their_names_gone_pods_first() -> None:
    unmoved = UnmovedPods.of([("d/f", "Set/d/f", "n"), ("d/a", "Pod/d/a", "m")])
    final = FinalPods.of([OTHER, NEW, GONE], unmoved)
    assert [(each.pod, each.state) for each in final] == [
        ("d/a", "running"),
        ("d/b", "gone"),
        ("d/b", "scheduled"),
        ("d/e", ""),
        ("d/f", "running"),
    ]
    assert len(final) == 5
    assert final[0] == FinalPod("d/a", "Pod/d/a", "running", "m", moved=False)
    assert final[1:3] == (GONE, NEW)
    assert list(final.only(lambda pod: pod.state == "gone")) == [final[0], GONE, final[4]]


def test_none() -> None:
    assert (list(FinalPods()), len(FinalPods.of([], UnmovedPods.of([])))) == ([], 0)
