"""Which pod of a ReplicaSet goes first: one rule after the other decides."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import parse_time
from ksched_cli.controlplane.controllers.replicaset import order_of_deletion, pods_to_delete
from ksched_cli.controlplane.draws import Draw, Draws, alternatives
from tests.builders import PodBuilder, make_pod

OLD, NEW = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"


def ready(since: str = OLD) -> dict[str, Any]:
    return {"type": "Ready", "status": "True", "lastTransitionTime": since}


def running(name: str, since: str = OLD) -> PodBuilder:
    return make_pod(name).on("n").phase("Running").created(OLD).uid(name).status(conditions=[ready(since)])


def costing(name: str, cost: str) -> PodBuilder:
    pod = running(name)
    pod.data["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    return pod


def restarted(name: str, count: int, field: str = "containerStatuses") -> PodBuilder:
    return (
        running(name)
        .init(name="side", restartPolicy="Always")
        .status(**{field: [{"name": "side", "restartCount": count}]})
    )


def in_order(pods: list[Pod], count: int, related: list[Pod] | None = None, draws: Draws | None = None) -> list[Pod]:
    now = parse_time(NEW) + 1
    return pods_to_delete(pods, related or pods, count, now, draws or Draws(), ("ReplicaSet", "default", "web"))


# Of ReplicaSets and Jobs.
OF_BOTH = [
    pytest.param(make_pod("z"), running("a"), id="without a node before one with"),
    pytest.param(running("z").phase("Pending"), running("a"), id="Pending before Running"),
    pytest.param(running("z").phase("Pending"), running("a").phase("Unknown"), id="Pending before Unknown"),
    pytest.param(running("z").phase("Unknown"), running("a"), id="Unknown before Running"),
    pytest.param(running("z").status(conditions=[]), running("a"), id="not ready before ready"),
    pytest.param(running("z", NEW), running("a", OLD), id="ready for a shorter time"),
    pytest.param(running("z", "2026-03-01T00:00:01Z"), running("a", NEW), id="ready now before ready for a second"),
    pytest.param(restarted("z", 3), restarted("a", 1), id="restarted more often"),
    pytest.param(restarted("z", 3, "initContainerStatuses"), restarted("a", 1, "initContainerStatuses"), id="its sidecar restarted more often"),
    pytest.param(running("z").created(NEW), running("a").created(OLD), id="the younger"),
    pytest.param(running("z").created(""), running("a"), id="one without a date before one with"),
    pytest.param(running("z").status(conditions=[{"type": "Ready", "status": "True"}]), running("a"), id="ready since no date"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *OF_BOTH,
        pytest.param(costing("z", "-5"), costing("a", "0"), id="the cheaper"),
        pytest.param(costing("z", "what"), costing("a", "1"), id="a cost that is no number is none"),
        pytest.param(running("a", "2026-02-28T00:00:00Z"), running("z", "2026-02-28T00:00:01Z"), id="about as long: by uid"),
    ],
)  # fmt: skip
def test_order(first: PodBuilder, second: PodBuilder) -> None:
    one, other = first.obj(), second.obj()
    for pods in ([one, other], [other, one]):
        draws = Draws()
        assert in_order(pods, 1, draws=draws) == [one]
        assert draws.made == []


@pytest.mark.parametrize(("first", "second"), OF_BOTH)
def test_order_of_the_pods_of_a_job(first: PodBuilder, second: PodBuilder) -> None:
    assert order_of_deletion(first.obj()) < order_of_deletion(second.obj())


def test_a_node_with_more_pods_of_the_deployment_gives_up_first() -> None:
    crowded, lonely = running("z").on("crowded").obj(), running("a").on("lonely").obj()
    beside: Pod = running("other-set").on("crowded").obj()
    assert in_order([crowded, lonely], 1, [crowded, lonely, beside]) == [crowded]


def names(pods: list[Pod]) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_among_equals_it_is_a_draw() -> None:
    pods = [running(name).obj() for name in "cab"]
    draws = Draws()
    assert names(in_order(pods, 2, draws=draws)) == ["a", "b"]
    assert draws.made == [Draw("deletion order", "ReplicaSet/default/web", ("a", "b", "c"), ("a", "b"))]
    assert [names(in_order(pods, 1, draws=Draws(each.choices))) for each in alternatives(draws.made, 8)] == [
        ["b"],
        ["c"],
    ]


def test_only_what_the_cut_goes_through_is_drawn() -> None:
    pods = [running("z").phase("Pending").obj(), running("a").obj(), running("b").obj()]
    draws = Draws()
    assert names(in_order(pods, 1, draws=draws)) == ["z"]
    assert names(in_order(pods, 3, draws=draws)) == ["z", "a", "b"]
    assert draws.made == []


def test_nothing_compares_a_uid_that_the_run_has_invented() -> None:
    pods = [running(name, f"2026-02-28T00:00:0{at}Z").obj() for at, name in enumerate("ab")]
    draws = Draws()
    draws.invented_uids.add("b")
    in_order(pods, 1, draws=draws)
    assert len(draws.made) == 1
