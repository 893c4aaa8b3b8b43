"""The table of custom kinds: the groups of pods of each, and how their controllers replace them.

The paths are those of the public CRDs of each project; fixtures/public/custom-kinds.json has their sources. A new kind
is a new row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ksched_cli.sources.custom import drafts
from ksched_cli.sources.custom.drafts import CustomPodGroup, pod_fields, template

_TRAINING = {
    "training.kubeflow.org/job-name": "{name}",
    "training.kubeflow.org/replica-type": "{key}",
}
_CLUSTER, _SPARK, _STRIMZI = "ray.io/cluster", "sparkoperator.k8s.io/app-name", "strimzi.io/cluster"


def _training(path: str) -> tuple[CustomPodGroup, ...]:
    """The pods of Kubeflow: one template and number for each type of replica."""
    group = CustomPodGroup(
        "ReplicaSet", template(".template"), path, ".replicas", name="{name}-{key}", labels=_TRAINING
    )
    return (group,)


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
    return (
        CustomPodGroup(
            "Deployment", _strimzi_pod("spec"), replicas="spec.replicas", name=f"{{name}}-{kind}", labels=_OF_STRIMZI
        ),
    )


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
        adjust=drafts.kafka(f"{base}.storage"),
    )


def _monitoring(kind: str, copies: str = "", without: Collection[str] = ()) -> tuple[CustomPodGroup, ...]:
    """The pods of a kind of the Prometheus operator."""
    labels = {"app.kubernetes.io/name": kind, "app.kubernetes.io/instance": "{name}", kind: "{name}"}
    name = f"{kind}-{{name}}{{shard}}"
    return (
        CustomPodGroup(
            "StatefulSet",
            pod_fields("spec", without=without),
            replicas="spec.replicas",
            copies=copies,
            name=name,
            group="{shard}",
            labels=labels,
            adjust=drafts.monitoring,
        ),
    )


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
        adjust=drafts.spark(role),
    )


_LWS = "spec.leaderWorkerTemplate"
_LWS_NAME = "leaderworkerset.sigs.k8s.io/name"

CUSTOM_KINDS: Mapping[tuple[str, str], tuple[CustomPodGroup, ...]] = {
    ("Rollout", "argoproj.io"): (
        CustomPodGroup(
            "Deployment",
            template("spec.template"),
            replicas="spec.replicas",
            selector="spec.selector",
            adjust=drafts.rollout,
        ),
    ),
    ("CloneSet", "apps.kruise.io"): (
        CustomPodGroup(
            "Deployment",
            template("spec.template"),
            replicas="spec.replicas",
            selector="spec.selector",
            adjust=drafts.clone_set,
        ),
    ),
    ("StatefulSet", "apps.kruise.io"): (
        CustomPodGroup(
            "StatefulSet",
            {
                **template("spec.template"),
                "spec.volumeClaimTemplates": "spec.volumeClaimTemplates",
                "spec.podManagementPolicy": "spec.podManagementPolicy",
                "spec.updateStrategy.rollingUpdate.partition": "spec.updateStrategy.rollingUpdate.partition",
            },
            replicas="spec.replicas",
            selector="spec.selector",
        ),
    ),
    ("DaemonSet", "apps.kruise.io"): (
        CustomPodGroup(
            "DaemonSet",
            {
                **template("spec.template"),
                "spec.updateStrategy.type": "spec.updateStrategy.type",
                "spec.updateStrategy.rollingUpdate.maxSurge": "spec.updateStrategy.rollingUpdate.maxSurge",
                "spec.updateStrategy.rollingUpdate.maxUnavailable": "spec.updateStrategy.rollingUpdate.maxUnavailable",
            },
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
            adjust=drafts.kafka("spec.storage"),
        ),
    ),
    ("KafkaConnect", "kafka.strimzi.io"): _strimzi("connect"),
    ("KafkaBridge", "kafka.strimzi.io"): _strimzi("bridge"),
    ("KafkaMirrorMaker2", "kafka.strimzi.io"): _strimzi("mirrormaker2"),
    ("Cluster", "postgresql.cnpg.io"): (
        CustomPodGroup(
            "StatefulSet",
            {
                **pod_fields("spec", without=("hostNetwork",)),
                "spec.template.spec.nodeSelector": "spec.affinity.nodeSelector",
                "spec.template.spec.tolerations": "spec.affinity.tolerations",
            },
            replicas="spec.instances",
            labels={"cnpg.io/cluster": "{name}"},
            adjust=drafts.postgres,
        ),
    ),
    ("RayCluster", "ray.io"): _ray("spec"),
    ("RayService", "ray.io"): _ray("spec.rayClusterConfig"),
    ("RayJob", "ray.io"): (
        *_ray("spec.rayClusterSpec"),
        CustomPodGroup("Job", template("spec.submitterPodTemplate"), group="submitter", adjust=drafts.ray_submitter),
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
            replicas="spec.replicas",
            group="leaders",
            labels={_LWS_NAME: "{name}", "leaderworkerset.sigs.k8s.io/worker-index": "0"},
            adjust=drafts.lws_leader,
        ),
        CustomPodGroup(
            "StatefulSet",
            template(f"{_LWS}.workerTemplate"),
            copies="spec.replicas",
            name="{name}-{copy}",
            group="workers {copy}",
            labels={_LWS_NAME: "{name}", "leaderworkerset.sigs.k8s.io/group-index": "{copy}"},
            adjust=drafts.lws_worker,
        ),
    ),
    ("Service", "serving.knative.dev"): (
        CustomPodGroup(
            "Deployment",
            template("spec.template"),
            name="{name}-00001-deployment",
            labels={"serving.knative.dev/service": "{name}"},
            adjust=drafts.knative,
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
        CustomPodGroup("StatefulSet", template("spec.template"), labels={"notebook-name": "{name}"}),
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
