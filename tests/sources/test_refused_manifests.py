"""Manifests that the API server refuses, each beside similar ones that it accepts: a row has a name, the manifest or the
fields of a pod, and whether it is refused. The recordings of the API server are in controlplane/test_recordings."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import yaml

from ksched_cli.cli.main import run
from tests.builders import make_node, write_list
from tests.running import Ksched

CASES: list[tuple[str, str, bool]] = []
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec:
  containers:
  - name: c
    image: i
"""


def t(name: str, manifest: str, refused: bool) -> None:
    CASES.append((name, manifest, refused))


def pod(name: str, container: str, refused: bool) -> None:
    t(name, POD + textwrap.indent(container, "    ") + "\n", refused)


def spec(name: str, fields: str, refused: bool) -> None:
    t(name, POD + textwrap.indent(fields, "  ") + "\n", refused)


def doc(name: str, version: str, kind: str, body: str, refused: bool, namespaced: bool = True) -> None:
    space = ", namespace: shop" if namespaced else ""
    t(name, f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x{space}}}\n{body}\n", refused)


t(
    "dupkey",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers: [{name: c, image: i}]\n  restartPolicy: Nope\n  restartPolicy: Never\n",
    False,
)
FLOW = "{apiVersion: v1, kind: Pod, metadata: {name: f, namespace: shop}, spec: {containers: [{name: c, image: i}]}}"
ONE_LINE = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}\n'
t("flow style", FLOW, False)
t("flow style that does not end", FLOW[:-2], True)
t("JSON before YAML", f"{ONE_LINE}---{POD}", False)
t("JSON before YAML with a mistake", f"{ONE_LINE}---{POD.replace('image', 'imag')}", True)
t("JSON before JSON", f"{ONE_LINE}---\n{ONE_LINE.replace('j', 'k', 1)}", False)
t("two documents of JSON before YAML", f"{ONE_LINE}{ONE_LINE}---{POD}", True)
REPLICAS = (
    '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": %s, "selector": '
    '{"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": '
    '[{"name": "c", "image": "i"}]}}}}'
)
t("a whole number with a point in JSON", REPLICAS % "2.0", False)
t("a whole number with an exponent in JSON", REPLICAS % "2e0", False)
t("a part of a number in JSON", REPLICAS % "2.5", True)
t(
    "generateName",
    "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-, namespace: shop}\nspec:\n  containers: [{name: c, image: i}]\n",
    True,
)
t(
    "noname",
    "apiVersion: v1\nkind: Pod\nmetadata: {namespace: shop}\nspec:\n  containers: [{name: c, image: i}]\n",
    True,
)
t("nometa", "apiVersion: v1\nkind: Pod\nspec:\n  containers: [{name: c, image: i}]\n", True)
t(
    "emptydoc",
    "---\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers: [{name: c, image: i}]\n---\n",
    False,
)
t(
    "list",
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p, namespace: shop}\n  spec:\n    containers: [{name: c, image: i}]\n",
    False,
)
t(
    "podlist",
    "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p, namespace: shop}\n  spec:\n    containers: [{name: c, image: i}]\n",
    False,
)
t("tab", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: p\n", True)
t(
    "dupcont",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers: [{name: c, image: i},{name: c, image: i}]\n",
    True,
)
pod("image ws", "", False)
t(
    "image blank",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers: [{name: c, image: ' i '}]\n",
    True,
)
t(
    "image blank in deploy",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: p, namespace: shop}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: c, image: ' i '}]\n",
    True,
)
pod("env dup names ok", "env: [{name: A, value: b},{name: A, value: c}]", False)
pod("env name weird ok", "env: [{name: 'a b', value: b}]", False)
pod("env name =", "env: [{name: 'a=b', value: b}]", True)
pod("port 0", "ports: [{containerPort: 0}]", True)
pod("port 65536", "ports: [{containerPort: 65536}]", True)
pod("port dup name", "ports: [{containerPort: 1, name: a},{containerPort: 2, name: a}]", True)
pod("port dup number ok", "ports: [{containerPort: 1},{containerPort: 1}]", False)
pod("req>lim", "resources: {requests: {cpu: 2}, limits: {cpu: 1}}", True)
pod("quantity exp", "resources: {requests: {cpu: 1e-1}}", False)
pod("quantity bad", "resources: {requests: {cpu: 1x}}", True)
pod("quantity empty", "resources: {requests: {cpu: ''}}", True)
pod("quantity float ok", "resources: {requests: {cpu: 0.5}}", False)
pod("quantity space", "resources: {requests: {memory: '1 Gi'}}", True)
pod("quantity mib", "resources: {requests: {memory: 1MB}}", True)
pod("quantity nano ok", "resources: {requests: {cpu: 1n}}", False)
pod("quantity bool", "resources: {requests: {cpu: true}}", True)
pod("resource name", "resources: {requests: {gpu: 1}}", True)
pod("ext no limit", "resources: {requests: {example.com/gpu: 1}}", True)
pod("probe none", "livenessProbe: {}", True)
pod("probe two", "livenessProbe: {httpGet: {port: 80}, tcpSocket: {port: 80}}", True)
pod("probe port name long", "livenessProbe: {httpGet: {port: abcdefghijklmnop}}", True)
pod("probe port str num", "livenessProbe: {httpGet: {port: '80'}}", True)
pod("probe grpc ok", "livenessProbe: {grpc: {port: 80}}", False)
pod("probe scheme", "livenessProbe: {httpGet: {port: 80, scheme: http}}", True)
pod("probe path ok", "livenessProbe: {httpGet: {port: 80, path: ''}}", False)
pod("lifecycle empty", "lifecycle: {preStop: {}}", True)
pod("lifecycle sleep ok", "lifecycle: {preStop: {sleep: {seconds: 5}}}", False)
pod("lifecycle sleep long", "lifecycle: {preStop: {sleep: {seconds: 50}}}", True)
pod("lifecycle sleep zero ok", "lifecycle: {preStop: {sleep: {seconds: 0}}}", False)
pod("sc user", "securityContext: {runAsUser: -1}", True)
pod("sc priv esc", "securityContext: {privileged: true, allowPrivilegeEscalation: false}", True)
pod("sc procmount", "securityContext: {procMount: Unmasked}", True)
pod("sc seccomp local", "securityContext: {seccompProfile: {type: Localhost}}", True)
pod("sc caps ok", "securityContext: {capabilities: {add: [NOPE]}}", False)
pod("mount none", "volumeMounts: [{name: x, mountPath: /x}]", True)
pod("restart container ok", "restartPolicy: Always", False)
pod("restart container bad", "restartPolicy: Sometimes", True)
pod(
    "resizePolicy",
    "resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired},{resourceName: cpu, restartPolicy: NotRequired}]",
    True,
)
pod("envFrom none", "envFrom: [{}]", True)
pod("envFrom ok", "envFrom: [{prefix: P_, configMapRef: {name: x}}]", False)
pod("fieldRef ok", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}]", False)
pod("fieldRef bad", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]", True)
pod("resourceFieldRef bad", "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]", True)
pod("divisor bad", "env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 2}}}]", True)
pod("claims unknown", "resources: {claims: [{name: x}]}", True)
pod("stdin ok", "stdin: true", False)
pod("unknown", "foo: bar", True)
spec("dns None", "dnsPolicy: None", True)
spec("dns ns", "dnsConfig: {nameservers: [1.2.3.4,1.2.3.5,1.2.3.6,1.2.3.7]}", True)
spec("dns ns bad", "dnsConfig: {nameservers: [1.2.3]}", True)
spec("hostAlias", "hostAliases: [{ip: nope, hostnames: [a]}]", True)
spec("hostAlias no ip", "hostAliases: [{hostnames: [a]}]", True)
spec(
    "topology dup",
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule},{maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
    True,
)
spec("toler", "tolerations: [{key: a, operator: Exists, value: b}]", True)
spec("toler Gt", "tolerations: [{key: a, operator: Gt, value: '5', effect: NoSchedule}]", True)
spec("toler secs", "tolerations: [{key: a, operator: Exists, tolerationSeconds: 5}]", True)
spec("grace neg ok", "terminationGracePeriodSeconds: -1", False)
spec("ads 0", "activeDeadlineSeconds: 0", True)
spec("vol two", "volumes: [{name: a, emptyDir: {}, hostPath: {path: /x}}]", True)
spec("vol hostPath type", "volumes: [{name: a, hostPath: {path: /x, type: Dir}}]", True)
spec("vol mode", "volumes: [{name: a, secret: {secretName: x, defaultMode: 512}}]", True)
spec("vol mode octal ok", "volumes: [{name: a, secret: {secretName: x, defaultMode: 0644}}]", False)
spec("vol configmap item", "volumes: [{name: a, configMap: {name: x, items: [{key: k, path: ../p}]}}]", True)
spec("vol projected ok", "volumes: [{name: a, projected: {sources: [{secret: {name: x}}]}}]", False)
spec(
    "vol projected two", "volumes: [{name: a, projected: {sources: [{secret: {name: x}, configMap: {name: y}}]}}]", True
)
spec("vol csi", "volumes: [{name: a, csi: {}}]", True)
spec("vol nfs", "volumes: [{name: a, nfs: {server: x, path: rel}}]", True)
spec("vol ephemeral", "volumes: [{name: a, ephemeral: {}}]", True)
spec("gates dup", "schedulingGates: [{name: a.b/c},{name: a.b/c}]", True)
spec("gate + node", "nodeName: n\nschedulingGates: [{name: a.b/c}]", True)
spec("priority bad", "priorityClassName: Nope", True)
spec("os bad", "os: {name: mac}", True)
spec("sysctl dup", "securityContext: {sysctls: [{name: a.b, value: '1'},{name: a.b, value: '1'}]}", True)
spec("fsgroup", "securityContext: {fsGroup: -1}", True)
spec("init restart", "initContainers: [{name: x, image: i, livenessProbe: {exec: {command: [a]}}}]", True)
spec("ephemeral containers", "ephemeralContainers: [{name: x, image: i}]", True)
spec("readiness gates", "readinessGates: [{conditionType: a b}]", True)
spec("ips ok", "imagePullSecrets: [{name: ''}]", False)
spec("nodesel", "nodeSelector: {a: 'b c'}", True)
spec("nodesel num", "nodeSelector: {a: 5}", True)
spec(
    "aff empty terms",
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}",
    True,
)
spec(
    "aff Gt two",
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt, values: ['1','2']}]}]}}}",
    True,
)
spec(
    "podaff no topo",
    "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}",
    True,
)
_TWO = "containers: [{name: c, image: i, ports: [{containerPort: 80}]}, {name: d, image: i, ports: [{containerPort: PORT}]}]"
for network, port, is_refused in (("true", "80", True), ("true", "81", False), ("false", "80", False)):
    ports = _TWO.replace("PORT", port)
    doc(f"ports of the host {network} {port}", "v1", "Pod", f"spec: {{hostNetwork: {network}, {ports}}}", is_refused)
spec("hostUsers false + hostNetwork", "hostUsers: false\nhostNetwork: true", True)
spec("shareproc hostpid", "shareProcessNamespace: true\nhostPID: true", True)
spec("overhead no class", "overhead: {cpu: 1}", True)
spec("schedulerName odd", "schedulerName: ''", False)
spec("subdomain bad", "subdomain: a.b", True)
spec("fqdn", "hostnameOverride: a.b\nsetHostnameAsFQDN: true", True)


doc("svc no ports", "v1", "Service", "spec: {selector: {a: b}}", True)
doc("svc headless ok", "v1", "Service", "spec: {clusterIP: None}", False)
doc("svc nodePort clusterip", "v1", "Service", "spec: {ports: [{port: 80, nodePort: 30000}]}", True)
doc("svc nodePort range", "v1", "Service", "spec: {type: NodePort, ports: [{port: 80, nodePort: 80}]}", True)
doc("svc two unnamed", "v1", "Service", "spec: {ports: [{port: 80},{port: 81}]}", True)
doc("svc target bad", "v1", "Service", "spec: {ports: [{port: 80, targetPort: 70000}]}", True)
doc("svc ext", "v1", "Service", "spec: {type: ExternalName, externalName: 'a b'}", True)
doc("svc ip bad", "v1", "Service", "spec: {clusterIP: 1.2.3, ports: [{port: 80}]}", True)
doc("svc proto", "v1", "Service", "spec: {ports: [{port: 80, protocol: HTTP}]}", True)
doc("svc aff", "v1", "Service", "spec: {sessionAffinity: Client, ports: [{port: 80}]}", True)
doc(
    "svc lbsr",
    "v1",
    "Service",
    "spec: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0], ports: [{port: 80}]}",
    True,
)
doc("pdb both", "policy/v1", "PodDisruptionBudget", "spec: {minAvailable: 1, maxUnavailable: 1}", True)
doc("pdb neg", "policy/v1", "PodDisruptionBudget", "spec: {minAvailable: -1}", True)
doc("pdb none ok", "policy/v1", "PodDisruptionBudget", "spec: {selector: {matchLabels: {a: b}}}", False)
doc("pc high", "scheduling.k8s.io/v1", "PriorityClass", "value: 2000000000", True, False)
doc("pc none ok", "scheduling.k8s.io/v1", "PriorityClass", "description: a", False, False)
doc("rq name", "v1", "ResourceQuota", "spec: {hard: {cpus: 1}}", True)
doc("rq frac pods", "v1", "ResourceQuota", "spec: {hard: {pods: 1.5}}", True)
doc(
    "rq count ok",
    "v1",
    "ResourceQuota",
    "spec: {hard: {count/deployments.apps: 1, requests.example.com/gpu: 1}}",
    False,
)
doc("rq scope", "v1", "ResourceQuota", "spec: {hard: {pods: 1}, scopes: [Nope]}", True)
doc("rq scope res", "v1", "ResourceQuota", "spec: {hard: {services: 1}, scopes: [BestEffort]}", True)
doc("lr type", "v1", "LimitRange", "spec: {limits: [{type: Node, max: {cpu: 1}}]}", True)
doc("lr pod default", "v1", "LimitRange", "spec: {limits: [{type: Pod, default: {cpu: 1}}]}", True)
doc("lr min>max", "v1", "LimitRange", "spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}", True)
doc(
    "lr dup type",
    "v1",
    "LimitRange",
    "spec: {limits: [{type: Container, max: {cpu: 2}},{type: Container, max: {cpu: 1}}]}",
    True,
)
doc("lr pvc none", "v1", "LimitRange", "spec: {limits: [{type: PersistentVolumeClaim, default: {storage: 2}}]}", True)
doc("lr neg ok", "v1", "LimitRange", "spec: {limits: [{type: Container, default: {cpu: -1}}]}", False)
doc("ns bad", "v1", "Namespace", "spec: {finalizers: [nope]}", True, False)
doc("rc handler", "node.k8s.io/v1", "RuntimeClass", "handler: A", True, False)
doc("rc none", "node.k8s.io/v1", "RuntimeClass", "scheduling: {}", True, False)
doc("sc none", "storage.k8s.io/v1", "StorageClass", "reclaimPolicy: Delete", True, False)
doc("sc recycle", "storage.k8s.io/v1", "StorageClass", "provisioner: a.b/c\nreclaimPolicy: Recycle", True, False)
doc("pv none", "v1", "PersistentVolume", "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}", True, False)
doc(
    "pv local",
    "v1",
    "PersistentVolume",
    "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], local: {path: /a}}",
    True,
    False,
)
doc(
    "pvc zero",
    "v1",
    "PersistentVolumeClaim",
    "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 0}}}",
    True,
)
doc(
    "pvc rwop",
    "v1",
    "PersistentVolumeClaim",
    "spec: {accessModes: [ReadWriteOnce, ReadWriteOncePod], resources: {requests: {storage: 1}}}",
    True,
)
doc(
    "hpa no max",
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "spec: {scaleTargetRef: {kind: Deployment, name: x}}",
    True,
)
doc(
    "hpa metric",
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: x}, metrics: [{type: Resource}]}",
    True,
)
doc(
    "hpa v1 ok",
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    "spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: x, apiVersion: apps/v1}, targetCPUUtilizationPercentage: 50}",
    False,
)
T = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]%s}}"
doc(
    "deploy surge",
    "apps/v1",
    "Deployment",
    "spec:\n  strategy: {rollingUpdate: {maxSurge: 10}}\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    False,
)
doc(
    "deploy surge pct",
    "apps/v1",
    "Deployment",
    "spec:\n  strategy: {rollingUpdate: {maxSurge: 10 percent}}\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    True,
)
doc(
    "deploy neg", "apps/v1", "Deployment", "spec:\n  replicas: -1\n  selector: {matchLabels: {a: b}}\n  " + T % "", True
)
doc(
    "deploy rev",
    "apps/v1",
    "Deployment",
    "spec:\n  revisionHistoryLimit: -1\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    True,
)
doc(
    "sts rev ok",
    "apps/v1",
    "StatefulSet",
    "spec:\n  revisionHistoryLimit: -1\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    False,
)
doc(
    "sts svc",
    "apps/v1",
    "StatefulSet",
    "spec:\n  serviceName: a.b\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    True,
)
doc(
    "sts retention",
    "apps/v1",
    "StatefulSet",
    "spec:\n  persistentVolumeClaimRetentionPolicy: {whenDeleted: Nope}\n  selector: {matchLabels: {a: b}}\n  "
    + T % "",
    True,
)
doc(
    "ds minready",
    "apps/v1",
    "DaemonSet",
    "spec:\n  minReadySeconds: -1\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    True,
)
doc(
    "ds strategy",
    "apps/v1",
    "DaemonSet",
    "spec:\n  updateStrategy: {type: Recreate}\n  selector: {matchLabels: {a: b}}\n  " + T % "",
    True,
)
doc("job sel", "batch/v1", "Job", "spec:\n  selector: {matchLabels: {a: b}}\n  " + T % ", restartPolicy: Never", True)
doc("job always", "batch/v1", "Job", "spec:\n  " + T % ", restartPolicy: Always", True)
doc("job managedBy", "batch/v1", "Job", "spec:\n  managedBy: nope\n  " + T % ", restartPolicy: Never", True)
doc(
    "job success",
    "batch/v1",
    "Job",
    "spec:\n  successPolicy: {rules: [{succeededCount: 1}]}\n  " + T % ", restartPolicy: Never",
    True,
)
doc(
    "job failure rule",
    "batch/v1",
    "Job",
    "spec:\n  podFailurePolicy: {rules: [{action: FailJob}]}\n  " + T % ", restartPolicy: Never",
    True,
)
for s, w in (
    ("0 0 * * 7", True),
    ("@every 5m", False),
    ("@every x", True),
    ("* * * *", True),
    ("*/0 * * * *", True),
    ("0 0 31 2 *", False),
    ("0 0 ? * *", False),
    ("TZ=UTC 0 0 * * *", True),
    ("0 0 * JAN-dec sun", False),
    ("5-1 * * * *", True),
    ("0 24 * * *", True),
):
    doc(
        "cron " + s,
        "batch/v1",
        "CronJob",
        f"spec:\n  schedule: '{s}'\n  jobTemplate: {{spec: {{" + T % ", restartPolicy: Never" + "}}",
        w,
    )
for z, w in (("Europe/Berlin", False), ("Nope/Zone", True), ("Local", True), ("", True), ("UTC", False)):
    doc(
        "tz " + z,
        "batch/v1",
        "CronJob",
        f"spec:\n  schedule: '0 0 * * *'\n  timeZone: '{z}'\n  jobTemplate: {{spec: {{"
        + T % ", restartPolicy: Never"
        + "}}",
        w,
    )
doc("old cron", "batch/v1beta1", "CronJob", "spec: {}", True)
doc("old ingress", "extensions/v1beta1", "Ingress", "spec: {}", True)
doc("ing net v1beta1", "networking.k8s.io/v1beta1", "Ingress", "spec: {}", True)
doc("cm unknown", "v1", "ConfigMap", "datas: {a: b}", True)
doc("cm key twice", "v1", "ConfigMap", "data: {a: b}\nbinaryData: {a: Yg==}", True)
doc("cm two keys", "v1", "ConfigMap", "data: {a: b}\nbinaryData: {b: Yg==}", False)
doc("cm of 1 MiB", "v1", "ConfigMap", f"data: {{a: {'x' * 1024 * 1024}}}", False)
doc("cm of more", "v1", "ConfigMap", f"data: {{a: {'x' * 1024 * 1024}, b: y}}", True)
doc("secret b64", "v1", "Secret", "data: {a: '!!!'}", True)
doc("sa unknown", "v1", "ServiceAccount", "spec: {}", True)
doc(
    "dra no class", "resource.k8s.io/v1", "ResourceClaim", "spec: {devices: {requests: [{name: a, exactly: {}}]}}", True
)
doc("dra none", "resource.k8s.io/v1", "ResourceClaim", "spec: {devices: {requests: [{name: a}]}}", True)
doc(
    "dra count",
    "resource.k8s.io/v1",
    "ResourceClaim",
    "spec: {devices: {requests: [{name: a, exactly: {deviceClassName: x, count: -1}}]}}",
    True,
)
doc(
    "dra all count",
    "resource.k8s.io/v1",
    "ResourceClaim",
    "spec: {devices: {requests: [{name: a, exactly: {deviceClassName: x, allocationMode: All, count: 2}}]}}",
    True,
)
doc(
    "dra cel",
    "resource.k8s.io/v1",
    "DeviceClass",
    "spec: {selectors: [{cel: {expression: 'device.driver =='}}]}",
    True,
    False,
)
doc(
    "dra cel type",
    "resource.k8s.io/v1",
    "DeviceClass",
    "spec: {selectors: [{cel: {expression: '1 + 1'}}]}",
    True,
    False,
)
doc(
    "dra constraint",
    "resource.k8s.io/v1",
    "ResourceClaim",
    "spec: {devices: {requests: [{name: a, exactly: {deviceClassName: x}}], constraints: [{requests: [b], matchAttribute: a.b/c}]}}",
    True,
)
spec(
    "a spread twice",
    "topologySpreadConstraints:\n- {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}\n- {maxSkew: 2, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}",
    True,
)
spec(
    "a spread of two keys",
    "topologySpreadConstraints:\n- {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}\n- {maxSkew: 2, topologyKey: b, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}",
    False,
)
spec(
    "a spread that must and one that should",
    "topologySpreadConstraints:\n- {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}\n- {maxSkew: 9, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}",
    False,
)
# No `spec` is a pointer in Go: an object without one has an empty one, which is validated.
for version, kind in (
    *(("v1", each) for each in ("Pod", "ReplicationController", "PersistentVolumeClaim", "Service")),
    *(("apps/v1", each) for each in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")),
    *(("batch/v1", each) for each in ("Job", "CronJob")),
):
    doc(f"no spec, {kind}", version, kind, "", True)
doc("no spec, PersistentVolume", "v1", "PersistentVolume", "", True, False)
doc("no spec, PodDisruptionBudget", "policy/v1", "PodDisruptionBudget", "", False)
doc("no spec, ResourceQuota", "v1", "ResourceQuota", "", False)
doc(
    "a template without a spec",
    "apps/v1",
    "Deployment",
    "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}",
    True,
)


AUTOSCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: x, namespace: shop}
spec:
  maxReplicas: 3
  scaleTargetRef: {kind: KIND, name: web, apiVersion: 'TARGET'}
  metrics:
  - type: Object
    object:
      metric: {name: hits}
      target: {type: Value, value: 1}
      describedObject: {kind: Service, name: web, apiVersion: 'DESCRIBED'}
"""
# The status of an object is not part of a manifest's validation: such values are wrong in every source.
doc("node amount", "v1", "Node", "status: {allocatable: {cpu: abc}}", True, False)
doc("node amounts", "v1", "Node", "status: {allocatable: {cpu: '4'}, capacity: {cpu: '4'}}", False, False)
doc("node amount below zero", "v1", "Node", "status: {capacity: {cpu: '-1'}}", True, False)
doc("image size", "v1", "Node", f"status: {{images: [{{names: [a], sizeBytes: {2**63}}}]}}", True, False)
doc("largest image size", "v1", "Node", f"status: {{images: [{{names: [a], sizeBytes: {2**63 - 1}}}]}}", False, False)
doc("quota used", "v1", "ResourceQuota", "spec: {hard: {cpu: '1'}}\nstatus: {used: {cpu: abc}}", True)
t("start of a pod", POD + "status: {startTime: yesterday}\n", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "target", "described", "field"),
    [
        pytest.param("Deployment", "apps/v1", "v1", "", id="both right"),
        pytest.param("Deployment", "v1", "v1", "spec.scaleTargetRef.apiVersion", id="no group"),
        pytest.param("Deployment", "", "v1", "spec.scaleTargetRef.apiVersion", id="no version"),
        pytest.param("Deployment", "/v1", "v1", "spec.scaleTargetRef.apiVersion", id="an empty group"),
        pytest.param("Deployment", "apps/", "v1", "", id="an empty version"),
        pytest.param("Deployment", "a/b/v1", "v1", "spec.scaleTargetRef.apiVersion", id="two slashes"),
        pytest.param("ReplicationController", "v1", "v1", "", id="a kind of the core"),
        pytest.param("ReplicationController", "a/b/v1", "v1", "spec.scaleTargetRef.apiVersion", id="slashes of it"),
        pytest.param("Deployment", "apps/v1", "", "", id="a metric of no version"),
        pytest.param(
            "Deployment",
            "apps/v1",
            "a/b/c",
            "spec.metrics[0].object.describedObject.apiVersion",
            id="a metric of two slashes",
        ),
    ],
)
def test_autoscalers_name_what_they_scale_by_group_since_1_34(
    kind: str, target: str, described: str, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    monkeypatch.chdir(tmp_path)
    write_list(Path("c.json"), {"apiVersion": "v1", "kind": "List", "items": [make_node("n").doc()]})
    manifest = AUTOSCALER.replace("KIND", kind).replace("TARGET", target).replace("DESCRIBED", described)
    Path("m.yaml").write_text(manifest)
    command = ["check", "--from", "c.json", "-f", "m.yaml", "--allow-empty"]
    ksched(*command, "--kube-version", "1.33", code=0)
    for version in ([], ["--kube-version", "1.34"], ["--kube-version", "1.37"]):
        assert field in ksched(*command, *version, code=2 if field else 0).out


def of_service(fields: str, name: str = "s") -> str:
    return f"{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, spec: {{ports: [{{port: 80}}], {fields}}}}}"


def of_pod(fields: str) -> str:
    return (
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, image: i}}], {fields}}}}}"
    )


BUNDLE = "volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {path: p}}]}}]"
LESS = "tolerations: [{key: a, operator: Lt, value: '5'}]"
COMPARES = ("--feature-gates", "TaintTolerationComparisonOperators=true")
PODS = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: w, namespace: default}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {FIELDS containers: [{name: c, image: i}]}}
"""


def of_workload(fields: str) -> str:
    return WORKLOAD.replace("FIELDS", f"{fields}," if fields else "")


DROPS = ("--feature-gates", "MaxUnavailableStatefulSet=false")


def of_set(most: str) -> str:
    return (
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {selector: {matchLabels: {a: b}}, "
        f"updateStrategy: {{rollingUpdate: {{maxUnavailable: {most}}}}}, {PODS}}}}}"
    )


@pytest.mark.parametrize(
    ("manifest", "version", "options", "refused"),
    [
        pytest.param(of_service("", "1web"), "1.35", (), True, id="a digit first in 1.35"),
        pytest.param(of_service("", "1web"), "1.36", (), False, id="a digit first in 1.36"),
        pytest.param(of_service("", "web1"), "1.35", (), False, id="a digit last"),
        pytest.param(of_service("", "Web"), "1.36", (), True, id="a capital"),
        pytest.param(of_service("externalIPs: [1.2.3.04]"), "1.35", (), False, id="leading zeros in 1.35"),
        pytest.param(of_service("externalIPs: [1.2.3.04]"), "1.36", (), True, id="leading zeros in 1.36"),
        pytest.param(of_service("externalIPs: [1.2.3.4.5]"), "1.35", (), True, id="no address"),
        pytest.param(of_pod("hostAliases: [{ip: 1.2.3.04}]"), "1.35", (), False, id="an alias in 1.35"),
        pytest.param(of_pod("hostAliases: [{ip: 1.2.3.04}]"), "1.37", (), True, id="an alias in 1.37"),
        pytest.param(of_pod("dnsConfig: {nameservers: ['::ffff:1.2.3.4']}"), "1.36", (), True, id="a name server"),
        pytest.param(of_pod(BUNDLE), "1.36", (), False, id="a trust bundle in 1.36"),
        pytest.param(of_pod(BUNDLE), "1.37", (), True, id="a trust bundle in 1.37"),
        pytest.param(of_pod(LESS), "1.36", (), True, id="Lt"),
        pytest.param(of_pod(LESS), "1.36", COMPARES, False, id="Lt with its gate"),
        pytest.param(of_set("0"), "1.36", (), False, id="maxUnavailable 0 in 1.36"),
        pytest.param(of_set("0"), "1.37", (), True, id="maxUnavailable 0 in 1.37"),
        pytest.param(of_set("0"), "1.37", DROPS, False, id="maxUnavailable 0 without its gate"),
        pytest.param(of_set("0"), "1.35.3", (), True, id="maxUnavailable 0 in a patch that has the gate on"),
        pytest.param(of_set("150%"), "1.36", (), False, id="maxUnavailable of 150 % in 1.36"),
        pytest.param(of_set("150%"), "1.37", (), True, id="maxUnavailable of 150 % in 1.37"),
    ],
)
def test_minors_and_gates_decide(
    manifest: str,
    version: str,
    options: tuple[str, ...],
    refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.yaml").write_text(f"---\n{manifest}")
    write_list(Path("c.json"), make_node("n").allocatable(cpu="4", memory="4Gi", pods=10))
    command = ["check", "--from", "c.json", "-f", "m.yaml", "--allow-empty", "--kube-version", version, *options]
    assert run(command) == (2 if refused else 0)


@pytest.mark.parametrize(
    ("fields", "version", "options", "refused"),
    [
        pytest.param("hostAliases: [{ip: 1.2.3.04}]", "1.35", (), False, id="an alias in 1.35"),
        pytest.param("hostAliases: [{ip: 1.2.3.04}]", "1.36", (), True, id="an alias in 1.36"),
        pytest.param(LESS, "1.36", (), True, id="Lt"),
        pytest.param(LESS, "1.36", COMPARES, False, id="Lt with its gate"),
    ],
)
def test_minors_and_gates_decide_about_changes(
    fields: str, version: str, options: tuple[str, ...], refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(f"{yaml.safe_dump(make_node('n1').doc())}---\n{of_workload('')}")
    Path("m.yaml").write_text(of_workload(fields))
    command = ["check", "--from", "c.yaml", "-f", "m.yaml", "--kube-version", version, *options, "--exit-zero"]
    assert run(command) == (2 if refused else 0)


@pytest.mark.parametrize(("manifest", "refused"), [pytest.param(text, no, id=name) for name, text, no in CASES])
def test_the_api_server_refuses(
    manifest: str,
    refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    node = make_node("n").allocatable(cpu="64", memory="64Gi", pods=100).doc()
    write_list(Path("c.json"), {"apiVersion": "v1", "kind": "List", "items": [space, node]})
    Path("m.yaml").write_text(manifest)
    code = run(["check", "--from", "c.json", "-f", "m.yaml", "--allow-empty", "-o", "json"])
    assert (code != 0) is refused
    assert "a bug in ksched" not in capsys.readouterr().err


def test_of_the_mistakes_at_one_path_the_first_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksched: Ksched
) -> None:
    """The name is too long, and its form is wrong."""
    monkeypatch.chdir(tmp_path)
    write_list(Path("c.json"), make_node("n").allocatable(cpu="4", memory="4Gi", pods=10))
    Path("m.yaml").write_text(POD.replace("name: p,", f"name: {'-' * 300},"))
    assert ksched("check", "--from", "c.json", "-f", "m.yaml", "-o", "json", code=2).out.count("metadata.name") == 1
