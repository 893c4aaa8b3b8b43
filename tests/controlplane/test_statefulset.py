"""The StatefulSet controller, step by step."""

from __future__ import annotations

from itertools import takewhile
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.api.core import ObjectMeta, Pod, PodCondition
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import ResourceQuota, ResourceQuotaSpec
from ksched_cli.controlplane.controllers.revisions import revision_of
from ksched_cli.controlplane.controllers.statefulset import StatefulSetController
from ksched_cli.controlplane.plane import is_complete
from ksched_cli.releases.engine_rules import ControllerRules
from ksched_cli.releases.minors import nearest_release
from ksched_cli.world.world import World
from tests.controlplane.harness import ControlPlane, make, nodes, rested, template
from tests.harness import make_scheduler

_CLAIMS = [{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]


def _names(control_plane: ControlPlane, what: str) -> list[str]:
    return [name for _, event, name in control_plane.events if event == what]


def _steps(control_plane: ControlPlane) -> list[tuple[str, str]]:
    return [(event, name) for _, event, name in control_plane.events if event != "gone"]


def test_pods_are_made_in_order_each_when_the_one_before_it_is_ready() -> None:
    control_plane = ControlPlane(*nodes(1))
    control_plane.api.create(make("StatefulSet", "db", replicas=3))
    control_plane.run()
    assert control_plane.events == [(0.0, "created", "db-0"), (0.2, "created", "db-1"), (0.4, "created", "db-2")]


def test_an_unready_pod_stops_the_ones_after_it() -> None:
    control_plane = ControlPlane(*nodes(1), place=lambda pod: "" if pod.metadata.name == "db-1" else "node-1")
    control_plane.api.create(make("StatefulSet", "db", replicas=3))
    assert control_plane.run().pods() == {"db-0": "node-1+", "db-1": ""}


def test_the_status_of_a_set_that_was_not_reconciled_yet() -> None:
    pods = rested(*nodes(1), make("StatefulSet", "db", replicas=2)).store.of(Pod)
    control_plane = ControlPlane(*nodes(1), make("StatefulSet", "db", replicas=2), *pods)
    (controller,) = (each for each in control_plane.controllers if isinstance(each, StatefulSetController))
    status = controller.status(control_plane.object("StatefulSet", "db"))
    assert (status.replicas, status.ready, status.available, status.updated_replicas) == (2, 2, 2, 2)


def test_in_parallel_all_are_made_at_once() -> None:
    control_plane = ControlPlane(*nodes(1), place=lambda pod: "")
    control_plane.api.create(make("StatefulSet", "db", replicas=3, podManagementPolicy="Parallel"))
    assert control_plane.run().pods() == {"db-0": "", "db-1": "", "db-2": ""}


@pytest.mark.parametrize(
    ("spec", "updated"),
    [
        ({}, ["db-0", "db-1", "db-2", "db-3"]),
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}, ["db-2", "db-3"]),
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 9}}}, []),
        ({"updateStrategy": {"type": "RollingUpdate"}}, ["db-0", "db-1", "db-2", "db-3"]),
        ({"updateStrategy": {"type": "OnDelete"}}, []),
        ({"podManagementPolicy": "Parallel"}, ["db-0", "db-1", "db-2", "db-3"]),
    ],
)
def test_a_new_template_reaches(spec: dict[str, Any], updated: list[str]) -> None:
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=4, **spec))
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    images = control_plane.run().revisions()
    assert sorted(name for name, image in images.items() if image == "app:v2") == updated
    assert len(images) == 4


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_rollout_goes_from_the_highest_down_one_at_a_time(policy: str) -> None:
    """MaxUnavailableStatefulSet is off by default in 1.36: maxUnavailable changes nothing."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 2}}
    item = make("StatefulSet", "db", replicas=3, podManagementPolicy=policy, updateStrategy=strategy)
    control_plane = rested(*nodes(2), item)
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    control_plane.run()
    expected = [(what, f"db-{at}") for at in (2, 1, 0) for what in ("deleted", "created")]
    assert _steps(control_plane) == expected


def test_a_broken_template_stops_at_the_first_pod() -> None:
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=3))
    control_plane.place = lambda pod: "" if pod.spec.containers[0].image == "app:v2" else "node-1"
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    assert control_plane.run().pods() == {"db-0": "node-1+", "db-1": "node-2+", "db-2": ""}


def test_the_way_back_from_a_broken_template_waits_for_the_broken_pod() -> None:
    """Known of Kubernetes: an ordered set does not replace an unready pod."""
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=2))
    first = revision_of(control_plane.pod("db-0"))
    control_plane.place = lambda pod: "" if pod.spec.containers[0].image == "app:v2" else "node-1"
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    control_plane.run()
    control_plane.change("StatefulSet", "db", template=template("db", "app:v1"))
    assert control_plane.run().pods()["db-1"] == ""
    control_plane.api.delete(control_plane.pod("db-1"))
    assert control_plane.run().pods()["db-1"] == "node-1+"
    assert revision_of(control_plane.pod("db-1")) == first, "an earlier template has its earlier revision"


@pytest.mark.parametrize("partition", [0, 1, 2])
def test_a_rollout_is_complete_at_its_partition(partition: int) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=3, updateStrategy=strategy))
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    (controller,) = (each for each in control_plane.controllers if isinstance(each, StatefulSetController))
    of_sets: Any = SimpleNamespace(stateful_sets=controller)
    found = []
    for seconds in (0.1, 3600):
        control_plane.run(seconds)
        found.append(is_complete(of_sets, control_plane.object("StatefulSet", "db")))
    assert found == [False, True]


def test_pods_below_the_partition_come_back_with_the_current_revision() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=2, updateStrategy=strategy))
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    control_plane.run()
    for name in ("db-0", "db-1"):
        control_plane.api.delete(control_plane.pod(name))
    assert control_plane.run().revisions() == {"db-0": "app:v1", "db-1": "app:v2"}


def test_a_revision_that_is_older_than_the_input_is_read_from_its_pods() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    before = rested(*nodes(2), make("StatefulSet", "db", replicas=2, updateStrategy=strategy))
    before.change("StatefulSet", "db", template=template("db", "app:v2"))
    before.run()
    control_plane = ControlPlane(*(item for kind in before.store.kinds() for item in before.store.of(kind)))
    names = {name: revision_of(control_plane.pod(name)) for name in ("db-0", "db-1")}
    for name in names:
        control_plane.api.delete(control_plane.pod(name))
    assert control_plane.run().revisions() == {"db-0": "app:v1", "db-1": "app:v2"}
    assert {name: revision_of(control_plane.pod(name)) for name in names} == names


def test_a_set_that_is_created_again_has_no_earlier_revision() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    before = rested(*nodes(2), make("StatefulSet", "db", replicas=2, updateStrategy=strategy))
    current = {"currentRevision": revision_of(before.pod("db-0"))}
    there = make("StatefulSet", "db", status=current, replicas=2, updateStrategy=strategy)
    control_plane = ControlPlane(*nodes(2), *before.store.of(Pod), there)
    control_plane.api.delete(there)
    for name in ("db-0", "db-1"):
        control_plane.api.delete(control_plane.pod(name))
    control_plane.run()
    again = make("StatefulSet", "db", replicas=2, updateStrategy=strategy, template=template("db", "app:v2"))
    control_plane.api.create(again)
    assert control_plane.run().revisions() == {"db-0": "app:v2", "db-1": "app:v2"}


def test_scaling_down_deletes_from_the_highest_one_at_a_time() -> None:
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=4))
    control_plane.change("StatefulSet", "db", replicas=1)
    control_plane.run()
    assert control_plane.pods() == {"db-0": "node-1+"}
    assert control_plane.events == [
        (0.0, "deleted", "db-3"),
        (30.0, "gone", "db-3"),
        (30.0, "deleted", "db-2"),
        (60.0, "gone", "db-2"),
        (60.0, "deleted", "db-1"),
        (90.0, "gone", "db-1"),
    ]


def test_scaling_down_in_parallel_deletes_all_at_once() -> None:
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=4, podManagementPolicy="Parallel"))
    control_plane.change("StatefulSet", "db", replicas=1)
    control_plane.run(1)
    assert sorted(_names(control_plane, "deleted")) == ["db-1", "db-2", "db-3"]


def test_an_unready_pod_that_stays_stops_the_way_down() -> None:
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=3))
    control_plane.place = lambda pod: ""
    control_plane.api.delete(control_plane.pod("db-0"))
    control_plane.run()
    control_plane.change("StatefulSet", "db", replicas=1)
    assert control_plane.run().pods() == {"db-0": "", "db-1": "node-2+", "db-2": "node-1+"}


@pytest.mark.parametrize(
    ("state", "unready", "deleted"),
    [
        pytest.param("False", ["db-3"], ["db-3", "db-2"], id="the highest is the only one"),
        pytest.param("False", ["db-2"], ["db-3", "db-2"], id="one below the highest"),
        pytest.param("False", ["db-2", "db-3"], [], id="the highest waits for itself while a lower one is not ready"),
        pytest.param("True", ["db-2", "db-3"], [], id="ready, but not for minReadySeconds"),
    ],
)
def test_the_way_down_past_pods_that_are_not_available(state: str, unready: list[str], deleted: list[str]) -> None:
    control_plane = rested(*nodes(2), make("StatefulSet", "db", replicas=4, minReadySeconds=1000))
    control_plane.queue.clock.advance_to(2000)
    for name in unready:
        pod, since = control_plane.pod(name), control_plane.api.timestamp()
        ready = PodCondition("Ready", state, last_transition_time=since)
        control_plane.api.update(replace(pod, status=replace(pod.status, conditions=(ready,))))
    control_plane.change("StatefulSet", "db", replicas=2)
    control_plane.run(900)
    assert _names(control_plane, "deleted") == deleted


def test_ordinals_start() -> None:
    control_plane = ControlPlane(*nodes(1))
    control_plane.api.create(make("StatefulSet", "db", replicas=2, ordinals={"start": 5}))
    assert list(control_plane.run().pods()) == ["db-5", "db-6"]
    control_plane.change("StatefulSet", "db", ordinals={"start": 6})
    assert list(control_plane.run().pods()) == ["db-6", "db-7"]


@pytest.mark.parametrize("start", [0, 5])
def test_without_a_partition_lower_pods_come_back_with_the_current_revision(start: int) -> None:
    item = make("StatefulSet", "db", replicas=3, ordinals={"start": start}, updateStrategy={"type": "RollingUpdate"})
    control_plane = rested(*nodes(2), item)
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    control_plane.run(0.1)
    control_plane.api.delete(control_plane.pod(f"db-{start}"), grace=0)
    assert control_plane.run(0.1).revisions()[f"db-{start}"] == "app:v1"


def test_ordinals_without_a_start_begin_at_zero() -> None:
    control_plane = ControlPlane(*nodes(1))
    control_plane.api.create(make("StatefulSet", "db", replicas=2, ordinals={}))
    assert list(control_plane.run().pods()) == ["db-0", "db-1"]


def test_min_ready_seconds_are_waited_for() -> None:
    control_plane = ControlPlane(*nodes(1))
    control_plane.api.create(make("StatefulSet", "db", replicas=2, minReadySeconds=10))
    control_plane.run()
    (_, first, _), (later, second, name) = control_plane.events
    assert (first, second, name) == ("created", "created", "db-1")
    assert 10 <= later <= 10.2


def test_a_finished_pod_is_made_again() -> None:
    control_plane = rested(*nodes(1), make("StatefulSet", "db", replicas=1))
    pod = control_plane.pod("db-0")
    control_plane.api.update(replace(pod, status=replace(pod.status, phase="Succeeded")))
    assert control_plane.run().pods() == {"db-0": "node-1+"}
    assert _steps(control_plane) == [("deleted", "db-0"), ("created", "db-0")]


def test_the_pods_after_a_finished_one_wait_for_it() -> None:
    control_plane = rested(*nodes(1), make("StatefulSet", "db", replicas=2))
    control_plane.api.delete(control_plane.pod("db-1"), grace=0)
    pod = control_plane.pod("db-0")
    control_plane.api.update(replace(pod, status=replace(pod.status, phase="Failed")))
    assert _names(control_plane.run(), "created") == ["db-0", "db-1"]


def test_a_pod_of_its_name_without_a_controller_is_one_of_its_pods() -> None:
    other = rested(*nodes(1), make("StatefulSet", "db", replicas=1)).pod("db-0")
    orphan = replace(other, metadata=replace(other.metadata, owner_references=()))
    control_plane = ControlPlane(*nodes(1), orphan)
    control_plane.api.create(make("StatefulSet", "db", replicas=2))
    assert control_plane.run().pods() == {"db-0": "node-1+", "db-1": "node-1+"}


def test_a_pod_that_admission_refuses_is_kept_with_the_reason() -> None:
    quota = ResourceQuota(ObjectMeta("few", "default"), ResourceQuotaSpec(hard={"pods": "1"}))
    control_plane = ControlPlane(*nodes(1), quota)
    control_plane.api.create(make("StatefulSet", "db", replicas=3))
    control_plane.run()
    (refusals,) = control_plane.api.refusals.values()
    assert {name: each.plugin for name, each in refusals.items()} == {"db-1": "ResourceQuota"}


def test_a_terminating_pod_holds_its_name() -> None:
    control_plane = rested(*nodes(1), make("StatefulSet", "db", replicas=1))
    control_plane.api.delete(control_plane.pod("db-0"))
    assert control_plane.run(29).pods() == {"db-0": "node-1-"}
    assert control_plane.run().pods() == {"db-0": "node-1+"}


@pytest.mark.parametrize(
    ("policy", "scaled", "deleted"),
    [
        (None, ["data-db-0", "data-db-1"], ["data-db-0", "data-db-1"]),
        ({"whenScaled": "Delete", "whenDeleted": "Retain"}, ["data-db-0"], ["data-db-0"]),
        ({"whenScaled": "Retain", "whenDeleted": "Delete"}, ["data-db-0", "data-db-1"], []),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, ["data-db-0"], []),
    ],
    ids=["none", "scaled", "deleted", "both"],
)
def test_claims_outlive_their_pods_unless_the_policy_says_otherwise(
    policy: Any, scaled: list[str], deleted: list[str]
) -> None:
    item = make(
        "StatefulSet", "db", replicas=2, volumeClaimTemplates=_CLAIMS, persistentVolumeClaimRetentionPolicy=policy
    )
    control_plane = rested(*nodes(1), item)
    assert [claim.metadata.name for claim in control_plane.store.of(PersistentVolumeClaim)] == [
        "data-db-0",
        "data-db-1",
    ]
    control_plane.change("StatefulSet", "db", replicas=1)
    control_plane.run()
    assert [claim.metadata.name for claim in control_plane.store.of(PersistentVolumeClaim)] == scaled
    control_plane.api.delete(control_plane.object("StatefulSet", "db"))
    control_plane.run()
    assert [claim.metadata.name for claim in control_plane.store.of(PersistentVolumeClaim)] == deleted


def test_a_stranger_with_the_name_of_a_pod_is_not_replaced() -> None:
    control_plane = rested(*nodes(1), make("StatefulSet", "db", replicas=1))
    stranger = replace(control_plane.pod("db-0"), metadata=replace(control_plane.pod("db-0").metadata, name="db-1"))
    stranger = replace(stranger, metadata=replace(stranger.metadata, labels={}, owner_references=()))
    control_plane.api.create(stranger)
    control_plane.change("StatefulSet", "db", replicas=2)
    control_plane.run(5)
    assert control_plane.store.get(Pod, "db-1", "default") == stranger


def _of_minor(control_plane: ControlPlane, version: str) -> ControlPlane:
    """As a world of this minor or patch has it."""
    release = nearest_release(version)
    for each in control_plane.controllers:
        if isinstance(each, StatefulSetController):
            each.rules = ControllerRules.of(release)
            each.counts_unavailable = release.gates().enabled("MaxUnavailableStatefulSet")
    return control_plane


def _replaced(version: str, policy: str, pods: str, most: int, partition: int) -> str:
    """The ordinals of the pods that a set deletes first for a new template. The pods are r(eady), u(nready),
    t(erminating), or m: ready, but for less than minReadySeconds."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition, "maxUnavailable": most}}
    least = 30 if "m" in pods else 0
    item = make("StatefulSet", "db", replicas=len(pods), podManagementPolicy=policy, updateStrategy=strategy)
    control_plane = _of_minor(rested(*nodes(2), item), version)
    control_plane.queue.clock.advance_to(100)
    for at, state in enumerate(pods):
        pod = control_plane.pod(f"db-{at}")
        if state == "t":
            control_plane.api.delete(pod)
        elif state in "um":
            ready = PodCondition("Ready", str(state == "m"), last_transition_time=control_plane.api.timestamp())
            control_plane.api.update(replace(pod, status=replace(pod.status, conditions=(ready,))))
    control_plane.events.clear()
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"), minReadySeconds=least)
    control_plane.run(0)
    return " ".join(sorted(name.removeprefix("db-") for name in _names(control_plane, "deleted")))


def _rolling(most: int | str | None, partition: int = 0, **spec: Any) -> Any:
    limit = {} if most is None else {"maxUnavailable": most}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition, **limit}}
    return make("StatefulSet", "db", replicas=4, updateStrategy=strategy, **spec)


@pytest.mark.parametrize(
    ("item", "before", "now"),
    [
        pytest.param(_rolling(None), ["db-3"], ["db-3"], id="one by default"),
        pytest.param(_rolling(2), ["db-3"], ["db-3", "db-2"], id="two"),
        pytest.param(_rolling("50%"), ["db-3"], ["db-3", "db-2"], id="half"),
        pytest.param(_rolling("10%"), ["db-3"], ["db-3"], id="a percentage is rounded down, to one at least"),
        pytest.param(_rolling("40%"), ["db-3"], ["db-3"], id="1.6 pods are one"),
        pytest.param(make("StatefulSet", "db", replicas=4), ["db-3"], ["db-3"], id="one without a strategy"),
        pytest.param(_rolling(3, partition=2), ["db-3"], ["db-3", "db-2"], id="not below the partition"),
        pytest.param(
            _rolling(2, podManagementPolicy="Parallel"), ["db-3"], ["db-3", "db-2"], id="in parallel the same limit"
        ),
    ],
)
def test_how_many_pods_are_replaced_at_once_by_minor(item: Any, before: list[str], now: list[str]) -> None:
    """#139466: MaxUnavailableStatefulSet is on by default in 1.37. These are deleted before any is created anew."""
    found = {}
    for minor in ("1.36", "1.37"):
        control_plane = _of_minor(rested(*nodes(2), item), minor)
        control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
        control_plane.run()
        steps = _steps(control_plane)
        found[minor] = [name for _, name in takewhile(lambda step: step[0] == "deleted", steps)]
        assert sorted({name for what, name in steps if what == "created"}) == sorted(
            {name for what, name in steps if what == "deleted"}
        )
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize(
    ("minor", "deleted"),
    [pytest.param("1.36", ["db-3"], id="1.36"), pytest.param("1.37", ["db-1", "db-0", "db-3", "db-2"], id="1.37")],
)
def test_broken_pods_of_the_old_revision_go_first_by_minor(minor: str, deleted: list[str]) -> None:
    """#137666: in parallel, db-0 and db-1 were never placed. They do not count against the limit."""
    control_plane = ControlPlane(*nodes(2), place=lambda pod: "node-1" if pod.metadata.name[-1] in "23" else "")
    control_plane.api.create(_rolling(4, podManagementPolicy="Parallel"))
    control_plane.run()
    control_plane.place = lambda pod: ""
    control_plane.events.clear()
    _of_minor(control_plane, minor)
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    control_plane.run()
    assert [name for what, name in _steps(control_plane) if what == "deleted"] == deleted


@pytest.mark.parametrize(
    ("policy", "pods", "most", "partition", "before", "now"),
    [
        pytest.param("Parallel", "u", 1, 0, "0", "0", id="parallel, one pod"),
        pytest.param("Parallel", "rru", 1, 0, "2", "2", id="parallel, the highest of 3"),
        pytest.param("Parallel", "rrruu", 2, 0, "4", "3 4", id="parallel, 2 of 5"),
        pytest.param("Parallel", "rrt", 1, 0, "", "", id="parallel, one leaves, which is as many as may"),
        pytest.param("Parallel", "rrrut", 3, 0, "", "2 3", id="parallel, one leaves above one that is not ready"),
        pytest.param("Parallel", "rrrtu", 3, 0, "4", "2 4", id="parallel, one leaves below one that is not ready"),
        pytest.param("Parallel", "rrm", 1, 0, "2", "2", id="parallel, ready for less than minReadySeconds"),
        pytest.param("Parallel", "rrrru", 1, 2, "4", "4", id="parallel, above the partition"),
        pytest.param("Parallel", "rrurr", 1, 2, "4", "2", id="parallel, at the partition"),
        pytest.param("Parallel", "rurrr", 1, 2, "4", "", id="parallel, below the partition"),
        pytest.param("Parallel", "rrruu", 2, 3, "4", "3 4", id="parallel, all above the partition"),
        pytest.param("Parallel", "rurru", 2, 3, "4", "4", id="parallel, below and above the partition"),
        pytest.param("Parallel", "uurr", 2, 0, "3", "0 1", id="parallel, the lowest, and no other"),
        pytest.param("Parallel", "uurrr", 3, 0, "4", "0 1 4", id="parallel, the lowest, and one from the top"),
        pytest.param("OrderedReady", "u", 1, 0, "", "", id="in order, one pod"),
        pytest.param("OrderedReady", "rru", 1, 0, "", "", id="in order, the highest of 3"),
        pytest.param("OrderedReady", "rrrru", 2, 0, "", "", id="in order, the highest of 5"),
        pytest.param("OrderedReady", "rrt", 1, 0, "", "", id="in order, one leaves"),
        pytest.param("OrderedReady", "rrm", 1, 0, "", "", id="in order, ready for less than minReadySeconds"),
        pytest.param("OrderedReady", "rrrru", 1, 2, "", "", id="in order, above the partition"),
        pytest.param("OrderedReady", "rrrrr", 2, 0, "4", "3 4", id="in order, all are ready"),
    ],
)  # fmt: skip
def test_who_is_replaced_where_pods_are_unavailable_by_minor(
    policy: str, pods: str, most: int, partition: int, before: str, now: str
) -> None:
    """#137666: the cases of TestStatefulSetControlRollingUpdateWithMaxUnavailableAndUnavailableStalePod
    (stateful_set_control_test.go). An ordered set waits for a pod that is not ready before it comes to the roll-out."""
    found = {minor: _replaced(minor, policy, pods, most, partition) for minor in ("1.36", "1.37")}
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize(
    ("policy", "pods", "most", "partition", "before", "now"),
    [
        pytest.param("OrderedReady", "rrrrr", 2, 0, "3 4", "4", id="in order, all are ready"),
        pytest.param("Parallel", "rrrrr", 2, 0, "3 4", "4", id="parallel, all are ready"),
        pytest.param("Parallel", "rrrrr", 3, 3, "3 4", "4", id="parallel, not below the partition"),
        pytest.param("Parallel", "u", 1, 0, "", "0", id="parallel, one pod, which takes up the limit"),
        pytest.param("Parallel", "rrrru", 2, 0, "3 4", "4", id="parallel, the highest of 5"),
        pytest.param("Parallel", "uurr", 2, 0, "", "3", id="parallel, the lowest take up the limit"),
        pytest.param("Parallel", "uurrr", 3, 0, "4", "4", id="parallel, the lowest, and one from the top"),
        pytest.param("Parallel", "rrrut", 3, 0, "2 3", "", id="parallel, one leaves above one that is not ready"),
    ],
)
def test_patches_that_had_the_gate_on(policy: str, pods: str, most: int, partition: int, before: str, now: str) -> None:
    """#137904: 1.35.4 switched MaxUnavailableStatefulSet off. Before, old pods that are unavailable took up the limit."""
    assert {version: _replaced(version, policy, pods, most, partition) for version in ("1.35.3", "1.35.4", "1.36")} == {
        "1.35.3": before,
        "1.35.4": now,
        "1.36": now,
    }


@pytest.mark.parametrize(
    ("version", "at_once"),
    [("1.34", 1), ("1.35.0", 2), ("1.35.3", 2), ("1.35.4", 1), ("1.35", 1), ("1.36", 1), ("1.37", 2)],
)
def test_a_world_has_the_controllers_of_its_minor(version: str, at_once: int) -> None:
    release = nearest_release(version)
    stateful_sets = World(make_scheduler([], [], current=release)).plane.controllers.stateful_sets
    assert stateful_sets.counts_unavailable is (at_once > 1)
    assert stateful_sets.rules is ControllerRules.of(release)


@pytest.mark.parametrize(
    ("policy", "kept", "nowhere", "before", "now"),
    [
        pytest.param("OrderedReady", (), "", "v1", "v2", id="all pods were made anew"),
        pytest.param("OrderedReady", ("db-1",), "", "v1", "v1", id="one pod is left of the old revision"),
        pytest.param("OrderedReady", ("db-0", "db-1"), "", "v1", "v1", id="no pod was made anew"),
        pytest.param("Parallel", (), "", "v1", "v2", id="all pods were made anew in parallel"),
        pytest.param("Parallel", ("db-0",), "", "v1", "v1", id="one pod is left of the old revision in parallel"),
        pytest.param("Parallel", (), "db-1", "v1", "v1", id="one new pod is not ready"),
        pytest.param("Parallel", ("db-0",), "db-1", "v1", "v1", id="one pod is old, and one new pod is not ready"),
    ],
)
def test_when_on_delete_is_up_to_date_by_minor(
    policy: str, kept: tuple[str, ...], nowhere: str, before: str, now: str
) -> None:
    """#136833 (TestStatefulSetControl_OnDelete): the current revision follows when all pods are ready and of the update
    revision. A later change of the strategy to RollingUpdate with a partition makes new pods of the current one."""
    found = {}
    for minor in ("1.36", "1.37"):
        strategy: dict[str, Any] = {"type": "OnDelete"}
        item = make("StatefulSet", "db", replicas=2, podManagementPolicy=policy, updateStrategy=strategy)
        control_plane = _of_minor(rested(*nodes(2), item), minor)
        control_plane.place = lambda pod: "" if pod.metadata.name == nowhere else "node-1"
        control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
        control_plane.run()
        for name in sorted({"db-0", "db-1"} - set(kept)):
            control_plane.api.delete(control_plane.store.get(Pod, name, "default"), why="by hand")
        control_plane.run()
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 9}}
        control_plane.change("StatefulSet", "db", replicas=3, updateStrategy=strategy)
        found[minor] = control_plane.run().revisions()["db-2"].removeprefix("app:")
    assert found == {"1.36": before, "1.37": now}


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_recreate_deletes_all_old_pods_before_it_creates_new_ones(policy: str, gate: bool) -> None:
    """#137187, gate StatefulSetRecreateStrategy."""
    item = make("StatefulSet", "db", replicas=3, podManagementPolicy=policy, updateStrategy={"type": "Recreate"})
    control_plane = rested(*nodes(2), item)
    next(each for each in control_plane.controllers if isinstance(each, StatefulSetController)).recreates = gate
    control_plane.change("StatefulSet", "db", template=template("db", "app:v2"))
    control_plane.run()
    steps = _steps(control_plane)
    assert set(control_plane.revisions().values()) == {"app:v2"}
    if not gate:
        assert steps[:2] == [("deleted", "db-2"), ("created", "db-2")]
        return
    assert {name for what, name in steps[:3] if what == "deleted"} == {"db-0", "db-1", "db-2"}
    assert steps[3:] == [("created", f"db-{at}") for at in range(3)]
    # In order each pod waits for the one before it to be ready; in parallel they come at the same moment.
    moments = {moment for moment, event, name in control_plane.events if event == "created"}
    assert len(moments) == (1 if policy == "Parallel" else 3)
