"""The table of custom kinds: the groups of pods of each, and how their controllers replace them.

The paths are those of the public CRDs of each project; fixtures/public/custom-kinds.json has their sources. A new kind
is a new row. Above the table are the groups (`CustomPodGroup`) with values at paths, and the parts that operators add
to the pods of their resources, as far as scheduling reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from ksched_cli.api.validation.fields import object_at, text_at

Manner = Literal["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job"]
Draft = dict[str, Any]
Steps = tuple[str | int, ...]


class CustomResource(Struct, frozen=True):
    """A custom resource as plain values, or one element of a list or mapping in it."""

    document: Mapping[str, Any]
    element: Any = None
    key: str = ""
    prefix: Steps = ()

    @property
    def name(self) -> str:
        metadata = self.mapping("metadata")
        return text_at(metadata, "name") or text_at(metadata, "generateName").rstrip("-")

    def at(self, path: str) -> Any:
        """The value at `spec.replicas`, or at `.replicas` of the element; None if there is none."""
        value: Any = self.element if path.startswith(".") else self.document
        for step in path.lstrip(".").split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def mapping(self, path: str) -> Mapping[str, Any]:
        """The object at the path; empty if there is none."""
        found = self.at(path)
        return found if isinstance(found, dict) else {}

    def objects(self, path: str) -> Sequence[Mapping[str, Any]]:
        """The objects of the list at the path; empty if there is none."""
        found = self.at(path)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else ()

    def steps(self, path: str) -> Steps:
        own = tuple(path.lstrip(".").split("."))
        return (*self.prefix, *own) if path.startswith(".") else own

    def number(self, path: str, default: int) -> int:
        value = self.at(path) if path else default
        return value if isinstance(value, int) and not isinstance(value, bool) else default


def elements_of(resource: CustomResource, path: str) -> Iterator[CustomResource]:
    """The elements of a list or mapping, each with its key or name."""
    found = resource.at(path)
    steps = tuple(path.split("."))
    if isinstance(found, dict):
        for key, each in found.items():
            yield CustomResource(resource.document, each, str(key), (*steps, key))
    elif isinstance(found, list):
        for index, each in enumerate(found):
            named = each if isinstance(each, dict) else {}
            key = named.get("groupName") or named.get("name") or str(index)
            yield CustomResource(resource.document, each, str(key), (*steps, index))


class CustomPodGroup(Struct, frozen=True):
    """One group of equal pods of a custom resource.

    `manner` is the workload of Kubernetes whose controller replaces pods in the same way. `fields` maps fields of that
    workload to paths in the resource; a path that begins with a dot is in an element of the list or mapping `each`.
    `otherwise` is the path of the template if the resource has none at the first path. `replicas` times `times` pods
    are wanted; `copies` is the path of the number of such workloads. `name` and `labels` may contain {name}, {key} and
    {copy}. `adjust` completes a draft without mistakes with values that no path alone has.
    """

    manner: Manner
    fields: Mapping[str, str]
    each: str = ""
    replicas: str = ""
    default: int = 1
    times: str = ""
    copies: str = ""
    name: str = "{name}"
    group: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    selector: str = ""
    only_if: str = ""
    otherwise: str = ""
    adjust: Callable[[Draft, CustomResource], None] | None = None


TEMPLATE = "spec.template"


def template(path: str) -> Mapping[str, str]:
    """The field of a complete pod template."""
    return {TEMPLATE: path}


def same(*paths: str) -> Mapping[str, str]:
    """Fields that a resource has at the paths of the workload of Kubernetes."""
    return {path: path for path in paths}


_POD_FIELDS = (
    *("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"),
    *("priorityClassName", "schedulerName", "hostNetwork"),
)


def pod_fields(base: str, *, without: Collection[str] = ()) -> Mapping[str, str]:
    """The pod fields that a resource without a pod template has, under the names of Kubernetes."""
    found = {f"{TEMPLATE}.spec.{name}": f"{base}.{name}" for name in _POD_FIELDS if name not in without}
    return {**found, f"{TEMPLATE}.spec.containers.0.resources": f"{base}.resources"}


# Strimzi's entity operator, Knative's queue-proxy and the reloader of the Prometheus operator by their defaults.
_SIDECARS: Mapping[str, Mapping[str, Any]] = {
    "config-reloader": {"requests": {"cpu": "10m", "memory": "50Mi"}, "limits": {"cpu": "10m", "memory": "50Mi"}},
    "queue-proxy": {"requests": {"cpu": "25m"}},
}


def pod_spec(draft: Draft) -> Draft:
    found: Draft = draft["spec"].setdefault("template", {}).setdefault("spec", {})
    return found


def with_sidecar(name: str) -> Callable[[Draft, CustomResource], None]:
    """Add the container that the operator puts into every pod."""

    def adjust(draft: Draft, resource: CustomResource) -> None:
        pod_spec(draft).setdefault("containers", []).append({"name": name, "resources": dict(_SIDECARS[name])})

    return adjust


def rollout(draft: Draft, resource: CustomResource) -> None:
    """Set the strategy of Argo Rollouts: a canary surges by 25 %. With a router that splits the traffic, and with
    blueGreen, all old pods stay until the new pods run."""
    canary = resource.mapping("spec.strategy.canary")
    splits = "trafficRouting" in canary and not canary.get("dynamicStableScale")
    if splits or "canary" not in resource.mapping("spec.strategy"):
        rolling = {"maxSurge": "100%", "maxUnavailable": 0}
    else:
        rolling = {"maxSurge": canary.get("maxSurge", "25%"), "maxUnavailable": canary.get("maxUnavailable", "25%")}
    draft["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}


def clone_set(draft: Draft, resource: CustomResource) -> None:
    """Set the strategy of OpenKruise: 20 % of the pods may be unavailable, and no pod surges. Each pod has its own
    claims. v1beta1 has the limits in `rollingUpdate`."""
    given = resource.mapping("spec.updateStrategy.rollingUpdate") or resource.mapping("spec.updateStrategy")
    rolling = {"maxSurge": given.get("maxSurge", 0), "maxUnavailable": given.get("maxUnavailable", "20%")}
    draft["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    volumes = pod_spec(draft).setdefault("volumes", [])
    for claim in resource.objects("spec.volumeClaimTemplates"):
        ephemeral = {"volumeClaimTemplate": {"spec": claim.get("spec")}}
        volumes.append({"name": object_at(claim, "metadata").get("name"), "ephemeral": ephemeral})


def parallel(draft: Draft, resource: CustomResource) -> None:
    """Let the set start all pods at once."""
    draft["spec"]["podManagementPolicy"] = "Parallel"


def monitoring(draft: Draft, resource: CustomResource) -> None:
    """Set what the Prometheus operator sets: parallel pods, a reloader container, and the name of the claim."""
    parallel(draft, resource)
    with_sidecar("config-reloader")(draft, resource)
    claim = resource.at("spec.storage.volumeClaimTemplate")
    if isinstance(claim, dict):
        named = {"name": f"{draft['metadata']['name']}-db", **object_at(claim, "metadata")}
        draft["spec"]["volumeClaimTemplates"] = [{"metadata": named, "spec": claim.get("spec") or {}}]


def _claim(name: str, storage: Mapping[str, Any], class_field: str) -> Draft:
    spec: Draft = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage.get("size", "0")}}}
    if storage.get(class_field):
        spec["storageClassName"] = storage[class_field]
    template = storage.get("pvcTemplate")
    return {"metadata": {"name": name}, "spec": {**spec, **(template if isinstance(template, dict) else {})}}


def kafka(path: str) -> Callable[[Draft, CustomResource], None]:
    """Set what Strimzi sets: a claim for each persistent volume, and parallel pods."""

    def adjust(draft: Draft, resource: CustomResource) -> None:
        parallel(draft, resource)
        annotations = resource.mapping("metadata.annotations")
        if path.startswith("spec.kafka.") and annotations.get("strimzi.io/node-pools") == "enabled":
            # The brokers are those of the KafkaNodePools; the replicas here are ignored.
            draft["spec"]["replicas"] = 0
        storage = resource.mapping(path)
        named: Mapping[str, Mapping[str, Any]] = {"data": storage}
        if storage.get("type") == "jbod":
            named = {f"data-{each.get('id')}": each for each in resource.objects(f"{path}.volumes")}
        claims = [_claim(name, each, "class") for name, each in named.items() if each.get("type") == "persistent-claim"]
        draft["spec"]["volumeClaimTemplates"] = claims

    return adjust


def postgres(draft: Draft, resource: CustomResource) -> None:
    """Set what CloudNativePG sets: claims for data and log, and anti-affinity of instances unless it is disabled."""
    parallel(draft, resource)
    claims = []
    for name, path in (("pgdata", "spec.storage"), ("wal", "spec.walStorage")):
        if storage := resource.mapping(path):
            claims.append(_claim(name, storage, "storageClass"))
    draft["spec"]["volumeClaimTemplates"] = claims
    given = resource.mapping("spec.affinity")
    if given.get("enablePodAntiAffinity") is False:
        return
    apart = pod_spec(draft).setdefault("affinity", {}).setdefault("podAntiAffinity", {})
    selector = {"matchExpressions": [{"key": "cnpg.io/cluster", "operator": "In", "values": [resource.name]}]}
    term = {"labelSelector": selector, "topologyKey": given.get("topologyKey") or "kubernetes.io/hostname"}
    if given.get("podAntiAffinityType") == "required":
        apart.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
    else:
        preferred = {"weight": 100, "podAffinityTerm": term}
        apart.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(preferred)


def lws_worker(draft: Draft, resource: CustomResource) -> None:
    """Set the workers of a LeaderWorkerSet: they are numbered from 1, and the size of a group includes the leader."""
    parallel(draft, resource)
    draft["spec"]["replicas"] = max(resource.number("spec.leaderWorkerTemplate.size", 1) - 1, 0)
    draft["spec"]["ordinals"] = {"start": 1}


def knative(draft: Draft, resource: CustomResource) -> None:
    """Set what Knative sets: the initial scale or the lower bound of the autoscaler, and a queue-proxy in each pod."""
    annotations = resource.mapping("spec.template.metadata.annotations")
    scales = (annotations.get(f"autoscaling.knative.dev/{name}") for name in _SCALES)
    draft["spec"]["replicas"] = max([1, *(int(str(each)) for each in scales if str(each).isdecimal())])
    with_sidecar("queue-proxy")(draft, resource)


_SCALES = ("min-scale", "minScale", "initial-scale", "initialScale")


def ray_submitter(draft: Draft, resource: CustomResource) -> None:
    """Set the Job with which KubeRay submits. Without a template its pod has these requests."""
    default = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    spec = pod_spec(draft)
    spec.setdefault("restartPolicy", "Never")
    spec.setdefault("containers", [{"name": "ray-job-submitter", "resources": default}])


def spark(role: str) -> Callable[[Draft, CustomResource], None]:
    """Set the resources of Spark's pods. Their memory is that of the JVM plus an overhead: 0.1 of it, 0.4 for Python
    and R, at least 384 MiB."""

    def adjust(draft: Draft, resource: CustomResource) -> None:
        given = resource.mapping(f"spec.{role}")
        heap = _mebibytes(given.get("memory") or "1g")
        factor = re.fullmatch(r"\d{0,9}\.?\d{1,9}", str(resource.at("spec.memoryOverheadFactor")))
        share = float(factor[0]) if factor else 0.1 if resource.at("spec.type") in ("Java", "Scala", None) else 0.4
        overhead = _mebibytes(given["memoryOverhead"]) if given.get("memoryOverhead") else max(int(heap * share), 384)
        memory, cpu = f"{heap + overhead}Mi", given.get("coreRequest") or given.get("cores") or 1
        resources: Draft = {"requests": {"cpu": str(cpu), "memory": memory}, "limits": {"memory": memory}}
        if given.get("coreLimit"):
            resources["limits"]["cpu"] = str(given["coreLimit"])
        pod_spec(draft).setdefault("containers", [{}])[0]["resources"] = resources
        if role == "executor" and resource.at("spec.dynamicAllocation.enabled"):
            initial = resource.number("spec.dynamicAllocation.initialExecutors", 0)
            least = resource.number("spec.dynamicAllocation.minExecutors", 0)
            draft["spec"]["replicas"] = max(resource.number("spec.executor.instances", 0), initial, least)

    return adjust


_UNITS = {"": 1 / 1024**2, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}


def _mebibytes(text: Any) -> int:
    """Mebibytes of the JVM's notation, in which `512m` and `4g` are binary."""
    found = re.fullmatch(r"(\d{1,15})\s*([kmgt]?)i?b?", str(text).strip().lower())
    return int(int(found[1]) * _UNITS[found[2]]) if found else 0


_TRAINING = {
    "training.kubeflow.org/job-name": "{name}",
    "training.kubeflow.org/replica-type": "{key}",
}
_CLUSTER, _SPARK, _STRIMZI = "ray.io/cluster", "sparkoperator.k8s.io/app-name", "strimzi.io/cluster"


def _training(path: str) -> tuple[CustomPodGroup, ...]:
    """The pods of Kubeflow: one template and number for each type of replica."""
    fields = template(".template")
    return (CustomPodGroup("ReplicaSet", fields, path, ".replicas", name="{name}-{key}", labels=_TRAINING),)


def _ray(base: str) -> tuple[CustomPodGroup, ...]:
    """The pods of KubeRay: one head, and groups of workers with one or more hosts for each replica."""
    head = CustomPodGroup(
        "ReplicaSet",
        template(f"{base}.headGroupSpec.template"),
        name="{name}-head",
        group="head",
        labels={_CLUSTER: "{name}", "ray.io/node-type": "head"},
    )
    workers = CustomPodGroup(
        "ReplicaSet",
        template(".template"),
        f"{base}.workerGroupSpecs",
        ".replicas",
        default=0,
        times=".numOfHosts",
        name="{name}-{key}-worker",
        group="workers {key}",
        labels={_CLUSTER: "{name}", "ray.io/node-type": "worker", "ray.io/group": "{key}"},
    )
    return head, workers


def _strimzi_pod(base: str, resources: str = "") -> Mapping[str, str]:
    """The fields of Strimzi's pod templates, which have node affinity and no node selector."""
    fields = pod_fields(f"{base}.template.pod", without=("nodeSelector", "hostNetwork"))
    return {**fields, "spec.template.spec.containers.0.resources": resources or f"{base}.resources"}


def _strimzi(kind: str) -> tuple[CustomPodGroup, ...]:
    """The pods of Strimzi's stateless kinds."""
    name, fields = f"{{name}}-{kind}", _strimzi_pod("spec")
    return (CustomPodGroup("Deployment", fields, replicas="spec.replicas", name=name, labels=_OF_STRIMZI),)


_OF_STRIMZI = {_STRIMZI: "{name}", "strimzi.io/name": "{name}-pods"}


def _kafka(part: str, only_if: str) -> CustomPodGroup:
    """The brokers or ZooKeeper of a Kafka resource of v1beta2. v1 has node pools only."""
    base = f"spec.{part}"
    return CustomPodGroup(
        "StatefulSet",
        _strimzi_pod(base),
        replicas=f"{base}.replicas",
        name=f"{{name}}-{part}",
        group=part,
        labels={_STRIMZI: "{name}", "strimzi.io/name": f"{{name}}-{part}"},
        only_if=only_if,
        adjust=kafka(f"{base}.storage"),
    )


def _monitoring(kind: str, copies: str = "", without: Collection[str] = ()) -> tuple[CustomPodGroup, ...]:
    """The pods of a kind of the Prometheus operator."""
    made = CustomPodGroup(
        "StatefulSet",
        pod_fields("spec", without=without),
        replicas="spec.replicas",
        copies=copies,
        name=f"{kind}-{{name}}{{shard}}",
        group="{shard}",
        labels={"app.kubernetes.io/name": kind, "app.kubernetes.io/instance": "{name}", kind: "{name}"},
        adjust=monitoring,
    )
    return (made,)


def _spark(role: str) -> CustomPodGroup:
    fields = {
        **template(f"spec.{role}.template"),
        **{f"spec.template.spec.{name}": f"spec.{role}.{name}" for name in ("nodeSelector", "affinity", "tolerations")},
        "spec.template.spec.containers.0.resources.requests.cpu": f"spec.{role}.cores",
        "spec.template.spec.containers.0.resources.requests.memory": f"spec.{role}.memory",
        "spec.template.spec.priorityClassName": f"spec.{role}.priorityClassName",
        "spec.template.spec.schedulerName": f"spec.{role}.schedulerName",
    }
    executor = role == "executor"
    return CustomPodGroup(
        "ReplicaSet",
        fields,
        replicas="spec.executor.instances" if executor else "",
        default=2 if executor else 1,
        name=f"{{name}}-{role}",
        group=role,
        labels={_SPARK: "{name}", "spark-role": role},
        adjust=spark(role),
    )


_LWS = "spec.leaderWorkerTemplate"
_LWS_NAME = "leaderworkerset.sigs.k8s.io/name"

CUSTOM_KINDS: Mapping[tuple[str, str], tuple[CustomPodGroup, ...]] = {
    ("Rollout", "argoproj.io"): (
        CustomPodGroup(
            "Deployment", same("spec.template"), replicas="spec.replicas", selector="spec.selector", adjust=rollout
        ),
    ),
    ("CloneSet", "apps.kruise.io"): (
        CustomPodGroup(
            "Deployment", same("spec.template"), replicas="spec.replicas", selector="spec.selector", adjust=clone_set
        ),
    ),
    ("StatefulSet", "apps.kruise.io"): (
        CustomPodGroup(
            "StatefulSet",
            same(
                *("spec.template", "spec.volumeClaimTemplates", "spec.podManagementPolicy"),
                "spec.updateStrategy.rollingUpdate.partition",
            ),
            replicas="spec.replicas",
            selector="spec.selector",
        ),
    ),
    ("DaemonSet", "apps.kruise.io"): (
        CustomPodGroup(
            "DaemonSet",
            same(
                *("spec.template", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.maxSurge"),
                "spec.updateStrategy.rollingUpdate.maxUnavailable",
            ),
            selector="spec.selector",
        ),
    ),
    ("Prometheus", "monitoring.coreos.com"): _monitoring("prometheus", "spec.shards"),
    ("PrometheusAgent", "monitoring.coreos.com"): _monitoring("prom-agent", "spec.shards"),
    ("Alertmanager", "monitoring.coreos.com"): _monitoring("alertmanager"),
    ("ThanosRuler", "monitoring.coreos.com"): _monitoring("thanos-ruler", without=("hostNetwork",)),
    ("Kafka", "kafka.strimzi.io"): (
        _kafka("kafka", "spec.kafka.replicas"),
        _kafka("zookeeper", "spec.zookeeper.replicas"),
        CustomPodGroup(
            "Deployment",
            _strimzi_pod("spec.entityOperator", "spec.entityOperator.topicOperator.resources"),
            name="{name}-entity-operator",
            group="entity operator",
            labels={_STRIMZI: "{name}", "strimzi.io/name": "{name}-entity-operator"},
            only_if="spec.entityOperator",
        ),
    ),
    ("KafkaNodePool", "kafka.strimzi.io"): (
        CustomPodGroup(
            "StatefulSet",
            _strimzi_pod("spec"),
            replicas="spec.replicas",
            labels={"strimzi.io/pool-name": "{name}"},
            adjust=kafka("spec.storage"),
        ),
    ),
    ("KafkaConnect", "kafka.strimzi.io"): _strimzi("connect"),
    ("KafkaBridge", "kafka.strimzi.io"): _strimzi("bridge"),
    ("KafkaMirrorMaker2", "kafka.strimzi.io"): _strimzi("mirrormaker2"),
    ("Cluster", "postgresql.cnpg.io"): (
        CustomPodGroup(
            "StatefulSet",
            {
                **pod_fields("spec", without=("hostNetwork", "affinity")),
                "spec.template.spec.nodeSelector": "spec.affinity.nodeSelector",
                "spec.template.spec.tolerations": "spec.affinity.tolerations",
                "spec.template.spec.affinity.nodeAffinity": "spec.affinity.nodeAffinity",
                "spec.template.spec.affinity.podAffinity": "spec.affinity.additionalPodAffinity",
                "spec.template.spec.affinity.podAntiAffinity": "spec.affinity.additionalPodAntiAffinity",
            },
            replicas="spec.instances",
            labels={"cnpg.io/cluster": "{name}"},
            adjust=postgres,
        ),
    ),
    ("RayCluster", "ray.io"): _ray("spec"),
    ("RayService", "ray.io"): _ray("spec.rayClusterConfig"),
    ("RayJob", "ray.io"): (
        *_ray("spec.rayClusterSpec"),
        CustomPodGroup("Job", template("spec.submitterPodTemplate"), group="submitter", adjust=ray_submitter),
    ),
    ("JobSet", "jobset.x-k8s.io"): (
        CustomPodGroup(
            "Job",
            {"spec": ".template.spec"},
            "spec.replicatedJobs",
            copies=".replicas",
            name="{name}-{key}-{copy}",
            group="{key} {copy}",
        ),
    ),
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io"): (
        CustomPodGroup(
            "StatefulSet",
            template(f"{_LWS}.leaderTemplate"),
            otherwise=f"{_LWS}.workerTemplate",
            replicas="spec.replicas",
            group="leaders",
            labels={_LWS_NAME: "{name}", "leaderworkerset.sigs.k8s.io/worker-index": "0"},
            adjust=parallel,
        ),
        CustomPodGroup(
            "StatefulSet",
            template(f"{_LWS}.workerTemplate"),
            copies="spec.replicas",
            name="{name}-{copy}",
            group="workers {copy}",
            labels={_LWS_NAME: "{name}", "leaderworkerset.sigs.k8s.io/group-index": "{copy}"},
            adjust=lws_worker,
        ),
    ),
    ("Service", "serving.knative.dev"): (
        CustomPodGroup(
            "Deployment",
            same("spec.template"),
            name="{name}-00001-deployment",
            labels={"serving.knative.dev/service": "{name}"},
            adjust=knative,
        ),
    ),
    ("SparkApplication", "sparkoperator.k8s.io"): (_spark("driver"), _spark("executor")),
    ("PyTorchJob", "kubeflow.org"): _training("spec.pytorchReplicaSpecs"),
    ("TFJob", "kubeflow.org"): _training("spec.tfReplicaSpecs"),
    ("MPIJob", "kubeflow.org"): _training("spec.mpiReplicaSpecs"),
    ("XGBoostJob", "kubeflow.org"): _training("spec.xgbReplicaSpecs"),
    ("PaddleJob", "kubeflow.org"): _training("spec.paddleReplicaSpecs"),
    ("JAXJob", "kubeflow.org"): _training("spec.jaxReplicaSpecs"),
    ("Notebook", "kubeflow.org"): (
        CustomPodGroup("StatefulSet", same("spec.template"), labels={"notebook-name": "{name}"}),
    ),
    ("Job", "batch.volcano.sh"): (
        CustomPodGroup(
            "ReplicaSet",
            template(".template"),
            "spec.tasks",
            ".replicas",
            name="{name}-{key}",
            group="task {key}",
            labels={"volcano.sh/job-name": "{name}", "volcano.sh/task-spec": "{key}"},
        ),
    ),
}
