"""Controllers without a scheduler: what they promise of availability, whatever becomes of the pods that they make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.workloads import DaemonSet, Deployment, ReplicaSet, StatefulSet
from ksched_cli.sources.controllers.existing import Existing
from ksched_cli.sources.rollouts.daemon_sets import NEW, OLD, DaemonSetRollout
from ksched_cli.sources.rollouts.deployments import DeploymentRollout
from ksched_cli.sources.rollouts.rollout import Member, Rollout, is_available, members_of
from ksched_cli.sources.rollouts.scaling import doomed, scaled
from ksched_cli.sources.rollouts.stateful_sets import StatefulSetRollout
from tests.builders import make_node, make_pod
from tests.plan import rollouts as docs


def typed(kind: Any, doc: dict[str, Any]) -> Any:
    item = msgspec.convert(doc, kind)
    item.metadata.namespace = "default"
    return item


def deployment_rollout(replicas: int, before: int, strategy: dict[str, Any] | None) -> DeploymentRollout:
    _, replica_set, *pods = docs.running_deployment(["n"] * before, docs.template(docs.OLD))
    new = docs.workload(
        "Deployment", docs.template(), replicas=replicas, **({"strategy": strategy} if strategy else {})
    )
    existing = Existing([typed(Pod, pod) for pod in pods], [typed(ReplicaSet, replica_set)], [])
    return DeploymentRollout(typed(Deployment, new), existing)


def go_round(rollout: Rollout, succeeds: Iterable[bool]) -> None:
    """One round: what was told to go is gone, and of the new pods these become available."""
    changes = rollout.sync()
    for birth in changes.born:
        rollout.join(birth)
    for member, fine in zip([each for each in rollout.members if not each.node], succeeds, strict=False):
        if fine:
            member.node, member.available = "n", True
    for member in [each for each in rollout.members if each.leaving]:
        rollout.part(member)


AMOUNTS = st.integers(0, 4) | st.sampled_from(["0%", "25%", "50%", "100%"])


@given(st.integers(1, 8), st.integers(0, 8), AMOUNTS, AMOUNTS, st.data())
def test_a_rolling_deployment_keeps_its_promises(
    replicas: int, before: int, surge: int | str, unavailable: int | str, data: st.DataObject
) -> None:
    rollout = deployment_rollout(replicas, before, docs.rolling(surge, unavailable))
    most = scaled(surge, replicas, up=True)
    may_lack = scaled(unavailable, replicas, up=False)
    may_lack = 1 if not most and not may_lack else min(may_lack, replicas)
    promised = min(replicas - may_lack, before)
    for _ in range(4):
        go_round(rollout, data.draw(st.lists(st.booleans(), min_size=12, max_size=12)))
        assert sum(member.available for member in rollout.staying()) >= promised
        assert len(rollout.staying()) <= max(replicas + most, before)
    for _ in range(60):
        go_round(rollout, [True] * 20)
    assert rollout.finished
    assert len(rollout.members) == replicas


@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 5), st.booleans(), st.data())
def test_a_stateful_set_replaces_one_pod_at_a_time(
    replicas: int, before: int, partition: int, parallel: bool, data: st.DataObject
) -> None:
    _, *pods = docs.running_set(["n"] * before, docs.template(docs.OLD))
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    policy = {"podManagementPolicy": "Parallel"} if parallel else {}
    new = docs.workload("StatefulSet", docs.template(), replicas=replicas, updateStrategy=update, **policy)
    owned = [typed(Pod, pod) for pod in pods]
    rollout = StatefulSetRollout(typed(StatefulSet, new), owned, Existing(owned, [], []))
    rollout.mark(changed=True)
    for _ in range(4):
        kept = min(before, replicas)
        go_round(rollout, data.draw(st.lists(st.booleans(), min_size=8, max_size=8)))
        old = [member for member in rollout.staying() if not member.fresh]
        assert sum(member.available for member in rollout.staying()) >= min(kept, len(old) + 1) - 1
    for _ in range(60):
        go_round(rollout, [True] * 20)
    assert rollout.finished
    assert sorted(member.name for member in rollout.members) == [f"w-{at}" for at in range(replicas)]
    below = {member.name for member in rollout.members if member.revision == "old"}
    assert below <= {f"w-{at}" for at in range(partition)}


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 3), st.data())
def test_a_daemon_set_keeps_its_promises(size: int, surge: int, unavailable: int, data: st.DataObject) -> None:
    names = [f"n{at}" for at in range(size)]
    _, *pods = docs.running_daemons(names, docs.template(docs.OLD))
    new = docs.workload("DaemonSet", docs.template(), updateStrategy=docs.rolling(surge, unavailable))
    owned = [typed(Pod, pod) for pod in pods]
    members = members_of(owned, OLD)
    existing = Existing(owned, [], [typed(Node, make_node(name).doc()) for name in names])
    rollout = DaemonSetRollout(typed(DaemonSet, new), members, existing)
    may_lack = 0 if surge else max(unavailable, 1)
    for _ in range(4):
        go_round(rollout, data.draw(st.lists(st.booleans(), min_size=8, max_size=8)))
        assert sum(member.available for member in rollout.staying()) >= size - may_lack
        assert len(rollout.staying()) <= size + surge
    for _ in range(40):
        go_round(rollout, [True] * 20)
    assert rollout.finished
    assert {member.revision for member in rollout.members} == {NEW}


@pytest.mark.parametrize(
    ("value", "total", "up", "expected"),
    [
        pytest.param(None, 10, True, 0, id="nothing"),
        pytest.param(3, 10, True, 3, id="a number"),
        pytest.param("25%", 10, True, 3, id="a share, rounded up"),
        pytest.param("25%", 10, False, 2, id="a share, rounded down"),
        pytest.param("100%", 7, False, 7, id="all"),
    ],
)
def test_scaled(value: int | str | None, total: int, up: bool, expected: int) -> None:
    assert scaled(value, total, up=up) == expected


def test_which_pods_go_first() -> None:
    def member(
        name: str, node: str = "n", available: bool = True, born: str = "2026-01-01T00:00:00Z", cost: str = ""
    ) -> Member:
        pod = make_pod(name).created(born).obj()
        pod.metadata.annotations = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
        return Member(pod, node=node, available=available)

    crowd = [
        member("old", "a"),
        member("young", "a", born="2026-02-01T00:00:00Z"),
        member("beside-1", "b"),
        member("beside-2", "b"),
        member("cheap", "c", cost="-5"),
        member("unready", "c", available=False),
        member("pending", "", available=False),
        member("dear", "b", cost="9"),
    ]
    order = [each.name for each in doomed(crowd, crowd, len(crowd))]
    assert order == ["pending", "unready", "cheap", "beside-1", "beside-2", "young", "old", "dear"]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod().on("n"), True, id="a dump that says nothing"),
        pytest.param(make_pod(), False, id="no node"),
        pytest.param(make_pod().on("n").phase("Pending"), False, id="still starting"),
        pytest.param(
            make_pod().on("n").status(conditions=[{"type": "Ready", "status": "False"}]), False, id="not ready"
        ),
        pytest.param(make_pod().on("n").status(conditions=[{"type": "Ready", "status": "True"}]), True, id="ready"),
    ],
)
def test_is_available(pod: Any, expected: bool) -> None:
    assert is_available(pod.obj()) is expected
