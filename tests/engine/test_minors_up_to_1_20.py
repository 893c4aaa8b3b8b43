"""Where 1.20 and the minors before it differ from 1.21, rule by rule, as their sources have it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ksched_cli.api.workloads import PodDisruptionBudget
from ksched_cli.config.load import load_config
from ksched_cli.errors import ConfigError
from ksched_cli.framework.rows import NodeRows
from ksched_cli.legacy.removed import NodeResourcesMostAllocated
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.plugins.lib.resource_scoring import measure_before_1_22
from ksched_cli.plugins.node_affinity import NodeAffinity
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.plugins.volume_binding.placement import largest_volume
from ksched_cli.plugins.volume_zone import VolumeZone
from ksched_cli.releases.minors import RELEASES, nearest_release
from tests.builders import make_node, make_pod, term
from tests.config.test_minors import load, points
from tests.engine.extenders.runs import extender, only, scheduler_with, statuses
from tests.engine.extenders.service import Service
from tests.engine.test_minors import busy, decided, node, persistent
from tests.harness import decide, make_bench, make_scheduler
from tests.plugins.storage import claim, csi_node, pool

HOPELESS = "UnschedulableAndUnresolvable"
HOST = "kubernetes.io/hostname"
NEAR = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "x"}}}


@pytest.mark.parametrize(
    ("minor", "reason"),
    [
        pytest.param("1.19", "node(s) didn't match node selector", id="1.19"),
        pytest.param("1.20", "node(s) didn't match Pod's node affinity", id="1.20"),
        pytest.param("1.21", "node(s) didn't match Pod's node affinity/selector", id="1.21"),
    ],
)
def test_node_selectors(minor: str, reason: str) -> None:
    pod = make_pod().spec(nodeSelector={"disk": "ssd"}).obj()
    made = make_bench(NodeAffinity, [node()], pod, current=RELEASES[minor])
    assert made.statuses() == {"n": (HOPELESS, (reason,))}


@pytest.mark.parametrize(
    ("minor", "reasons"), [("1.17", "1 Insufficient cpu."), ("1.18", "1 Insufficient cpu, 1 Insufficient memory.")]
)
def test_how_many_reasons_a_node_has(minor: str, reasons: str) -> None:
    pod = make_pod("new").requests(cpu="2", memory="2Gi").obj()
    assert decided(minor, [node()], pod).message.startswith(f"0/1 nodes are available: {reasons}")


@pytest.mark.parametrize(
    ("minor", "reason"),
    [
        pytest.param("1.20", "node(s) didn't match the requested hostname", id="1.20"),
        pytest.param("1.21", "node(s) didn't match the requested node name", id="1.21"),
    ],
)
def test_a_node_by_name(minor: str, reason: str) -> None:
    pod = make_pod().spec(nodeName="other").obj()
    assert make_bench(NodeName, [node()], pod, current=RELEASES[minor]).statuses() == {"n": (HOPELESS, (reason,))}


@pytest.mark.parametrize(
    ("minor", "either"),
    [
        pytest.param("1.17", [], id="1.17"),
        pytest.param("1.20", ["node(s) didn't match pod affinity/anti-affinity"], id="1.20"),
        pytest.param("1.21", ["node(s) didn't match pod affinity/anti-affinity rules"], id="1.21"),
    ],
)
def test_pod_affinity(minor: str, either: list[str]) -> None:
    pod = (
        make_pod("new").spec(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR]}}).obj()
    )
    made = make_bench(InterPodAffinity, [make_node("n").label(HOST, "n").obj()], pod, current=RELEASES[minor])
    assert made.statuses() == {"n": (HOPELESS, (*either, "node(s) didn't match pod affinity rules"))}


@pytest.mark.parametrize(("minor", "scores"), [("1.20", {"a": 50, "b": 100}), ("1.21", {"a": 0, "b": 100})])
def test_what_everybody_prefers_counted_from_zero(minor: str, scores: dict[str, int]) -> None:
    """Both nodes have a pod that the new one wants to be near, b has two."""
    nodes = [make_node(name).label(HOST, name).obj() for name in ("a", "b")]
    running = [
        make_pod(f"run-{index}").label("app", "x").on(on).phase("Running").obj() for index, on in enumerate("abb")
    ]
    preferred = [{"weight": 1, "podAffinityTerm": NEAR}]
    pod = make_pod("new").spec(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    made = make_bench(InterPodAffinity, nodes, pod.obj(), running, current=RELEASES[minor])
    assert made.scores(normalized=True) == scores


@pytest.mark.parametrize(
    ("minor", "said"),
    [
        pytest.param("1.20", "for 'Gt', 'Lt' operators, the value must be an integer", id="1.20"),
        pytest.param(
            "1.21",
            "[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an "
            "integer",
            id="1.21",
        ),
    ],
)
def test_a_preference_that_cannot_be_read(minor: str, said: str) -> None:
    pod = make_pod("new").prefers(1, term(("cores", "Gt", ["x"]))).obj()
    found = decided(minor, [node("a"), node("b")], pod)
    assert (found.result, found.message.endswith(f": {said}")) == ("error", True), found.message


def test_up_to_1_20_each_term_that_cannot_be_read_has_one_problem() -> None:
    pod = make_pod("new").prefers(1, term(("a", "Gt", ["x"]), ("b", "In", [])))
    pod.prefers(1, term(("c", "In", []))).prefers(1, term(("d", "Exists", ["y"])))
    found = decided("1.20", [node("a"), node("b")], pod.obj())
    assert found.message.endswith(
        " [for 'Gt', 'Lt' operators, the value must be an integer, for 'in', 'notin' operators, values set can't be "
        "empty, values set must be empty for exists and does not exist]"
    )


FILTER_ALONE = {"plugins": {"preFilter": {"disabled": [{"name": "InterPodAffinity"}]}}}
SCORE_ALONE = {"plugins": {"preScore": {"disabled": [{"name": "InterPodAffinity"}]}}}
NOT_FOUND = "from cycleState: not found"


@pytest.mark.parametrize(
    ("minor", "profile", "said"),
    [
        pytest.param("1.19", FILTER_ALONE, 'running "InterPodAffinity" filter plugin for pod "new": error', id="1.19"),
        pytest.param("1.20", FILTER_ALONE, 'running "InterPodAffinity" filter plugin for pod "new": error', id="1.20"),
        pytest.param("1.21", FILTER_ALONE, 'running "InterPodAffinity" filter plugin: error', id="1.21"),
        pytest.param("1.19", SCORE_ALONE, 'error while running score plugin for pod "new": failed', id="1.19 score"),
        pytest.param("1.20", SCORE_ALONE, 'running Score plugins: plugin "InterPodAffinity" failed', id="1.20 score"),
    ],
)
def test_errors_of_plugins(minor: str, profile: dict[str, Any], said: str) -> None:
    configuration = load(minor, {"profiles": [{"schedulerName": "default-scheduler", **profile}]})
    found = decided(minor, [node("a"), node("b")], make_pod("new").obj(), configuration=configuration)
    assert (found.result, found.message.startswith(said)) == ("error", True), found.message
    assert NOT_FOUND in found.message


MOUNTED = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]


@pytest.mark.parametrize(
    ("minor", "result", "message"),
    [
        pytest.param("1.16", "error", 'persistentvolumeclaim "data" not found', id="1.16"),
        pytest.param("1.19", "error", 'persistentvolumeclaim "data" not found', id="1.19"),
        pytest.param(
            "1.20",
            "unschedulable",
            '0/1 nodes are available: 1 persistentvolumeclaim "data" not found.',
            id="1.20",
        ),
    ],
)
def test_a_claim_that_is_not_there(minor: str, result: str, message: str) -> None:
    found = decided(minor, [node()], make_pod("new").spec(volumes=MOUNTED).obj())
    assert (found.result, found.message) == (result, message)


@pytest.mark.parametrize("minor", ["1.16", "1.19"])
def test_a_claim_that_is_leaving_ends_the_cycle(minor: str) -> None:
    leaving = claim("data", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = decided(minor, [node()], make_pod("new").spec(volumes=MOUNTED).obj(), objects=[leaving])
    assert (found.result, found.message) == ("error", 'persistentvolumeclaim "data" is being deleted')


@pytest.mark.parametrize(
    ("minor", "result", "message"),
    [
        pytest.param("1.16", "error", "could not find v1.PersistentVolume", id="1.16"),
        pytest.param("1.19", "unschedulable", ": 1 pvc(s) bound to non-existent pv(s).", id="1.19"),
        pytest.param("1.22", "unschedulable", ": 1 pvc(s) bound to non-existent pv(s).", id="1.22"),
        pytest.param("1.23", "unschedulable", ": 1 node(s) unavailable due to one or more pvc(s) bound", id="1.23"),
    ],
)
def test_a_volume_that_is_not_there(minor: str, result: str, message: str) -> None:
    pod = make_pod("new").spec(volumes=MOUNTED).obj()
    found = decided(minor, [node()], pod, objects=[claim("data", volume="gone")])
    assert (found.result, message in found.message) == (result, True), found.message


@pytest.mark.parametrize(
    ("minor", "answer"),
    [
        pytest.param("1.19", ("Error", ('persistentvolume "gone" not found',)), id="1.19"),
        pytest.param("1.20", (HOPELESS, ('persistentvolume "gone" not found',)), id="1.20"),
    ],
)
def test_zones_of_a_volume_that_is_not_there(minor: str, answer: Any) -> None:
    pod = make_pod("new").spec(volumes=MOUNTED).obj()
    zoned = make_node("n").zone("z").obj()
    made = make_bench(VolumeZone, [zoned], pod, objects=[claim("data", volume="gone")], current=RELEASES[minor])
    verdict = made.plugin.filter(None, made.pod, made.nodes())
    assert (verdict.status(0).code.go_name, verdict.status(0).texts) == answer


@pytest.mark.parametrize(("minor", "scores"), [("1.19", {"n": 0}), ("1.20", {"n": 100})])
def test_more_than_there_is(minor: str, scores: dict[str, int]) -> None:
    """A pod without requests is taken for one that asks for a little."""
    tiny = make_node("n").allocatable(cpu="50m", memory="100Mi", pods=10).obj()
    assert make_bench(NodeResourcesMostAllocated, [tiny], make_pod().obj(), current=RELEASES[minor]).scores() == scores


@pytest.mark.parametrize(("minor", "preferred"), [("1.19", False), ("1.20", True)])
def test_preferences_about_fields(minor: str, preferred: bool) -> None:
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    pod = make_pod("new").prefers(5, fields).obj()
    scores = make_bench(NodeAffinity, [node("a"), node("b")], pod, current=RELEASES[minor]).scores()
    assert scores == {"a": 5 if preferred else 0, "b": 0}


def test_constraints_without_a_domain() -> None:
    """The first patches of 1.19 let such a pod pass."""
    constraint = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
    pod = make_pod("new").spec(topologySpreadConstraints=[constraint]).obj()
    assert make_bench(PodTopologySpread, [node()], pod, current=RELEASES["1.19"]).statuses()


@pytest.mark.parametrize(("minor", "by"), [("1.19", "NodeResourcesFit"), ("1.20", "TaintToleration")])
def test_whose_rejection_is_told(minor: str, by: str) -> None:
    tainted = make_node("n").taint("a", "b").allocatable(cpu="1", memory="1Gi", pods=10).obj()
    found = decided(minor, [tainted], make_pod("new").requests(cpu="8").obj())
    assert found.diagnosis is not None
    assert found.diagnosis.nodes.status(0).plugin == by


@pytest.mark.parametrize(("minor", "evicted"), [("1.19", False), ("1.20", True)])
def test_preemption_under_a_policy(minor: str, evicted: bool) -> None:
    release = RELEASES[minor]
    policy = json.dumps({"kind": "Policy", "apiVersion": "v1"})
    configuration = load_config(policy, "p", release, release.gates(), points(release))
    running = [busy("weak", "n", 1).requests(cpu="1").obj()]
    pod = make_pod("new").requests(cpu="1").priority(100).obj()
    found = decided(minor, [node()], pod, running, configuration=configuration)
    assert bool(found.nominated_node) is evicted


TWICE = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "GeneralPredicates"}, {"name": "HostName"}]}


@pytest.mark.parametrize(("minor", "taken"), [("1.19", False), ("1.20", True)])
def test_a_predicate_by_two_names(minor: str, taken: bool) -> None:
    release = RELEASES[minor]
    if taken:
        assert load_config(json.dumps(TWICE), "p", release, release.gates(), points(release)).profiles
        return
    with pytest.raises(ConfigError, match="NodeName is in filter more than once"):
        load_config(json.dumps(TWICE), "p", release, release.gates(), points(release))


ADDED = {"name": "NodeAffinity", "args": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [term(("disk", "In", ["ssd"]))]}}}}  # fmt: skip


@pytest.mark.parametrize(("minor", "heeded"), [("1.19", False), ("1.20", True)])
def test_an_affinity_for_all_pods(minor: str, heeded: bool) -> None:
    configuration = load(minor, {"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [ADDED]}]})
    found = decided(minor, [node()], make_pod("new").obj(), configuration=configuration)
    assert (found.result == "unschedulable") is heeded
    told = "".join(configuration.notes)
    assert ("NodeAffinity takes no arguments in Kubernetes 1.19" in told) is not heeded


def test_an_affinity_for_all_pods_cannot_be_said_before_1_20() -> None:
    with pytest.raises(ConfigError, match=r"1\.19 cannot express addedAffinity of NodeAffinity"):
        load("1.19", {"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [ADDED]}]}, "v1")


def test_the_search_for_candidates_went_on_to_the_end_up_to_1_19() -> None:
    args = {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}}
    document = {"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [args]}]}
    running = [busy("dear", "a", 50).requests(cpu="1").obj(), busy("cheap", "b", 1).requests(cpu="1").obj()]
    pod = make_pod("new").requests(cpu="1").priority(100).obj()
    for minor, chosen in (("1.19", "b"), ("1.20", "a")):
        options = {"configuration": load(minor, document), "sampling": True}
        assert decided(minor, [node("a"), node("b")], pod, running, **options).nominated_node == chosen, minor


GCE_ZONE, ZONE, BETA_ZONE = (
    "topology.gke.io/zone",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
)
DISK: dict[str, Any] = {"gcePersistentDisk": {"pdName": "disk"}}


def only_in(key: str, value: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("minor", "spec", "labels", "reached"),
    [
        pytest.param("1.20", only_in(BETA_ZONE, "z"), {}, True, id="1.20 beta"),
        pytest.param("1.20", only_in(ZONE, "z"), {}, False, id="1.20 GA is not translated"),
        pytest.param("1.21", only_in(ZONE, "z"), {}, True, id="1.21 GA"),
        pytest.param(
            "1.20", only_in("disk", "ssd"), {BETA_ZONE: "z"}, True, id="1.20 a label in place of the affinity"
        ),
        pytest.param("1.21", only_in("disk", "ssd"), {BETA_ZONE: "z"}, False, id="1.21 a label beside the affinity"),
        pytest.param("1.20", only_in(GCE_ZONE, "z"), {BETA_ZONE: "y"}, True, id="1.20 the driver's own label"),
        pytest.param("1.20", {}, {ZONE: "y"}, True, id="1.20 a GA label says nothing"),
        pytest.param("1.21", {}, {ZONE: "y"}, False, id="1.21 a GA label"),
    ],
)
def test_where_a_migrated_volume_is(minor: str, spec: dict[str, Any], labels: dict[str, str], reached: bool) -> None:
    """On a node with the label of the driver alone."""
    objects = [
        claim("data", volume="pv"),
        persistent("pv", labels=labels, **DISK, **spec),
        csi_node("n", 1, migrated="kubernetes.io/gce-pd"),
    ]
    off = {"filter": {"disabled": [{"name": "VolumeZone"}]}}
    configuration = load(
        minor,
        {"profiles": [{"schedulerName": "default-scheduler", "plugins": off}]},
        gates="CSIMigrationGCE=true",
    )
    place = make_node("n").label(GCE_ZONE, "z").allocatable(cpu="1", memory="1Gi", pods=10).obj()
    pod = make_pod("new").spec(volumes=MOUNTED).obj()
    found = decided(minor, [place], pod, objects=objects, configuration=configuration, gates="CSIMigrationGCE=true")
    assert (found.result == "scheduled") is reached, found.message


def test_the_largest_volume_of_a_pool_was_all_of_it() -> None:
    limited = pool("z", "10Gi", "1Gi")
    assert [largest_volume(limited, RELEASES[minor]) >> 30 for minor in ("1.20", "1.21")] == [10, 1]


@pytest.mark.parametrize(("minor", "code"), [("1.20", "Unschedulable"), ("1.21", HOPELESS)])
def test_extenders_could_not_say_that_it_is_hopeless(minor: str, code: str) -> None:
    answer = {"nodenames": [], "FailedNodes": {"a": "full"}, "failedAndUnresolvableNodes": {"a": "never"}}
    with Service({"filter": answer}) as service:
        scheduler = scheduler_with([extender(service.url)], [make_node("a").obj()], version=minor)
        assert statuses(scheduler, only(scheduler))["a"][1] == code


@pytest.mark.parametrize(
    ("minor", "gates", "victim"),
    [
        pytest.param("1.20", "", "free", id="budgets"),
        pytest.param("1.20", "PodDisruptionBudget=false", "guarded", id="none are read"),
    ],
)
def test_a_gate_for_budgets(minor: str, gates: str, victim: str) -> None:
    budget = msgspec.convert(
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
            "status": {"disruptionsAllowed": 0},
        },
        PodDisruptionBudget,
    )
    running = [busy("guarded", "a", 1).label("app", "guarded").obj(), busy("free", "b", 2).obj()]
    pod = make_pod("new").requests(cpu="1").priority(100).obj()
    found = decided(minor, [node("a"), node("b")], pod, running, objects=[budget], gates=gates)
    assert found.nominated_node == {"guarded": "a", "free": "b"}[victim]


@pytest.mark.parametrize(
    ("minor", "request_cpu", "kept"),
    [
        pytest.param("1.20", "8", True, id="1.20, eviction would not do"),
        pytest.param("1.22", "8", True, id="1.22, eviction would not do"),
        pytest.param("1.23", "8", False, id="1.23, eviction would not do"),
        pytest.param("1.22", "", False, id="1.22, hopeless from the start"),
    ],
)
def test_nominations_of_pods_that_fail_again(minor: str, request_cpu: str, kept: bool) -> None:
    pod = make_pod("new").priority(5).nominated("n")
    if request_cpu:
        pod.requests(cpu=request_cpu)
    else:
        pod.spec(nodeSelector={"disk": "ssd"})
    scheduler = make_scheduler([node()], [pod.obj()], current=RELEASES[minor])
    decide(scheduler)
    assert bool(scheduler.nominator.node_of(scheduler.cluster.pods.row_of["default/new"])) is kept


@pytest.mark.parametrize(("minor", "taken"), [("1.20", False), ("1.21", True)])
def test_a_binding_without_time(minor: str, taken: bool) -> None:
    args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 0}}
    document = {"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [args]}]}
    if taken:
        assert load(minor, document).profiles
        return
    with pytest.raises(ConfigError, match="must be positive"):
        load(minor, document)


@pytest.mark.parametrize(
    ("version", "counted"),
    [
        *(("1.16.9", False), ("1.16.10", True), ("1.17.5", False), ("1.17.6", True)),
        *(("1.18.2", False), ("1.18.3", True), ("1.18", True), ("1.19", True)),
    ],
)
def test_init_containers_in_the_sums_of_a_node(version: str, counted: bool) -> None:
    """The init container of the pod that runs requests more than its containers do."""
    running = make_pod("run").requests(cpu="1").init(name="i", resources={"requests": {"cpu": "3"}}).on("n")
    scheduler = make_scheduler(
        [make_node("n").allocatable(cpu=4, memory="8Gi", pods=10).obj()],
        [running.obj(), make_pod("new").requests(cpu="2").obj()],
        current=nearest_release(version),
    )
    assert (decide(scheduler)["default/new"].result == "unschedulable") is counted


@pytest.mark.parametrize(("version", "cpu"), [("1.18.2", 2000), ("1.18.3", 3000)])
def test_init_containers_of_the_pod_in_scores(version: str, cpu: int) -> None:
    pod = make_pod("new").requests(cpu="2").init(name="i", resources={"requests": {"cpu": "3"}}).obj()
    release = nearest_release(version)
    cluster = make_scheduler([make_node("n").allocatable(cpu=4).obj()], [pod], current=release).cluster
    asked = measure_before_1_22(cluster.pods.infos[0], ("cpu",), NodeRows(cluster))
    assert asked.requested.tolist() == [[cpu]]


def test_names_that_are_no_resources_measure_nothing() -> None:
    """ "gpus" is no resource of a node and stands before two that are."""
    pod = make_pod("new").requests(cpu="2").obj()
    node = make_node("n").allocatable(**{"cpu": 4, "memory": "8Gi", "hugepages-2Mi": "4Mi"})
    cluster = make_scheduler([node.obj()], [pod], current=nearest_release("1.20")).cluster
    names = ("gpus", "cpu", "hugepages-2Mi", "none")
    measured = measure_before_1_22(cluster.pods.infos[0], names, NodeRows(cluster))
    assert measured.requested.tolist() == [[0], [2000], [0], [0]]
    assert measured.allocatable.tolist() == [[0], [4000], [4 << 20], [0]]
