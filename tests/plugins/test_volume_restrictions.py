from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from tests.builders import make_node
from tests.harness import Bench, make_bench
from tests.plugins.storage import claim, with_claims, with_volumes

DISK = ("Unschedulable", ("node(s) had no available disk",))
IN_USE = (
    "Unschedulable",
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another"
        " pod",
    ),
)


def gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "d", "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "d", "awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "d", "iscsi": {"iqn": iqn, "targetPortal": "10.0.0.1", "readOnly": read_only}}


def rbd(monitors: str, image: str, pool: str = "rbd", read_only: bool = False) -> dict[str, Any]:
    return {
        "name": "d",
        "rbd": {"monitors": monitors.split(), "image": image, "pool": pool, "readOnly": read_only},
    }


@pytest.mark.parametrize(
    ("wanted", "mounted", "clash"),
    [
        pytest.param(gce("a"), gce("a"), True, id="gce: the same disk"),
        pytest.param(gce("a"), gce("b"), False, id="gce: another disk"),
        pytest.param(gce("a", True), gce("a", True), False, id="gce: both only read"),
        pytest.param(gce("a", True), gce("a"), True, id="gce: one writes"),
        pytest.param(ebs("a"), ebs("a"), True, id="ebs: the same volume"),
        pytest.param(ebs("a", True), ebs("a", True), True, id="ebs: reading does not help"),
        pytest.param(iscsi("a"), iscsi("a"), True, id="iscsi: the same target"),
        pytest.param(iscsi("a", True), iscsi("a", True), False, id="iscsi: both only read"),
        pytest.param(rbd("m1 m2", "i"), rbd("m2 m3", "i"), True, id="rbd: a monitor in common"),
        pytest.param(rbd("m1", "i"), rbd("m2", "i"), False, id="rbd: no monitor in common"),
        pytest.param(rbd("m1", "i"), rbd("m1", "i", "other"), False, id="rbd: another pool"),
        pytest.param(rbd("m1", "i", read_only=True), rbd("m1", "i", read_only=True), False, id="rbd: both only read"),
        pytest.param(gce("a"), ebs("a"), False, id="disks of different kinds"),
    ],
)
def test_disks(wanted: Any, mounted: Any, clash: bool) -> None:
    running = with_volumes(mounted, pod="r", node="n")
    made = make_bench(VolumeRestrictions, [make_node("n").obj(), make_node("m").obj()], with_volumes(wanted), [running])
    assert made.statuses() == ({"n": DISK} if clash else {})


def exclusive(*running: Any, modes: tuple[str, ...] = ("ReadWriteOncePod",)) -> Bench:
    nodes = [make_node("n").obj(), make_node("m").obj()]
    return make_bench(VolumeRestrictions, nodes, with_claims("data"), running, objects=[claim(modes=modes)])


def test_a_claim_for_one_pod_that_is_used_rejects_every_node() -> None:
    assert exclusive(with_claims("data", pod="r", node="n")).statuses() == {"n": IN_USE, "m": IN_USE}


def test_a_claim_for_one_pod_that_is_free_is_no_business_of_the_filter() -> None:
    assert exclusive().pre_filter().skipped


def test_a_claim_that_can_be_shared_is_no_business_of_the_filter() -> None:
    shared = exclusive(with_claims("data", pod="r", node="n"), modes=("ReadWriteMany",))
    assert shared.pre_filter().skipped


def test_taking_the_user_off_its_node_frees_the_claim() -> None:
    made = exclusive(with_claims("data", pod="r", node="n"))
    state = made.plugin.clone_state(made.state())
    user = made.cluster.pods_on(0)[0]
    made.plugin.remove_pod(state, made.pod, user, 0)
    assert made.plugin.filter(state, made.pod, made.nodes()).passed.all()
    made.plugin.add_pod(state, made.pod, user, 0)
    assert not made.plugin.filter(state, made.pod, made.nodes()).passed.any()


def test_a_missing_claim() -> None:
    status = make_bench(VolumeRestrictions, [make_node().obj()], with_claims("data")).pre_filter()
    assert (status.code.go_name, status.message) == (
        "UnschedulableAndUnresolvable",
        'persistentvolumeclaim "data" not found',
    )
