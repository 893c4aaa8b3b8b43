from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.api.core import LabelSelector, LabelSelectorRequirement, ObjectMeta
from ksched_cli.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from ksched_cli.plugins.lib.volumes import SELECTED_NODE, is_bound_to
from ksched_cli.plugins.volume_binding import VolumeBinding
from ksched_cli.releases.minors import RELEASES, nearest_release
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench, make_scheduler, placed
from tests.lanes import examples
from tests.plugins.plain_volume_binding import PlainVolumeBinding
from tests.plugins.storage import claim, csi_driver, pool, storage_class, volume, with_claims, with_volumes

AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
BIND = "node(s) didn't find available persistent volumes to bind"
SPACE = "node(s) did not have enough free storage"
EXISTS = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

STATIC = storage_class(provisioner="kubernetes.io/no-provisioner")
DYNAMIC = storage_class()
NODES = [make_node("a").zone("a").obj(), make_node("b").zone("b").obj()]


def in_zones(*zones: str) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": list(zones)}]}


def unreadable(zone: str) -> CSIStorageCapacity:
    made = pool(zone, "9Gi")
    operator = LabelSelectorRequirement("topology.kubernetes.io/zone", "Like", (zone,))
    return replace(made, metadata=ObjectMeta("odd", "default"), node_topology=LabelSelector({}, (operator,)))


def bench(pod: Any, *objects: Any, minor: str = "1.36", gates: str = "") -> Bench:
    return make_bench(VolumeBinding, NODES, pod, objects=objects, current=RELEASES[minor], gates=gates)


def reasons(made: Bench) -> dict[str, tuple[str, ...]]:
    statuses = made.statuses()
    assert {code for code, _ in statuses.values()} <= {"UnschedulableAndUnresolvable"}
    return {name: texts for name, (_, texts) in statuses.items()}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([claim(volume="pv"), volume()], {}, id="bound: a volume for every node"),
        pytest.param([claim(volume="pv"), volume(zone="a")], {"b": (AFFINITY,)}, id="bound: elsewhere"),
        pytest.param([claim(volume="pv")], {"a": (EXISTS,), "b": (EXISTS,)}, id="bound: the volume is gone"),
        pytest.param([claim(), STATIC, volume(zone="a")], {"b": (BIND,)}, id="static: the only volume is elsewhere"),
        pytest.param([claim(size="2Gi"), STATIC, volume()], {"a": (BIND,), "b": (BIND,)}, id="static: too small"),
        pytest.param(
            [claim(), STATIC, volume(phase="Bound")], {"a": (BIND,), "b": (BIND,)}, id="static: not available"
        ),
        pytest.param([claim(), STATIC, volume(cls="x")], {"a": (BIND,), "b": (BIND,)}, id="static: another class"),
        pytest.param(
            [claim(), STATIC, volume(volumeMode="Block")], {"a": (BIND,), "b": (BIND,)}, id="static: another mode"
        ),
        pytest.param(
            [claim(), STATIC, volume(modes=("ReadOnlyMany",))],
            {"a": (BIND,), "b": (BIND,)},
            id="static: another access mode",
        ),
        pytest.param(
            [claim(selector={"matchLabels": {"k": "v"}}), STATIC, volume()],
            {"a": (BIND,), "b": (BIND,)},
            id="static: not selected",
        ),
        pytest.param(
            [claim(), STATIC, volume(owner="data", phase="Pending", zone="a"), volume("other")],
            {"b": (BIND,)},
            id="static: a volume made for the claim is the only one it may have",
        ),
        pytest.param([claim(), STATIC, volume(owner="else")], {"a": (BIND,), "b": (BIND,)}, id="static: promised"),
        pytest.param([claim(), DYNAMIC], {}, id="dynamic: made anywhere"),
        pytest.param(
            [
                claim(),
                storage_class(allowedTopologies=[in_zones("b")]),
            ],
            {"a": (BIND,)},
            id="dynamic: allowed topologies",
        ),
        pytest.param(
            [claim(), storage_class(allowedTopologies=[{}, in_zones("b")])],
            {"a": (BIND,)},
            id="dynamic: an empty topology before another allows nothing",
        ),
        pytest.param(
            [claim(), storage_class(allowedTopologies=[{}])],
            {"a": (BIND,), "b": (BIND,)},
            id="dynamic: an empty topology alone",
        ),
        pytest.param(
            [claim(), storage_class(allowedTopologies=[in_zones("c"), in_zones("a")])],
            {"b": (BIND,)},
            id="dynamic: the second of two topologies",
        ),
        pytest.param([claim(), DYNAMIC, csi_driver()], {"a": (SPACE,), "b": (SPACE,)}, id="dynamic: nothing published"),
        pytest.param(
            [claim(), DYNAMIC, csi_driver(), unreadable("a"), pool("b", "1Gi")],
            {"a": (SPACE,)},
            id="dynamic: a pool whose topology cannot be read, before one that can",
        ),
        pytest.param(
            [claim(), DYNAMIC, csi_driver(), pool("a", None), pool("b", "1Gi")],
            {"a": (SPACE,)},
            id="dynamic: a pool without a capacity",
        ),
        pytest.param(
            [claim(), DYNAMIC, csi_driver(), pool("a", None, "9Gi")],
            {"b": (SPACE,)},
            id="dynamic: a pool that tells its largest volume alone",
        ),
        pytest.param([claim(), DYNAMIC, csi_driver(publishes=False)], {}, id="dynamic: the driver does not publish"),
        pytest.param([claim(), DYNAMIC, csi_driver(), pool("a", "1Gi")], {"b": (SPACE,)}, id="dynamic: enough in a"),
        pytest.param(
            [claim(), DYNAMIC, csi_driver(), pool("a", "9Gi", "500Mi")],
            {"a": (SPACE,), "b": (SPACE,)},
            id="dynamic: the largest volume is what counts",
        ),
        pytest.param([claim(annotations={SELECTED_NODE: "b"}), DYNAMIC], {"a": (BIND,)}, id="promised to a node"),
        pytest.param(
            [claim(annotations={SELECTED_NODE: "b"}), DYNAMIC, csi_driver()],
            {"a": (BIND,), "b": (SPACE,)},
            id="promised to a node without the space",
        ),
    ],
)
def test_filter(objects: list[Any], expected: dict[str, tuple[str, ...]]) -> None:
    assert reasons(bench(with_claims("data"), *objects)) == expected


def test_reasons_add_up_in_order() -> None:
    objects = [claim("x", volume="gone"), claim("y", volume="pv"), volume(zone="a", owner="y"), claim("z"), STATIC]
    assert reasons(bench(with_claims("y", "x", "z"), *objects)) == {"a": (BIND, EXISTS), "b": (AFFINITY, BIND)}


def test_the_smallest_claim_takes_the_smallest_volume() -> None:
    objects = [
        STATIC,
        claim("big", size="5Gi"),
        claim("small"),
        volume("v5", size="5Gi", zone="a"),
        volume("v1", zone="a"),
    ]
    assert reasons(bench(with_claims("big", "small"), *objects)) == {"b": (BIND,)}


def test_a_volume_is_given_out_once() -> None:
    objects = [STATIC, claim("x"), claim("y"), volume(zone="a"), volume("pv2", zone="b")]
    assert reasons(bench(with_claims("x", "y"), *objects)) == {"a": (BIND,), "b": (BIND,)}


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="missing"),
        pytest.param(
            [claim(volume="pv", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
            id="lost",
        ),
        pytest.param(
            [claim(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "data" is being deleted',
            id="being deleted",
        ),
        pytest.param([claim()], "pod has unbound immediate PersistentVolumeClaims", id="class is missing"),
        pytest.param(
            [claim(), storage_class(mode="Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="immediate",
        ),
        pytest.param(
            [claim(volumeName="pv"), DYNAMIC], "pod has unbound immediate PersistentVolumeClaims", id="not bound yet"
        ),
    ],
)
def test_pods_that_no_node_can_help(objects: list[Any], message: str) -> None:
    status = bench(with_claims("data"), *objects).pre_filter()
    assert (status.code.go_name, status.message) == ("UnschedulableAndUnresolvable", message)


EPHEMERAL = with_volumes({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param(
            [], 'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-v"', id="missing"
        ),
        pytest.param(
            [claim("pod-v")], "PVC default/pod-v was not created for pod default/pod (pod is not owner)", id="foreign"
        ),
    ],
)
def test_ephemeral_volumes(objects: list[Any], message: str) -> None:
    assert bench(EPHEMERAL, *objects).pre_filter().message == message


def test_the_claim_of_an_ephemeral_volume_is_a_claim_like_any_other() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid-pod", "controller": True}
    mine = claim("pod-v", volume="pv", meta={"ownerReferences": [owner]})
    assert reasons(bench(EPHEMERAL, mine, volume(zone="b"))) == {"a": (AFFINITY,)}


def test_no_class_to_provision_from_is_an_error() -> None:
    made = bench(with_claims("data"), claim(annotations={SELECTED_NODE: "a"}), DYNAMIC)
    state = made.state()
    made.cluster.catalog.remove(DYNAMIC)
    assert made.plugin.filter(state, made.pod, made.nodes()).status(0).message == 'failed to find storage class "late"'


def test_a_claim_without_a_class_is_an_error() -> None:
    made = bench(with_claims("data"), claim(annotations={SELECTED_NODE: "a"}), DYNAMIC)
    state = made.state()
    (waiting,) = state.claims.delayed
    waiting.spec.storage_class_name = ""
    assert made.plugin.filter(state, made.pod, made.nodes()).status(0).message == 'no class for claim "default/data"'


LOCAL = {"path": "/disk"}


def on_hosts(*hosts: str, operator: str = "In") -> dict[str, Any]:
    requirement = {"key": "kubernetes.io/hostname", "operator": operator, "values": list(hosts)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


@pytest.mark.parametrize(
    ("minor", "volumes", "names"),
    [
        pytest.param("1.31.1", [volume("x", local=LOCAL, nodeAffinity=on_hosts("a"))], {"a"}, id="a local volume"),
        pytest.param(
            "1.31.1",
            [volume("x"), volume("y", local=LOCAL, nodeAffinity=on_hosts("a"))],
            {"a"},
            id="another volume first",
        ),
        pytest.param(
            "1.31.1",
            [
                volume("x", local=LOCAL, nodeAffinity=on_hosts("a", "b")),
                volume("y", local=LOCAL, nodeAffinity=on_hosts("b", "c")),
            ],
            {"b"},
            id="two local volumes",
        ),
        pytest.param("1.31.1", [volume("x", nodeAffinity=on_hosts("a"))], None, id="a volume that is not local"),
        pytest.param("1.31.1", [volume("x", local=LOCAL)], None, id="a local volume without an affinity"),
        pytest.param(
            "1.31.1",
            [volume("x", local=LOCAL, nodeAffinity=on_hosts("a", operator="NotIn"))],
            None,
            id="another operator",
        ),
        pytest.param("1.31.3", [volume("x", local=LOCAL, nodeAffinity=on_hosts("a"))], None, id="a later patch"),
        pytest.param("1.32", [volume("x", local=LOCAL, nodeAffinity=on_hosts("a"))], None, id="a later minor"),
    ],
)
def test_local_volumes_narrow_the_nodes(minor: str, volumes: list[Any], names: set[str] | None) -> None:
    """Up to 1.31.2. A node that is not named is not tried."""
    claims = [claim(each.metadata.name, volume=each.metadata.name) for each in volumes]
    release = nearest_release(minor)
    pod = with_claims(*(each.metadata.name for each in volumes))
    answer = make_bench(VolumeBinding, NODES, pod, objects=[*claims, *volumes], current=release).pre_filter()
    assert answer.node_names == names


def test_a_missing_volume_leaves_all_nodes_open() -> None:
    objects = [claim("x", volume="gone"), claim("y", volume="y"), volume("y", local=LOCAL, nodeAffinity=on_hosts("a"))]
    for names in (("x", "y"), ("y", "x")):
        made = make_bench(VolumeBinding, NODES, with_claims(*names), objects=objects, current=nearest_release("1.30.6"))
        assert made.pre_filter().node_names is None


def test_explain_tells_missing_and_unreachable_volumes_apart() -> None:
    objects = [claim("x", volume="gone"), claim("y", volume="y"), claim("z"), DYNAMIC, volume("y", zone="b")]
    made = bench(with_claims("x", "y", "z"), *objects)
    explained = {name: made.plugin.explain(made.state(), made.pod, made.nodes(), row) for row, name in enumerate("ab")}
    assert explained["a"] == {"missing": {"x": "gone"}, "unreachable": {"y": "y"}, "waitingForNode": ["z"]}
    assert explained["b"] == {"missing": {"x": "gone"}, "waitingForNode": ["z"]}
    assert made.plugin.explain(None, made.pod, made.nodes(), 0) == {}


@pytest.mark.parametrize(
    ("ref", "bound"),
    [
        pytest.param({"name": "data", "namespace": "default"}, True, id="by name"),
        pytest.param({"name": "data", "namespace": "default", "uid": "uid-data"}, True, id="by name and uid"),
        pytest.param({"name": "data", "namespace": "default", "uid": "uid-old"}, False, id="to a claim that is gone"),
        pytest.param({"name": "data", "namespace": "other"}, False, id="in another namespace"),
        pytest.param({"name": "logs", "namespace": "default"}, False, id="to another claim"),
        pytest.param(None, False, id="to none"),
    ],
)
def test_which_claim_a_volume_is_bound_to(ref: dict[str, str] | None, bound: bool) -> None:
    assert is_bound_to(volume(**({"claimRef": ref} if ref else {})), claim()) is bound


def test_skips_a_pod_without_claims() -> None:
    assert bench(make_pod().obj()).pre_filter().skipped


def test_a_reservation_binds_and_promises_and_can_be_taken_back() -> None:
    other = storage_class("other")
    objects = [STATIC, other, claim("x"), claim("y", cls="other"), volume(zone="a")]
    made = bench(with_claims("x", "y"), *objects)
    state, catalog = made.state(), made.cluster.catalog

    def seen() -> tuple[str, str | None]:
        bound, promised = catalog.get(PersistentVolume, "pv"), catalog.get(PersistentVolumeClaim, "y", "default")
        assert bound is not None
        assert promised is not None
        ref = bound.spec.claim_ref
        return (ref.name if ref else "", promised.metadata.annotations.get(SELECTED_NODE))

    assert made.plugin.reserve(state, made.pod, 0).ok
    assert seen() == ("x", "a")
    made.plugin.unreserve(state, made.pod, 0)
    assert seen() == ("", None)


def test_a_later_pod_sees_what_an_earlier_one_took() -> None:
    objects = [STATIC, claim("x"), claim("y"), volume("va", zone="a"), volume("vb", size="2Gi", zone="b")]
    pods = [with_claims("x", pod="p1"), with_claims("y", pod="p2")]
    assert placed(make_scheduler(NODES, pods, objects=objects)) in (
        {"default/p1": "a", "default/p2": "b"},
        {"default/p1": "b", "default/p2": "a"},
    )


ZONES = st.sampled_from(["a", "b", None])
SIZES = st.sampled_from(["1Gi", "2Gi", "3Gi"])
NAMES = ("c0", "c1", "c2")


@st.composite
def storage(draw: st.DrawFn) -> list[Any]:
    volumes = [
        volume(
            f"v{index}",
            size=draw(SIZES),
            zone=draw(ZONES),
            cls=draw(st.sampled_from(["late", "made"])),
            phase=draw(st.sampled_from(["Available", "Available", "Released"])),
            owner=draw(st.sampled_from([None, None, *NAMES])),
        )
        for index in range(draw(st.integers(0, 5)))
    ]
    claims = [
        claim(
            name,
            size=draw(SIZES),
            volume=draw(st.sampled_from(["", "", "v0", "gone"])),
            cls=draw(st.sampled_from(["late", "made"])),
            annotations=draw(st.sampled_from([{}, {}, {SELECTED_NODE: "a"}])),
        )
        for name in NAMES
    ]
    pools = [pool(zone, draw(SIZES), cls="made") for zone in draw(st.sets(st.sampled_from("ab")))]
    return [STATIC, storage_class("made"), csi_driver(publishes=draw(st.booleans())), *volumes, *claims, *pools]


@pytest.mark.slow
@given(storage(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
@settings(max_examples=examples(300), deadline=None)
def test_agrees_with_a_reading_of_the_rule_node_by_node(objects: list[Any], names: list[str]) -> None:
    made = bench(with_claims(*names), *objects)
    plain = PlainVolumeBinding(objects)
    expected = {node.metadata.name: plain.reasons(names, node) for node in NODES}
    assert reasons(made) == {name: texts for name, texts in expected.items() if texts}


@given(storage(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), st.integers(0, 1))
@settings(max_examples=examples(100), deadline=None)
def test_the_answer_for_a_node_does_not_depend_on_the_others(objects: list[Any], names: list[str], row: int) -> None:
    made = bench(with_claims(*names), *objects)
    whole, one = made.verdict(), made.verdict([row])
    assert whole is not None
    assert one is not None
    assert one.status(0) == whole.status(row)


@pytest.mark.parametrize(
    ("minor", "gates", "compared"),
    [
        pytest.param("1.36", "", True, id="now"),
        pytest.param("1.34", "VolumeAttributesClass=false", False, id="off"),
        pytest.param("1.33", "", False, id="off by default"),
        pytest.param("1.33", "VolumeAttributesClass=true", True, id="on"),
        pytest.param("1.30", "VolumeAttributesClass=true", False, id="before the binder asked"),
    ],
)
def test_the_attributes_class_of_a_claim(minor: str, gates: str, compared: bool) -> None:
    gold = replace(claim(), spec=replace(claim().spec, volume_attributes_class_name="gold"))
    made = bench(with_claims("data"), gold, STATIC, volume(), minor=minor, gates=gates)
    assert bool(made.statuses()) is compared


@pytest.mark.parametrize(
    ("wanted", "offered", "same"),
    [
        pytest.param("gold", "gold", True, id="the same class"),
        pytest.param("gold", "silver", False, id="another class"),
        pytest.param(None, "", True, id="no class, in either form"),
    ],
)
def test_a_volume_has_the_attributes_class_of_its_claim(wanted: str | None, offered: str | None, same: bool) -> None:
    asking = claim(volumeAttributesClassName=wanted)
    made = bench(with_claims("data"), asking, STATIC, volume(volumeAttributesClassName=offered))
    assert (made.statuses() == {}) is same


def test_of_volumes_of_one_size_the_first_by_name_is_taken() -> None:
    made = bench(with_claims("data"), claim(), STATIC, volume("second"), volume("first"))
    state = made.state()
    assert made.statuses() == {}
    assert made.plugin.reserve(state, made.pod, 0).ok
    bound = {each.metadata.name: each.spec.claim_ref for each in made.cluster.catalog.all(PersistentVolume)}
    assert bound["second"] is None
    assert bound["first"] is not None


@pytest.mark.parametrize(
    ("minor", "gates", "looks"),
    [
        pytest.param("1.36", "", True, id="now"),
        pytest.param("1.23", "", True, id="beta"),
        pytest.param("1.23", "CSIStorageCapacity=false", False, id="off"),
    ],
)
def test_the_gate_of_storage_capacity(minor: str, gates: str, looks: bool) -> None:
    made = bench(with_claims("data"), claim(), DYNAMIC, csi_driver(), pool("a", "1Gi"), minor=minor, gates=gates)
    assert set(made.statuses()) == ({"b"} if looks else set())
