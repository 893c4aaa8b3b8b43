"""The pods that controllers create: names, numbers, labels and owners, and what runs already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.decode import KINDS
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import ReplicaSet, ResourceQuota
from ksched_cli.controlplane.controllers.daemon_pods import daemon_node_of
from ksched_cli.controlplane.controllers.job import read_indexes
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.whatif.manifests import apply_items
from tests.builders import NodeBuilder, PodBuilder, loaded_of, make_node, make_pod, term
from tests.lanes import sampled

TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c"}]}}
LABELLED = {**TEMPLATE, "metadata": {"labels": {"app": "w", "tier": "web"}}}
SELECTOR = {"matchLabels": {"app": "w"}}
NAMESPACE = "default"


def template(**spec: Any) -> dict[str, Any]:
    return {**TEMPLATE, "spec": {**TEMPLATE["spec"], **spec}}


def workload(kind: str, **spec: Any) -> Any:
    struct = {name: each for (_, name), each in KINDS.items()}[kind]
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        spec.setdefault("selector", SELECTOR)
    spec.setdefault("template", TEMPLATE)
    return msgspec.convert({"metadata": {"name": "w", "namespace": NAMESPACE}, "spec": spec}, struct)


def owned(name: str, kind: str, owner: str = "w") -> PodBuilder:
    return make_pod(name).label("app", "w").owner(kind, owner, uid="u")


@dataclass
class Made:
    """New pods in the order of their creation, new objects that come with them, and warnings."""

    pods: list[Pod] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def make(
    item: Any,
    *pods: PodBuilder,
    nodes: tuple[NodeBuilder, ...] = (),
    sets: tuple[ReplicaSet, ...] = (),
    live: bool = False,
) -> Made:
    """The manifest applied to a control plane without a scheduler; for a `live` object a resync."""
    made = Made()

    def note(old: Any, new: Any) -> None:
        if old is None and isinstance(new, Pod):
            made.pods.append(new)
        elif old is None and isinstance(new, ReplicaSet | PersistentVolumeClaim):
            made.objects.append(new)

    built = [each.obj() for each in (*pods, *nodes)]
    plane = ControlPlane(
        Store(loaded_of(*built, *sets, *([item] if live else []))), watches=(note,), places_everything=True
    )
    if live:
        plane.controllers.sync_workload(item)
    else:
        apply_items(plane, [item])
    plane.run()
    made.notes += plane.warnings
    return made


def names(made: Made) -> list[str]:
    return [pod.metadata.name for pod in made.pods]


def owner_of(pod: Pod) -> tuple[str, str]:
    (owner,) = pod.metadata.owner_references
    assert owner.controller
    return owner.kind, owner.name


@pytest.mark.parametrize(
    ("kind", "spec", "count"),
    [
        pytest.param("ReplicaSet", {"replicas": 3}, 3, id="replica set"),
        pytest.param("ReplicaSet", {}, 1, id="one is the default"),
        pytest.param("ReplicaSet", {"replicas": 0}, 0, id="none"),
        pytest.param("ReplicationController", {"replicas": 2, "selector": {"app": "w"}}, 2, id="controller"),
        pytest.param("ReplicationController", {"replicas": 2}, 2, id="controller without a selector"),
        pytest.param("Deployment", {"replicas": 4}, 4, id="deployment"),
        pytest.param("StatefulSet", {"replicas": 2}, 2, id="stateful set"),
        pytest.param("Job", {}, 1, id="job"),
        pytest.param("Job", {"parallelism": 3}, 3, id="work queue"),
        pytest.param("Job", {"parallelism": 3, "completions": 2}, 2, id="no more than completions"),
        pytest.param("Job", {"completions": 5}, 1, id="one at a time"),
        pytest.param("Job", {"parallelism": 2, "suspend": True}, 0, id="suspended"),
    ],
)
def test_how_many(kind: str, spec: dict[str, Any], count: int) -> None:
    made = make(workload(kind, **spec))
    assert len(set(names(made))) == len(made.pods) == count
    assert all(pod.metadata.labels["app"] == "w" for pod in made.pods)
    assert all(pod.metadata.namespace == NAMESPACE and pod.metadata.uid for pod in made.pods)


@pytest.mark.parametrize(
    ("kind", "spec", "running", "count"),
    [
        pytest.param("ReplicaSet", {"replicas": 3}, [owned("a", "ReplicaSet")], 2, id="its own"),
        pytest.param("ReplicaSet", {"replicas": 3}, [make_pod("a").label("app", "w")], 2, id="one it adopts"),
        pytest.param("ReplicaSet", {"replicas": 3}, [make_pod("a").label("app", "x")], 3, id="not selected"),
        pytest.param("ReplicaSet", {"replicas": 3}, [owned("a", "ReplicaSet", "other")], 3, id="somebody else's"),
        pytest.param("ReplicaSet", {"replicas": 3}, [owned("a", "ReplicaSet").phase("Failed")], 3, id="failed"),
        pytest.param(
            "ReplicationController",
            {"replicas": 3, "selector": {"app": "w"}, "template": LABELLED},
            [make_pod("a").label("app", "w")],
            2,
            id="a selector that is wider than the labels",
        ),
        pytest.param(
            "ReplicationController",
            {"replicas": 3},
            [make_pod("a").label("app", "x")],
            3,
            id="the labels are the selector",
        ),
        pytest.param("ReplicaSet", {"replicas": 3}, [owned("a", "ReplicaSet").terminating()], 3, id="leaving"),
        pytest.param("ReplicaSet", {"replicas": 1}, [owned(n, "ReplicaSet") for n in "ab"], 0, id="too many"),
        pytest.param(
            "Deployment",
            {"replicas": 3},
            [owned("w-5d9-x", "ReplicaSet", "w-5d9").label("pod-template-hash", "5d9")],
            3,
            id="of a replica set that the dump lacks: it is replaced",
        ),
        pytest.param("StatefulSet", {"replicas": 2}, [owned("w-0", "StatefulSet")], 1, id="an ordinal"),
        pytest.param("StatefulSet", {"replicas": 1}, [owned("w-0", "StatefulSet").terminating()], 0, id="its name"),
        pytest.param("StatefulSet", {"replicas": 1}, [owned("w-0", "StatefulSet").phase("Failed")], 1, id="made anew"),
        pytest.param("StatefulSet", {"replicas": 1}, [make_pod("w-0")], 0, id="a stranger of its name"),
        pytest.param("Job", {"parallelism": 2, "completions": 3}, [owned("a", "Job")], 1, id="a worker"),
        pytest.param(
            "Job", {"parallelism": 2, "completions": 2}, [owned("a", "Job").phase("Succeeded")], 1, id="work done"
        ),
        pytest.param("Job", {"parallelism": 2}, [owned("a", "Job").phase("Succeeded")], 0, id="an empty queue"),
    ],
)
def test_only_what_is_missing(kind: str, spec: dict[str, Any], running: list[PodBuilder], count: int) -> None:
    assert len(make(workload(kind, **spec), *running).pods) == count


def test_the_same_input_gives_the_same_names_and_none_that_is_taken() -> None:
    item = workload("ReplicaSet", replicas=3)
    first = names(make(item))
    assert names(make(item)) == first
    assert all(name.startswith("w-") and len(name) == len("w-") + 5 for name in first)
    taken = names(make(item, make_pod(first[1])))
    assert first[1] not in taken
    assert len(taken) == 3


@pytest.mark.parametrize("kind", sampled(["ReplicaSet", "DaemonSet", "Job"], 3))
def test_names_are_told_apart_where_many_are_made(kind: str) -> None:
    """Five characters are few: among so many pods the same five would come up more than once."""
    many = 7000
    spec = {"ReplicaSet": {"replicas": many}, "DaemonSet": {}, "Job": {"parallelism": many}}[kind]
    nodes = tuple(make_node(f"n{number}") for number in range(many if kind == "DaemonSet" else 0))
    made = make(workload(kind, **spec), nodes=nodes)
    assert len(set(names(made))) == len(made.pods) == many


def test_a_deployment_goes_through_a_replica_set() -> None:
    made = make(workload("Deployment", replicas=2))
    (replica_set,) = made.objects
    digest = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.metadata.name == f"w-{digest}"
    assert replica_set.spec.selector.match_labels == {"app": "w", "pod-template-hash": digest}
    for pod in made.pods:
        assert owner_of(pod) == ("ReplicaSet", f"w-{digest}")
        assert pod.metadata.labels["pod-template-hash"] == digest
        assert pod.metadata.name.startswith(f"w-{digest}-")


def test_another_template_is_another_replica_set() -> None:
    one, other = make(workload("Deployment")), make(workload("Deployment", template=template(hostNetwork=True)))
    assert one.objects[0].metadata.name != other.objects[0].metadata.name


def test_a_deployment_keeps_the_replica_set_that_has_its_template() -> None:
    (own,) = make(workload("Deployment")).objects
    own.metadata.name = "w-old"
    made = make(workload("Deployment", replicas=2), sets=(own,))
    assert not made.objects
    assert {owner_of(pod) for pod in made.pods} == {("ReplicaSet", "w-old")}


CLAIM = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


def test_a_stateful_set_counts_from_its_start_and_claims_volumes() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    made = make(
        workload(
            "StatefulSet",
            replicas=2,
            ordinals={"start": 5},
            serviceName="svc",
            volumeClaimTemplates=[CLAIM],
            template=template(volumes=volumes),
        )
    )
    assert names(made) == ["w-5", "w-6"]
    assert [claim.metadata.name for claim in made.objects] == ["data-w-5", "data-w-6"]
    pod = made.pods[0]
    assert [volume.name for volume in pod.spec.volumes] == ["data", "tmp"], "the claim takes the volume's place"
    assert pod.spec.volumes[0].persistent_volume_claim is not None
    assert pod.spec.volumes[0].persistent_volume_claim.claim_name == "data-w-5"
    assert (pod.spec.hostname, pod.spec.subdomain) == ("w-5", "svc")
    assert pod.metadata.labels["statefulset.kubernetes.io/pod-name"] == "w-5"
    assert pod.metadata.labels["apps.kubernetes.io/pod-index"] == "5"
    assert owner_of(pod) == ("StatefulSet", "w")


@pytest.mark.parametrize(
    ("node", "spec", "runs"),
    [
        pytest.param(make_node("n"), {}, True, id="any node"),
        pytest.param(make_node("n").cordoned().taint("node.kubernetes.io/unschedulable"), {}, True, id="cordoned"),
        pytest.param(make_node("n").taint("node.kubernetes.io/disk-pressure"), {}, True, id="under pressure"),
        pytest.param(make_node("n").taint("node.kubernetes.io/network-unavailable"), {}, False, id="no network"),
        pytest.param(
            make_node("n").taint("node.kubernetes.io/network-unavailable"),
            {"hostNetwork": True},
            True,
            id="on the host's network",
        ),
        pytest.param(make_node("n").taint("own"), {}, False, id="tainted"),
        pytest.param(make_node("n").taint("own", effect="PreferNoSchedule"), {}, True, id="hardly tainted"),
        pytest.param(make_node("n").taint("own"), {"tolerations": [{"operator": "Exists"}]}, True, id="tolerated"),
        pytest.param(make_node("n").label("disk", "ssd"), {"nodeSelector": {"disk": "ssd"}}, True, id="selected"),
        pytest.param(make_node("n"), {"nodeSelector": {"disk": "ssd"}}, False, id="not selected"),
        pytest.param(make_node("n"), {"nodeName": "other"}, False, id="another node by name"),
        pytest.param(
            make_node("n").allocatable(cpu="0"),
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]},
            True,
            id="full nodes too",
        ),
        pytest.param(
            make_node("n"),
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [term(("disk", "Exists", []))]
                        }
                    }
                }
            },
            False,
            id="affinity",
        ),
    ],
)
def test_where_a_daemon_set_runs(node: NodeBuilder, spec: dict[str, Any], runs: bool) -> None:
    made = make(workload("DaemonSet", template=template(**spec)), nodes=(node,))
    assert len(made.pods) == runs
    assert all(daemon_node_of(pod) == "n" for pod in made.pods)
    assert bool(made.notes) is not runs, "a daemon set without a node says so"


def test_a_daemon_set_serves_each_node_once() -> None:
    nodes = tuple(make_node(name) for name in ("a", "b", "c"))
    pending = owned("p", "DaemonSet").node_affinity(term(fields=(("metadata.name", "In", ["b"]),)))
    elsewhere = owned("q", "DaemonSet").node_affinity(term(fields=(("metadata.name", "NotIn", ["c"]),)))
    made = make(workload("DaemonSet"), owned("r", "DaemonSet").on("a"), pending, elsewhere, nodes=nodes, live=True)
    assert [daemon_node_of(pod) for pod in made.pods] == ["c"]
    tolerated = {(each.key, each.effect) for each in made.pods[0].spec.tolerations}
    assert len(tolerated) == 6
    assert ("node.kubernetes.io/not-ready", "NoExecute") in tolerated


def test_a_daemon_pod_tolerates_for_ever_what_its_template_tolerates_for_a_while() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    made = make(workload("DaemonSet", template=template(tolerations=[own])), nodes=(make_node("n"),))
    (pod,) = made.pods
    assert [each.toleration_seconds for each in pod.spec.tolerations if each.key == own["key"]] == [None]


def test_a_daemon_pod_keeps_what_it_prefers() -> None:
    preferred = [{"weight": 5, "preference": term(("disk", "Exists", []))}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    made = make(workload("DaemonSet", template=template(affinity=affinity)), nodes=(make_node("n"),))
    own = made.pods[0].spec.affinity
    assert own is not None
    assert own.node_affinity is not None
    assert own.node_affinity.preferred_during_scheduling_ignored_during_execution[0].weight == 5


def test_an_indexed_job_takes_the_lowest_indexes_that_are_left() -> None:
    running = owned("w-1-x", "Job")
    running.data["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "1"}
    item = workload("Job", completionMode="Indexed", completions=6, parallelism=3)
    item.status.completed_indexes = "0,3"
    made = make(item, running)
    assert [pod.spec.hostname for pod in made.pods] == ["w-2", "w-4"]
    pod = made.pods[0]
    assert pod.metadata.name.startswith("w-2-")
    assert pod.metadata.labels["batch.kubernetes.io/job-completion-index"] == "2"
    assert pod.metadata.annotations["batch.kubernetes.io/job-completion-index"] == "2"
    assert pod.metadata.labels["batch.kubernetes.io/job-name"] == "w"


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        pytest.param("", set(), id="none"),
        pytest.param("7", {7}, id="one"),
        pytest.param("1,3-5", {1, 3, 4, 5}, id="a range"),
        pytest.param("x,x-3,3-x,2", {2}, id="nonsense"),
        pytest.param("8-99999999999", {8, 9}, id="beyond the last"),
    ],
)
def test_completed_indexes(text: str, indexes: set[int]) -> None:
    assert read_indexes(text, 10) == indexes


@pytest.mark.parametrize("suspended", [pytest.param(False, id="runs"), pytest.param(True, id="suspended")])
def test_a_cron_job_is_one_run(suspended: bool) -> None:
    data = {
        "metadata": {"name": "w", "namespace": NAMESPACE},
        "spec": {"suspend": suspended, "jobTemplate": {"spec": {"template": TEMPLATE, "parallelism": 2}}},
    }
    made = make(msgspec.convert(data, KINDS["batch/v1", "CronJob"]))
    assert len(made.pods) == (0 if suspended else 2)
    assert bool(made.notes) is suspended
    assert all(owner_of(pod)[0] == "Job" and owner_of(pod)[1].startswith("w-") for pod in made.pods)


def test_a_pod_template_is_one_pod_of_nobody() -> None:
    data = {"metadata": {"name": "w", "namespace": NAMESPACE}, "template": TEMPLATE}
    made = make(msgspec.convert(data, KINDS["v1", "PodTemplate"]))
    assert [pod.metadata.owner_references for pod in made.pods] == [()]


def test_copies_of_one_template_share_everything_but_their_names() -> None:
    first, *others = make(workload("ReplicaSet", replicas=4)).pods
    assert len({pod.metadata.name for pod in (first, *others)}) == 4
    assert len({pod.metadata.uid for pod in (first, *others)}) == 4
    for pod in others:
        assert pod.spec is first.spec
        assert pod.status is first.status
        assert pod.metadata.labels is first.metadata.labels
        assert pod.metadata.owner_references is first.metadata.owner_references


def few_pods() -> ResourceQuota:
    """A quota of three pods."""
    spec = {"hard": {"pods": "3"}}
    return msgspec.convert({"metadata": {"name": "few", "namespace": NAMESPACE}, "spec": spec}, ResourceQuota)


def test_a_quota_forgets_the_pods_of_a_trial() -> None:
    plane = ControlPlane(Store(loaded_of(few_pods())), places_everything=True)
    plane.prepare()
    for _ in range(2):
        mark = plane.store.undo.mark()
        apply_items(plane, [workload("ReplicaSet", replicas=2)])
        assert (len(plane.store.of(Pod)), plane.api.refusals) == (2, {})
        plane.store.undo.roll_back(mark)


def test_a_quota_counts_each_copy_and_refuses_those_beyond_it() -> None:
    plane = ControlPlane(Store(loaded_of(few_pods())), places_everything=True)
    apply_items(plane, [workload("ReplicaSet", replicas=5)])
    assert len(plane.store.of(Pod)) == 3
    refused = [each for found in plane.api.refusals.values() for each in found.values()]
    assert [each.plugin for each in refused] == ["ResourceQuota", "ResourceQuota"]
    every = [*plane.store.of(Pod), *(each.pod for each in refused)]
    assert len({pod.metadata.name for pod in every}) == 5
