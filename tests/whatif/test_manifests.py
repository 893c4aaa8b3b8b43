"""Manifests over a cluster: what comes of them, and every mistake in them at once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.api.dynamic_resources import ResourceClaim
from ksched_cli.api.storage import PersistentVolumeClaim
from ksched_cli.api.workloads import Deployment, PodTemplate, ReplicaSet
from ksched_cli.cli.main import run
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.errors import InputError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.report.registry import RenderOptions, document_of
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.whatif.manifests import apply_manifests
from tests.builders import make_node, make_object, make_pod
from tests.cli.inputs import autoscaler
from tests.running import prepare
from tests.whatif.changing import with_manifests

NODE = make_node("n").doc()
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def write(path: Path, *items: Any) -> str:
    path.write_text("\n".join(json.dumps(item) for item in items) if items else "")
    return str(path)


def workload(kind: str, name: str = "w", namespace: str = "", **spec: Any) -> dict[str, Any]:
    version = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def deployment(**spec: Any) -> dict[str, Any]:
    return workload("Deployment", **{"selector": {"matchLabels": {"app": "w"}}, "template": TEMPLATE, **spec})


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def applied(tmp_path: Path, cluster: list[Any], *manifests: Any) -> tuple[Loaded, list[str]]:
    loaded = load_dump([write(tmp_path / "cluster.json", *cluster)])
    after = with_manifests(loaded, load_manifests([write(tmp_path / "m.json", *manifests)]))
    return after.loaded, [each.pod.metadata.name for each in after.refused]


def pods(loaded: Loaded) -> dict[str, Pod]:
    return {pod.metadata.name: pod for pod in loaded.of(Pod)}


def test_pods_are_dated_in_the_order_of_the_files(tmp_path: Path) -> None:
    old = make_pod("old").created("2026-03-01T00:00:00Z").doc()
    manifests = [make_pod("z").doc(), deployment(), make_pod("a").doc()]
    loaded, _ = applied(tmp_path, [NODE, old], *manifests)
    stamps = {name[0]: pod.metadata.creation_timestamp for name, pod in pods(loaded).items()}
    assert stamps == {
        "o": "2026-03-01T00:00:00Z",
        "z": "2026-03-01T00:00:01Z",
        "w": "2026-03-01T00:00:02Z",
        "a": "2026-03-01T00:00:03Z",
    }
    assert len(loaded.of(ReplicaSet)) == 1, "spreading by default goes by the replica set"


def test_workloads_of_the_cluster_are_left_alone(tmp_path: Path) -> None:
    loaded = load_dump([write(tmp_path / "cluster.json", NODE, make_pod("there").doc(), deployment(replicas=3))])
    after = with_manifests(loaded, load_manifests([write(tmp_path / "m.json", make_pod("p").doc())]))
    assert after.refused == ()
    assert sorted(pods(after.loaded)) == ["p", "there"]
    assert [pod.metadata.name for pod in after.made_pods] == ["p"]


def test_a_pending_pod_is_updated_and_a_running_one_stays(tmp_path: Path) -> None:
    old = make_pod("wait").created("2026-03-01T00:00:00Z").doc()
    cluster = [NODE, make_pod("run").on("n").doc(), old]
    loaded, _ = applied(tmp_path, cluster, make_pod("run").doc(), make_pod("wait").toleration("a", "Exists").doc())
    found = pods(loaded)
    assert len(loaded.of(Pod)) == 2
    assert found["run"].spec.node_name == "n"
    assert not found["run"].spec.containers[0].resources.requests
    assert found["wait"].metadata.creation_timestamp == "2026-03-01T00:00:00Z"
    assert "a" in {each.key for each in found["wait"].spec.tolerations}
    assert loaded.warnings == ["pod default/run is on node n already: it stays there"]


def test_kubectl_apply_generates_no_name(tmp_path: Path) -> None:
    doc = make_pod("").doc()
    doc["metadata"] = {"generateName": "web-"}
    assert complaints(tmp_path, doc) == [
        ":1: Pod default/web-: metadata.generateName: cannot use generate name with apply (give it a name: only kubectl "
        "create generates names)"
    ]


def test_claims_are_made_and_those_that_are_there_are_kept(tmp_path: Path) -> None:
    there = make_object(
        "PersistentVolumeClaim", "data-db-0", {"volumeName": "pv", "storageClassName": "old"}, namespace="default"
    )
    fast = make_object("StorageClass", "fast", annotations={"storageclass.kubernetes.io/is-default-class": "true"})
    scratch = {
        "name": "scratch",
        "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM_SPEC}},
    }
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "volumes": [scratch]}}
    item = workload(
        "StatefulSet",
        "db",
        replicas=2,
        selector={"matchLabels": {"app": "w"}},
        template=template,
        volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": CLAIM_SPEC}],
    )
    loaded, _ = applied(tmp_path, [NODE, there, fast], item)
    claims = {claim.metadata.name: claim for claim in loaded.of(PersistentVolumeClaim)}
    assert sorted(claims) == ["data-db-0", "data-db-1", "db-0-scratch", "db-1-scratch"]
    assert claims["data-db-0"].spec.volume_name == "pv"
    assert {claims[name].spec.storage_class_name for name in claims} == {"old", "fast"}
    (owner,) = claims["db-0-scratch"].metadata.owner_references
    assert (owner.kind, owner.uid) == ("Pod", pods(loaded)["db-0"].metadata.uid)
    assert claims["db-0-scratch"].metadata.labels == {"a": "b"}


def test_resource_claims_from_templates(tmp_path: Path) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
    }
    references = [
        {"name": "one", "resourceClaimTemplateName": "gpu"},
        {"name": "none", "resourceClaimTemplateName": "gone"},
        {"name": "own", "resourceClaimName": "shared"},
    ]
    loaded, _ = applied(tmp_path, [NODE, template], make_pod("p").spec(resourceClaims=references).doc())
    (claim,) = loaded.of(ResourceClaim)
    (status,) = pods(loaded)["p"].status.resource_claim_statuses
    assert (status.name, status.resource_claim_name) == ("one", claim.metadata.name)
    assert claim.metadata.name.startswith("p-one-")
    assert claim.metadata.owner_references[0].uid == pods(loaded)["p"].metadata.uid
    assert claim.spec.devices.requests[0].exactly is not None


def test_a_refused_pod_is_not_in_the_cluster(tmp_path: Path) -> None:
    quota = make_object("ResourceQuota", "few", {"hard": {"pods": "2"}})
    loaded, refused = applied(tmp_path, [NODE, quota], deployment(replicas=3))
    assert (len(pods(loaded)), len(refused)) == (2, 1)


def complaints(tmp_path: Path, *manifests: Any, cluster: tuple[Any, ...] = (NODE,)) -> list[str]:
    path = write(tmp_path / "m.json", *manifests)
    with pytest.raises(InputError) as caught:
        with_manifests(load_dump([write(tmp_path / "cluster.json", *cluster)]), load_manifests([path]))
    return [str(problem).removeprefix(path) for problem in caught.value.problems]


OTHER = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
ALWAYS = {"spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]}}
GREEDY = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(
            deployment(template=OTHER),
            'Deployment default/w: spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`',
            id="selector and template",
        ),
        pytest.param(
            deployment(template={"spec": TEMPLATE["spec"]}),
            "Deployment default/w: spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`",
            id="no labels",
        ),
        pytest.param(
            workload("ReplicaSet", template=TEMPLATE),
            "ReplicaSet default/w: spec.selector: Required value",
            id="no selector",
        ),
        pytest.param(
            deployment(selector={"matchExpressions": [{"key": "app", "operator": "Like"}]}),
            'Deployment default/w: spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
            id="not a selector",
        ),
        pytest.param(
            deployment(replicas=-1),
            "Deployment default/w: spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            id="replicas",
        ),
        pytest.param(
            deployment(replicas=2_000_000_000),
            "Deployment default/w: spec.replicas: 2000000000 is more than the 1000000 that are simulated of one workload",
            id="replicas without number",
        ),
        pytest.param(
            workload("Job", template={"spec": {"restartPolicy": "Never"}}),
            "Job default/w: spec.template.spec.containers: Required value",
            id="no containers",
        ),
        pytest.param(
            workload("Job", template=TEMPLATE),
            'Job default/w: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
            id="a job restarts on failure at most",
        ),
        pytest.param(
            workload("CronJob", schedule="0 * * * *", jobTemplate={"spec": {"template": ALWAYS}}),
            'CronJob default/w: spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
            id="so does a cron job",
        ),
        pytest.param(
            workload(
                "Job", completionMode="Indexed", template={"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
            ),
            "Job default/w: spec.completions: Required value: when completion mode is Indexed",
            id="indexes of nothing",
        ),
        pytest.param(
            make_pod("p").container(name="main", image="i").doc(),
            'Pod default/p: spec.containers[1].name: Duplicate value: "main"',
            id="containers of one name",
        ),
        pytest.param(
            make_pod("p").container(name="b", image="i", **GREEDY).doc(),
            'Pod default/p: spec.containers[1].resources.requests.cpu: Invalid value: "2": must be less than or equal to cpu limit of 1',
            id="more than the limit",
        ),
        pytest.param(
            deployment(
                template={
                    **TEMPLATE,
                    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "x"}}}]},
                }
            ),
            "Deployment default/w: spec.template.spec.containers[0].resources.requests.cpu: 'x' is not a quantity: "
            "write a number with a suffix such as 100m, 2, 1.5Gi or 500M",
            id="not a quantity",
        ),
    ],
)
def test_a_mistake_is_told_with_its_path(tmp_path: Path, item: dict[str, Any], expected: str) -> None:
    assert complaints(tmp_path, item) == [f":1: {expected}"]


def test_all_mistakes_at_once_with_their_lines(tmp_path: Path) -> None:
    found = complaints(tmp_path, make_pod("good").doc(), deployment(replicas=-1), workload("ReplicaSet"))
    assert [each.partition(": spec")[0] for each in found] == [
        ":2: Deployment default/w",
        ":3: ReplicaSet default/w",
        ":3: ReplicaSet default/w",
    ]


def priority(name: str) -> dict[str, Any]:
    return make_object("PriorityClass", name, value=5, globalDefault=True)


def test_what_the_api_server_refuses_of_several_objects(tmp_path: Path) -> None:
    """A new object that is refused, one that is not, and updates: one of a live object that has an error already."""
    live = workload(
        "Deployment",
        "old",
        selector={"matchLabels": {"app": "w"}},
        template=TEMPLATE,
        strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
        progressDeadlineSeconds=20,
    )
    late = workload("Deployment", "old", selector={"matchLabels": {"app": "w"}}, template=TEMPLATE, minReadySeconds=30)
    other = deployment(selector={"matchLabels": {"app": "x"}}, template=OTHER)
    found = complaints(
        tmp_path,
        *(priority("b"), make_pod("new").doc(), late, other),
        cluster=(NODE, priority("a"), live, deployment()),
    )
    assert [each.partition(" (")[0] for each in found] == [
        ":1: PriorityClass b: Priority refuses: PriorityClass a is already marked as default. Only one default can exist",
        ":3: Deployment default/old: spec.progressDeadlineSeconds: Invalid value: 20: must be greater than minReadySeconds",
        ':4: Deployment default/w: spec.selector: Invalid value: {"matchLabels":{"app":"x"}}: field is immutable',
    ]


def test_a_workload_that_stays_as_it_is_gets_the_pods_that_the_input_lacks(tmp_path: Path) -> None:
    web = workload("ReplicaSet", selector={"matchLabels": {"app": "w"}}, template=TEMPLATE, replicas=2)
    loaded, _ = applied(tmp_path, [NODE, web], web)
    assert len(pods(loaded)) == 2


def applied_twice(tmp_path: Path, first: Any, second: Any) -> Loaded:
    """What is left if the pods of the first manifest are lost, and the second manifest is applied then."""
    after, _ = applied(tmp_path, [NODE], first)
    after.set_all(Pod, [])
    return with_manifests(after, load_manifests([write(tmp_path / "second.json", second)])).loaded


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment", "ReplicaSet"])
def test_a_manifest_that_changes_nothing_brings_back_the_pods_that_are_lost(kind: str, tmp_path: Path) -> None:
    item = workload(kind, selector={"matchLabels": {"app": "w"}}, template=TEMPLATE)
    assert len(pods(applied_twice(tmp_path, item, item))) == 1


def test_an_annotation_that_left_the_manifest_goes(tmp_path: Path) -> None:
    first, second = deployment(), deployment()
    first["metadata"]["annotations"] = {"left": "x"}
    (item,) = applied_twice(tmp_path, first, second).of(Deployment)
    assert "left" not in item.metadata.annotations


def test_pods_of_an_autoscaler_come_with_its_manifest(tmp_path: Path) -> None:
    web = workload("Deployment", "web", selector={"matchLabels": {"app": "w"}}, template=TEMPLATE)
    after, _ = applied(tmp_path, [NODE], web)
    manifests = load_manifests([write(tmp_path / "autoscaler.json", autoscaler(3, 9))])
    assert len(with_manifests(after, manifests).made_pods) == 2


def test_a_suspended_job_makes_no_pods(tmp_path: Path) -> None:
    never = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    loaded, _ = applied(tmp_path, [NODE], workload("Job", suspend=True, template=never))
    assert (pods(loaded), loaded.warnings) == ({}, ["Job default/w is suspended: it makes no pods"])


def test_a_manifest_beyond_the_bounds_of_an_autoscaler_of_the_cluster(tmp_path: Path) -> None:
    """From 1 to 4 replicas for `web`. No autoscaler scales the other Deployment."""
    items = [
        workload("Deployment", name, selector=OF_A_SET, template=TEMPLATE, replicas=6) for name in ("other", "web")
    ]
    loaded, _ = applied(tmp_path, [NODE, autoscaler(1, 4)], *items)
    assert [sum(name.startswith(each) for name in pods(loaded)) for each in ("other", "web")] == [6, 4]


@pytest.mark.parametrize(
    ("tainted", "warnings"),
    [
        pytest.param(["a"], [], id="one of two nodes"),
        pytest.param(["a", "b"], ["DaemonSet default/w runs on none of the nodes: it makes no pods"], id="no node"),
    ],
)
def test_a_daemon_set_that_no_node_takes(tmp_path: Path, tainted: list[str], warnings: list[str]) -> None:
    nodes = [(make_node(name).taint("t") if name in tainted else make_node(name)).doc() for name in "ab"]
    loaded, _ = applied(tmp_path, nodes, workload("DaemonSet", selector=OF_A_SET, template=TEMPLATE))
    assert (len(pods(loaded)), loaded.warnings) == (2 - len(tainted), warnings)


def test_a_pod_template_is_kept_with_its_pod(tmp_path: Path) -> None:
    item = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": TEMPLATE}
    loaded, _ = applied(tmp_path, [NODE], item)
    assert [each.metadata.name for each in loaded.of(PodTemplate)] == ["t"]
    assert [name[:2] for name in pods(loaded)] == ["t-"]


def pod_of(kind: str, owner: str) -> dict[str, Any]:
    return make_pod("w-0").label("app", "w").label("pod-template-hash", "1").on("n").owner(kind, owner, uid="u").doc()


OTHER_IMAGE: dict[str, Any] = {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "j"}]}}
OF_A_SET = {"matchLabels": {"app": "w"}}


@pytest.mark.parametrize(
    ("kind", "has_pod", "spec", "rolled"),
    [
        pytest.param("Deployment", True, {}, True, id="Deployment"),
        pytest.param("Deployment", False, {}, False, id="no pod runs"),
        pytest.param("Deployment", True, {"paused": True}, False, id="paused"),
        pytest.param("Deployment", True, {"template": TEMPLATE}, False, id="the same template"),
        pytest.param("StatefulSet", True, {"serviceName": "w"}, True, id="StatefulSet"),
        pytest.param(
            "StatefulSet", True, {"serviceName": "w", "updateStrategy": {"type": "OnDelete"}}, False, id="on delete"
        ),
        pytest.param("DaemonSet", True, {}, True, id="DaemonSet"),
        pytest.param("ReplicaSet", True, {}, False, id="a ReplicaSet replaces no pod"),
    ],
)
def test_which_changes_of_a_template_replace_running_pods(
    kind: str, has_pod: bool, spec: dict[str, Any], rolled: bool, tmp_path: Path
) -> None:
    replicas = {} if kind == "DaemonSet" else {"replicas": 1}
    live = workload(kind, selector=OF_A_SET, **replicas, **{**spec, "template": TEMPLATE})
    pod = pod_of(*(("ReplicaSet", "w-1") if kind == "Deployment" else (kind, "w")))
    loaded = load_dump([write(tmp_path / "cluster.json", NODE, live, *([pod] if has_pod else []))])
    manifest = workload(kind, selector=OF_A_SET, **replicas, **{"template": OTHER_IMAGE, **spec})
    manifests = load_manifests([write(tmp_path / "m.json", manifest)])
    plane = ControlPlane(Store(loaded), places_everything=True)
    apply_manifests(plane, manifests)
    assert len(plane.rolled_out) == rolled


def test_a_namespace_that_is_not_there(tmp_path: Path) -> None:
    items = [make_pod(name, space).doc() for name, space in (("a", "shop"), ("b", "new"), ("c", "gone"), ("d", "lost"))]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "far"}}
    loaded, _ = applied(tmp_path, [NODE, namespace("shop")], *items, namespace("new"), account)
    shown = [each.replace(f"{tmp_path}/", "").removeprefix("m.json").partition(" (")[0] for each in loaded.warnings]
    assert shown == [
        # The manifest of the namespace comes too late: kubectl applies one object after the other.
        ":2: namespace new comes later, in m.json",
        ":3: the input has no namespace gone",
        ":4: the input has no namespace lost",
        ":6: the input has no namespace far",
    ]
    assert len(pods(loaded)) == 4


def test_pods_show_the_namespaces_of_a_cluster_without_namespace_objects(tmp_path: Path) -> None:
    items = [make_pod(name, space).doc() for name, space in (("a", "shop"), ("b", "new"), ("c", "new"))]
    loaded, _ = applied(tmp_path, [NODE, make_pod("there", "shop").doc()], *items)
    (warning,) = loaded.warnings
    assert warning.partition("m.json")[2].partition(" (")[0] == (
        ":2: the input has no Namespace objects, and no pod in namespace new: it is assumed to exist, without quotas "
        "and limits"
    )
    loaded, _ = applied(tmp_path, [NODE, make_pod("there", "shop").doc()], *items, namespace("new"))
    assert loaded.warnings == [], "the manifests have it, though late"


def test_without_namespaces_in_the_cluster_any_will_do(tmp_path: Path) -> None:
    loaded, _ = applied(tmp_path, [NODE], make_pod("a", "anywhere").doc())
    assert list(pods(loaded)) == ["a"]


def test_urls_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        load_manifests(["https://example.com/a.yaml", "http://example.com/b.yaml"])
    assert [str(problem) for problem in caught.value.problems] == [
        "https://example.com/a.yaml: URLs are not read (download it and give the file)",
        "http://example.com/b.yaml: URLs are not read (download it and give the file)",
    ]


def test_directories_and_stdin(tmp_path: Path) -> None:
    write(tmp_path / "b.json", make_pod("b").doc())
    write(tmp_path / "a.json", make_pod("a").doc())
    stdin = io.BytesIO(json.dumps(make_pod("s").doc()).encode())
    assert [pod.metadata.name for pod in load_manifests(["-", str(tmp_path)], stdin).of(Pod)] == ["s", "a", "b"]


def test_what_of_admission_is_not_modelled(tmp_path: Path) -> None:
    def quota(name: str, **hard: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}

    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l"},
        "spec": {"limits": [{"type": "PersistentVolumeClaim"}, {"type": "openshift.io/Image"}, {"type": "Pod"}]},
    }
    counted = {
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
        "requests.storage": "1Gi",
        "count/deployments.apps": "3",
        "services.nodeports": "2",
        "limits.cpu": "9",
    }
    cluster = [NODE, quota("a", pods="9"), quota("b", **counted, configmaps="1"), limits]
    loaded, _ = applied(tmp_path, cluster, make_pod("p").limits(cpu="1").doc())
    assert loaded.gaps == ["ResourceQuota default/b: configmaps", "LimitRange default/l: openshift.io/Image"]
    elsewhere, _ = applied(tmp_path, cluster, make_pod("p", "other").doc())
    assert elsewhere.gaps == []


def test_claims_that_a_provisioner_would_fill_at_once(tmp_path: Path) -> None:
    fast = make_object("StorageClass", "fast", provisioner="csi.example.com")
    claims = [
        make_object("PersistentVolumeClaim", name, {**CLAIM_SPEC, "storageClassName": of})
        for name, of in (("a", "fast"), ("b", "fast"), ("c", "other"))
    ]
    loaded, _ = applied(tmp_path, [NODE, fast], *claims)
    assert loaded.warnings == [
        "claims of StorageClass fast are provisioned at once: each gets a volume that every node reaches"
    ]
    found = {claim.metadata.name: claim.spec.volume_name for claim in loaded.of(PersistentVolumeClaim)}
    assert [bool(found[name]) for name in "abc"] == [True, True, False]


def test_a_snapshot_of_the_cluster_gives_the_same(tmp_path: Path) -> None:
    """Admission goes by annotations, quotas and limits: a snapshot keeps them."""
    space = namespace("default")
    space["metadata"]["annotations"] = {"scheduler.alpha.kubernetes.io/node-selector": "pool=a"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    limits = make_object("LimitRange", "l", {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1500m"}}]})
    nodes = [make_node("a").label("pool", "a").doc(), make_node("b").doc()]
    cluster = write(tmp_path / "cluster.json", *nodes, space, quota, limits)
    snapshot = str(tmp_path / "cluster.ksched")
    assert run(["snapshot", "--from", cluster, "-o", snapshot]) == 0
    manifests = write(tmp_path / "m.json", deployment(replicas=3))
    documents = [
        document_of(prepare(RunOptions([source], filenames=[manifests])).simulate(detail=True), RenderOptions("json"))
        for source in (cluster, snapshot)
    ]
    for document in documents:
        del document["stats"], document["coverage"]
    assert documents[0] == documents[1]
    assert [entry["result"] for entry in documents[0]["pods"]] == ["scheduled", "scheduled"]
    assert [entry["node"] for entry in documents[0]["pods"]] == ["a", "a"]
    assert len(documents[0]["refused"]) == 1
