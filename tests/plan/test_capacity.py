"""How many more fit, against placing replicas one by one in clusters made afresh."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksched_cli.api.core import ObjectMeta, Pod
from ksched_cli.api.workloads import PriorityClass, ResourceQuota, ResourceQuotaSpec, StatefulSet
from ksched_cli.autoscale.karpenter.decision import PodWithoutNode, Provisioning
from ksched_cli.cluster.cache import Cluster
from ksched_cli.controlplane.admission.chain import Chain
from ksched_cli.controlplane.admission.quantities import Denial
from ksched_cli.framework.status import Code, Status
from ksched_cli.plan.capacity import (
    Capacity,
    NodeRoom,
    PendingCounts,
    Portion,
    _add_nodes_for_pending,
    _NewNodes,
    _ReplicasAhead,
    capacity,
    place_pending,
)
from ksched_cli.plan.results.amounts import Amounts
from ksched_cli.plugins.node_affinity import NodeAffinityReasons
from ksched_cli.plugins.node_resources_fit.guide import NodeResourcesFitReasons
from ksched_cli.simulator import Simulator
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.replicas import Replica, Replicas, Shape
from tests.builders import loaded_of, make_node, make_pod
from tests.cli.inputs import deployment
from tests.clusters import clusters, pods
from tests.harness import make_scheduler, placed
from tests.lanes import examples

ZONE = "topology.kubernetes.io/zone"


def count(
    nodes: list[Any],
    running: list[Pod],
    *shapes: tuple[Any, int],
    limit: int = 100,
    objects: tuple[Any, ...] = (),
    pending_first: bool = True,
) -> Capacity:
    loaded = loaded_of(*nodes, *running, *objects)
    scheduler = make_scheduler(nodes, running, objects=objects)
    pending = place_pending(scheduler) if pending_first else None
    return capacity(scheduler, portions_of(loaded, *shapes), limit=limit, pending=pending)


def portions_of(loaded: Loaded, *shapes: tuple[Any, int]) -> list[tuple[Portion, Replicas]]:
    admission = Chain(loaded)
    return [
        (
            Portion(item.metadata.name, item.metadata.name, many),
            Replicas(Shape(item.metadata.name, item), loaded, admission),
        )
        for item, many in shapes
    ]


def per_node(counted: Capacity) -> dict[str, int]:
    return {room.node: room.count for room in counted.nodes if room.count}


def one_by_one(nodes: list[Any], known: list[Pod], shapes: list[tuple[Pod, int]], limit: int) -> Counter[str]:
    """Each replica in a cluster of its own, where all before it run."""
    on: Counter[str] = Counter()
    turn = [shape for shape, many in shapes for _ in range(many)]
    known = list(known)
    while on.total() < limit:
        replica = copy.deepcopy(turn[on.total() % len(turn)])
        replica.metadata.name = f"more-{on.total()}"
        replica.spec.preemption_policy = "Never"
        scheduler = make_scheduler(copy.deepcopy(nodes), copy.deepcopy([*known, replica]), reuse=False)
        where = placed(scheduler)[f"default/{replica.metadata.name}"]
        if not where:
            break
        replica.spec.node_name = where
        known.append(replica)
        on[where] += 1
    return on


def with_pending_placed(nodes: list[Any], known: list[Pod]) -> list[Pod]:
    """Pending pods on the nodes they get; those that get none are gone."""
    known = copy.deepcopy(known)
    where = placed(make_scheduler(copy.deepcopy(nodes), copy.deepcopy(known)))
    for pod in known:
        pod.spec.node_name = pod.spec.node_name or where[f"default/{pod.metadata.name}"]
    return [pod for pod in known if pod.spec.node_name]


@st.composite
def shaped(draw: st.DrawFn, name: str) -> Pod:
    """A pending pod that may keep its distance from its like."""
    pod = draw(pods(name))
    spread = {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": draw(st.sampled_from((ZONE, "kubernetes.io/hostname"))),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    apart = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": draw(st.sampled_from((ZONE, "disk"))), "labelSelector": {"matchLabels": {"app": "x"}}}
        ]
    }
    builder = make_pod(name).label(app="x")
    builder.spec(
        topologySpreadConstraints=[spread] if draw(st.booleans()) else [],
        affinity={"podAntiAffinity": apart} if draw(st.integers(0, 3)) == 0 else None,
    )
    kind = builder.obj()
    # What a manifest says of priority is for a PriorityClass to say.
    pod.spec.priority = None
    pod.metadata.labels = kind.metadata.labels
    pod.spec.topology_spread_constraints = kind.spec.topology_spread_constraints
    pod.spec.affinity = kind.spec.affinity or pod.spec.affinity
    return pod


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_capacity_equals_placing_replicas_one_by_one(data: st.DataObject) -> None:
    nodes, running, shape = data.draw(clusters(max_nodes=4, max_running=3))
    shape.spec.priority = None
    waiting = [data.draw(pods(f"wait-{index}")) for index in range(data.draw(st.integers(0, 2)))]
    for pod in waiting:
        pod.spec.preemption_policy = "Never"
    if data.draw(st.booleans()):
        shape = data.draw(shaped("new"))
    known = with_pending_placed(nodes, [*running, *waiting])
    expected = one_by_one(nodes, known, [(shape, 1)], limit=9)
    counted = count(nodes, [*running, *waiting], (shape, 1), limit=9)
    assert per_node(counted) == dict(expected)
    assert counted.sets == counted.shapes[0].fits == expected.total()
    assert (counted.end.by == "max") == (expected.total() == 9)
    assert all(amount >= 0 for room in counted.nodes for amount in room.free.values())
    if counted.end.by == "full":
        assert all(room.plugin for room in counted.nodes)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(80), deadline=None)
def test_a_mix_equals_placing_its_sets_one_by_one(data: st.DataObject) -> None:
    nodes, running, one = data.draw(clusters(max_nodes=3, max_running=2))
    other = data.draw(shaped("other"))
    one.spec.priority = None
    many = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    expected = one_by_one(nodes, running, [(one, many[0]), (other, many[1])], limit=9)
    counted = count(nodes, running, (one, many[0]), (other, many[1]), limit=9)
    assert per_node(counted) == dict(expected)
    assert counted.sets == expected.total() // sum(many)
    assert sum(shape.fits for shape in counted.shapes) == expected.total()


SMALL = make_node("small").allocatable(cpu="2", memory="16Gi", pods=110).obj()
BIG = make_node("big").allocatable(cpu="8", memory="4Gi", pods=110).obj()
SHUT = make_node("shut").taint("dedicated", "x").obj()
WEB = make_pod("web").requests(cpu="1", memory="1Gi").obj()


def test_what_runs_out_first_where_and_what_is_stranded() -> None:
    counted = count([SMALL, BIG, SHUT], [], (WEB, 1))
    assert per_node(counted) == {"small": 2, "big": 4}
    reasons = {room.node: room.reasons for room in counted.nodes if room.plugin}
    assert reasons == {
        "big": ("Insufficient memory",),
        "small": ("Insufficient cpu",),
        "shut": ("node(s) had untolerated taint(s)",),
    }
    assert counted.stranded is not None
    # The node with the taint has room, but not for these: what is free there is not theirs to strand.
    assert counted.stranded.nodes == 2
    assert counted.stranded.free == {"cpu": 4000, "memory": 14 << 30}
    assert counted.stranded.allocatable == {"cpu": 10000, "memory": 20 << 30}
    assert counted.free == {"cpu": 8000, "memory": 30 << 30}
    assert (
        counted.end.message
        == "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) had untolerated taint(s)."
    )


def test_a_node_that_lacks_something_else_too_does_not_run_out() -> None:
    cpu, pods = NodeResourcesFitReasons.insufficient(resource="cpu"), NodeResourcesFitReasons.too_many_pods()
    other = NodeAffinityReasons.unmatched_profile()
    found = [
        NodeRoom.of("n", {}, Amounts(), Status(Code.UNSCHEDULABLE, reasons)).runs_out
        for reasons in ((), (cpu, pods), (cpu, other), (other,))
    ]
    assert found == [(), ("cpu", "pods"), (), ()]


def test_replicas_do_not_preempt() -> None:
    weak = make_pod("weak").requests(cpu="2").priority(-1).on("small").obj()
    strong = make_pod("web").requests(cpu="1").spec(priorityClassName="high").obj()
    high = PriorityClass(ObjectMeta(name="high"), 100)
    counted = count([SMALL], [weak], (strong, 1), objects=(high,))
    assert (counted.sets, counted.end.message) == (0, "0/1 nodes are available: 1 Insufficient cpu.")


def test_pending_pods_come_first_unless_they_are_ignored() -> None:
    waiting = make_pod("waiting").requests(cpu="1500m").priority(-5).obj()
    hopeless = make_pod("hopeless").requests(cpu="100").obj()
    held = make_pod("held").gate("x").obj()
    everything = [waiting, hopeless, held]
    counted = count([SMALL], everything, (WEB, 1))
    assert (counted.sets, counted.pending and counted.pending.placed) == (0, 1)
    assert counted.pending is not None
    assert (counted.pending.unplaced, counted.pending.held_back) == (1, 1)
    leaving, low = make_pod("leaving").terminating().obj(), make_pod("low").requests(cpu="1500m").on("small").obj()
    counted = count([SMALL], [low, leaving, make_pod("high").requests(cpu="2").priority(1).obj()], (WEB, 1))
    assert counted.pending == PendingCounts(preempting=1), "a pod that is being deleted is none of them"
    assert counted.free["cpu"] == 0
    elsewhere = make_pod("elsewhere").requests(cpu="100").status(nominatedNodeName="gone").obj()
    counted = count([SMALL], [elsewhere], (WEB, 1), limit=1)
    assert (counted.sets, counted.free["cpu"]) == (1, 1000), "nominated to a node that is gone"
    ignored = count([SMALL], everything, (WEB, 1), pending_first=False)
    assert (ignored.sets, ignored.pending) == (2, None)


def test_the_bound_ends_what_has_no_end_in_sight() -> None:
    counted = count([SMALL], [], (make_pod("tiny").obj(), 1), limit=7)
    assert (counted.sets, counted.end.by, counted.stranded) == (7, "max", None)
    assert all(room.runs_out is None for room in counted.nodes)


def test_a_bound_within_a_set_leaves_it_incomplete() -> None:
    counted = count([BIG], [], (WEB, 2), (make_pod("tiny").obj(), 1), limit=5)
    assert (counted.sets, [(each.name, each.fits) for each in counted.shapes]) == (1, [("web", 4), ("tiny", 1)])


@pytest.mark.parametrize("pods", [9, 10, 50])
def test_a_quota_ends_a_run_of_copies(pods: int) -> None:
    """Copies that were placed together with the last one that the quota admits are taken back."""
    nodes = [make_node(f"n{index:02}").allocatable(cpu="8", memory="8Gi", pods=9).obj() for index in range(40)]
    quota = ResourceQuota(ObjectMeta(name="few", namespace="default"), ResourceQuotaSpec({"pods": str(pods)}))
    counted = count(nodes, [], (WEB, 1), objects=(quota,))
    assert (counted.sets, counted.end.by, sum(per_node(counted).values())) == (pods, "refused", pods)
    (web,) = counted.shapes
    assert counted.free["cpu"] == 40 * 8000 - pods * web.requests["cpu"]


@pytest.mark.parametrize("limit", [1, 9, 50])
def test_no_more_copies_than_the_limit_take_room(limit: int) -> None:
    nodes = [make_node(f"n{index:02}").allocatable(cpu="8", memory="8Gi", pods=9).obj() for index in range(40)]
    counted = count(nodes, [], (WEB, 1), limit=limit)
    (web,) = counted.shapes
    assert (counted.sets, counted.end.by, sum(per_node(counted).values())) == (limit, "max", limit)
    assert counted.free["cpu"] == 40 * 8000 - limit * web.requests["cpu"]


def test_a_quota_counts() -> None:
    quota = ResourceQuota(ObjectMeta(name="few", namespace="default"), ResourceQuotaSpec({"pods": "3"}))
    counted = count([BIG], [make_pod("there").on("big").obj()], (WEB, 1), objects=(quota,))
    assert (counted.sets, counted.end.by, counted.end.plugin) == (2, "refused", "ResourceQuota")
    assert counted.end.message == "exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3"


@pytest.mark.parametrize(
    ("pod", "end", "message"),
    [
        pytest.param(make_pod("p").gate("wait").obj(), "gated", "waiting for scheduling gates: [wait]", id="held back"),
        pytest.param(make_pod("p").scheduler("mine").obj(), "ignored", 'no profile is named "mine"', id="not ours"),
        pytest.param(
            make_pod("p").spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]).obj(),
            "rejected",
            'persistentvolumeclaim "gone" not found',
            id="turned down as a whole",
        ),
    ],
)
def test_what_never_comes_as_far_as_a_node(pod: Pod, end: str, message: str) -> None:
    counted = count([BIG], [], (pod, 1))
    assert (counted.sets, counted.end.by, counted.end.message, counted.stranded) == (0, end, message, None)


def test_no_nodes_at_all() -> None:
    counted = count([], [], (WEB, 1))
    assert (counted.sets, counted.end.by, counted.nodes) == (0, "full", ())


def test_pods_of_a_stateful_set_have_claims_of_their_own() -> None:
    import msgspec

    item = msgspec.convert(
        {
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
            },
        },
        StatefulSet,
    )
    loaded = loaded_of(make_pod("db-1").obj())
    replicas = Replicas(Shape("db", item), loaded, Chain(loaded))
    made = [replicas.next() for _ in range(3)]
    assert [each.pod.metadata.name for each in made] == ["db-0", "db-2", "db-3"]
    assert [each.objects[0].metadata.name for each in made] == ["data-db-0", "data-db-2", "data-db-3"]
    mounted = [each.pod.spec.volumes[0].persistent_volume_claim for each in made]
    assert [each and each.claim_name for each in mounted] == ["data-db-0", "data-db-2", "data-db-3"]


@pytest.mark.slow
@given(st.data())
@settings(max_examples=examples(40), deadline=None)
def test_each_of_several_manifests_counts_as_by_itself(data: st.DataObject) -> None:
    """They are counted in trials of one cluster, in which the pending pods are placed once."""
    nodes, running, _ = data.draw(clusters(max_nodes=4, max_running=3))
    known = [*running, *(data.draw(pods(f"wait-{index}")) for index in range(data.draw(st.integers(0, 2))))]
    shapes = [data.draw(shaped(f"new-{index}")) for index in range(3)]
    loaded, scheduler = loaded_of(*nodes, *known), make_scheduler(nodes, known)
    pending = place_pending(scheduler)
    for shape in shapes:
        with scheduler.cluster.undo.trial():
            found = capacity(scheduler, portions_of(loaded, (shape, 1)), limit=9, pending=pending)
        assert found == count(nodes, known, (shape, 1), limit=9)


@pytest.mark.slow
def test_copies_of_one_manifest_leave_nothing_behind_for_the_next() -> None:
    """Copies of a Deployment's pod count for the spread constraints by the row of one pod, which goes with its trial."""
    nodes = [make_node(f"n{number}").allocatable(cpu="40", pods=110).obj() for number in range(9)]
    many, few = deployment("many", "1"), deployment("few", "7")
    together = Simulator.load(nodes).capacity([many, few]).capacities
    alone = [Simulator.load(nodes).capacity([each]).capacities[0] for each in (many, few)]
    assert [each.sets for each in together] == [each.sets for each in alone] == [360, 45]
    assert [each.shapes for each in together] == [each.shapes for each in alone]


def test_several_manifests_are_counted_in_one_cluster(built_clusters: list[Cluster]) -> None:
    found = Simulator.load([SMALL]).capacity(WEB, make_pod("db").requests(cpu="500m").obj())
    assert [each.sets for each in found.capacities] == [2, 4]
    assert len(built_clusters) == 1


# With an autoscaler


def replicas_of(*names: str, denied: str = "") -> Any:
    """Replicas with these names, the last of which admission refuses if `denied` is its reason."""
    made = [Replica(make_pod(name).obj()) for name in names]
    if denied:
        made[-1].denial = Denial("ResourceQuota", denied)
    return iter(made)


def names_of(found: Iterable[Replica]) -> list[str]:
    return [each.pod.metadata.name for each in found]


class Maker:
    def __init__(self, replicas: Any) -> None:
        self.next = replicas.__next__


def test_replicas_ahead_are_taken_later() -> None:
    found = _ReplicasAhead(Maker(replicas_of("a", "b", "c", "d")))  # type: ignore[arg-type]
    assert names_of([found.next()]) == ["a"]
    assert names_of(found.ahead(2)) == ["b", "c"]
    assert names_of(found.ahead(1)) == ["b"]
    assert names_of(found.next() for _ in range(3)) == ["b", "c", "d"]


def test_replicas_ahead_end_with_one_that_is_refused() -> None:
    found = _ReplicasAhead(Maker(replicas_of("a", "b", "c", denied="quota")))  # type: ignore[arg-type]
    assert names_of(found.ahead(9)) == ["a", "b"]
    assert names_of(found.ahead(9)) == ["a", "b"]
    assert names_of(found.next() for _ in range(3)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("limit", "placed", "added", "asked"),
    [
        pytest.param(9, ["p"], 1, ["p", "w", "a0", "a1", "a2", "a3", "b0", "b1"], id="two of three are a"),
        pytest.param(4, ["p"], 0, ["p", "w", "a0"], id="up to the limit"),
        pytest.param(2, ["p"], 1, ["p", "w"], id="the last one"),
    ],
)
def test_nodes_are_asked_for_all_replicas_up_to_the_limit(
    limit: int, placed: list[str], added: int, asked: list[str]
) -> None:
    nodes, seen = ["n"], list[str]()

    def pass_for(more: dict[type, list[Any]]) -> None:
        assert list(more) == [Pod]
        seen.extend(each.metadata.name for each in more[Pod])

    controller = SimpleNamespace(pass_for=pass_for)
    run: Any = SimpleNamespace(
        world=SimpleNamespace(cluster=SimpleNamespace(nodes=nodes)),
        source=SimpleNamespace(autoscaler=SimpleNamespace(controller_in=lambda world: controller)),
        until_rest=lambda: nodes.extend(["new"] * added),
    )
    portions: Any = [
        (Portion(name, name, many), _ReplicasAhead(Maker(replicas_of(*(f"{name}{at}" for at in range(9))))))  # type: ignore[arg-type]
        for name, many in (("a", 2), ("b", 1))
    ]
    waiting, *before = replicas_of("w", *placed)
    assert _NewNodes(run, portions, limit).add(waiting, before) is bool(added)
    assert seen[:2] == asked[:2]
    assert sorted(seen) == sorted(asked)


def test_one_replica_stands_for_all_that_no_pool_takes() -> None:
    unplaced = [PodWithoutNode(pod, "solve", "m") for pod in ("default/new-1", "default/known", "default/new-2")]
    found = Provisioning(unplaced=unplaced, not_considered=["x"], elsewhere={"a": "n"})
    loaded = loaded_of(make_pod("known").obj())
    run: Any = SimpleNamespace(provisioned=lambda: found, source=SimpleNamespace(loaded=loaded))
    result = _NewNodes(run, [], 1).result()
    assert result == Provisioning(unplaced=[unplaced[1], unplaced[0]])
    run.provisioned = lambda: None
    assert _NewNodes(run, [], 1).result() is None


def test_pending_pods_get_nodes_first() -> None:
    queue = [SimpleNamespace(gated=gated) for gated in (False, False, False, True)]
    loop = SimpleNamespace(queue=queue)
    run: Any = SimpleNamespace(world=SimpleNamespace(loop=loop), until_rest=lambda: queue.pop(0))
    assert _add_nodes_for_pending(run) == PendingCounts(placed=1, unplaced=2, held_back=1)
    run.until_rest = lambda: queue.append(SimpleNamespace(gated=False))
    assert _add_nodes_for_pending(run) == PendingCounts(placed=0, unplaced=3, held_back=1)
