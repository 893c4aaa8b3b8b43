"""What the API server refuses: each rule with its words and the path of the field."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.conversion import path_text
from ksched_cli.api.validation.documents import mistakes, validate
from tests.lanes import sampled

LABEL_FORM = "a lowercase RFC 1123 label must consist of"
FORM = "a lowercase RFC 1123 subdomain must consist of"
VALUE_FORM = "a valid label must be an empty string or consist of"


def container(**more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", **more}


def spec_of(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containers": list(containers) or [container()], **more}


def pod(*containers: dict[str, Any], name: str = "p", **more: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec_of(*containers, **more)}


def workload(kind: str, pod_spec: dict[str, Any] | None = None, name: str = "w", **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec or spec_of()}
    return {
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }


def job(name: str = "j", restart: str = "Never", **spec: Any) -> dict[str, Any]:
    template = {"spec": spec_of(restartPolicy=restart)} if restart else {"spec": spec_of()}
    return {"kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def resources(**amounts: Any) -> dict[str, Any]:
    return pod(container(resources=amounts))


def affinity(where: str, term: dict[str, Any]) -> dict[str, Any]:
    return pod(affinity={where: {"requiredDuringSchedulingIgnoredDuringExecution": term}})


def claim(**spec: Any) -> dict[str, Any]:
    whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": whole}


def service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": list(ports), **spec}}


C0 = "spec.containers[0]"
TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    # Names, labels, annotations
    (pod(name="Web_1"), "metadata.name", f'Invalid value: "Web_1": {FORM}'),
    (pod(name="a" * 254), "metadata.name", "must be no more than 253"),
    ({**pod(), "metadata": {}}, "metadata.name", "Required value: name or generateName is required"),
    ({**pod(), "metadata": {"generateName": "AB-"}}, "metadata.generateName", f'Invalid value: "AB-": {FORM}'),
    (workload("StatefulSet", name="a.b"), "metadata.name", 'Invalid value: "a.b": must not contain dots'),
    ({"kind": "Namespace", "metadata": {"name": "A"}}, "metadata.name", f'Invalid value: "A": {LABEL_FORM}'),
    (
        {**pod(), "metadata": {"name": "p", "namespace": "N"}},
        "metadata.namespace",
        f'Invalid value: "N": {LABEL_FORM}',
    ),
    (
        {**pod(), "metadata": {"name": "p", "labels": {"a b": "c"}}},
        "metadata.labels.a b",
        'Invalid value: "a b": name part must consist of',
    ),
    (
        {**pod(), "metadata": {"name": "p", "labels": {"a": "-b"}}},
        "metadata.labels.a",
        f'Invalid value: "-b": {VALUE_FORM}',
    ),
    (
        {**pod(), "metadata": {"name": "p", "annotations": {"a/b/c": ""}}},
        "metadata.annotations[a/b/c]",
        'Invalid value: "a/b/c": a valid label key',
    ),
    (
        {**pod(), "metadata": {"name": "p", "annotations": {"a": "x" * 2**18}}},
        "metadata.annotations",
        "Too long: may not be more than 262144 bytes",
    ),
    # Containers
    ({**pod(), "spec": {}}, "spec.containers", "Required value"),
    (pod({"image": "i"}), f"{C0}.name", "Required value"),
    (pod({"name": "c"}), f"{C0}.image", "Required value"),
    (pod(container(name="C")), f"{C0}.name", f'Invalid value: "C": {LABEL_FORM}'),
    (pod(container(), container()), "spec.containers[1].name", 'Duplicate value: "c"'),
    (pod(initContainers=[container()]), "spec.initContainers[0].name", 'Duplicate value: "c"'),
    (
        pod(container(imagePullPolicy="Sometimes")),
        f"{C0}.imagePullPolicy",
        'Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
    ),
    (
        pod(container(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}])),
        f"{C0}.ports[1].name",
        'Duplicate value: "a"',
    ),
    (
        pod(container(ports=[{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}])),
        f"{C0}.ports[1].hostPort",
        'Duplicate value: "TCP//80"',
    ),
    (
        pod(container(ports=[{"containerPort": 70000}])),
        f"{C0}.ports[0].containerPort",
        "Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    (pod(container(ports=[{"name": "x"}])), f"{C0}.ports[0].containerPort", "Required value"),
    (
        pod(container(ports=[{"containerPort": 1, "name": "much-too-long-name"}])),
        f"{C0}.ports[0].name",
        'Invalid value: "much-too-long-name": must be no more than 15 characters',
    ),
    (
        pod(container(ports=[{"containerPort": 1, "protocol": "HTTP"}])),
        f"{C0}.ports[0].protocol",
        'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        pod(container(ports=[{"containerPort": 1, "hostPort": 2}]), hostNetwork=True),
        f"{C0}.ports[0].hostPort",
        "Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
    ),
    (pod(container(env=[{"value": "x"}])), f"{C0}.env[0].name", "Required value"),
    (
        pod(container(env=[{"name": "A", "value": "x", "valueFrom": {"fieldRef": {}}}])),
        f"{C0}.env[0].valueFrom",
        'Invalid value: "": may not be specified when `value` is not empty',
    ),
    (
        pod(container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}])),
        f"{C0}.env[0].valueFrom.secretKeyRef.key",
        "Required value",
    ),
    (
        pod(container(volumeMounts=[{"name": "v", "mountPath": "/v"}])),
        f"{C0}.volumeMounts[0].name",
        'Not found: "v"',
    ),
    (
        pod(
            container(volumeMounts=[{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/v"}]),
            volumes=[{"name": "v", "emptyDir": {}}],
        ),
        f"{C0}.volumeMounts[1].mountPath",
        'Invalid value: "/v": must be unique',
    ),
    (pod(container(livenessProbe={})), f"{C0}.livenessProbe", "Required value: must specify a handler type"),
    (
        pod(container(livenessProbe={"httpGet": {"port": 1}, "exec": {"command": ["x"]}})),
        f"{C0}.livenessProbe.httpGet",
        "Forbidden: may not specify more than 1 handler type",
    ),
    (
        pod(container(livenessProbe={"httpGet": {"port": 1}, "successThreshold": 2})),
        f"{C0}.livenessProbe.successThreshold",
        "Invalid value: 2: must be 1",
    ),
    (
        pod(initContainers=[container(name="d", readinessProbe={"httpGet": {"port": 1}})]),
        "spec.initContainers[0].readinessProbe",
        "Forbidden: may not be set for init containers without restartPolicy=Always",
    ),
    # Resources
    (
        resources(requests={"cpu": "2"}, limits={"cpu": "1"}),
        f"{C0}.resources.requests.cpu",
        'Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    (
        resources(requests={"nvidia.com/gpu": 1}, limits={"nvidia.com/gpu": 2}),
        f"{C0}.resources.requests[nvidia.com/gpu]",
        'Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
    ),
    (
        resources(requests={"nvidia.com/gpu": 1}),
        f"{C0}.resources.limits[nvidia.com/gpu]",
        "Required value: Limit must be set for non overcommitable resources",
    ),
    (
        resources(limits={"nvidia.com/gpu": "500m"}),
        f"{C0}.resources.limits[nvidia.com/gpu]",
        'Invalid value: "500m": must be an integer',
    ),
    (
        resources(limits={"gpu": 1}),
        f"{C0}.resources.limits.gpu",
        'Invalid value: "gpu": must be a standard resource for containers',
    ),
    (
        resources(limits={"cpu": "-1"}),
        f"{C0}.resources.limits.cpu",
        'Invalid value: "-1": must be greater than or equal to 0',
    ),
    (resources(limits={"cpu": "1 core"}), f"{C0}.resources.limits.cpu", "'1 core' is not a quantity"),
    # Pods
    (pod(restartPolicy="Maybe"), "spec.restartPolicy", 'Unsupported value: "Maybe"'),
    (pod(nodeSelector={"a": "b c"}), "spec.nodeSelector.a", f'Invalid value: "b c": {VALUE_FORM}'),
    (pod(priorityClassName="High"), "spec.priorityClassName", f'Invalid value: "High": {FORM}'),
    (pod(volumes=[{"name": "V"}]), "spec.volumes[0].name", f'Invalid value: "V": {LABEL_FORM}'),
    (
        pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
        "spec.volumes[0].hostPath",
        "Forbidden: may not specify more than 1 volume type",
    ),
    (
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
        "spec.volumes[0].persistentVolumeClaim.claimName",
        "Required value",
    ),
    (
        pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        "spec.tolerations[0].operator",
        "Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    ),
    (
        pod(tolerations=[{"key": "a", "effect": "Never"}]),
        "spec.tolerations[0].effect",
        'Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ),
    (
        pod(tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]),
        "spec.tolerations[0].effect",
        "Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
    ),
    (
        pod(topologySpreadConstraints=[{"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        "spec.topologySpreadConstraints[0].maxSkew",
        "Invalid value: 0: must be greater than zero",
    ),
    (
        pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Never"}]),
        "spec.topologySpreadConstraints[0].whenUnsatisfiable",
        'Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"',
    ),
    (
        affinity("nodeAffinity", {"nodeSelectorTerms": []}),
        f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms",
        "Required value: must have at least one node selector term",
    ),
    (
        affinity("nodeAffinity", {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}),
        f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms[0].matchExpressions[0].values",
        "Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ),
    (
        affinity("podAntiAffinity", [{"labelSelector": {}}]),  # type: ignore[arg-type]  # a list of terms
        f"spec.affinity.podAntiAffinity.{TERMS}[0].topologyKey",
        "Required value: can not be empty",
    ),
    (pod(schedulingGates=[{"name": ""}]), "spec.schedulingGates[0]", 'Invalid value: "": name part must be non-empty'),
    (
        {**pod(schedulingGates=[{"name": "a/b"}], nodeName="n")},
        "spec.nodeName",
        "Forbidden: cannot be set until all schedulingGates have been cleared",
    ),
    # Workloads
    (
        workload("Deployment", selector={"matchLabels": {"a": "x"}}),
        "spec.template.metadata.labels",
        'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
    ),
    (workload("Deployment", selector=None), "spec.selector", "Required value"),
    (
        workload("Deployment", selector={}),
        "spec.selector",
        "Invalid value: {}: empty selector is invalid for deployment",
    ),
    (
        workload("Deployment", spec_of(restartPolicy="Never")),
        "spec.template.spec.restartPolicy",
        'Unsupported value: "Never": supported values: "Always"',
    ),
    (
        workload("Deployment", strategy={"type": "Recreate", "rollingUpdate": {}}),
        "spec.strategy.rollingUpdate",
        "Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ),
    (
        workload("Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
        "spec.strategy.rollingUpdate.maxUnavailable",
        "Invalid value: 0: may not be 0 when `maxSurge` is 0",
    ),
    (
        workload("Deployment", progressDeadlineSeconds=5, minReadySeconds=9),
        "spec.progressDeadlineSeconds",
        "Invalid value: 5: must be greater than minReadySeconds",
    ),
    (
        workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
        "spec.updateStrategy.rollingUpdate.maxSurge",
        "Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ),
    (
        workload("StatefulSet", podManagementPolicy="Fast"),
        "spec.podManagementPolicy",
        "Invalid value: \"Fast\": must be 'OrderedReady' or 'Parallel'",
    ),
    (
        workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "d"}, "spec": {}}]),
        "spec.volumeClaimTemplates[0].spec.accessModes",
        "Required value: at least 1 access mode is required",
    ),
    (job(restart=""), "spec.template.spec.restartPolicy", 'Required value: valid values: "OnFailure", "Never"'),
    (job(completionMode="Indexed"), "spec.completions", "Required value: when completion mode is Indexed"),
    (job(backoffLimitPerIndex=1), "spec.backoffLimitPerIndex", "Invalid value: 1: requires indexed completion mode"),
    (job("a.b", completionMode="Indexed", completions=2), "metadata.name", "will not able to create pod"),
    (
        {"kind": "CronJob", "metadata": {"name": "c" * 53}, "spec": {"schedule": "* * * * *", "jobTemplate": job()}},
        "metadata.name",
        "must be no more than 52 characters",
    ),
    (
        {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"schedule": "* * * *", "jobTemplate": job()}},
        "spec.schedule",
        "expected exactly 5 fields, found 4",
    ),
    # Others
    (claim(accessModes=["Once"]), "spec.accessModes", 'Unsupported value: "Once"'),
    (
        claim(resources={"requests": {"storage": 0}}),
        "spec.resources.requests.storage",
        'Invalid value: "0": must be greater than zero',
    ),
    (service(), "spec.ports", "Required value"),
    (service({"port": 1}, {"port": 2}), "spec.ports[0].name", "Required value"),
    (
        service({"name": "a", "port": 1}, {"name": "b", "port": 1}),
        "spec.ports[1]",
        'Duplicate value: {"protocol":"TCP","port":1}',
    ),
    (
        {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "p", "volumeBindingMode": "Late"},
        "volumeBindingMode",
        'Unsupported value: "Late": supported values: "Immediate", "WaitForFirstConsumer"',
    ),
    (
        {"kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}},
        "spec",
        "minAvailable and maxUnavailable cannot be both set",
    ),
    (
        {"kind": "PriorityClass", "metadata": {"name": "p"}, "value": 2_000_000_000},
        "value",
        "Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ),
]


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [pytest.param(*each, id=f"{number}: {each[1]}") for number, each in enumerate(REFUSED)],
)
def test_a_refused_field(document: dict[str, Any], path: str, message: str) -> None:
    found = [(path_text(error.path), error.message) for error in validate(document, document["kind"])]
    assert [text for where, text in found if where == path and message in text] != [], found
    assert len(found) <= 2


LIMITED = {"limits": {"cpu": "1"}}
OLD_SECCOMP, OLD_APPARMOR = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.apparmor.security.beta.kubernetes.io/c",
)


def annotated(key: str, value: str, **spec: Any) -> dict[str, Any]:
    return {**pod(**spec), "metadata": {"name": "p", "annotations": {key: value}}}


def volume(**source: Any) -> dict[str, Any]:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source}
    return {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}


def autoscaler(**target: str) -> dict[str, Any]:
    spec = {"maxReplicas": 2, **({"scaleTargetRef": target} if target else {})}
    return {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}


def device_claim(request: dict[str, Any] | None = None, **devices: Any) -> dict[str, Any]:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **(request or {})}}]
    spec = {"devices": {"requests": requests, **devices}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "r"}, "spec": spec}


def tolerating(**toleration: Any) -> dict[str, Any]:
    return device_claim({"tolerations": [toleration]})


def old_set(**labels: str) -> dict[str, Any]:
    template = {"metadata": {"name": "d", "labels": labels}, "spec": claim()["spec"]}
    return workload("StatefulSet", volumeClaimTemplates=[template])


def nightly(**labels: str) -> dict[str, Any]:
    template = {**job(), "metadata": {"labels": labels}}
    return {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"schedule": "@daily", "jobTemplate": template}}


def labelled_job(**labels: str) -> dict[str, Any]:
    found = job()
    found["spec"]["template"]["metadata"] = {"labels": labels}
    return found


def config_map(key: str, size: int) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "m"}, "data": {key: "x" * size}}


# Each rule with a document that it refuses, the path, and one that it accepts.
TWINS = {
    "two volumes of one name": (
        pod(volumes=[{"name": "a"}, {"name": "b"}, {"name": "a"}]),
        "spec.volumes[2].name",
        pod(volumes=[{"name": "a"}, {"name": "b"}]),
    ),
    "the requests of containers above the limit of the pod": (
        pod(container(), container(name="d", resources={"requests": {"cpu": "2"}}), resources=LIMITED),
        "spec.resources.requests.cpu",
        pod(container(), container(name="d", resources={"requests": {"cpu": "1"}}), resources=LIMITED),
    ),
    "hugepages as overhead": (
        pod(overhead={"hugepages-2Mi": "2Mi"}),
        "spec.overhead",
        pod(overhead={"hugepages-2Mi": "2Mi", "cpu": "1"}),
    ),
    "an unknown seccomp profile": (
        annotated(OLD_SECCOMP, "strict"),
        f"metadata.annotations[{OLD_SECCOMP}]",
        annotated(OLD_SECCOMP, "localhost/a"),
    ),
    "a seccomp profile beside another": (
        annotated(OLD_SECCOMP, "unconfined", securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
        f"metadata.annotations[{OLD_SECCOMP}]",
        annotated(OLD_SECCOMP, "runtime/default", securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
    ),
    "an AppArmor profile beside that of the pod": (
        annotated(OLD_APPARMOR, "localhost/a", securityContext={"appArmorProfile": {"type": "Unconfined"}}),
        f"metadata.annotations[{OLD_APPARMOR}]",
        annotated(OLD_APPARMOR, "unconfined", securityContext={"appArmorProfile": {"type": "Unconfined"}}),
    ),
    "a secret without its namespace": (
        volume(csi={"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s"}}),
        "spec.csi.nodePublishSecretRef.namespace",
        volume(csi={"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s", "namespace": "n"}}),
    ),
    "a secret without a name": (
        pod(volumes=[{"name": "a", "csi": {"driver": "d", "nodePublishSecretRef": {}}}]),
        "spec.volumes[0].csi.nodePublishSecretRef.name",
        pod(volumes=[{"name": "a", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}]),
    ),
    "an empty namespace of a share": (
        volume(azureFile={"shareName": "a", "secretName": "b", "secretNamespace": ""}),
        "spec.azureFile.secretNamespace",
        volume(azureFile={"shareName": "a", "secretName": "b"}),
    ),
    "a loopback address": (
        service({"port": 80}, externalIPs=["10.1.2.3", "127.0.0.1"]),
        "spec.externalIPs[1]",
        service({"port": 80}, externalIPs=["10.1.2.3", "224.0.1.1"]),
    ),
    "an unspecified address": (service({"port": 80}, externalIPs=["::"]), "spec.externalIPs[0]", pod()),
    "a link-local address": (service({"port": 80}, externalIPs=["169.254.1.1"]), "spec.externalIPs[0]", pod()),
    "a multicast address": (service({"port": 80}, externalIPs=["224.0.0.1"]), "spec.externalIPs[0]", pod()),
    "a load balancer class without a domain": (
        service({"port": 80}, type="LoadBalancer", loadBalancerClass="foo"),
        "spec.loadBalancerClass",
        service({"port": 80}, type="LoadBalancer", loadBalancerClass="example.com/foo"),
    ),
    "an autoscaler without a target": (
        autoscaler(),
        "spec.scaleTargetRef",
        autoscaler(apiVersion="apps/v1", kind="Deployment", name="w"),
    ),
    "a target without a group": (
        autoscaler(apiVersion="v1", kind="Deployment", name="w"),
        "spec.scaleTargetRef.apiVersion",
        autoscaler(apiVersion="v1", kind="ReplicationController", name="w"),
    ),
    "a target of two groups": (
        autoscaler(apiVersion="a/b/c", kind="Deployment", name="w"),
        "spec.scaleTargetRef.apiVersion",
        autoscaler(apiVersion="a/b", kind="Deployment", name="w"),
    ),
    "a request that a constraint names twice": (
        device_claim(constraints=[{"requests": ["gpu", "gpu"], "matchAttribute": "a.b/c"}]),
        "spec.devices.constraints[0].requests[1]",
        device_claim(constraints=[{"requests": ["gpu"], "matchAttribute": "a.b/c"}]),
    ),
    "parameters that are a text": (
        device_claim(config=[{"opaque": {"driver": "a", "parameters": "x"}}]),
        "spec.devices.config[0].opaque.parameters",
        device_claim(config=[{"opaque": {"driver": "a", "parameters": {}}}]),
    ),
    "a value of a toleration of any value": (
        tolerating(operator="Exists", key="a.b/c", value="x"),
        "spec.devices.requests[0].exactly.tolerations[0].value",
        tolerating(operator="Equal", key="a.b/c", value="x"),
    ),
    "a key of a toleration": (
        tolerating(operator="Exists", key="a b"),
        "spec.devices.requests[0].exactly.tolerations[0].key",
        tolerating(operator="Exists"),
    ),
    "a label of a claim template": (
        old_set(a="b c"),
        "spec.volumeClaimTemplates[0].metadata.labels.a",
        old_set(a="b"),
    ),
    "a label of the Jobs of a CronJob": (nightly(a="b c"), "spec.jobTemplate.metadata.labels.a", nightly(a="b")),
    "a service with a digit first, before 1.36": (
        {**service({"port": 80}), "metadata": {"name": "1a"}},
        "metadata.name",
        {**service({"port": 80}), "metadata": {"name": "a1"}},
    ),
    "a key of a ConfigMap with 254 characters": (
        config_map("k" * 254, 1),
        f"data.{'k' * 254}",
        config_map("k" * 253, 1),
    ),
    "a ConfigMap of more than 1 MiB": (config_map("k", 2**20 + 1), "data", config_map("k", 2**20)),
    "a ConfigMap of more than 1 MiB with binary data": (
        {**config_map("k", 2**20 - 2), "binaryData": {"b": "YWJj"}},
        "data",
        {**config_map("k", 2**20 - 3), "binaryData": {"b": "YWJj"}},
    ),
    "annotations of more than 256 KiB": (
        {**pod(), "metadata": {"name": "p", "annotations": {"a": "x" * 2**18}}},
        "metadata.annotations",
        {**pod(), "metadata": {"name": "p", "annotations": {"a": "x" * (2**18 - 1)}}},
    ),
    "a search path of 254 characters": (
        pod(dnsConfig={"searches": [f"{'a' * 63}." * 3 + "a" * 62]}),
        "spec.dnsConfig.searches[0]",
        pod(dnsConfig={"searches": [f"{'a' * 63}." * 3 + "a" * 61]}),
    ),
    "search paths of more than 2048 characters": (
        pod(dnsConfig={"searches": ["a" * 63] * 31 + ["a" * 65]}),
        "spec.dnsConfig.searches",
        pod(dnsConfig={"searches": ["a" * 63] * 32}),
    ),
    "a job-name that is not the Job's": (
        labelled_job(**{"a": "b", "job-name": "other"}),
        "spec.template.metadata.labels.job-name",
        labelled_job(**{"a": "b", "job-name": "j"}),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_rule_refuses_one_and_takes_its_twin(name: str) -> None:
    refused, path, accepted = TWINS[name]
    version = refused.get("apiVersion", "")
    assert path in [path_text(error.path) for error in validate(refused, refused["kind"], version)]
    assert [*validate(accepted, accepted["kind"], accepted.get("apiVersion", ""))] == []


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (job(parallelism="x"), "spec.parallelism", "expected a whole number, got a string"),
        (job(parallelism=1.5), "spec.parallelism", "expected a whole number, got a number"),
        (job(parallelism=2**31), "spec.parallelism", "2147483648 does not fit into a whole number of 32 bits"),
        (job(parallelism=1e30), "spec.parallelism", "1e+30 does not fit into a whole number of 32 bits"),
        (
            job(parallelism=2**70),
            "spec.parallelism",
            "1180591620717411303424 does not fit into a whole number of 32 bits",
        ),
        (job(parallelism=2**71), "spec.parallelism", "2.36e+21 does not fit into a whole number of 32 bits"),
        (
            pod(terminationGracePeriodSeconds=2**63),
            "spec.terminationGracePeriodSeconds",
            "9223372036854775808 does not fit into a whole number of 64 bits",
        ),
        (
            resources(requests={"cpu": "a"}),
            f"{C0}.resources.requests.cpu",
            "'a' is not a quantity: write a number with",
        ),
        (resources(requests={"cpu": []}), f"{C0}.resources.requests.cpu", "expected a quantity such as 100m or 2Gi,"),
        ({**pod(), "metadata": {"name": "p", "creationTimestamp": "x"}}, "metadata.creationTimestamp", "'x' is not a"),
        ({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "%"}}, "data.a", "this is not text in base64"),
        (
            {**pod(), "metadata": {"name": "p", "managedFields": [{"time": "x"}]}},
            "metadata.managedFields[0].time",
            "'x' is not a time",
        ),
        (pod(hostname=5), "spec.hostname", "expected a string, got a number"),
        (pod(hostNetwork="yes"), "spec.hostNetwork", "expected true or false, got a string"),
        (pod(volumes={}), "spec.volumes", "expected a list, got an object"),
        (pod(securityContext=[]), "spec.securityContext", "expected an object, got a list"),
    ],
)
def test_a_value_of_a_wrong_type(document: dict[str, Any], path: str, message: str) -> None:
    (found,) = validate(document, document["kind"])
    assert path_text(found.path) == path
    assert found.message.startswith(message)
    assert found.hint == ("put it in quotes" if message.startswith("expected a string, got a number") else "")


ACCEPTED = [
    pod(),
    pod(container(resources={"requests": {"cpu": 1}, "limits": {"cpu": "1000m", "hugepages-2Mi": "2Mi"}})),
    pod(container(ports=[{"containerPort": 53, "name": "dns"}, {"containerPort": 53, "protocol": "UDP", "name": "u"}])),
    pod(
        container(ports=[{"containerPort": 1, "hostPort": 80}, {"containerPort": 1, "hostPort": 80, "protocol": "UDP"}])
    ),
    pod(container(env=[{"name": "my.var-1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])),
    pod(tolerations=[{"operator": "Exists"}, {"key": "a", "effect": "NoExecute", "tolerationSeconds": 3}]),
    pod(initContainers=[container(name="s", restartPolicy="Always", readinessProbe={"tcpSocket": {"port": "http"}})]),
    {**pod(), "metadata": {"generateName": "web-"}},
    {**pod(), "metadata": {"name": "a.b", "labels": {"example.com/a": ""}, "annotations": {"Any.Case/X": "y"}}},
    workload("Deployment", strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "150%"}}),
    workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
    workload(
        "StatefulSet",
        spec_of(container(volumeMounts=[{"name": "d", "mountPath": "/d"}])),
        volumeClaimTemplates=[{"metadata": {"name": "d"}, "spec": claim()["spec"]}],
    ),
    job(parallelism=3),
    {
        "kind": "CronJob",
        "metadata": {"name": "c"},
        "spec": {"schedule": "*/5 0-23/2 1,15 jan-mar MON-FRI", "jobTemplate": job()},
    },
    {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"schedule": "@every 1h", "jobTemplate": job()}},
    claim(storageClassName=""),
    service(clusterIP="None"),
    service({"port": 53, "name": "a"}, {"port": 53, "protocol": "UDP", "name": "b"}),
    service(type="ExternalName", externalName="example.com"),
    {"kind": "PriorityClass", "metadata": {"name": "system-node-critical"}, "value": 2_000_001_000},
]


OF_JOBS = "spec.jobTemplate.spec.template.spec"


@pytest.mark.parametrize(
    ("version", "kind", "spec", "expected"),
    [
        ("v1", "Pod", None, ["spec.containers"]),
        ("apps/v1", "Deployment", None, ["spec.template.spec.containers", "spec.selector"]),
        ("batch/v1", "CronJob", {"schedule": "@daily"}, [f"{OF_JOBS}.containers", f"{OF_JOBS}.restartPolicy"]),
        ("v1", "ReplicationController", {"selector": {"a": "b"}}, ["spec.template"]),
    ],
)
def test_a_missing_spec_is_an_empty_one(version: str, kind: str, spec: Any, expected: list[str]) -> None:
    """Only the template of a ReplicationController is a pointer in Go, which may be missing as a whole."""
    document = {"metadata": {"name": "a"}, **({"spec": spec} if spec else {})}
    assert [path_text(each.path) for each in mistakes(document, version, kind)] == expected


@pytest.mark.parametrize("document", ACCEPTED, ids=range(len(ACCEPTED)))
def test_a_document_that_the_api_server_takes(document: dict[str, Any]) -> None:
    assert [*validate(document, document["kind"])] == []


@pytest.mark.parametrize("odd", sampled([None, 5, "x", [1], {"a": {"b": [None]}}, True], 3))
@pytest.mark.parametrize("document", [*ACCEPTED, *(each[0] for each in REFUSED[::7])])
def test_odd_values_break_nothing(document: dict[str, Any], odd: Any) -> None:
    """Values of the wrong type are reported by decoding."""
    for changed in _with_odd_values(document, odd):
        assert all(error.message for error in validate(changed, document["kind"]))


def _with_odd_values(value: Any, odd: Any) -> list[Any]:
    if isinstance(value, dict):
        return [
            *({**value, key: odd} for key in value if key != "kind"),
            *({**value, key: inner} for key, each in value.items() for inner in _with_odd_values(each, odd)),
        ]
    if isinstance(value, list):
        return [[odd, *value], *([inner] for each in value for inner in _with_odd_values(each, odd))]
    return []
