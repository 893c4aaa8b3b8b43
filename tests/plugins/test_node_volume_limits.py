from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.plugins.lib.volumes import volume_handle, zones_by_label
from ksched_cli.plugins.node_volume_limits import NodeVolumeLimits
from ksched_cli.releases.minors import RELEASES
from tests.builders import make_node, make_pod
from tests.harness import Bench, make_bench
from tests.lanes import examples
from tests.plugins.storage import (
    attachment,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    volume,
    with_claims,
    with_volumes,
)

EXCEEDED = ("Unschedulable", ("node(s) exceed max volume count",))
CLAIMS = [claim(name, volume=f"pv-{name}") for name in "abc"]
VOLUMES = [volume(f"pv-{name}", handle=f"h-{name}") for name in "abc"]


def bench(pod: Any, running: list[Any], *objects: Any) -> Bench:
    return make_bench(NodeVolumeLimits, [make_node("n").obj()], pod, running, objects=[*CLAIMS, *VOLUMES, *objects])


@pytest.mark.parametrize(
    ("wanted", "running", "objects", "exceeded"),
    [
        pytest.param("a", "", [csi_node("n", 1)], False, id="up to the limit"),
        pytest.param("ab", "", [csi_node("n", 1)], True, id="two at once over the limit"),
        pytest.param("a", "b", [csi_node("n", 1)], True, id="another pod's volume counts"),
        pytest.param("a", "a", [csi_node("n", 1)], False, id="a volume counts once for all its pods"),
        pytest.param("a", "", [csi_node("n", 0), volume("pv-a", csi={"driver": "csi.example", "volumeHandle": ""})],
                     False, id="a volume without a handle"),
        pytest.param("ab", "", [csi_node("n", None)], False, id="a driver without a limit"),
        pytest.param("ab", "", [], False, id="a node without CSINode"),
        pytest.param("a", "", [csi_node("n", 0)], True, id="a limit of none"),
        pytest.param("ab", "", [csi_node("n", 1, "other")], False, id="another driver's limit"),
        pytest.param("a", "", [csi_node("n", 1), attachment("x", "n", "pv-b")], True, id="an attachment counts"),
        pytest.param("a", "b", [csi_node("n", 2), attachment("x", "n", "pv-b")], False, id="attached by a known pod"),
        pytest.param("a", "", [csi_node("n", 1), attachment("x", "m", "pv-b")], False, id="attached elsewhere"),
        pytest.param("a", "", [csi_node("n", 1), attachment("w", "n", "gone"), attachment("x", "n", "pv-b")], True,
                     id="after the attachment of a volume that is gone"),
        pytest.param("a", "", [csi_node("n", 1), volume("nfs", nfs={}), attachment("w", "n", "nfs")], False,
                     id="attached without CSI"),
    ],
)  # fmt: skip
def test_limits(wanted: str, running: str, objects: list[Any], exceeded: bool) -> None:
    others = [with_claims(*running, pod="r", node="n")] if running else []
    assert bench(with_claims(*wanted), others, *objects).statuses() == ({"n": EXCEEDED} if exceeded else {})


def test_an_unbound_claim_counts_for_the_driver_of_its_class() -> None:
    objects = [claim("d"), claim("e"), storage_class(), csi_node("n", 1)]
    assert bench(with_claims("d"), [], *objects).statuses() == {}
    assert bench(with_claims("d", "e"), [], *objects).statuses() == {"n": EXCEEDED}


EBS, THIS, OTHER = "ebs.csi.aws.com", "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"


@pytest.mark.parametrize(
    ("minor", "gates", "node", "exceeded"),
    [
        pytest.param("1.36", "", csi_node("n", 1, EBS), True, id="any CSINode will do"),
        pytest.param("1.36", "", csi_node("n", 1, EBS, OTHER), True, id="whatever it lists"),
        pytest.param("1.36", "", csi_node("other", 1, EBS, THIS), False, id="no CSINode"),
        pytest.param("1.27", "", csi_node("n", 1, EBS), True, id="since its gate is gone"),
        pytest.param("1.26", "", csi_node("n", 1, EBS), False, id="before that it had to be listed"),
        pytest.param("1.26", "", csi_node("n", 1, EBS, THIS), True, id="and it was"),
        pytest.param("1.26", "", csi_node("n", 1, EBS, OTHER), False, id="another was"),
        pytest.param("1.24", "CSIMigrationAWS=false", csi_node("n", 1, EBS, THIS), False, id="its gate is off"),
        pytest.param("1.24", "CSIMigration=false", csi_node("n", 1, EBS, THIS), False, id="the gate of all is off"),
    ],
)
def test_an_in_tree_disk_counts_where_its_driver_has_taken_over(
    minor: str, gates: str, node: Any, exceeded: bool
) -> None:
    """In claims: disks that the pod names itself count since 1.25."""
    claims = [claim(name, volume=f"disk-{name}") for name in "ab"]
    disks = [volume(f"disk-{name}", awsElasticBlockStore={"volumeID": f"aws://z/{name}"}) for name in "ab"]
    made = make_bench(
        NodeVolumeLimits,
        [make_node("n").obj()],
        with_claims("a", "b"),
        objects=[*claims, *disks, node],
        gates=gates,
        current=RELEASES[minor],
    )
    assert made.statuses() == ({"n": EXCEEDED} if exceeded else {})


@pytest.mark.parametrize(("migrated", "exceeded"), [(THIS, True), ("", False)], ids=["migrated", "not migrated"])
def test_a_disk_that_the_pod_names_itself_counts_where_it_is_migrated(migrated: str, exceeded: bool) -> None:
    disks = [{"name": name, "awsElasticBlockStore": {"volumeID": f"aws://z/{name}"}} for name in "ab"]
    pod = with_volumes({"name": "scratch", "emptyDir": {}}, *disks)
    objects = [csi_node("n", 1, EBS, migrated)]
    made = make_bench(NodeVolumeLimits, [make_node("n").obj()], pod, objects=objects, current=RELEASES["1.26"])
    assert made.statuses() == ({"n": EXCEEDED} if exceeded else {})


@pytest.mark.parametrize(("minor", "exceeded"), [("1.31", True), ("1.32", False)])
def test_up_to_1_31_the_node_could_announce_a_limit(minor: str, exceeded: bool) -> None:
    nodes = [make_node("n").allocatable(**{"attachable-volumes-csi-csi.example": "1"}).obj(), make_node("m").obj()]
    made = make_bench(
        NodeVolumeLimits, nodes, with_claims("a", "b"), objects=[*CLAIMS, *VOLUMES], current=RELEASES[minor]
    )
    assert made.statuses() == ({"n": EXCEEDED} if exceeded else {})


def test_a_missing_claim() -> None:
    assert bench(with_claims("zz"), []).statuses() == {
        "n": (
            "UnschedulableAndUnresolvable",
            ('looking up PVC default/zz: persistentvolumeclaim "zz" not found',),
        )
    }


def test_a_running_pods_missing_claim_is_passed_over() -> None:
    assert bench(with_claims("a"), [with_claims("zz", pod="r", node="n")], csi_node("n", 1)).statuses() == {}


def test_somebody_elses_claim_under_an_ephemeral_volumes_name_is_an_error() -> None:
    pod = with_volumes({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    made = bench(pod, [], claim("pod-v"))
    message = "PVC default/pod-v was not created for pod default/pod (pod is not owner)"
    assert made.statuses() == {"n": ("Error", (message,))}


@pytest.mark.parametrize(
    ("limit", "rejected"), [pytest.param(9, True, id="a limit"), pytest.param(None, False, id="no limit")]
)
def test_claims_of_running_pods_are_followed_where_there_is_a_limit(limit: int | None, rejected: bool) -> None:
    running = with_volumes({"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, pod="r", node="n")
    made = bench(with_claims("a"), [running], claim("r-v"), csi_node("n", limit))
    assert (made.statuses() != {}) is rejected


@pytest.mark.parametrize(
    ("gates", "driver", "node", "old", "new"),
    [
        pytest.param("VolumeLimitScaling=true", csi_driver(keeps_away=True), [], True, True, id="no CSINode"),
        pytest.param("VolumeLimitScaling=true", csi_driver(keeps_away=True), [csi_node("n", None, "other")], True, True, id="other only"),
        pytest.param("VolumeLimitScaling=true", csi_driver(keeps_away=True), [csi_node("n", None)], False, False, id="installed"),
        pytest.param("VolumeLimitScaling=true", csi_driver(), [], False, False, id="the driver does not ask for it"),
        pytest.param("", csi_driver(keeps_away=True), [], False, True, id="the default"),
        pytest.param("VolumeLimitScaling=false", csi_driver(keeps_away=True), [], False, False, id="the gate is off"),
    ],
)  # fmt: skip
def test_a_driver_may_keep_pods_away_from_nodes_without_it(
    gates: str, driver: Any, node: Any, old: bool, new: bool
) -> None:
    """The gate is on by default in 1.37."""
    objects = [*CLAIMS, *VOLUMES, driver, *node]
    reason = ("Unschedulable", ("csi.example CSI driver is not installed on the node",))
    for minor, rejected in (("1.36", old), ("1.37", new)):
        nodes, current = [make_node("n").obj()], RELEASES[minor]
        made = make_bench(NodeVolumeLimits, nodes, with_claims("a"), objects=objects, gates=gates, current=current)
        assert made.statuses() == ({"n": reason} if rejected else {}), minor


def test_in_1_35_every_driver_kept_pods_away_from_nodes_without_it() -> None:
    node, pod = make_node("n").obj(), with_claims("a")
    for driver, rejected in ((csi_driver(), True), (csi_driver("another"), False)):
        objects = [*CLAIMS, *VOLUMES, driver]
        made = make_bench(
            NodeVolumeLimits, [node], pod, objects=objects, gates="VolumeLimitScaling=true", current=RELEASES["1.35"]
        )
        assert bool(made.statuses()) is rejected


def test_skips_a_pod_without_such_volumes() -> None:
    assert bench(make_pod().obj(), []).pre_filter().skipped


def test_explain_gives_the_counts() -> None:
    made = bench(with_claims("a", "b"), [with_claims("c", pod="r", node="n")], csi_node("n", 2))
    found = made.plugin.explain(None, made.pod, made.nodes(), 0)
    assert found == {"csi.example": {"limit": 2, "attached": 1, "new": 2}}


names = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)
hosts = st.sampled_from(("n", "m"))


@pytest.mark.slow
@given(
    names,
    st.lists(st.tuples(hosts, names), max_size=3),
    st.lists(st.tuples(hosts, st.sampled_from("abc")), max_size=3, unique=True),
    st.dictionaries(hosts, st.one_of(st.none(), st.integers(0, 3))),
    st.lists(st.sampled_from(("csi.example", "csi.other")), min_size=3, max_size=3),
)
@settings(max_examples=examples(300), deadline=None)
def test_agrees_with_a_reading_of_the_rule_node_by_node(
    wanted: list[str],
    running: list[tuple[str, list[str]]],
    attached: list[tuple[str, str]],
    limits: dict[str, int | None],
    drivers: list[str],
) -> None:
    """Of one driver's volumes no more are on a node than it says; a node's limit is for csi.example only."""
    driver_of = dict(zip("abc", drivers, strict=True))
    volumes = [volume(f"pv-{name}", csi={"driver": driver_of[name], "volumeHandle": f"h-{name}"}) for name in "abc"]
    made = make_bench(
        NodeVolumeLimits,
        [make_node("n").obj(), make_node("m").obj()],
        with_claims(*wanted),
        [with_claims(*mounted, pod=f"r{index}", node=node) for index, (node, mounted) in enumerate(running)],
        objects=[
            *CLAIMS,
            *volumes,
            *(csi_node(node, limit) for node, limit in limits.items()),
            *(attachment(f"{node}-{name}", node, f"pv-{name}", driver_of[name]) for node, name in attached),
        ],
    )
    expected = {}
    for node, limit in limits.items():
        by_pods = {name for where, mounted in running if where == node for name in mounted}
        new = {name for name in wanted if driver_of[name] == "csi.example"} - by_pods
        there = by_pods | {name for where, name in attached if where == node}
        used = {name for name in there if driver_of[name] == "csi.example"}
        if limit is not None and new and len(used) + len(new) > limit:
            expected[node] = EXCEEDED
    assert made.statuses() == expected


ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("source", "labels", "handle"),
    [
        pytest.param({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, "vol-1", id="AWS"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, {}, "vol-1", id="AWS with the zone"),
        pytest.param({"azureDisk": {"diskName": "d", "diskURI": "/d"}}, {}, "/d", id="Azure"),
        pytest.param({"cinder": {"volumeID": "c"}}, {}, "c", id="Cinder"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, {}, "p", id="Portworx"),
        pytest.param({"nfs": {"server": "s", "path": "/"}}, {}, "", id="a volume without a driver"),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "g"}},
            {},
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/g",
            id="GCE without a zone",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "g"}},
            {ZONE: "eu-1-a"},
            "projects/UNSPECIFIED/zones/eu-1-a/disks/g",
            id="GCE with a zone",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "g"}},
            {ZONE: "eu-1-a__eu-1-b"},
            "projects/UNSPECIFIED/regions/eu-1/disks/g",
            id="GCE with two zones",
        ),
    ],
)
def test_the_name_that_a_driver_has_for_a_disk(source: dict[str, Any], labels: dict[str, str], handle: str) -> None:
    made = volume(labels=labels, **source)
    assert volume_handle(made.spec, zones_by_label(made, RELEASES["1.36"])) == handle


@pytest.mark.parametrize(
    ("minor", "labels", "zones"),
    [
        pytest.param("1.21", {ZONE: "a"}, "a", id="the label"),
        pytest.param("1.20", {ZONE: "a"}, "", id="the label, in a minor that reads the beta label alone"),
        pytest.param("1.20", {BETA_ZONE: "b"}, "b", id="the beta label"),
        pytest.param("1.21", {BETA_ZONE: "b"}, "b", id="the beta label, in a minor that reads both"),
    ],
)
def test_the_zones_of_a_volume(minor: str, labels: dict[str, str], zones: str) -> None:
    assert zones_by_label(volume(labels=labels), RELEASES[minor]) == zones
