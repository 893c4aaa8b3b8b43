"""Dumps of clusters as providers shape them, made by a script: GKE, AKS, EKS, kind and OpenShift; `mixed`, where each
plugin and each controller has a pod that waits; and `onprem`, three racks of machines with long names.

Each has pools of nodes with the labels and taints of the provider, running pods that fill them, and workloads whose pods are
Pending for one reason each. Pods carry what admission adds and their templates lack. `dump` returns the objects as
`kubectl get -o json` lists them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Doc = dict[str, Any]

# What the API server adds to each pod.
_ADMITTED = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]
_ZONE, _REGION, _OS = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/os"


class Cluster:
    """The objects of one dump, and the Pending workloads by name."""

    def __init__(self, region: str, version: str = "1.33.2") -> None:
        self.region, self.version, self.items = region, version, list[Doc]()
        self.pending: dict[str, str] = {}
        self._namespaces: set[str] = set()
        self._serial = itertools.count()

    def add(self, kind: str, name: str, namespace: str = "", version: str = "v1", **fields: Any) -> Doc:
        metadata = {"name": name, "uid": f"uid-{next(self._serial)}", "creationTimestamp": "2026-11-20T08:00:00Z"}
        metadata |= {"namespace": namespace} if namespace else {}
        if namespace and namespace not in self._namespaces:
            self._namespaces.add(namespace)
            self.add("Namespace", namespace)
        metadata |= fields.pop("metadata", {})
        made = {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
        self.items.append(made)
        return made

    def get(self, kind: str, name: str) -> Doc:
        """The first object of this kind and name."""
        return next(each for each in self.items if each["kind"] == kind and each["metadata"]["name"] == name)

    def pool(
        self, prefix: str, zones: Iterable[str], cpu: str, memory: str, taints: Sequence[Doc] = (), **more: Any
    ) -> list[str]:
        """One node in each of the zones. `labels` are those of the pool, `extended` its devices, `domain` ends each
        name, and `zone_label` is the label of the zone."""
        names = []
        for number, zone in enumerate(zones):
            name = f"{prefix}-{number}{more.get('domain', '')}"
            labels = {
                more.get("zone_label", _ZONE): zone,
                _REGION: self.region,
                _OS: "linux",
                "kubernetes.io/arch": "amd64",
            }
            labels |= {"kubernetes.io/hostname": name, **more.get("labels", {})}
            has = {
                "cpu": cpu,
                "memory": memory,
                "pods": "110",
                "ephemeral-storage": "100Gi",
                **more.get("extended", {}),
            }
            status = {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]}
            status["nodeInfo"] = {"kubeletVersion": f"v{self.version}", "operatingSystem": labels[_OS]}
            self.add(
                "Node",
                name,
                metadata={"labels": labels},
                spec={"taints": list(taints)} if taints else {},
                status=status,
            )
            names.append(name)
        return names

    def workload(
        self, kind: str, where: str, spec: Doc, running: Sequence[str] = (), waiting: int = 0, **metadata: Any
    ) -> None:
        """A workload with pods on the `running` nodes and Pending ones. `where` is NAMESPACE/NAME."""
        namespace, name = where.split("/")
        count, labels = len(running) + waiting, {"app": name}
        template = {"metadata": {"labels": labels}, "spec": spec}
        body: Doc = {"selector": {"matchLabels": labels}, "template": template}
        if kind == "Job":
            spec |= {"restartPolicy": "Never"}
            own = {"batch.kubernetes.io/controller-uid": f"job-{name}"}
            template["metadata"]["labels"] = labels = {**labels, **own}
            body = {"selector": {"matchLabels": own}, "template": template, "parallelism": count, "completions": count}
        elif kind != "DaemonSet":
            body["replicas"] = count
        version = {"Job": "batch/v1", "DeploymentConfig": "apps.openshift.io/v1"}.get(kind, "apps/v1")
        owner = self.add(kind, name, namespace, version, spec=body, metadata={"labels": labels, **metadata})
        if kind == "Deployment":
            labels = {**labels, "pod-template-hash": "abc12"}
            inner = {"metadata": {"labels": labels}, "spec": spec}
            body = {"replicas": count, "selector": {"matchLabels": labels}, "template": inner}
            owner = self.add(
                "ReplicaSet",
                f"{name}-abc12",
                namespace,
                version,
                spec=body,
                metadata={"labels": labels, **owned(owner)},
            )
        if kind == "DeploymentConfig":
            inner = {"metadata": {"labels": labels}, "spec": spec}
            body = {"replicas": count, "selector": labels, "template": inner}
            held = {"labels": labels, **owned(owner)}
            owner = self.add("ReplicationController", f"{name}-1", namespace, spec=body, metadata=held)
        for number, node in enumerate([*running, *([""] * waiting)]):
            end = str(number) if kind == "StatefulSet" else f"a{number:04}"
            pod = {**spec, "tolerations": [*spec.get("tolerations", ()), *_ADMITTED], "serviceAccountName": "default"}
            pod |= {"nodeName": node} if node else {}
            fields = {"labels": labels, **owned(owner)}
            phase: Doc = {"phase": "Running" if node else "Pending"}
            phase |= {"conditions": [{"type": "Ready", "status": "True"}]} if node else {}
            self.add("Pod", f"{owner['metadata']['name']}-{end}", namespace, spec=pod, status=phase, metadata=fields)
        if waiting:
            self.pending[where] = kind

    def make_claims_of_templates(self, where: str) -> None:
        """The pods of this StatefulSet get their claims of templates, so that its pod template has no volumes."""
        found = next(each for each in self.items if each["kind"] == "StatefulSet" and each["metadata"]["name"] == where)
        spec = found["spec"]["template"]["spec"]
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
        names = [each["name"] for each in spec["volumes"]]
        found["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": name}, "spec": claim} for name in names]
        found["spec"]["template"]["spec"] = {key: value for key, value in spec.items() if key != "volumes"}

    def claim(self, where: str, storage_class: str, zone: str = "") -> None:
        """A claim, bound to a volume of the zone if there is one."""
        namespace, name = where.split("/")
        spec: Doc = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
        spec |= {"storageClassName": storage_class, **({"volumeName": f"pv-{name}"} if zone else {})}
        bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if zone else {}
        status = {"phase": "Bound" if zone else "Pending"}
        self.add("PersistentVolumeClaim", name, namespace, spec=spec, status=status, metadata=bound)
        if zone:
            terms = [{"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}]
            volume = {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": storage_class,
            }
            volume |= {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, "csi": {"driver": "csi.example.com"}}
            volume |= {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}}
            self.add("PersistentVolume", f"pv-{name}", spec=volume, status={"phase": "Bound"})

    def storage_class(self, name: str, mode: str = "WaitForFirstConsumer", default: bool = False) -> None:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
        fields = {"provisioner": "csi.example.com", "volumeBindingMode": mode, "reclaimPolicy": "Delete"}
        self.add("StorageClass", name, version="storage.k8s.io/v1", metadata={"annotations": annotations}, **fields)


def owned(owner: Mapping[str, Any]) -> Doc:
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {"ownerReferences": [{**reference, "controller": True}]}


def pod(cpu: str = "500m", memory: str = "512Mi", **spec: Any) -> Doc:
    requests = {"cpu": cpu, "memory": memory, **spec.pop("extended", {})}
    limits = {"memory": memory} | {name: amount for name, amount in requests.items() if "/" in name}
    return {
        "containers": [{"name": "main", "image": "app:1", "resources": {"requests": requests, "limits": limits}}],
        **spec,
    }


def mounting(claim: str, **spec: Any) -> Doc:
    return pod(**spec) | {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def apart(app: str, key: str) -> Doc:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def near_to(app: str, key: str) -> Doc:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def taint(key: str, value: str = "true", effect: str = "NoSchedule") -> Doc:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def gke() -> Cluster:
    found, zones = Cluster("europe-west1"), ("europe-west1-b", "europe-west1-c", "europe-west1-d")
    key = "cloud.google.com/gke-nodepool"
    web = found.pool("gke-prod-default-pool", zones * 2, "4", "13Gi", labels={key: "default-pool"})
    high = found.pool("gke-prod-highmem-pool", zones, "8", "56Gi", labels={key: "highmem-pool"})
    gpu = found.pool(
        "gke-prod-gpu-pool", zones[:2], "8", "26Gi", [taint("nvidia.com/gpu", "present")],
        labels={key: "gpu-pool"}, extended={"nvidia.com/gpu": "2"},
    )  # fmt: skip
    found.pool(
        "gke-prod-spot-pool",
        zones,
        "4",
        "13Gi",
        [taint("cloud.google.com/gke-spot")],
        labels={key: "spot-pool", "cloud.google.com/gke-spot": "true"},
    )
    found.storage_class("standard-rwo", default=True)
    found.storage_class("immediate-ssd", "Immediate")
    found.add("PriorityClass", "high", version="scheduling.k8s.io/v1", value=1000000)
    on_high = {key: "highmem-pool"}
    found.workload("StatefulSet", "db/postgres", pod("5", "30Gi", nodeSelector=on_high), high)
    found.workload("Deployment", "shop/frontend", pod(nodeSelector={key: "defualt-pool"}), waiting=3)
    found.claim("db/data-mysql-0", "standard-rwo", zones[2])
    found.workload(
        "StatefulSet", "db/mysql", mounting("data-mysql-0", cpu="6", memory="40Gi", nodeSelector=on_high), waiting=1
    )
    found.workload(
        "Deployment",
        "search/es",
        pod("250m", "1Gi", affinity=apart("es", "kubernetes.io/hostname"), nodeSelector=on_high),
        high,
        2,
    )
    found.workload("Job", "batch/report", pod(nodeSelector={"cloud.google.com/gke-spot": "true"}), waiting=2)
    device = {"extended": {"nvidia.com/gpu": "2"}, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    found.workload("Job", "ml/hpo", pod(**device), gpu, 2)
    found.workload("Deployment", "legacy/wiki", mounting("wiki-data"), waiting=1)
    found.claim("legacy/jira", "fast-ssd")
    found.workload("Deployment", "legacy/jira", mounting("jira"), waiting=1)
    found.claim("legacy/nexus", "immediate-ssd")
    found.workload("Deployment", "legacy/nexus", mounting("nexus"), waiting=1)
    spread = {"maxSkew": 1, "minDomains": 3, "topologyKey": _ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "api"}}
    tolerant = {"nodeSelector": {key: "gpu-pool"}, "tolerations": device["tolerations"]}
    found.workload("Deployment", "web/api", pod(topologySpreadConstraints=[spread], **tolerant), gpu, 4)
    found.workload("Deployment", "ml/queued", pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]), waiting=1)
    found.workload("Deployment", "ml/zero", pod(nodeSelector={key: "gpu-pool-a"}), waiting=1)
    found.workload("Deployment", "web/filler", pod("3", "10Gi"), web[:3])
    return found


def aks() -> Cluster:
    found, zones = Cluster("westeurope"), ("westeurope-1", "westeurope-2", "westeurope-3")
    found.pool(
        "aks-system",
        zones,
        "2",
        "7Gi",
        [taint("CriticalAddonsOnly")],
        labels={"agentpool": "system", "kubernetes.azure.com/mode": "system"},
    )
    user = found.pool("aks-user", zones, "4", "14Gi", labels={"agentpool": "user"})
    found.pool("aks-mem", zones[:2], "4", "30Gi", labels={"agentpool": "mem"})
    found.pool(
        "aks-gpu",
        zones[:1],
        "8",
        "50Gi",
        [taint("sku", "gpu")],
        labels={"agentpool": "gpu"},
        extended={"nvidia.com/gpu": "1"},
    )
    found.pool("aksnpwin", zones[:1], "4", "14Gi", labels={"agentpool": "npwin", _OS: "windows"})
    found.storage_class("managed-csi", default=True)
    found.claim("db/some", "managed-csi", zones[0])
    found.add("PriorityClass", "critical-orders", version="scheduling.k8s.io/v1", value=100000)
    mem = {"nodeSelector": {"agentpool": "mem"}}
    found.workload(
        "StatefulSet", "db/mongo", pod("1", "8Gi", affinity=apart("mongo", _ZONE), **mem), ["aks-mem-0", "aks-mem-1"], 1
    )
    found.claim("db/data-ledger-0", "managed-csi", zones[2])
    found.workload("StatefulSet", "db/ledger", mounting("data-ledger-0", cpu="1", **mem), waiting=1)
    found.make_claims_of_templates("ledger")
    found.workload("StatefulSet", "db/kafka", pod(nodeSelector={"agentpool": "gpu"}), waiting=2)
    found.workload("Deployment", "orders/typo", pod(nodeSelector={"agentpool": "User"}), waiting=2)
    found.workload(
        "Deployment", "orders/addon", pod("100m", nodeSelector={"kubernetes.azure.com/mode": "system"}), waiting=1
    )
    ports = pod("100m", "64Mi", nodeSelector={"agentpool": "user"})
    ports["containers"][0]["ports"] = [{"containerPort": 443, "hostPort": 443}]
    found.workload("Deployment", "ingress/nginx", ports, user, 1, annotations={"meta.helm.sh/release-name": "nginx"})
    found.workload("Deployment", "db/backup", mounting("backup"), waiting=1)
    found.workload("DaemonSet", "mon/agent", pod("100m", "64Mi", nodeSelector={_OS: "linux"}), user)
    return found


def eks() -> Cluster:
    found, zones = Cluster("us-west-2"), ("us-west-2a", "us-west-2b")
    nodes = found.pool("ip-10-0-0", zones, "4", "14Gi", labels={"eks.amazonaws.com/nodegroup": "main"})
    found.pool(
        "ip-10-0-9",
        zones[:1],
        "8",
        "30Gi",
        [taint("karpenter.sh/disrupted", "")],
        labels={"eks.amazonaws.com/nodegroup": "main"},
    )
    found.workload("Deployment", "app/filler", pod("3", "10Gi"), nodes)
    found.workload(
        "Deployment",
        "app/big",
        pod("3", "8Gi"),
        waiting=1,
        annotations={"argocd.argoproj.io/tracking-id": "app:apps/Deployment:app/big"},
    )
    found.workload("Deployment", "app/arm", pod(nodeSelector={"kubernetes.io/arch": "arm64"}), waiting=1)
    found.workload("Deployment", "app/spot", pod(nodeSelector={"karpenter.sh/capacity-type": "spot"}), waiting=1)
    return found


def kind() -> Cluster:
    found = Cluster("local")
    found.pool(
        "kind-control-plane",
        ["z"],
        "8",
        "16Gi",
        [taint("node-role.kubernetes.io/control-plane", "")],
        labels={"node-role.kubernetes.io/control-plane": ""},
    )
    workers = found.pool("kind-worker", ["z"] * 2, "8", "16Gi")
    found.workload("Deployment", "app/mem", pod("1", "12Gi"), workers)
    found.workload("Deployment", "app/mem2", pod("1", "12Gi"), waiting=1)
    control = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    found.workload(
        "Deployment",
        "app/ingress",
        pod("100m", "90Mi", nodeSelector={"ingress-ready": "true"}, tolerations=[control]),
        waiting=1,
    )
    found.workload("Job", "app/once", pod("7500m", "1Gi"), waiting=1)
    return found


def ocp() -> Cluster:
    found, zones = Cluster("us-east-2"), ("us-east-2a", "us-east-2b", "us-east-2c")
    worker, infra, master = (f"node-role.kubernetes.io/{role}" for role in ("worker", "infra", "master"))
    found.pool("ip-master", zones, "8", "30Gi", [taint(master, "")], labels={master: ""})
    workers = found.pool("ip-worker", zones, "8", "30Gi", labels={worker: ""})
    found.pool("ip-infra", zones, "8", "30Gi", [taint(infra, "reserved")], labels={infra: ""})
    found.workload("Deployment", "ci/filler", pod("6", "20Gi", nodeSelector={worker: ""}), workers)
    found.workload("Deployment", "ci/runner", pod(nodeSelector={infra: ""}), waiting=2)
    found.workload("Deployment", "ci/heavy", pod("4", "16Gi", nodeSelector={worker: ""}), waiting=2)
    found.workload("DeploymentConfig", "dc/legacyapp", pod("3", "12Gi", nodeSelector={worker: ""}), waiting=2)
    found.workload("Deployment", "storefront/masters", pod(nodeSelector={worker: "", master: ""}), waiting=1)
    found.workload(
        "StatefulSet",
        "storefront/redis",
        pod("3", "12Gi", nodeSelector={worker: ""}, affinity=apart("redis", _ZONE)),
        waiting=1,
    )
    return found


def mixed() -> Cluster:
    """Each plugin and each controller has a pod that waits."""
    found, zones = Cluster("r1", "1.34.3"), ("r1-a", "r1-b", "r1-c")
    general = found.pool("gen", zones * 2, "4", "16Gi", labels={"pool": "gen"})
    db = found.pool("db", zones[:2], "8", "32Gi", [taint("dedicated", "db")], labels={"pool": "db"})
    found.pool("edge", zones[2:], "2", "4Gi", [taint("edge", "", "NoExecute")], labels={"pool": "edge"})
    found.get("Node", general[-1])["spec"] |= {
        "unschedulable": True,
        "taints": [taint("node.kubernetes.io/unschedulable", "")],
    }
    found.storage_class("std", default=True)
    for name, value in (("gold", 1000), ("iron", -10), ("silver", 500)):
        found.add("PriorityClass", name, version="scheduling.k8s.io/v1", value=value)
    found.workload("Deployment", "base/filler", pod("2500m", "8Gi"), general)
    for_db = {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"}]}
    _volumes(found, db, zones, for_db)
    _ports_and_neighbours(found, general, db, for_db)
    found.workload("Job", "batch/wide", pod("2", "4Gi"), waiting=4)
    found.workload("Job", "batch/big", pod("6", "4Gi"), waiting=3)
    _daemons(found, [*db, general[0]], general[1])
    _policies(found, general)
    _devices(found, db[0], for_db)
    host, zone = {"kubernetes.io/hostname": "gen-9"}, {_ZONE: "r1-d"}
    found.workload("Deployment", "web/pinned", pod("100m", "64Mi", nodeSelector=host), waiting=1)
    found.workload("Deployment", "web/zone", pod("100m", "64Mi", nodeSelector=zone), waiting=1)
    bare = {**pod("5", "1Gi"), "serviceAccountName": "default"}
    found.add("Pod", "debug", "base", spec=bare, status={"phase": "Pending"}, metadata={"labels": {"run": "debug"}})
    found.pending["base/debug"] = "Pod"
    return found


def _volumes(found: Cluster, db: Sequence[str], zones: Sequence[str], for_db: Doc) -> None:
    """A StatefulSet with a template of claims, two volumes in two zones, a selector of another zone than the volume's,
    and a volume where no node is."""
    for number, zone in enumerate(zones):
        found.claim(f"db/data-pg-{number}", "std", zone)
    spec = pod("3", "8Gi", nodeSelector={"pool": "db"}, **for_db)
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/d"}]
    found.workload("StatefulSet", "db/pg", spec, db, 1)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    template = {"metadata": {"name": "data"}, "spec": {**claim, "storageClassName": "std"}}
    found.get("StatefulSet", "pg")["spec"] |= {"volumeClaimTemplates": [template], "serviceName": "pg"}
    for number in range(3):
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-pg-{number}"}}
        found.get("Pod", f"pg-{number}")["spec"]["volumes"] = [volume]
    found.claim("db/two-a", "std", zones[0])
    found.claim("db/two-b", "std", zones[1])
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": f"two-{name}"}} for name in "ab"]
    found.workload("Deployment", "db/two", pod("100m", "64Mi", volumes=volumes), waiting=1)
    found.claim("db/etcd", "std", zones[1])
    elsewhere = mounting("etcd", cpu="100m", memory="64Mi", nodeSelector={_ZONE: zones[0]})
    found.workload("Deployment", "db/etcd", elsewhere, waiting=1)
    found.claim("db/lost", "std", "r1-z")
    found.workload("Deployment", "db/lost", mounting("lost", cpu="100m", memory="64Mi"), waiting=1)


def _ports_and_neighbours(found: Cluster, general: Sequence[str], db: Sequence[str], for_db: Doc) -> None:
    """A host port that is taken, spreads, and pods that want to be near others."""
    for name, nodes, waiting in (("proxy", db[:1], 0), ("proxy2", db[1:], 1)):
        spec = pod("100m", "64Mi", nodeSelector={"pool": "db"}, **for_db)
        spec["containers"][0]["ports"] = [{"containerPort": 9000, "hostPort": 9000, "protocol": "TCP"}]
        found.workload("Deployment", f"net/{name}", spec, nodes, waiting)
    spread: Doc = {"maxSkew": 1, "topologyKey": _ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    of_spread = {**spread, "minDomains": 5, "labelSelector": {"matchLabels": {"app": "spread"}}}
    of_skew = {**spread, "labelSelector": {"matchLabels": {"app": "skew"}}}
    wide = pod("200m", "256Mi", topologySpreadConstraints=[of_spread])
    found.workload("Deployment", "web/spread", wide, general[:3], 3)
    found.workload("Deployment", "web/skew", pod("1200m", "256Mi", topologySpreadConstraints=[of_skew]), waiting=7)
    near = near_to("cache", "kubernetes.io/hostname")
    found.workload("Deployment", "web/near", pod("100m", "64Mi", affinity=near), waiting=2)
    near = near_to("pg", "kubernetes.io/hostname")
    found.workload("Deployment", "db/sidekick", pod("100m", "64Mi", affinity=near, **for_db), waiting=2)


def _daemons(found: Cluster, nodes: Sequence[str], full: str) -> None:
    """A DaemonSet with a pod for a node that is full."""
    spec = pod("1800m", "64Mi", tolerations=[{"operator": "Exists"}])
    found.workload("DaemonSet", "mon/agent", spec, nodes)
    fields = [{"key": "metadata.name", "operator": "In", "values": [full]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    own = {**spec, "affinity": {"nodeAffinity": required}, "serviceAccountName": "default"}
    metadata = {"labels": {"app": "agent"}, **owned(found.get("DaemonSet", "agent"))}
    found.add("Pod", "agent-x", "mon", spec=own, status={"phase": "Pending"}, metadata=metadata)
    found.pending["mon/agent"] = "DaemonSet"


def _policies(found: Cluster, general: Sequence[str]) -> None:
    """A gate, a namespace that ends, priorities, a quota, and an autoscaler of pods."""
    found.workload("Deployment", "ml/gated", pod(schedulingGates=[{"name": "example.com/wait"}]), waiting=2)
    found.workload("Deployment", "old/going", pod("5"), waiting=1)
    ends = found.get("Namespace", "old")
    ends["metadata"]["deletionTimestamp"], ends["status"] = "2026-11-21T08:00:00Z", {"phase": "Terminating"}
    for name, policy, waiting in (("gold", "PreemptLowerPriority", 2), ("never", "Never", 1)):
        spec = pod("3500m", "2Gi", priorityClassName="gold", priority=1000, preemptionPolicy=policy)
        found.workload("Deployment", f"pay/{name}", spec, waiting=waiting)
    amount = {"requests.cpu": "1"}
    found.add("ResourceQuota", "q", "team", spec={"hard": amount}, status={"hard": amount, "used": amount})
    found.workload("Deployment", "team/worker", pod("500m", "64Mi"), general[:2])
    found.get("Deployment", "worker")["spec"]["replicas"] = 4
    found.get("ReplicaSet", "worker-abc12")["spec"]["replicas"] = 4
    found.workload("Deployment", "web/hpa", pod("3", "1Gi"), waiting=2)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "hpa"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}
    found.add("HorizontalPodAutoscaler", "hpa", "web", "autoscaling/v2", spec=spec)


def _devices(found: Cluster, node: str, for_db: Doc) -> None:
    """A claim whose selector no device has, and one that is missing."""
    version, driver = "resource.k8s.io/v1", "gpu.example.com"
    cel = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
    found.add("DeviceClass", "gpu", version=version, spec={"selectors": cel})
    devices = [{"name": f"g{number}", "attributes": {"model": {"string": model}}} for number, model in enumerate("ab")]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    found.add(
        "ResourceSlice",
        "s1",
        version=version,
        spec={"driver": driver, "nodeName": node, "pool": pool, "devices": devices},
    )
    cel = [{"cel": {"expression": f"device.attributes['{driver}'].model == 'z'"}}]
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "selectors": cel}}
    found.add("ResourceClaim", "one", "ml", version, spec={"devices": {"requests": [request]}})
    for name, claim, more in (("dev", "one", for_db), ("devmiss", "missing", {})):
        spec = pod("100m", "64Mi", resourceClaims=[{"name": "x", "resourceClaimName": claim}], **more)
        spec["containers"][0]["resources"]["claims"] = [{"name": "x"}]
        found.workload("Deployment", f"ml/{name}", spec, waiting=1)


def onprem() -> Cluster:
    """Machines with long names in three racks, without zones: a control plane, workers that batch jobs fill, and storage
    with budgets."""
    found, racks = Cluster("dc1", "1.31.3"), ("rack-a", "rack-b", "rack-c")
    shared = {"domain": ".prod.dc1.example.internal", "zone_label": "example.internal/rack"}
    role = "node-role.kubernetes.io"
    control = [taint(f"{role}/control-plane", "")]
    masters = found.pool("srv-ctl", racks, "8", "32Gi", control, labels={f"{role}/control-plane": ""}, **shared)
    workers = found.pool("srv-compute", racks * 4, "32", "128Gi", labels={f"{role}/worker": "true"}, **shared)
    store = [taint("storage", "ceph")]
    storage = found.pool("srv-storage", racks, "16", "64Gi", store, labels={f"{role}/storage": "true"}, **shared)
    for name, value in (("business-critical", 100000), ("batch-low", -100)):
        found.add("PriorityClass", name, version="scheduling.k8s.io/v1", value=value)
    found.workload("Deployment", "payments/payments-api-gateway", pod("8", "16Gi"), workers[:9])
    low = {"priorityClassName": "batch-low", "priority": -100}
    found.workload("Deployment", "batch/nightly-report-generator", pod("10", "40Gi", **low), workers)
    away = apart("opensearch-data-hot", shared["zone_label"])
    found.workload("StatefulSet", "search/opensearch-data-hot", pod("8", "32Gi", affinity=away), workers[:3], 2)
    high = {"priorityClassName": "business-critical", "priority": 100000}
    found.workload("Deployment", "payments/fraud-scoring-realtime", pod("20", "60Gi", **high), waiting=3)
    wrong = {f"{role}/worker": ""}
    found.workload("Deployment", "web/storefront-frontend-eu", pod("4", "8Gi", nodeSelector=wrong), waiting=4)
    found.workload("Deployment", "web/storefront-checkout", pod("6", "8Gi"), workers[9:], 3)
    for_store = {"tolerations": [{"key": "storage", "operator": "Exists"}], "nodeSelector": {f"{role}/storage": "true"}}
    found.workload("StatefulSet", "ceph/rook-ceph-osd", pod("4", "16Gi", **for_store), storage)
    found.workload("Job", "batch/re-index", pod("30", "100Gi"), waiting=2)
    every = pod("100m", "128Mi", tolerations=[{"operator": "Exists"}])
    found.workload("DaemonSet", "kube-system/node-exporter", every, [*masters, *workers, *storage])
    for where, least, healthy in (("payments/payments-api-gateway", 8, 9), ("search/opensearch-data-hot", 3, 3)):
        namespace, name = where.split("/")
        spec = {"minAvailable": least, "selector": {"matchLabels": {"app": name}}}
        status = {"currentHealthy": healthy, "desiredHealthy": least, "expectedPods": healthy}
        status |= {"disruptionsAllowed": healthy - least, "observedGeneration": 1}
        found.add("PodDisruptionBudget", name, namespace, "policy/v1", spec=spec, status=status)
    bare = {**pod("1", "2Gi"), "nodeName": workers[2], "serviceAccountName": "default"}
    found.add("Pod", "shell-of-anna", "default", spec=bare, status={"phase": "Running"})
    return found


SHAPES = {each.__name__: each for each in (gke, aks, eks, kind, ocp, mixed, onprem)}


def dump(cluster: Cluster) -> Doc:
    return {"apiVersion": "v1", "kind": "List", "items": cluster.items}
