"""GangScheduling: the quorum before the queue and at Permit."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.framework.status import SUCCESS, Code
from ksched_cli.plugins.pod_groups import PERMIT_TIMEOUT, GangScheduling
from tests.builders import make_node, make_pod
from tests.harness import make_bench, make_scheduler
from tests.pod_groups import GANG, group, member

NO_QUORUM = "waiting for minCount pods from a gang to appear in scheduling queue"


def bench(pod: Any, others: list[Any], objects: list[Any]) -> Any:
    return make_bench(GangScheduling, [make_node("n1").obj()], pod, others, gates=GANG, objects=objects)


@pytest.mark.parametrize(
    ("pod", "others", "objects", "reasons"),
    [
        pytest.param(make_pod("p"), [], [], (), id="no group"),
        pytest.param(member("p"), [], [], ('waiting for pods\'s pod group "g" to appear in scheduling queue',), id="the group does not exist"),
        pytest.param(member("p"), [], [group(min_count=1, namespace="other")], ('waiting for pods\'s pod group "g" to appear in scheduling queue',), id="the group is in another namespace"),
        pytest.param(member("p"), [], [group()], (), id="a basic group has no quorum"),
        pytest.param(member("p"), [], [group(min_count=1)], (), id="one of one"),
        pytest.param(member("p"), [], [group(min_count=2)], (NO_QUORUM,), id="one of two"),
        pytest.param(member("p"), [member("q")], [group(min_count=2)], (), id="two of two"),
        pytest.param(member("p"), [member("q").on("n1")], [group(min_count=2)], (), id="a running pod counts"),
        pytest.param(member("p"), [member("q").on("gone")], [group(min_count=2)], (), id="a pod on an unknown node counts"),
        pytest.param(member("p"), [member("q", of="h")], [group(min_count=2)], (NO_QUORUM,), id="a pod of another group does not"),
        pytest.param(member("p"), [member("q").scheduler("other")], [group(min_count=2)], (NO_QUORUM,), id="a pod of another scheduler does not"),
        pytest.param(member("p"), [member("q").gate("a")], [group(min_count=2)], (), id="a pod that is held back counts"),
    ],
)  # fmt: skip
def test_the_quorum_before_the_queue(pod: Any, others: list[Any], objects: list[Any], reasons: tuple[str, ...]) -> None:
    made = bench(pod.obj(), [each.obj() for each in others], objects)
    status = made.plugin.pre_enqueue(made.pod)
    assert status.texts == reasons
    assert status.code is (Code.UNSCHEDULABLE_AND_UNRESOLVABLE if reasons else Code.SUCCESS)


@pytest.mark.parametrize(
    ("others", "objects", "code", "wait"),
    [
        pytest.param([], [group(min_count=1)], Code.SUCCESS, 0, id="the pod itself is the quorum"),
        pytest.param([], [group(min_count=2)], Code.WAIT, PERMIT_TIMEOUT, id="one is missing"),
        pytest.param([member("q")], [group(min_count=2)], Code.WAIT, PERMIT_TIMEOUT, id="one has no node yet"),
        pytest.param([member("q").on("n1")], [group(min_count=2)], Code.SUCCESS, 0, id="the other runs"),
        pytest.param([], [group()], Code.SUCCESS, 0, id="a basic group"),
        pytest.param([], [], Code.ERROR, 0, id="the group is gone"),
    ],
)
def test_permit_waits_until_enough_have_a_node(others: list[Any], objects: list[Any], code: Code, wait: float) -> None:
    made = bench(member("p").obj(), [each.obj() for each in others], objects)
    made.cluster.place(made.pod_row, 0)
    status, seconds = made.plugin.permit(None, made.pod, 0)
    assert (status.code, seconds) == (code, wait)


def test_permit_does_not_wait_for_a_pod_without_group() -> None:
    made = bench(make_pod("p").obj(), [], [])
    assert made.plugin.permit(None, made.pod, 0) == (SUCCESS, 0)


@pytest.mark.parametrize(
    ("gates", "gated"),
    [("", False), ("GenericWorkload=true", False), (GANG, True)],
    ids=["off by default", "groups without gangs", "gangs"],
)
def test_only_its_gate_puts_it_into_the_profile(gates: str, gated: bool) -> None:
    scheduler = make_scheduler([make_node("n1").obj()], [member("p").obj()], objects=[group(min_count=2)], gates=gates)
    assert bool(scheduler.enqueue().gated) is gated
