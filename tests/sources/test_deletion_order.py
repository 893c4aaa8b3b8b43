"""Which pod of a ReplicaSet goes first: one rule after the other decides."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.sources.controllers.deletion_order import pods_to_delete
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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(make_pod("z"), running("a"), id="without a node before one with"),
        pytest.param(running("z").phase("Pending"), running("a"), id="Pending before Running"),
        pytest.param(running("z").phase("Pending"), running("a").phase("Unknown"), id="Pending before Unknown"),
        pytest.param(running("z").phase("Unknown"), running("a"), id="Unknown before Running"),
        pytest.param(running("z").status(conditions=[]), running("a"), id="not ready before ready"),
        pytest.param(costing("z", "-5"), costing("a", "0"), id="the cheaper"),
        pytest.param(costing("z", "what"), costing("a", "1"), id="a cost that is no number is none"),
        pytest.param(running("z", NEW), running("a", OLD), id="ready for a shorter time"),
        pytest.param(running("a", "2026-02-28T00:00:00Z"), running("z", "2026-02-28T00:00:01Z"), id="for about as long: by uid"),
        pytest.param(restarted("z", 3), restarted("a", 1), id="restarted more often"),
        pytest.param(restarted("z", 3, "initContainerStatuses"), restarted("a", 1, "initContainerStatuses"), id="its sidecar restarted more often"),
        pytest.param(running("z").created(NEW), running("a").created(OLD), id="the younger"),
        pytest.param(running("a"), running("z"), id="all alike: by name"),
    ],
)  # fmt: skip
def test_order(first: PodBuilder, second: PodBuilder) -> None:
    one, other = first.obj(), second.obj()
    # A third pod, so that the newest time is the same for all rows.
    newest = running("m", NEW).created(NEW).obj()
    for pods in ([one, other, newest], [newest, other, one]):
        order = pods_to_delete(pods, pods, 3)
        assert order.index(one) < order.index(other)


def test_a_node_with_more_pods_of_the_deployment_gives_up_first() -> None:
    crowded, lonely = running("z").on("crowded").obj(), running("a").on("lonely").obj()
    beside: Pod = running("other-set").on("crowded").obj()
    assert pods_to_delete([crowded, lonely], [crowded, lonely, beside], 1) == [crowded]
    assert pods_to_delete([crowded, lonely], [crowded, lonely], 1) == [lonely]


def test_count() -> None:
    pods = [running(name).obj() for name in "abc"]
    assert [pod.metadata.name for pod in pods_to_delete(pods, pods, 2)] == ["a", "b"]
    assert pods_to_delete(pods, pods, 0) == []
