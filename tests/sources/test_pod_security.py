"""What the PodSecurity levels of a namespace forbid, check by check: a pod that breaks a check, and its twin."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ksched_cli.api.core import Namespace, ObjectMeta
from ksched_cli.controlplane.admission.pod_security import PodSecurity
from ksched_cli.controlplane.admission.pods import admit_account

ENFORCE = "pod-security.kubernetes.io/enforce"
SAFE = (
    "securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault},"
    " capabilities: {drop: [ALL]}%s}"
)


def refusal(level: str, spec: str, annotations: dict[str, str] | None = None, version: str = "latest") -> str:
    labels = {ENFORCE: level, f"{ENFORCE}-version": version}
    found = PodSecurity([Namespace(ObjectMeta("shop", labels=labels))], newest=36)
    text = found.admit("shop", {"annotations": annotations or {}}, yaml.safe_load(f"{{{spec}}}"))
    start = f'violates PodSecurity "{level}:{version}": '
    assert text == "" or text.startswith(start)
    return text.removeprefix(start)


def containers(*each: str) -> str:
    return f"containers: [{', '.join(f'{{{text}}}' for text in each)}]"


CONTEXT = "securityContext: "
A, B = "name: a, ", "name: b, "
BASELINE = [
    ("", ""),
    ("hostNetwork: true, hostPID: false", "host namespaces (hostNetwork=true)"),
    ("hostIPC: true, hostPID: true", "host namespaces (hostPID=true, hostIPC=true)"),
    ("volumes: [{name: e, emptyDir: {}}, {name: h, hostPath: {path: /}}]", 'hostPath volumes (volume "h")'),
    (
        "volumes: [{name: g, hostPath: {path: /}}, {name: h, hostPath: {path: /}}]",
        'hostPath volumes (volumes "g", "h")',
    ),
    (containers(A + "ports: [{containerPort: 1}, {containerPort: 1, hostPort: 0}]"), ""),
    (containers("name: z", A + "ports: [{hostPort: 80}]"), 'hostPort (container "a" uses hostPort 80)'),
    (
        containers(A + "ports: [{hostPort: 90}]", B + "ports: [{hostPort: 80}, {hostPort: 90}]"),
        'hostPort (containers "a", "b" use hostPorts 80, 90)',
    ),
    (containers(A + "livenessProbe: {httpGet: {port: 1}}"), ""),
    (
        containers("name: z", A + "lifecycle: {preStop: {tcpSocket: {port: 1, host: h}}}"),
        'probe or lifecycle host (container "a" uses probe or lifecycle host "h")',
    ),
    (
        containers(A + "startupProbe: {httpGet: {host: i}}", B + "readinessProbe: {httpGet: {host: h}}"),
        'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "h", "i")',
    ),
    (containers(A + CONTEXT + "{privileged: false}"), ""),
    (
        "initContainers: [{name: i, securityContext: {privileged: true}}], "
        + containers("name: z", A + CONTEXT + "{privileged: true}"),
        'privileged (containers "i", "a" must not set securityContext.privileged=true)',
    ),
    (containers(A + CONTEXT + "{procMount: Default}"), ""),
    (
        containers(A + CONTEXT + "{procMount: Default}", B + CONTEXT + "{procMount: Unmasked}"),
        'procMount (container "b" must not set securityContext.procMount to "Unmasked")',
    ),
    ("hostUsers: false, " + containers(A + CONTEXT + "{procMount: Unmasked}"), ""),
    (containers(A + CONTEXT + "{appArmorProfile: {type: Localhost}}"), ""),
    (
        containers(A + CONTEXT + "{appArmorProfile: {type: Unconfined}}"),
        'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
    ),
    (
        "securityContext: {appArmorProfile: {type: Unconfined}}, " + containers("name: a"),
        'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    ),
    (containers(A + CONTEXT + "{capabilities: {add: [CHOWN, KILL]}}"), ""),
    (
        containers(
            A + CONTEXT + "{capabilities: {add: [CHOWN, SYS_TIME, NET_RAW]}}",
            B + CONTEXT + "{capabilities: {add: [KILL]}}",
        ),
        'non-default capabilities (container "a" must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add)',
    ),
    (containers(A + CONTEXT + "{seLinuxOptions: {type: container_t, level: s0}}"), ""),
    (
        containers(
            A + CONTEXT + "{seLinuxOptions: {type: container_t}}", B + CONTEXT + "{seLinuxOptions: {type: x, role: r}}"
        ),
        'seLinuxOptions (container "b" set forbidden securityContext.seLinuxOptions: type "x"; role may not be set)',
    ),
    (
        "securityContext: {seLinuxOptions: {user: u}}, " + containers("name: a"),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)",
    ),
    (containers(A + CONTEXT + "{seccompProfile: {type: Localhost}}"), ""),
    (
        "securityContext: {seccompProfile: {type: Unconfined}}, "
        + containers("name: z", A + CONTEXT + "{seccompProfile: {type: Odd}}"),
        'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Odd", "Unconfined")',
    ),
    ("securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies}]}", ""),
    (
        "securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies}, {name: kernel.msgmax}, {name: a.b}]}",
        "forbidden sysctls (kernel.msgmax, a.b)",
    ),
    (containers(A + CONTEXT + "{windowsOptions: {hostProcess: false}}"), ""),
    (
        "securityContext: {windowsOptions: {hostProcess: true}}, "
        + containers(A + CONTEXT + "{windowsOptions: {hostProcess: true}}"),
        'hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)',
    ),
    (
        "hostNetwork: true, " + containers(A + "ports: [{hostPort: 80}], " + CONTEXT + "{privileged: true}"),
        'host namespaces (hostNetwork=true), hostPort (container "a" uses hostPort 80), privileged (container "a" must'
        " not set securityContext.privileged=true)",
    ),
]


def safe(*more: str, before: str = "") -> str:
    return before + containers(*(f"name: {'ab'[at]}, {SAFE % each}" for at, each in enumerate(more)))


def without(part: str, *, before: str = "", instead: str = "") -> str:
    whole = safe("", "", before=before)
    assert part in whole
    return whole.replace(part, instead, 1)


ESCALATION, ROOT, SECCOMP = (
    "allowPrivilegeEscalation: false, ",
    "runAsNonRoot: true, ",
    "seccompProfile: {type: RuntimeDefault}, ",
)
RESTRICTED = [
    (safe(""), ""),
    (
        without(ESCALATION),
        'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
    ),
    (without(ESCALATION, before="os: {name: windows}, "), ""),
    (
        without("drop: [ALL]"),
        'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])',
    ),
    (without("drop: [ALL]", instead="drop: [ALL], add: [NET_BIND_SERVICE]"), ""),
    (
        without("drop: [ALL]", instead="drop: [KILL], add: [NET_BIND_SERVICE, CHOWN]"),
        'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must'
        ' not include "CHOWN" in securityContext.capabilities.add)',
    ),
    (without("drop: [ALL]", instead="add: [CHOWN]", before="os: {name: windows}, "), ""),
    (
        without(ROOT),
        'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
    ),
    (without(ROOT, before="securityContext: {runAsNonRoot: true}, "), ""),
    (
        without(ROOT, before="securityContext: {runAsNonRoot: false}, "),
        "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
    ),
    (
        without(ROOT, instead="runAsNonRoot: false, "),
        'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
    ),
    (without(ROOT, before="hostUsers: false, "), ""),
    (safe(", runAsUser: 1"), ""),
    (safe("", ", runAsUser: 0"), 'runAsUser=0 (container "b" must not set runAsUser=0)'),
    (safe("", ", runAsUser: 0", before="hostUsers: false, "), ""),
    (safe("", before="securityContext: {runAsUser: 0}, "), "runAsUser=0 (pod must not set runAsUser=0)"),
    (
        without(SECCOMP),
        'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ),
    (without(SECCOMP, before="securityContext: {seccompProfile: {type: Localhost}}, "), ""),
    (without(SECCOMP, before="os: {name: windows}, "), ""),
    (safe("", before="volumes: [{name: s, secret: {}}, {name: odd}], "), ""),
    (
        safe("", before="volumes: [{name: s, secret: {}}, {name: h, hostPath: {path: /}}], "),
        'restricted volume types (volume "h" uses restricted volume type "hostPath")',
    ),
    (
        safe("", before="volumes: [{name: n, nfs: {}}, {name: h, hostPath: {path: /}}], "),
        'restricted volume types (volumes "n", "h" use restricted volume types "hostPath", "nfs")',
    ),
    (
        safe(", procMount: Unmasked", before="hostUsers: false, "),
        'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
    ),
    (safe("", before="hostPID: true, "), "host namespaces (hostPID=true)"),
]


@pytest.mark.parametrize(
    ("spec", "expected"), BASELINE, ids=[expected[:50] or spec[:50] for spec, expected in BASELINE]
)
def test_baseline(spec: str, expected: str) -> None:
    assert refusal("baseline", spec) == expected
    assert refusal("privileged", spec) == ""


@pytest.mark.parametrize(
    ("spec", "expected"),
    RESTRICTED,
    ids=[f"{number}-{expected[:50]}" for number, (_, expected) in enumerate(RESTRICTED)],
)
def test_restricted(spec: str, expected: str) -> None:
    assert refusal("restricted", spec) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({"a": "runtime/default"}, "", id="the default profile"),
        pytest.param({"a": ""}, "", id="no profile"),
        pytest.param({"a": "localhost/x"}, "", id="a profile of the node"),
        pytest.param(
            {"a": "localhost/x", "b": "unconfined"}, "annotation must not set AppArmor profile type to {}", id="one"
        ),
    ],
)
def test_annotations_of_app_armor(annotations: dict[str, str], expected: str) -> None:
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    found = refusal(
        "baseline", containers("name: a"), {f"{prefix}{name}": value for name, value in annotations.items()}
    )
    wanted = expected.format(f'"{prefix}b="unconfined""')
    assert found == (f"forbidden AppArmor profile ({wanted})" if wanted else "")


ACCOUNT = {
    "metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
    "secrets": [{"name": "own"}],
    "imagePullSecrets": [{"name": "registry"}],
}
FREE = {**ACCOUNT, "metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "false"}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            "volumes: [{name: v, secret: {secretName: own}}, {name: w, emptyDir: {}}]", "", id="its own volume"
        ),
        pytest.param(
            "volumes: [{name: v, secret: {secretName: own}}, {name: w, secret: {secretName: x}}]",
            'volume with secret.secretName="x"',
            id="another volume",
        ),
        pytest.param(
            "containers: [{name: a, env: [{name: N, value: v}, {name: E, valueFrom: {secretKeyRef: {name: own}}}]}]",
            "",
            id="its own key",
        ),
        pytest.param(
            "containers: [{name: a}, {name: b, env: [{name: N}, {name: E, valueFrom: {secretKeyRef: {name: x}}}]}]",
            'container b with envVar E referencing secret.secretName="x"',
            id="another key",
        ),
        pytest.param(
            "initContainers: [{name: a, envFrom: [{configMapRef: {name: x}}, {secretRef: {name: x}}]}]",
            'init container a with envFrom referencing secret.secretName="x"',
            id="all keys of another",
        ),
        pytest.param("containers: [{name: a, envFrom: [{secretRef: {name: own}}]}]", "", id="all its keys"),
        pytest.param("imagePullSecrets: [{name: registry}]", "", id="its registry"),
        pytest.param(
            "imagePullSecrets: [{name: registry}, {name: own}]",
            'imagePullSecrets[1].name="own" is not allowed because service account s does not reference that imagePullSecret',
            id="another registry",
        ),
    ],
)
def test_an_account_may_limit_the_secrets_of_its_pods(spec: str, expected: str) -> None:
    pod = {"serviceAccountName": "s", **yaml.safe_load(f"{{{spec}}}")}
    found = admit_account({("shop", "s"): ACCOUNT}, "shop", pod, ["shop"])
    assert found.startswith(expected) if expected else found == ""
    assert admit_account({("shop", "s"): FREE}, "shop", pod, ["shop"]) == ""


def test_policies_know_what_they_forbid_by_version() -> None:
    windows: dict[str, Any] = {"before": "os: {name: windows}, "}
    assert refusal("restricted", without(ESCALATION, **windows), version="v1.24") != ""
    assert refusal("restricted", without(ESCALATION, **windows), version="v1.25") == ""
