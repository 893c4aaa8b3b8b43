from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plugins.volume_restrictions import VolumeRestrictions
from tests.builders import make_node
from tests.harness import Bench, make_bench
from tests.lanes import examples
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
        pytest.param(iscsi("a", True), iscsi("a"), True, id="iscsi: one writes"),
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


@pytest.mark.parametrize(
    ("namespace", "detail"),
    [
        pytest.param("default", {"exclusiveClaims": ["data"], "usedBy": ["default/r"]}, id="used"),
        pytest.param("other", {}, id="a claim of that name in another namespace is used"),
    ],
)
def test_explain_names_who_uses_the_claim_and_who_has_the_disk_on_the_node(
    namespace: str, detail: dict[str, Any]
) -> None:
    user = with_claims("data", pod="r", node="m")
    user.metadata.namespace = namespace
    running = [user, with_volumes(gce("a"), pod="here", node="n"), with_volumes(gce("a"), pod="there", node="m")]
    pod = with_volumes(gce("a"), {"name": "c", "persistentVolumeClaim": {"claimName": "data"}})
    nodes = [make_node("n").obj(), make_node("m").obj()]
    made = make_bench(VolumeRestrictions, nodes, pod, running, objects=[claim(modes=("ReadWriteOncePod",))])
    found = made.plugin.explain(made.state(), made.pod, made.nodes(), 0)
    assert found == {**detail, "disksHeldBy": ["default/here"]}


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


def disks(kind: str, name: str, monitor: str, read_only: bool) -> dict[str, Any]:
    made = {"gce": gce, "ebs": ebs, "iscsi": iscsi}
    return rbd(f"{monitor} m0", name, read_only=read_only) if kind == "rbd" else made[kind](name, read_only)


disk = st.builds(
    disks,
    st.sampled_from(("gce", "ebs", "iscsi", "rbd")),
    st.sampled_from("ab"),
    st.sampled_from(("m0", "m1")),
    st.booleans(),
)
mounts = st.one_of(disk, st.sampled_from(("x", "y", "z")))


def mounting(mounted: list[Any], pod: str, node: str = "") -> Any:
    volumes = [
        {"name": f"v{index}", "persistentVolumeClaim": {"claimName": each}}
        if isinstance(each, str)
        else {**each, "name": f"v{index}"}
        for index, each in enumerate(mounted)
    ]
    return with_volumes(*volumes, pod=pod, node=node)


def same_disk(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Two mounts of a disk that do not go together."""
    (kind,) = one.keys() - {"name"}
    if kind not in other:
        return False
    mine, theirs = one[kind], other[kind]
    if kind == "awsElasticBlockStore":
        return bool(mine["volumeID"] == theirs["volumeID"])
    if mine["readOnly"] and theirs["readOnly"]:
        return False
    if kind == "rbd":
        shared = set(mine["monitors"]) & set(theirs["monitors"])
        return bool(shared) and (mine["pool"], mine["image"]) == (theirs["pool"], theirs["image"])
    name = {"gcePersistentDisk": "pdName", "iscsi": "iqn"}[kind]
    return bool(mine[name] == theirs[name])


@pytest.mark.slow
@given(
    st.lists(mounts, min_size=1, max_size=3, unique_by=str),
    st.lists(st.tuples(st.sampled_from("nm"), st.lists(mounts, min_size=1, max_size=2, unique_by=str)), max_size=4),
    st.sets(st.sampled_from(("x", "y", "z"))),
)
@settings(max_examples=examples(300), deadline=None)
def test_agrees_with_a_reading_of_the_rule_node_by_node(
    wanted: list[Any], running: list[tuple[str, list[Any]]], alone: set[str]
) -> None:
    modes = {name: ("ReadWriteOncePod",) if name in alone else ("ReadWriteMany",) for name in "xyz"}
    made = make_bench(
        VolumeRestrictions,
        [make_node("n").obj(), make_node("m").obj()],
        mounting(wanted, "pod"),
        [mounting(mounted, f"r{index}", node) for index, (node, mounted) in enumerate(running)],
        objects=[claim(name, modes=modes[name]) for name in "xyz"],
    )
    in_use = {each for _, mounted in running for each in mounted if isinstance(each, str)}
    taken = any(isinstance(each, str) and each in alone and each in in_use for each in wanted)
    expected = {}
    for node in "nm":
        there = [each for where, mounted in running if where == node for each in mounted if not isinstance(each, str)]
        if any(same_disk(mine, theirs) for mine in wanted if not isinstance(mine, str) for theirs in there):
            expected[node] = DISK
        elif taken:
            expected[node] = IN_USE
    assert made.statuses() == expected
