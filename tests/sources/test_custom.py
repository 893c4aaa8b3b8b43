"""Custom resources as workloads: how many pods each has, what they request, and where its fields are."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ksched_cli.api.decode import UnknownKind
from ksched_cli.api.workloads import RollingUpdate
from ksched_cli.cli.main import run
from ksched_cli.errors import Problem, UsageError
from ksched_cli.sources.custom.kinds import CUSTOM_KINDS, CustomPodGroup
from ksched_cli.sources.custom.workloads import CustomWorkload, custom_workloads, known_kinds, read_pod_templates
from ksched_cli.sources.loaded import STANDS_FOR, Origin
from tests.builders import make_node, make_pod
from tests.cli.transcripts import ROOT

POD = "containers: [{name: main, resources: {requests: {cpu: 100m, memory: 64Mi}}}]"
SELECTOR = "selector: {matchLabels: {app: web}}"
TEMPLATE = f"template: {{metadata: {{labels: {{app: web}}}}, spec: {{{POD}}}}}"
PLAIN = f"template: {{spec: {{{POD}}}}}"
REPLICAS = f"{{replicas: 2, {PLAIN}}}"

# Kind, apiVersion, spec, and the number of pods of each workload by its label.
CASES = [
    pytest.param("Rollout", "argoproj.io/v1alpha1", f"replicas: 3\n{SELECTOR}\n{TEMPLATE}", {"": 3}, id="Rollout"),
    pytest.param("CloneSet", "apps.kruise.io/v1alpha1", f"replicas: 2\n{SELECTOR}\n{TEMPLATE}", {"": 2}, id="CloneSet"),
    pytest.param("StatefulSet", "apps.kruise.io/v1beta1", f"replicas: 2\n{SELECTOR}\n{TEMPLATE}", {"": 2}, id="Kruise"),
    pytest.param("DaemonSet", "apps.kruise.io/v1alpha1", f"{SELECTOR}\n{TEMPLATE}", {"": 1}, id="Kruise DaemonSet"),
    pytest.param(
        "Prometheus", "monitoring.coreos.com/v1", "replicas: 2\nshards: 3", {"": 2, "shard-1": 2, "shard-2": 2}, id="Prometheus"
    ),
    pytest.param("Alertmanager", "monitoring.coreos.com/v1", "replicas: 3", {"": 3}, id="Alertmanager"),
    pytest.param(
        "Kafka", "kafka.strimzi.io/v1beta2", "kafka: {replicas: 3}\nzookeeper: {replicas: 1}", {"kafka": 3, "zookeeper": 1}, id="Kafka"
    ),
    pytest.param("Kafka", "kafka.strimzi.io/v1beta2", "kafka: {replicas: 3}", {"kafka": 3}, id="Kafka without ZooKeeper"),
    pytest.param("KafkaNodePool", "kafka.strimzi.io/v1beta2", "replicas: 3", {"": 3}, id="KafkaNodePool"),
    pytest.param("KafkaConnect", "kafka.strimzi.io/v1beta2", "replicas: 2\nresources: {requests: {cpu: 1}}", {"": 2}, id="KafkaConnect"),
    pytest.param("Cluster", "postgresql.cnpg.io/v1", "instances: 3", {"": 3}, id="CNPG"),
    pytest.param(
        "RayCluster",
        "ray.io/v1",
        f"headGroupSpec: {{{PLAIN}}}\nworkerGroupSpecs: [{{groupName: a, replicas: 2, numOfHosts: 4, {PLAIN}}}, {{groupName: b, {PLAIN}}}]",
        {"head": 1, "workers a": 8, "workers b": 0},
        id="RayCluster",
    ),
    pytest.param(
        "RayCluster",
        "ray.io/v1",
        f"headGroupSpec: {{{PLAIN}}}\nworkerGroupSpecs: [{{groupName: none}}, {{groupName: a, replicas: 1, {PLAIN}}}]",
        {"head": 1, "workers a": 1},
        id="RayCluster whose first group has no pods",
    ),
    pytest.param(
        "RayJob",
        "ray.io/v1",
        f"rayClusterSpec: {{headGroupSpec: {{{PLAIN}}}, workerGroupSpecs: [{{groupName: a, replicas: 1, {PLAIN}}}]}}",
        {"head": 1, "workers a": 1, "submitter": 1},
        id="RayJob",
    ),
    pytest.param(
        "RayService", "ray.io/v1", f"rayClusterConfig: {{headGroupSpec: {{{PLAIN}}}}}", {"head": 1}, id="RayService"
    ),
    pytest.param(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        "replicatedJobs:\n"
        f"- {{name: d, template: {{spec: {{template: {{spec: {{restartPolicy: Never, {POD}}}}}}}}}}}\n"
        f"- {{name: w, replicas: 2, template: {{spec: {{parallelism: 3, completions: 3, "
        f"template: {{spec: {{restartPolicy: Never, {POD}}}}}}}}}}}",
        {"d 0": 1, "w 0": 3, "w 1": 3},
        id="JobSet",
    ),
    pytest.param(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io/v1",
        f"replicas: 2\nleaderWorkerTemplate: {{size: 4, workerTemplate: {{spec: {{{POD}}}}}}}",
        {"leaders": 2, "workers 0": 3, "workers 1": 3},
        id="LeaderWorkerSet",
    ),
    pytest.param("Service", "serving.knative.dev/v1", PLAIN, {"": 1}, id="Knative"),
    pytest.param(
        "SparkApplication", "sparkoperator.k8s.io/v1beta2", "executor: {instances: 3}\ndriver: {}", {"driver": 1, "executor": 3}, id="Spark"
    ),
    pytest.param(
        "SparkApplication", "sparkoperator.k8s.io/v1beta2", "executor: {}\ndriver: {}", {"driver": 1, "executor": 2}, id="Spark's own number"
    ),
    pytest.param(
        "PyTorchJob", "kubeflow.org/v1", f"pytorchReplicaSpecs: {{Master: {{{PLAIN}}}, Worker: {REPLICAS}}}", {"Master": 1, "Worker": 2}, id="PyTorchJob"
    ),
    pytest.param(
        "TFJob", "kubeflow.org/v1", f"tfReplicaSpecs: {{PS: {REPLICAS}, Worker: {REPLICAS}}}", {"PS": 2, "Worker": 2}, id="TFJob"
    ),
    pytest.param("MPIJob", "kubeflow.org/v2beta1", f"mpiReplicaSpecs: {{Worker: {REPLICAS}}}", {"Worker": 2}, id="MPIJob"),
    pytest.param("Job", "batch.volcano.sh/v1alpha1", f"tasks: [{{name: t, replicas: 2, {PLAIN}}}]", {"task t": 2}, id="Volcano"),
]  # fmt: skip


def resource(kind: str, version: str, spec: str, name: str = "x") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": yaml.safe_load(spec)}


def checked(
    folder: Path, capsys: pytest.CaptureFixture[str], *documents: Any, options: Any = (), cluster: Any = ()
) -> Any:
    node = make_node("n1").allocatable(cpu="64", memory="64Gi", pods=200).doc()
    (folder / "c.yaml").write_text(yaml.safe_dump_all([node, *cluster]))
    (folder / "m.yaml").write_text(yaml.safe_dump_all(documents))
    run(["check", "--from", str(folder / "c.yaml"), "-f", str(folder / "m.yaml"), "-o", "json", *options])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("kind", "version", "spec", "expected"), CASES)
def test_pods_of_each_kind(
    kind: str, version: str, spec: str, expected: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(tmp_path, capsys, resource(kind, version, spec))
    label = f"{kind} ml/x"
    pods = {each["workload"].removeprefix(label).strip(" ()"): each["running"] for each in found["workloads"]}
    assert pods == expected
    assert {each["workload"] for each in found["final"]} == {f"{kind}/ml/x"}
    assert found["findings"] == []
    assert "notRead" not in found["coverage"]


def test_the_cases_have_every_project() -> None:
    """Kinds that share the rows of another one are left out."""
    shared = {"PrometheusAgent", "ThanosRuler", "KafkaBridge", "KafkaMirrorMaker2", "XGBoostJob", "PaddleJob", "JAXJob"}
    assert {kind for kind, _ in CUSTOM_KINDS} - {case.values[0] for case in CASES} - shared == {"Notebook"}


@pytest.mark.parametrize(
    ("kind", "version", "spec", "field"),
    [
        pytest.param(
            "RayCluster",
            "ray.io/v1",
            "headGroupSpec: {template: {spec: {containers: [{name: a, resources: {requests: {cpu: 99}}}]}}}",
            "spec.headGroupSpec.template.spec.containers[0].resources.requests.cpu",
            id="a template",
        ),
        pytest.param(
            "Prometheus",
            "monitoring.coreos.com/v1",
            "resources: {requests: {memory: 999Gi}}",
            "spec.resources.requests.memory",
            id="fields of the resource",
        ),
        pytest.param(
            "PyTorchJob",
            "kubeflow.org/v1",
            "pytorchReplicaSpecs: {Worker: {template: {spec: {nodeSelector: {gpu: a100}, containers: [{name: a}]}}}}",
            "spec.pytorchReplicaSpecs.Worker.template.spec.nodeSelector.gpu",
            id="a type of replica",
        ),
        pytest.param(
            "SparkApplication",
            "sparkoperator.k8s.io/v1beta2",
            "driver: {cores: 99}\nexecutor: {}",
            "spec.driver.cores",
            id="Spark",
        ),
    ],
)
def test_findings_name_the_field_of_the_resource(
    kind: str, version: str, spec: str, field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (finding,) = checked(tmp_path, capsys, resource(kind, version, spec))["findings"]
    assert finding["path"] == field
    lines = (tmp_path / "m.yaml").read_text().splitlines()
    assert lines[finding["line"] - 1].strip().startswith(field.rpartition(".")[2])


def test_spark_adds_the_overhead_to_the_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """8 GiB and a tenth of it do not fit on 8.5 GiB; 512 MiB and the least overhead fit."""
    node = make_node("small").allocatable(cpu="64", memory="8704Mi", pods=20).doc()
    spec = "type: Scala\ndriver: {memory: 512m}\nexecutor: {instances: 1, memory: 8g}"
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(node))
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(resource("SparkApplication", "sparkoperator.k8s.io/v1", spec)))
    run(["check", "--from", str(tmp_path / "small.yaml"), "-f", str(tmp_path / "m.yaml"), "-o", "json"])
    found = json.loads(capsys.readouterr().out)["workloads"]
    assert [(each["workload"], each["running"]) for each in found] == [
        ("SparkApplication ml/x (driver)", 1),
        ("SparkApplication ml/x (executor)", 0),
    ]


def test_postgres_instances_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = [make_node(name).label("kubernetes.io/hostname", name).doc() for name in ("a", "b")]
    (tmp_path / "two.yaml").write_text(yaml.safe_dump_all(hosts))
    spec = "instances: 3\naffinity: {podAntiAffinityType: required}"
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(resource("Cluster", "postgresql.cnpg.io/v1", spec)))
    run(["check", "--from", str(tmp_path / "two.yaml"), "-f", str(tmp_path / "m.yaml"), "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["workloads"]
    assert (found["pods"], found["running"]) == (3, 2)


def test_a_rollout_that_runs_already_is_rolled_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its ReplicaSet belongs to the Rollout in the cluster: the old pods are replaced, and none is created beside them."""
    spec = f"replicas: 3\n{SELECTOR}\n{TEMPLATE}"
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "x", "uid": "u1", "controller": True}
    labels = {"app": "web", "rollouts-pod-template-hash": "abc"}
    old = yaml.safe_load(TEMPLATE)["template"]
    old["metadata"]["labels"] = labels
    old["spec"]["nodeSelector"] = {"kubernetes.io/os": "linux"}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "x-abc", "namespace": "ml", "uid": "u2", "labels": labels, "ownerReferences": [owner]},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": old},
    }
    pods = []
    for number in range(3):
        pod = make_pod(f"x-abc-{number}", "ml").requests(cpu="100m").on("n1").doc()
        above = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x-abc", "uid": "u2", "controller": True}
        pod["metadata"].update(labels=labels, ownerReferences=[above])
        pods.append(pod)
    found = checked(tmp_path, capsys, resource("Rollout", "argoproj.io/v1alpha1", spec), cluster=[replica_set, *pods])
    (workload,) = found["workloads"]
    assert (workload["rollout"], workload["pods"], workload["running"], workload["old"]) == (True, 3, 3, 0)
    assert found["finished"] == {"Rollout/ml/x": True}
    assert sum(each["state"] == "running" or each["state"] == "scheduled" for each in found["final"]) == 3


@pytest.mark.parametrize(("replicas", "pods"), [(1, 2), (3, 3), (9, 4)])
def test_the_autoscaler_of_a_rollout(
    replicas: int, pods: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From 2 to 4 replicas. A Deployment comes first, which no autoscaler scales."""
    target = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "x"}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "ml"},
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 4},
    }
    image = TEMPLATE.replace("name: main", "name: main, image: i")
    other = resource("Deployment", "apps/v1", f"replicas: 6\n{SELECTOR}\n{image}", "a")
    item = resource("Rollout", "argoproj.io/v1alpha1", f"replicas: {replicas}\n{SELECTOR}\n{TEMPLATE}")
    found = checked(tmp_path, capsys, other, item, cluster=[scaler])
    assert [each["running"] for each in found["workloads"]] == [6, pods]


FLEET = resource("Fleet", "agones.dev/v1", f"replicas: 2\ngroup: [{{pods: 3, {PLAIN}}}]")


def test_an_unknown_workload_is_a_warning_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fits = make_pod("p").doc()
    (finding,) = checked(tmp_path, capsys, fits, FLEET)["findings"]
    assert (finding["code"], finding["level"]) == ("KS006", "warning")
    assert (tmp_path / "m.yaml").read_text().splitlines()[finding["line"] - 1] == "apiVersion: agones.dev/v1"
    assert "--pod-template Fleet.agones.dev=spec.group[*].template" in finding["message"]


def test_a_kind_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    option = "Fleet.agones.dev=spec.group[*].template,replicas=spec.group[*].pods"
    found = checked(tmp_path, capsys, FLEET, options=["--pod-template", option])
    assert [(each["workload"], each["running"]) for each in found["workloads"]] == [("Fleet ml/x (0)", 3)]


@pytest.mark.parametrize("text", ["Fleet", "Fleet=spec", "Fleet.x.dev=", "Fleet.x.dev=spec.template,count=spec.n"])
def test_what_is_no_pod_template(text: str) -> None:
    with pytest.raises(UsageError, match=r"write KIND\.GROUP=PATH"):
        read_pod_templates([text])


def test_a_wrong_type_in_a_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "replicas: 2\nselector: {matchLabels: {app: web}}\ntemplate: {spec: {containers: 3}}"
    (finding,) = checked(tmp_path, capsys, resource("Rollout", "argoproj.io/v1alpha1", spec))["findings"]
    assert finding["code"] == "KS002"
    assert finding["message"].startswith("Rollout ml/x: spec.template.spec.containers: expected a list")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "version", "spec", "warned"),
    [
        pytest.param("CephCluster", "ceph.rook.io/v1", "cephVersion: {image: 'quay.io/ceph/ceph:v19'}", True, id="an image"),
        pytest.param("Elasticsearch", "k8s.elastic.co/v1", f"nodeSets: [{{podTemplate: {{spec: {{{POD}}}}}}}]", True, id="pods"),
        pytest.param("Redis", "redis.example.com/v1", "resources: {requests: {cpu: 1}}", True, id="requests"),
        pytest.param("ServingRuntime", "serving.kserve.io/v1", POD, False, id="a definition"),
        pytest.param("Certificate", "cert-manager.io/v1", "secretName: x", False, id="no pods at all"),
        pytest.param("VirtualService", "networking.istio.io/v1", "hosts: [a]", False, id="routes"),
        pytest.param("Gateway", "gateway.networking.k8s.io/v1", "listeners: []", False, id="of Kubernetes"),
    ],
)  # fmt: skip
def test_what_looks_like_a_workload(
    kind: str, version: str, spec: str, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(tmp_path, capsys, make_pod("p").doc(), resource(kind, version, spec))["findings"]
    assert [finding["code"] for finding in found] == ["KS006"] * warned


def read_paths(groups: Sequence[CustomPodGroup]) -> Iterator[str]:
    """The paths that the rows of a kind name; `.*.` stands for the elements of a list or mapping."""
    for group in groups:
        paths = (*group.fields.values(), group.replicas, group.times, group.copies, group.selector, group.only_if)
        yield from (f"{group.each}.*{path}" if path.startswith(".") else path for path in (*paths, group.each) if path)


@pytest.mark.parametrize("kind", [pytest.param(kind, id=".".join(kind)) for kind in CUSTOM_KINDS])
def test_the_definition_of_the_kind_has_the_fields(kind: tuple[str, str]) -> None:
    """Compared with the public CustomResourceDefinitions; fixtures/public/README.md says how."""
    sources = json.loads((ROOT / "fixtures" / "public" / "custom-kinds.json").read_text())
    known = {path for each in sources if (each["kind"], each["group"]) == kind for path in each["paths"]}
    assert known
    assert set(read_paths(CUSTOM_KINDS[kind])) <= known


@pytest.mark.parametrize(
    ("version", "strategy", "surge", "unavailable"),
    [
        pytest.param("v1alpha1", {"maxUnavailable": 0, "maxSurge": 1}, 1, 0, id="v1alpha1"),
        pytest.param("v1beta1", {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}, 1, 0, id="v1beta1"),
        pytest.param("v1alpha1", {"maxSurge": 1}, 1, "20%", id="only surge"),
        pytest.param("v1beta1", {"rollingUpdate": {"maxUnavailable": 3}}, 0, 3, id="only unavailable"),
        pytest.param("v1beta1", {"rollingUpdate": {}}, 0, "20%", id="no limits"),
        pytest.param("v1beta1", {"rollingUpdate": None, "maxSurge": 2}, 2, "20%", id="null before limits that count"),
        pytest.param("v1alpha1", None, 0, "20%", id="no strategy"),
        pytest.param("v1alpha1", "x", 0, "20%", id="a strategy that is no object"),
    ],
)
def test_limits_of_a_clone_set(version: str, strategy: Any, surge: Any, unavailable: Any) -> None:
    item = resource("CloneSet", f"apps.kruise.io/{version}", f"replicas: 2\n{SELECTOR}\n{TEMPLATE}")
    item["spec"]["updateStrategy"] = strategy
    (made,) = custom_workloads(UnknownKind(item["apiVersion"], "CloneSet", item), Origin("m.yaml"), known_kinds({}))
    assert isinstance(made, CustomWorkload)
    assert made.item.spec.strategy.rolling_update == RollingUpdate(max_surge=surge, max_unavailable=unavailable)


def test_brokers_of_node_pools_do_not_count_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    item = resource("Kafka", "kafka.strimzi.io/v1beta2", "kafka: {replicas: 3}")
    item["metadata"]["annotations"] = {"strimzi.io/node-pools": "enabled"}
    (brokers,) = checked(tmp_path, capsys, item)["workloads"]
    assert brokers["pods"] == 0


DRAFTS = yaml.safe_load(Path(__file__).with_name("custom_drafts.yaml").read_text())


def made_of(item: Any) -> dict[str, Any]:
    """The workloads of a custom resource as documents, by their labels; raises for mistakes in it."""
    found = custom_workloads(UnknownKind(item["apiVersion"], item["kind"], item), Origin("m.yaml"), known_kinds({}))
    documents = [json.loads(msgspec.json.encode(each.item)) for each in found if isinstance(each, CustomWorkload)]
    return {each["metadata"]["annotations"][STANDS_FOR]: each for each in documents}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["it"]) for row in DRAFTS])
def test_what_the_controllers_add(row: Any) -> None:
    before = copy.deepcopy(item := {"metadata": {"name": "x"}, **row["of"]})
    found = made_of(item)
    assert {
        label: {path: reduce(field_of, path.split("."), found[label]) for path in paths}
        for label, paths in row["made"].items()
    } == row["made"]
    assert set(found) == set(row["made"])
    assert item == before


def field_of(value: Any, step: str) -> Any:
    return value[int(step)] if isinstance(value, list) else value[step]


def paths_in(value: Any) -> Iterator[tuple[Any, ...]]:
    for step, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield (step,)
        if isinstance(each, dict | list):
            yield from ((step, *path) for path in paths_in(each))


@pytest.mark.slow
@pytest.mark.parametrize("row", [pytest.param(row, id=row["it"]) for row in DRAFTS])
def test_a_wrong_type_anywhere_is_a_mistake_or_ignored(row: Any) -> None:
    for *around, last in paths_in({key: row["of"][key] for key in ("metadata", "spec") if key in row["of"]}):
        for wrong in (3, "x", [3], None, {"a": None}):
            item = copy.deepcopy({"metadata": {"name": "x"}, **row["of"]})
            reduce(lambda value, step: value[step], around, item)[last] = wrong
            unknown = UnknownKind(item["apiVersion"], item["kind"], item)
            for each in custom_workloads(unknown, Origin("m.yaml"), known_kinds({})):
                assert isinstance(each, Problem) or each.item.spec.template.spec.containers


@pytest.mark.parametrize(
    ("kind", "version", "spec", "path"),
    [
        pytest.param("CloneSet", "apps.kruise.io/v1", "template: 3", "spec.template", id="before a claim is added"),
        pytest.param("Service", "serving.knative.dev/v1", "template: {spec: {containers: x}}", "spec.template.spec.containers", id="before a container is added"),
        pytest.param("Service", "serving.knative.dev/v1", "template: {spec: {containers: [3]}}", "spec.template.spec.containers[0]", id="beside a container"),
        pytest.param("SparkApplication", "sparkoperator.k8s.io/v1", "driver: {template: 3, nodeSelector: {a: b}}", "spec.driver.template", id="around another field"),
        pytest.param("Cluster", "postgresql.cnpg.io/v1", "affinity: {nodeAffinity: 3}", "spec.affinity.nodeAffinity", id="a part of the affinity"),
        pytest.param("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderWorkerTemplate: {workerTemplate: {spec: 3}}", "spec.leaderWorkerTemplate.workerTemplate.spec", id="of the other template"),
    ],
)  # fmt: skip
def test_a_wrong_type_that_would_be_completed(kind: str, version: str, spec: str, path: str) -> None:
    item = resource(kind, version, spec)
    mistakes = list(custom_workloads(UnknownKind(version, kind, item), Origin("m.yaml"), known_kinds({})))
    assert [each.path for each in mistakes if isinstance(each, Problem)][:1] == [f"{kind} ml/x: {path}"]


@pytest.mark.parametrize(
    ("kind", "version", "spec", "warned"),
    [
        pytest.param("Rollout", "argoproj.io/v1alpha1", "replicas: 1", True, id="no template"),
        pytest.param("RayCluster", "ray.io/v1", f"headGroupSpec: {{{PLAIN}}}", False, id="one of two groups"),
        pytest.param("Kafka", "kafka.strimzi.io/v1", "entityOperator: {}", False, id="pods in other resources"),
    ],
)
def test_a_resource_without_pods(kind: str, version: str, spec: str, warned: bool) -> None:
    unknown = UnknownKind(version, kind, resource(kind, version, spec))
    found = custom_workloads(unknown, Origin("m.yaml"), known_kinds({}))
    assert [each.level for each in found if isinstance(each, Problem)] == ["warning"] * warned


@pytest.mark.parametrize("metadata", [3, {}, {"name": ""}, {"generateName": ""}])
def test_a_custom_resource_needs_a_name(metadata: Any) -> None:
    item = {**resource("Cluster", "postgresql.cnpg.io/v1", "instances: 1"), "metadata": metadata}
    (mistake,) = custom_workloads(UnknownKind(item["apiVersion"], "Cluster", item), Origin("m.yaml"), known_kinds({}))
    assert isinstance(mistake, Problem)
    assert mistake.path == "Cluster: metadata.name"
