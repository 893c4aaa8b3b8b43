"""Changes of live objects that the API server refuses, with every command that applies manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cli.main import run
from tests.builders import make_node, make_object, make_pod, write_list
from tests.lanes import sampled
from tests.running import Ksched

NODE = make_node("n").doc()
FORBIDDEN_SET = (
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
FORBIDDEN_CLAIM = "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
ALL_COMMANDS = ("simulate", "check", "capacity", "drain")


def container(cpu: str = "1", **more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **more}


def template(app: str = "w", cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container(cpu)], **spec}}


def item(kind: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    version = {"Job": "batch/v1", "PersistentVolumeClaim": "v1", "Pod": "v1"}.get(kind, "apps/v1")
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": spec,
        **more,
    }


def workload(kind: str, app: str = "w", **spec: Any) -> dict[str, Any]:
    return item(kind, {"selector": {"matchLabels": {"app": app}}, "template": template(app), **spec})


def job(cpu: str = "1", **more: Any) -> dict[str, Any]:
    return item("Job", {"template": template("w", cpu, restartPolicy="Never"), **more.pop("spec", {})}, **more)


def claim(storage: str = "2Gi", mode: str = "ReadWriteOnce", name: str = "fast") -> dict[str, Any]:
    spec = {"accessModes": [mode], "storageClassName": name, "resources": {"requests": {"storage": storage}}}
    return item("PersistentVolumeClaim", spec)


def claim_template(storage: str) -> dict[str, Any]:
    return {"metadata": {"name": "data"}, "spec": claim(storage)["spec"]}


def suspended(*, image: str = "i", status: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    """A suspended Job with this image, status, and fields of its pods."""
    made = template(restartPolicy="Never", **pod)
    made["spec"]["containers"][0]["image"] = image
    return job(spec={"suspend": True, "template": made}, **({"status": status} if status else {}))


def stored(document: dict[str, Any]) -> dict[str, Any]:
    """The object as the API server prints it: what it lacks is not set."""
    return {**document, "metadata": {**document["metadata"], "uid": "u", "resourceVersion": "7"}}


def on_failure(**pattern: str) -> dict[str, Any]:
    """The spec of a Job with a podFailurePolicy."""
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", **pattern}]}]
    return {"podFailurePolicy": {"rules": rules}}


STARTED = {"startTime": "2026-01-31T12:00:00Z"}
AT_REST = {**STARTED, "conditions": [{"type": "Suspended", "status": "True"}]}
SSD, HDD = {"nodeSelector": {"disk": "ssd"}}, {"nodeSelector": {"disk": "hdd"}}


def on_disk(kind: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": [kind]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def spread_over(key: str) -> dict[str, Any]:
    alone = {"labelSelector": {"matchLabels": {"app": "w"}}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}}


JOB_LABELS = {"app": "w", "job-name": "w", "batch.kubernetes.io/job-name": "w"}
JOB_IS_FIXED = "spec.template: Invalid value: field is immutable"
FINISHED = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
STORAGE = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "w"}, "provisioner": "a"}
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "w"}, "value": 5}
DRIVER = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "w"}, "spec": {}}
RUNNING = make_pod("w").requests(cpu="1").on("n").doc()
SELECTOR = 'spec.selector: Invalid value: {"matchLabels":{"app":"x"}}: field is immutable'

HAS_APP = {"key": "app", "operator": "Exists"}

REFUSED = [
    pytest.param(workload("Deployment"), workload("Deployment", "x"), SELECTOR, id="selector of a Deployment"),
    pytest.param(workload("ReplicaSet"), workload("ReplicaSet", "x"), SELECTOR, id="selector of a ReplicaSet"),
    pytest.param(workload("DaemonSet"), workload("DaemonSet", "x"), SELECTOR, id="selector of a DaemonSet"),
    pytest.param(
        workload("ReplicaSet"),
        workload("ReplicaSet", selector={"matchLabels": {"app": "w"}, "matchExpressions": [HAS_APP]}),
        "spec.selector: Invalid value: ",
        id="one more requirement",
    ),
    pytest.param(
        workload("StatefulSet"), workload("StatefulSet", "x"), f"spec.selector: {FORBIDDEN_SET}", id="selector of a set"
    ),
    pytest.param(
        workload("StatefulSet", serviceName="a"),
        workload("StatefulSet", serviceName="b"),
        f"spec.serviceName: {FORBIDDEN_SET}",
        id="service name",
    ),
    pytest.param(
        workload("StatefulSet", podManagementPolicy="OrderedReady"),
        workload("StatefulSet", podManagementPolicy="Parallel"),
        f"spec.podManagementPolicy: {FORBIDDEN_SET}",
        id="pod management policy",
    ),
    pytest.param(
        workload("StatefulSet", volumeClaimTemplates=[claim_template("1Gi")]),
        workload("StatefulSet", volumeClaimTemplates=[claim_template("2Gi")]),
        f"spec.volumeClaimTemplates[0].spec.resources.requests.storage: {FORBIDDEN_SET}",
        id="claim template",
    ),
    pytest.param(
        workload("StatefulSet"),
        workload("StatefulSet", volumeClaimTemplates=[claim_template("2Gi")]),
        f"spec.volumeClaimTemplates: {FORBIDDEN_SET}",
        id="one more claim template",
    ),
    pytest.param(
        job(**FINISHED), job("2"), "spec.template: Invalid value: field is immutable", id="template of a finished Job"
    ),
    pytest.param(job(), job("2"), "spec.template: Invalid value: field is immutable", id="template of a running Job"),
    pytest.param(suspended(), suspended(image="other"), JOB_IS_FIXED, id="image of a suspended Job"),
    pytest.param(
        suspended(affinity=spread_over("zone")),
        suspended(affinity=spread_over("rack")),
        JOB_IS_FIXED,
        id="pod affinity of a suspended Job",
    ),
    pytest.param(
        stored(suspended()),
        suspended(affinity=spread_over("zone")),
        JOB_IS_FIXED,
        id="a first pod affinity of a suspended Job",
    ),
    pytest.param(
        suspended(status=STARTED, **HDD), suspended(**SSD), JOB_IS_FIXED, id="a Job whose suspension is not done yet"
    ),
    pytest.param(
        suspended(status={**AT_REST, "active": 1}, **HDD),
        suspended(**SSD),
        JOB_IS_FIXED,
        id="a suspended Job with a pod",
    ),
    pytest.param(
        job(spec={"completions": 2}),
        job(spec={"completions": 3}),
        "spec.completions: Invalid value: 3: field is immutable",
        id="completions",
    ),
    pytest.param(
        stored(job(spec={"completions": 2, "parallelism": 2})),
        job(spec={"completions": None, "parallelism": 2}),
        "spec.completions: Invalid value: null: field is immutable",
        id="completions that are taken away",
    ),
    pytest.param(
        stored(job(spec={"parallelism": 2})),
        job(spec={"completions": 3, "parallelism": 2}),
        "spec.completions: Invalid value: 3: field is immutable",
        id="completions of a work queue",
    ),
    pytest.param(
        claim("2Gi"),
        claim("1Gi"),
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
        id="a smaller claim",
    ),
    pytest.param(
        claim(), claim(mode="ReadWriteMany"), f"spec.accessModes: {FORBIDDEN_CLAIM}", id="access modes of a claim"
    ),
    pytest.param(claim(), claim(name="slow"), f"spec.storageClassName: {FORBIDDEN_CLAIM}", id="class of a claim"),
    pytest.param(
        STORAGE,
        {**STORAGE, "provisioner": "b"},
        'StorageClass w: provisioner: Invalid value: "b": field is immutable',
        id="provisioner",
    ),
    pytest.param(
        stored({**STORAGE, "reclaimPolicy": "Retain"}),
        {**STORAGE, "reclaimPolicy": None},
        'reclaimPolicy: Invalid value: "Delete": field is immutable',
        id="a default that is not that of the live class",
    ),
    pytest.param(
        stored(DRIVER),
        {**DRIVER, "spec": {"attachRequired": False}},
        "CSIDriver w: spec.attachRequired: Invalid value: false: field is immutable",
        id="whether a driver attaches",
    ),
    pytest.param(
        stored({**DRIVER, "spec": {"volumeLifecycleModes": ["Ephemeral"]}}),
        {**DRIVER, "spec": {"volumeLifecycleModes": None}},
        'CSIDriver w: spec.volumeLifecycleModes: Invalid value: ["Persistent"]: field is immutable',
        id="modes of a driver",
    ),
    pytest.param(
        stored(make_pod("w").doc() | {"spec": {**make_pod("w").doc()["spec"], "priority": 0}}),
        make_pod("w").doc() | {"spec": {**make_pod("w").doc()["spec"], "priority": 65536}},
        "spec.priority: Forbidden: pod updates may not change fields other than",
        id="priority of a pod",
    ),
    pytest.param(
        PRIORITY, {**PRIORITY, "value": 6}, "value: Forbidden: may not be changed in an update.", id="priority"
    ),
    pytest.param(
        RUNNING,
        make_pod("w").requests(cpu="2").doc(),
        "spec.containers[0].resources.requests.cpu: Forbidden: pod updates may not change fields other than",
        id="requests of a running pod",
    ),
    pytest.param(
        make_pod("w").requests(cpu="1").doc(),
        make_pod("w").requests(cpu="2").doc(),
        "spec.containers[0].resources.requests.cpu: Forbidden: pod updates may not change fields other than",
        id="requests of a pending pod",
    ),
    pytest.param(
        make_pod("w").doc(),
        make_pod("w").selector(disk="ssd").doc(),
        "spec.nodeSelector: Forbidden: pod updates may not change fields other than",
        id="node selector of a pending pod",
    ),
]


@pytest.mark.parametrize(("live", "manifest", "message"), REFUSED)
@pytest.mark.parametrize("command", sampled(ALL_COMMANDS, 4))
def test_a_refused_update_ends_every_command(
    command: str,
    live: Any,
    manifest: Any,
    message: str,
    tmp_path: Path,
    ksched: Ksched,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    cluster = write_list(tmp_path / "c.json", NODE, live)
    (tmp_path / "m.yaml").write_text(f"# first line\n{yaml.safe_dump(manifest, sort_keys=False)}")
    arguments = ["n"] if command == "drain" else []
    said = ksched(command, *arguments, "--from", cluster, "-f", str(tmp_path / "m.yaml"), "--allow-empty", code=2)
    assert message in said.err + said.out
    line = int((said.err + said.out).split("m.yaml:")[1].split(":")[0].split()[0])
    assert line > 1


@pytest.mark.parametrize(
    ("live", "manifest"),
    [
        pytest.param(workload("Deployment"), workload("Deployment", replicas=2), id="replicas"),
        pytest.param(workload("StatefulSet", serviceName="a"), workload("StatefulSet"), id="a field that is left out"),
        pytest.param(
            job(spec={"completions": 1, "parallelism": 1}), job(spec={"parallelism": 2}), id="parallelism of a Job"
        ),
        pytest.param(job(spec={"suspend": True}), job("2"), id="requests of a suspended Job"),
        pytest.param(suspended(**HDD), suspended(**SSD), id="node selector of a suspended Job"),
        pytest.param(
            suspended(affinity=on_disk("ssd")),
            suspended(affinity=on_disk("hdd")),
            id="node affinity of a suspended Job",
        ),
        pytest.param(
            stored(suspended()), suspended(affinity=on_disk("ssd")), id="a first node affinity of a suspended Job"
        ),
        pytest.param(suspended(), suspended(tolerations=[{"operator": "Exists"}]), id="tolerations of a suspended Job"),
        pytest.param(suspended(status=AT_REST, **HDD), suspended(**SSD), id="a Job whose suspension is done"),
        pytest.param(stored({**STORAGE, "reclaimPolicy": "Delete"}), STORAGE, id="a default of a class is left out"),
        pytest.param(
            stored({**PRIORITY, "preemptionPolicy": "PreemptLowerPriority"}), PRIORITY, id="a default of a priority"
        ),
        pytest.param(stored(job(spec=on_failure(status="True"))), job(spec=on_failure()), id="a default in a list"),
        pytest.param(claim("1Gi"), claim("2Gi"), id="a larger claim"),
        pytest.param(
            stored({**DRIVER, "spec": {"attachRequired": True, "volumeLifecycleModes": ["Persistent"]}}),
            {**DRIVER, "spec": {"podInfoOnMount": True}},
            id="defaults of a driver, and a field that may change",
        ),
        pytest.param(make_pod("w").doc(), make_pod("w").image("other:2").doc(), id="image of a pending pod"),
        pytest.param(
            stored(job()),
            item("Job", {"template": {**template(restartPolicy="Never"), "metadata": {"labels": JOB_LABELS}}}),
            id="the labels that the API server gives to the pods of a Job",
        ),
        pytest.param(job(spec={"parallelism": 2}), job(spec={"completions": 3, "parallelism": 2}), id="a cut Job"),
        pytest.param(
            item("PersistentVolumeClaim", {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}),
            claim(),
            id="a claim that was cut",
        ),
        pytest.param(RUNNING, make_pod("w").image("other:2").requests(cpu="1000m").doc(), id="image of a running pod"),
    ],
)
def test_an_update_that_the_api_server_takes(live: Any, manifest: Any, tmp_path: Path) -> None:
    cluster = write_list(tmp_path / "c.json", NODE, live)
    assert run(["check", "--from", cluster, "-f", write_list(tmp_path / "m.json", manifest), "--allow-empty"]) == 0


def service(**spec: Any) -> dict[str, Any]:
    return make_object("Service", "w", {"type": "ClusterIP", "ports": [{"port": 80}], **spec}, namespace="default")


def balanced(name: str) -> dict[str, Any]:
    return service(type="LoadBalancer", loadBalancerClass=name)


def runtime(handler: str) -> dict[str, Any]:
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "w"}, "handler": handler}


def limited(cpu: str | None) -> dict[str, Any]:
    made = template("w")
    made["spec"]["containers"][0]["resources"]["limits"] = {"cpu": cpu}
    return made


LIVE_SERVICE = service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"])
TWO_FAMILIES = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}


@pytest.mark.parametrize(
    ("live", "new", "text"),
    [
        pytest.param(LIVE_SERVICE, service(clusterIP="10.0.0.1"), "", id="the address"),
        pytest.param(LIVE_SERVICE, service(), "", id="no address"),
        pytest.param(
            LIVE_SERVICE,
            service(clusterIP="10.0.0.2"),
            'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
            id="another address",
        ),
        pytest.param(
            service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1", "fd00::1"], **TWO_FAMILIES),
            service(clusterIP="10.0.0.2", **TWO_FAMILIES),
            'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
            id="another first address of two",
        ),
        pytest.param(service(), service(clusterIP="10.0.0.2"), "", id="an address where the input shows none"),
        pytest.param(
            service(clusterIP="None", ipFamilies=["IPv4"]),
            service(clusterIP="None", ipFamilies=["IPv6"]),
            "",
            id="another family of a headless service",
        ),
        pytest.param(LIVE_SERVICE, service(clusterIP="None"), "may not change once set", id="headless"),
        pytest.param(balanced("a.b/c"), balanced("a.b/c"), "", id="the class of a load balancer"),
        pytest.param(balanced("a.b/c"), balanced("a.b/d"), "may not change once set", id="another class"),
        pytest.param(
            workload("Deployment", template=limited("1")),
            workload("Deployment", template=limited(None)),
            "",
            id="a null removes a limit",
        ),
        pytest.param(
            workload("Deployment"),
            {**workload("Deployment", template=limited(None)), "metadata": {"name": "new", "namespace": "default"}},
            'requests.cpu: Invalid value: "1": must be less than or equal to cpu limit of 0',
            id="a null in a new object is a limit of 0",
        ),
        pytest.param(runtime("runc"), runtime("runc"), "", id="the handler"),
        pytest.param(runtime("runc"), runtime("kata"), "field is immutable", id="another handler"),
    ],
)
def test_fields_of_services_and_runtime_classes(
    live: dict[str, Any], new: dict[str, Any], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, manifest = tmp_path / "c.json", tmp_path / "m.json"
    write_list(cluster, NODE, live)
    write_list(manifest, new)
    code = run(["check", "--from", str(cluster), "-f", str(manifest), "--allow-empty"])
    shown = " ".join("".join(capsys.readouterr()).split())
    assert ((code, text in shown) == (2, True)) if text else code == 0
    assert "first value must match" not in shown


def running(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i:1", "imagePullPolicy": "IfNotPresent", **spec.pop("container", {})}]
    found = {"containers": containers, "nodeName": "n", "terminationGracePeriodSeconds": 30, **spec}
    return item("Pod", found)


def storage_class(**more: Any) -> dict[str, Any]:
    return {**STORAGE, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", **more}


def device_claim(**devices: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", **devices}
    return make_object(
        "ResourceClaim", "w", {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}, namespace="default"
    )


def quota(*scopes: str) -> dict[str, Any]:
    return item("ResourceQuota", {"hard": {"pods": "5"}, "scopes": list(scopes)}, apiVersion="v1")


def indexed(completions: int, parallelism: int) -> dict[str, Any]:
    return job(spec={"completionMode": "Indexed", "completions": completions, "parallelism": parallelism})


def template_of_claims(**metadata: Any) -> dict[str, Any]:
    return workload(
        "StatefulSet", volumeClaimTemplates=[{**claim_template("1Gi"), "metadata": {"name": "data", **metadata}}]
    )


LATER = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
ONE_RULE = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]}
# Each rule with a live object, a manifest that is refused and its field, and a manifest that is taken.
UPDATES = {
    "variables of a pod": (
        running(),
        running(container={"env": [{"name": "A", "value": "b"}]}),
        "spec.containers[0].env",
        running(container={"image": "i:2"}),
    ),
    "grace period of a pod": (
        running(),
        running(terminationGracePeriodSeconds=5),
        "spec.terminationGracePeriodSeconds",
        running(),
    ),
    "a grace period that was negative": (
        running(terminationGracePeriodSeconds=-1),
        running(terminationGracePeriodSeconds=2),
        "spec.terminationGracePeriodSeconds",
        running(terminationGracePeriodSeconds=1),
    ),
    "a grace period of zero": (
        running(terminationGracePeriodSeconds=0),
        running(terminationGracePeriodSeconds=1),
        "spec.terminationGracePeriodSeconds",
        running(terminationGracePeriodSeconds=0),
    ),
    "a limit of a pod": (
        running(container={"resources": {"requests": {"cpu": "1"}}}),
        running(container={"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}),
        "spec.containers[0].resources.limits",
        running(container={"resources": {"requests": {"cpu": "1000m"}}}),
    ),
    "a volume of a pod": (
        running(),
        running(volumes=[{"name": "v", "emptyDir": {}}]),
        "spec.volumes",
        running(hostNetwork=False),
    ),
    "an init container": (
        running(),
        running(initContainers=[{**container(), "name": "i"}]),
        "spec.initContainers",
        running(),
    ),
    "a toleration that is gone": (
        running(tolerations=[LATER]),
        running(tolerations=[{"key": "b", "operator": "Exists"}]),
        "spec.tolerations",
        running(tolerations=[{"key": "b", "operator": "Exists"}, {**LATER, "tolerationSeconds": 9}]),
    ),
    "a later deadline": (
        running(activeDeadlineSeconds=10),
        running(activeDeadlineSeconds=11),
        "spec.activeDeadlineSeconds",
        running(activeDeadlineSeconds=9),
    ),
    "failure policy of a Job": (
        job(),
        job(spec={"podFailurePolicy": ONE_RULE}),
        "spec.podFailurePolicy",
        job(spec={"backoffLimit": 9}),
    ),
    "manager of a Job": (
        job(),
        job(spec={"managedBy": "a.b/c"}),
        "spec.managedBy",
        job(spec={"ttlSecondsAfterFinished": 9}),
    ),
    "completions of an indexed Job": (indexed(2, 2), indexed(3, 2), "spec.completions", indexed(3, 3)),
    "labels of claims": (
        template_of_claims(),
        template_of_claims(labels={"a": "b"}),
        "spec.volumeClaimTemplates[0].metadata.labels",
        {**template_of_claims(), "spec": {**template_of_claims()["spec"], "replicas": 0}},
    ),
    "parameters of a class": (
        storage_class(parameters={"a": "b"}),
        storage_class(parameters={"a": "c"}),
        "parameters",
        storage_class(parameters={"a": "b"}, allowVolumeExpansion=True),
    ),
    "what becomes of volumes": (
        storage_class(),
        storage_class(reclaimPolicy="Retain"),
        "reclaimPolicy",
        {**STORAGE, "mountOptions": ["ro"]},
    ),
    "preemption of a class": (
        {**PRIORITY, "preemptionPolicy": "PreemptLowerPriority"},
        {**PRIORITY, "preemptionPolicy": "Never"},
        "preemptionPolicy",
        {**PRIORITY, "description": "other"},
    ),
    "devices of a claim": (
        device_claim(allocationMode="ExactCount", count=1),
        device_claim(count=2),
        "spec",
        device_claim(),
    ),
    "scopes of a quota": (
        quota("BestEffort"),
        quota("NotBestEffort"),
        "spec.scopes",
        {**quota("BestEffort"), "spec": {"hard": {"pods": "6"}, "scopes": ["BestEffort"]}},
    ),
    "selector of a claim": (
        {**claim(), "status": {"phase": "Bound"}},
        {**claim(), "spec": {**claim()["spec"], "selector": {"matchLabels": {"a": "b"}}}},
        "spec.selector",
        claim("3Gi"),
    ),
    "family of a service": (
        service(ipFamilies=["IPv4"]),
        service(ipFamilies=["IPv6"]),
        "spec.ipFamilies[0]",
        service(ipFamilies=["IPv4"], sessionAffinity="ClientIP"),
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_is_refused_and_its_twin_is_taken(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    live, refused, path, taken = UPDATES[name]
    cluster = write_list(tmp_path / "c.json", NODE, stored(live))
    command = ["check", "--from", cluster, "--allow-empty", "-f"]
    assert run([*command, write_list(tmp_path / "m.json", refused)]) == 2
    said = capsys.readouterr()
    assert f"{path}: " in said.out + said.err
    assert run([*command, write_list(tmp_path / "t.json", taken)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(running(container={"env": [{"name": "A", "value": "b"}], "args": ["x"]}), id="a pod"),
        pytest.param(
            {**claim(), "spec": {**claim()["spec"], "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}},
            id="a claim",
        ),
        pytest.param({**storage_class(parameters={"a": "b"}), "mountOptions": ["ro"]}, id="a class"),
        pytest.param(device_claim(allocationMode="ExactCount", count=2), id="devices"),
        pytest.param(template_of_claims(labels={"a": "b"}) | {"status": {"replicas": 0}}, id="a set"),
    ],
)
def test_the_same_manifest_again_is_taken(document: dict[str, Any], tmp_path: Path) -> None:
    """No typed object has these fields: the live object is compared as it was read."""
    cluster = write_list(tmp_path / "c.json", NODE, stored(document))
    manifest = {key: value for key, value in document.items() if key != "status"}
    command = ["check", "--from", cluster, "--allow-empty", "--exit-zero", "-f"]
    assert run([*command, write_list(tmp_path / "m.json", manifest)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "simulate -f m.json",
        "check -f m.json",
        "check m.json",
        "capacity -f m.json",
        "drain n -f m.json",
        "explain -f m.json",
        "diff -f m.json",
        "diff --to-filename m.json",
        "consolidate -f m.json",
        "sweep --fail nodes -f m.json",
        "simulate --scenario s.yaml",
    ],
)
def test_every_command_with_manifests_reads_live_objects_whole(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No typed object has `env`: without manifests the documents of pods are not kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    live, manifest = (running(container={"env": [{"name": "A", "value": value}]}) for value in ("b", "c"))
    (tmp_path / "s.yaml").write_text("apiVersion: ksched.dev/v1alpha1\nkind: Scenario\nsteps: [{apply: [m.json]}]")
    write_list(tmp_path / "m.json", manifest)
    assert run([*command.split(), "--from", write_list(tmp_path / "c.json", NODE, stored(live))]) == 2
    shown, field = "".join(capsys.readouterr()), "Pod default/w: spec.containers[0].env[0].value: Forbidden"
    # In `check` it is a finding.
    expected = ("m.json:1: error KS013", f"\n  {field}") if command.startswith("check") else (f"m.json:1: {field}",)
    assert all(each in shown for each in expected)


def test_a_cut_pod_is_compared_in_what_it_has(tmp_path: Path) -> None:
    """A snapshot and a dump that was cut by hand lack fields that the manifest has."""
    cluster = write_list(tmp_path / "c.json", NODE, running())
    manifest = write_list(tmp_path / "m.json", running(container={"env": [{"name": "A", "value": "b"}]}))
    assert run(["check", "--from", cluster, "-f", manifest, "--allow-empty"]) == 0


@pytest.mark.parametrize(
    ("more", "phase", "code"),
    [
        pytest.param({"allowVolumeExpansion": True}, "Bound", 0, id="a class that expands"),
        pytest.param({}, "Bound", 2, id="a class that does not"),
        pytest.param({"allowVolumeExpansion": True}, "Pending", 2, id="a claim that is not bound"),
    ],
)
def test_a_larger_claim(more: dict[str, Any], phase: str, code: int, tmp_path: Path) -> None:
    fast = stored({**STORAGE, "metadata": {"name": "fast"}, **more})
    live = stored({**claim("1Gi"), "status": {"phase": phase}})
    cluster = write_list(tmp_path / "c.json", NODE, fast, live)
    command = ["check", "--from", cluster, "--allow-empty", "-f"]
    assert run([*command, write_list(tmp_path / "m.json", claim("2Gi"))]) == code
    assert run([*command, write_list(tmp_path / "same.json", claim("1Gi"))]) == 0
