"""Dumps of clusters as providers shape them, made by a script: GKE, AKS, EKS, kind and OpenShift.

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

    def __init__(self, region: str) -> None:
        self.region, self.items = region, list[Doc]()
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

    def pool(
        self, prefix: str, zones: Iterable[str], cpu: str, memory: str, taints: Sequence[Doc] = (), **more: Any
    ) -> list[str]:
        """One node in each of the zones. `labels` are those of the pool, `extended` its devices."""
        names = []
        for number, zone in enumerate(zones):
            name = f"{prefix}-{number}"
            labels = {_ZONE: zone, _REGION: self.region, _OS: "linux", "kubernetes.io/arch": "amd64"}
            labels |= {"kubernetes.io/hostname": name, **more.get("labels", {})}
            has = {
                "cpu": cpu,
                "memory": memory,
                "pods": "110",
                "ephemeral-storage": "100Gi",
                **more.get("extended", {}),
            }
            status = {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]}
            status["nodeInfo"] = {"kubeletVersion": "v1.33.2", "operatingSystem": labels[_OS]}
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
        version = "batch/v1" if kind == "Job" else "apps/v1"
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
        for number, node in enumerate([*running, *([""] * waiting)]):
            end = str(number) if kind == "StatefulSet" else f"a{number:04}"
            pod = {**spec, "tolerations": [*spec.get("tolerations", ()), *_ADMITTED], "serviceAccountName": "default"}
            pod |= {"nodeName": node} if node else {}
            fields = {"labels": labels, **owned(owner)}
            phase = {"phase": "Running" if node else "Pending"}
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
    found.workload("Deployment", "storefront/masters", pod(nodeSelector={worker: "", master: ""}), waiting=1)
    found.workload(
        "StatefulSet",
        "storefront/redis",
        pod("3", "12Gi", nodeSelector={worker: ""}, affinity=apart("redis", _ZONE)),
        waiting=1,
    )
    return found


SHAPES = {each.__name__: each for each in (gke, aks, eks, kind, ocp)}


def dump(cluster: Cluster) -> Doc:
    return {"apiVersion": "v1", "kind": "List", "items": cluster.items}
