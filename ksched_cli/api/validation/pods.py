"""Rows for pod specs and pod templates (ValidatePodSpec of pkg/apis/core/validation). Rows of containers and volumes
are in the modules of their names. Changes of an existing pod are compared in `controlplane/admission/updates.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from ksched_cli.api.conversion import Path
from ksched_cli.api.label_names import domain_problems
from ksched_cli.api.quantity import quantity_of
from ksched_cli.api.validation import checks, errors
from ksched_cli.api.validation.checks import DOMAIN, KEY, LABEL, NEEDED, Needed, Rows
from ksched_cli.api.validation.containers import CONTAINERS, HIGHEST_ID, PROBES, overhead_amounts, resource_requirements
from ksched_cli.api.validation.errors import Errors, duplicate, forbidden, invalid, required
from ksched_cli.api.validation.fields import amount_in, each_at, items_at, number_at, object_at, text_at, texts_at
from ksched_cli.api.validation.selectors import repeated_spreads

# Prefixes of the sysctls of a namespace of the kernel (component-helpers' sysctl.GetNamespace).
_SYSCTLS_OF = {"hostNetwork": ("net.",), "hostIPC": ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")}
# What a Windows pod may not have: fields of the pod, of its securityContext, and of that of a container.
_NOT_FOR_WINDOWS = ("hostUsers", "shareProcessNamespace")
_NOT_FOR_WINDOWS_CONTEXT = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "runAsUser"),
    *("runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_NOT_FOR_WINDOWS_CONTAINER = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


# An object of a list, and its path.
_Found: TypeAlias = tuple[Path, Mapping[str, Any]]


def _host_ports(found: Iterable[_Found], *, of_host: bool) -> Errors:
    """checkHostPortConflicts. On the network of the host a port is one of the host by default
    (defaultHostNetworkPorts): the API server refuses pods with two, and accepts the template of a workload."""
    texts: list[tuple[Path, str]] = []
    for path, port in found:
        if number := number_at(port, "hostPort") or (number_at(port, "containerPort") if of_host else 0):
            texts.append((path, f"{text_at(port, 'protocol') or 'TCP'}/{text_at(port, 'hostIP')}/{number}"))
    for at, text in checks.repeated(text for _, text in texts):
        yield duplicate((*texts[at][0], "hostPort"), text)


# Pods


def _spec(spec: Mapping[str, Any], path: Path) -> Errors:
    """What in ValidatePodSpec compares several fields."""
    inits, of_pod, ephemeral = (list(each_at(spec, path, field)) for field in CONTAINERS)
    every, of_host = (*inits, *of_pod, *ephemeral), spec.get("hostNetwork") is True
    named = [(here, text) for here, each in (*of_pod, *inits, *ephemeral) if (text := text_at(each, "name"))]
    for at, text in checks.repeated(text for _, text in named):
        yield duplicate((*named[at][0], "name"), text)
    yield from _host_ports(each_at(spec, path, "containers", "ports"), of_host=of_host)
    for here, container in inits:
        yield from _host_ports(each_at(container, here, "ports"), of_host=of_host)
        yield from _init_container(container, here)
    yield from _claims(spec, every)
    for here, container in every:
        yield from _of_pod(spec, container, here)
    yield from _host(spec, every, path)
    yield from _system(spec, every, path)
    if isinstance(spec.get("resources"), dict):
        yield from _pod_resources(spec, of_pod, (*path, "resources"))
    if text_at(spec, "dnsPolicy") == "None" and not texts_at(object_at(spec, "dnsConfig"), "nameservers"):
        missing: Path = ("dnsConfig", "nameservers") if isinstance(spec.get("dnsConfig"), dict) else ("dnsConfig",)
        yield required((*path, *missing), "must provide at least one DNS nameserver when `dnsPolicy` is None")


def _init_container(container: Mapping[str, Any], path: Path) -> Errors:
    """validateInitContainers."""
    if text_at(container, "restartPolicy") == "Always":
        return
    text = "may not be set for init containers without restartPolicy=Always"
    yield from checks.none_of(("lifecycle", *PROBES), container, path, text)
    for here, policy in each_at(container, path, "resizePolicy"):
        if text_at(policy, "restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid((*here, "restartPolicy"), "RestartContainer", text)


def _claims(spec: Mapping[str, Any], every: Sequence[_Found]) -> Errors:
    """validateResourceClaimNames."""
    known = {text_at(each, "name") for _, each in items_at(spec, "resourceClaims")}
    for path, container in every:
        seen: set[tuple[str, str]] = set()
        for here, each in each_at(container, path, "resources.claims"):
            claim, request = text_at(each, "name"), text_at(each, "request")
            if not claim:
                yield required((*here, "name"))
                continue
            if {(claim, request), (claim, "")} & seen or (not request and any(claim == one for one, _ in seen)):
                yield duplicate(here, claim)
            seen.add((claim, request))
            if claim not in known:
                text = f"must be one of the names in pod.spec.resourceClaims: {', '.join(sorted(known))}"
                yield invalid((*here, "name"), claim, text)


def names_in_pod(spec: Mapping[str, Any], path: Path, more: Mapping[str, Mapping[str, Any]] | None = None) -> Errors:
    """The host name, and the volumes that mounts, devices and variables of containers name. `more` are volumes that the
    StatefulSet controller adds; it also replaces the host name."""
    for field in ("hostname", "subdomain") if more is None else ():
        yield from LABEL(text_at(spec, field), (*path, field))
    volumes = {text_at(each, "name"): each for _, each in items_at(spec, "volumes")}
    volumes.update(more or {})
    for field, kind in ((field, kind) for field in CONTAINERS for kind in ("volumeMounts", "volumeDevices")):
        for here, each in each_at(spec, path, field, kind):
            text = text_at(each, "name")
            if text and text not in volumes:
                yield errors.not_found((*here, "name"), text)
            elif text and kind == "volumeDevices" and not volumes[text].keys() & _BLOCK:
                kinds = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
                yield invalid((*here, "name"), text, kinds)
    for here, each in (found for field in CONTAINERS for found in each_at(spec, path, field, "env")):
        text = text_at(object_at(each, "valueFrom", "fileKeyRef"), "volumeName")
        here = (*here, "valueFrom", "fileKeyRef", "volumeName")
        if text and text not in volumes:
            yield errors.not_found(here, text)
        elif text and not volumes[text].keys() & {"emptyDir"}:
            yield invalid(here, text, "referenced volume must be of type emptyDir")


_BLOCK = frozenset(("persistentVolumeClaim", "ephemeral"))


def _of_pod(spec: Mapping[str, Any], container: Mapping[str, Any], path: Path) -> Errors:
    """Checks of a container that depend on the pod: grace period, os, host users, restarts."""
    grace = number_at(spec, "terminationGracePeriodSeconds")
    grace, lifecycle = 30 if grace is None else grace, object_at(container, "lifecycle")
    for hook in ("postStart", "preStop"):
        seconds = number_at(object_at(lifecycle, hook, "sleep"), "seconds")
        if object_at(lifecycle, hook).get("sleep") is not None and not 0 <= (seconds or 0) <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            yield invalid((*path, "lifecycle", hook, "sleep", "seconds"), seconds, text)
    if object_at(container, "securityContext").get("procMount") == "Unmasked" and spec.get("hostUsers") is not False:
        text = "`hostUsers` must be false to use `Unmasked`"
        yield invalid((*path, "securityContext", "procMount"), "Unmasked", text)
    for here, policy in each_at(container, path, "resizePolicy") if text_at(spec, "restartPolicy") == "Never" else ():
        if text_at(policy, "restartPolicy") not in ("", "NotRequired"):
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield invalid((*here, "restartPolicy"), policy["restartPolicy"], text)


def _host(spec: Mapping[str, Any], every: Sequence[_Found], path: Path) -> Errors:
    """validatePodHostNetworkDeps, validateHostUsers, validatePodHostName, and sysctls of the host."""
    if spec.get("hostNetwork") is True:
        for here, port in each_at(spec, path, "containers", "ports"):
            host = number_at(port, "hostPort")
            if host and host != number_at(port, "containerPort"):
                yield invalid((*here, "hostPort"), host, "must match `containerPort` when `hostNetwork` is true")
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field) is True:
                # The API server writes HostPID and HostIPC.
                shown = field if field == "hostNetwork" else f"{field[:1].upper()}{field[1:]}"
                yield forbidden((*path, field), f"{shown} may not be set when `hostUsers` is false")
        for here, container in every:
            yield from checks.none_of(["volumeDevices"], container, here, "when `hostUsers` is false", [])
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid((*path, "shareProcessNamespace"), True, text)
    if spec.get("hostnameOverride") is not None:
        for field in ("setHostnameAsFQDN", "hostNetwork"):
            if spec.get(field) is True:
                yield forbidden((*path, "hostnameOverride"), f"may not be specified when {field} is true")
    for here, sysctl in each_at(spec, path, "securityContext.sysctls"):
        text = text_at(sysctl, "name")
        for field, prefixes in _SYSCTLS_OF.items():
            if spec.get(field) is True and text.replace("/", ".").startswith(prefixes):
                yield invalid((*here, "name"), text, f"may not be specified when '{field}' is true")


def _system(spec: Mapping[str, Any], every: Sequence[_Found], path: Path) -> Errors:
    """validateLinux, validateWindows and validateWindowsHostProcessPod."""
    os, context = text_at(object_at(spec, "os"), "name"), object_at(spec, "securityContext")
    here, text = (*path, "securityContext"), "cannot be set for a windows pod"
    contexts = [((*inner, "securityContext"), object_at(each, "securityContext")) for inner, each in every]
    if os == "linux":
        for inner, found in ((here, context), *contexts):
            yield from checks.none_of(["windowsOptions"], found, inner, "windows options cannot be set for a linux pod")
    elif os == "windows":
        # The first are pointers in Go, which may not even be false.
        yield from checks.none_of(_NOT_FOR_WINDOWS, spec, path, text)
        yield from checks.none_of(("hostPID", "hostIPC"), spec, path, text, False)
        yield from checks.none_of(_NOT_FOR_WINDOWS_CONTEXT, context, here, text)
        yield from checks.none_of(("sysctls",), context, here, text, [])
        for inner, found in contexts:
            yield from checks.none_of(_NOT_FOR_WINDOWS_CONTAINER, found, inner, text)
        yield from checks.none_of(["resources"], spec, path, "may not be set for a windows pod")
    of_pod = object_at(context, "windowsOptions").get("hostProcess")
    own = [object_at(each, "securityContext", "windowsOptions").get("hostProcess") for _, each in every]
    for (here, _), setting in zip(every, own, strict=True):
        if of_pod is not None and setting is not None and of_pod != setting:
            text = f"pod hostProcess value must be identical if both are specified, was {of_pod}"
            yield invalid((*here, "securityContext", "windowsOptions", "hostProcess"), setting, text)
    of_host = [of_pod if setting is None else setting for setting in own]
    if any(of_host):
        if not all(of_host):
            text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            yield invalid((*path, "containers"), "", text)
        if spec.get("hostNetwork") is not True:
            text = "hostNetwork must be true if pod contains any hostProcess containers"
            yield invalid((*path, "hostNetwork"), False, text)


def _pod_resources(spec: Mapping[str, Any], containers: Sequence[_Found], path: Path) -> Errors:
    """validatePodResources and validatePodResourceConsistency, without init containers."""
    found = object_at(spec, "resources")
    yield from resource_requirements(_with_default_requests(found, containers), path, of_pod=True)
    yield from checks.none_of(["claims"], found, path, "claims may not be set for Resources at pod-level")
    requests, limits = object_at(found, "requests"), object_at(found, "limits")
    for resource, wanted in requests.items():
        amounts = [amount_in(object_at(each, "resources", "requests").get(resource)) for _, each in containers]
        total, most = sum(filter(None, amounts), Fraction()), amount_in(wanted)
        if most is not None and total > most:
            text = f"must be greater than or equal to aggregate container requests of {quantity_of(total)}"
            yield invalid((*path, "requests", resource), str(wanted), text)
    for here, container in containers:
        for resource, quantity in object_at(container, "resources", "limits").items():
            amount, most = amount_in(quantity), amount_in(limits.get(resource))
            if amount is not None and most is not None and amount > most:
                text = f"must be less than or equal to pod limits of {limits[resource]}"
                yield invalid((*here, "resources", "limits", resource), str(quantity), text)


def _with_default_requests(found: Mapping[str, Any], containers: Sequence[_Found]) -> Mapping[str, Any]:
    """setDefaultPodRequests: the sum of what the containers request, for a resource that the pod only limits."""
    requests = dict(object_at(found, "requests"))
    for resource in object_at(found, "limits").keys() - requests.keys():
        each = [object_at(container, "resources") for _, container in containers]
        amounts = [
            amount_in(object_at(one, "requests").get(resource, object_at(one, "limits").get(resource))) for one in each
        ]
        if any(amounts):
            requests[resource] = str(float(sum(filter(None, amounts))))
    return {**found, "requests": requests}


def _pod(pod: Mapping[str, Any], path: Path) -> Errors:
    """ValidatePodCreate."""
    spec = object_at(pod, "spec")
    if items_at(spec, "schedulingGates") and text_at(spec, "nodeName"):
        yield forbidden(("spec", "nodeName"), "cannot be set until all schedulingGates have been cleared")
    yield from checks.none_of(["ephemeralContainers"], spec, ("spec",), "cannot be set on create", [])
    yield from _only_for_pods(spec, ("spec",))
    yield from _annotations_of(object_at(pod, "metadata", "annotations"), spec, ("metadata", "annotations"))
    yield from names_in_pod(spec, ("spec",))


def _only_for_pods(spec: Mapping[str, Any], path: Path) -> Errors:
    """validateContainersOnlyForPod. The API server accepts a workload with these values, and refuses its pods."""
    for here, container in (*each_at(spec, path, "initContainers"), *each_at(spec, path, "containers")):
        image = text_at(container, "image")
        if image != image.strip():
            yield invalid((*here, "image"), image, "must not have leading or trailing whitespace")
    for here, volume in each_at(spec, path, "volumes"):
        if volume.get("image") is not None and not text_at(volume["image"], "reference"):
            yield required((*here, "image", "reference"))


def _template(template: Mapping[str, Any], path: Path) -> Errors:
    """ValidatePodTemplateSpec."""
    found, here = object_at(template, "metadata"), (*path, "metadata")
    spec = object_at(template, "spec")
    text = "ephemeral containers not allowed in pod template"
    yield from checks.none_of(["ephemeralContainers"], spec, (*path, "spec"), text, [])
    yield from _annotations_of(object_at(found, "annotations"), spec, (*here, "annotations"))
    yield from _only_for_pods(spec, (*path, "spec"))
    if not spec:
        yield required((*path, "spec", "containers"))


def _annotations_of(found: Mapping[str, Any], spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidatePodSpecificAnnotations."""
    cost = found.get("controller.kubernetes.io/pod-deletion-cost")
    if isinstance(cost, str) and not re.fullmatch(r"0|-?[1-9][0-9]{0,9}", cost, re.ASCII):
        yield invalid((*path, "controller.kubernetes.io/pod-deletion-cost"), cost, "must be a 32bit integer")
    if "kubernetes.io/config.mirror" in found and not text_at(spec, "nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid((*path, "kubernetes.io/config.mirror"), found["kubernetes.io/config.mirror"], text)
    yield from _profiles(found, spec, path)


_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP, _APPARMOR = (
    "container.seccomp.security.alpha.kubernetes.io/",
    "container.apparmor.security.beta.kubernetes.io/",
)
_DEFAULT_PROFILES = ("runtime/default", "docker/default")


def _profiles(found: Mapping[str, Any], spec: Mapping[str, Any], path: Path) -> Errors:
    """ValidateSeccompPodAnnotations, ValidateAppArmorPodAnnotations, and that both match the fields that replace them
    (validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate)."""
    own = object_at(spec, "securityContext")
    contexts = {
        text_at(each, "name"): object_at(each, "securityContext")
        for field in CONTAINERS
        for _, each in items_at(spec, field)
    }
    for key, value in found.items():
        prefix, name = key[: key.find("/") + 1], key.partition("/")[2]
        if not isinstance(value, str) or (prefix not in (_SECCOMP, _APPARMOR) and key != _SECCOMP_OF_POD):
            continue
        here, kind = (*path, key), "AppArmor" if prefix == _APPARMOR else "seccomp"
        if prefix == _APPARMOR and name not in contexts:
            yield invalid(here, name, "container not found")
        known = ("unconfined", *_DEFAULT_PROFILES, *([""] if prefix == _APPARMOR else []))
        if value not in known and not value.startswith("localhost/"):
            yield invalid(here, value, f"must be a valid {kind} profile")
        field = "appArmorProfile" if prefix == _APPARMOR else "seccompProfile"
        profile = object_at(own if key == _SECCOMP_OF_POD else contexts.get(name), field)
        if prefix == _APPARMOR and not profile:
            profile = object_at(own, field)
        if profile and not _is_same_profile(value, profile):
            yield forbidden(here, f"{kind} type in annotation and field must match")


def _is_same_profile(value: str, profile: Mapping[str, Any]) -> bool:
    own = f"localhost/{text_at(profile, 'localhostProfile')}"
    values = {"Unconfined": ("unconfined",), "RuntimeDefault": _DEFAULT_PROFILES, "Localhost": (own,)}
    return value in values.get(text_at(profile, "type"), (value,))


ROWS: Rows = {
    "Pod": {"": _pod},
    "PodTemplateSpec": {"": _template},
    "PodSpec": {
        "": _spec,
        "containers": NEEDED,
        "restartPolicy": "Always|OnFailure|Never",
        "dnsPolicy": "ClusterFirstWithHostNet|ClusterFirst|Default|None",
        "preemptionPolicy": "*PreemptLowerPriority|Never",
        "serviceAccountName nodeName priorityClassName": DOMAIN,
        "runtimeClassName hostnameOverride": checks.form(domain_problems),
        "activeDeadlineSeconds": checks.in_range(1, HIGHEST_ID),
        "nodeSelector": checks.labels,
        "overhead": overhead_amounts,
        "resourceClaims volumes": checks.unique("name"),
        "topologySpreadConstraints": repeated_spreads,
        "schedulingGates": (
            checks.each_item(lambda gate, path: KEY(text_at(gate, "name"), path)),
            checks.unique("name", of_item=True),
        ),
    },
    "PodOS": {"name!": "linux|windows"},
    "PodDNSConfig": {
        "nameservers": (checks.not_more_than(3), checks.each_item(checks.address)),
        "searches": (
            checks.not_more_than(32),
            checks.each_item(checks.form(checks.search_path)),
            lambda found, path: checks.no_longer(2048)(" ".join(found), path),
        ),
    },
    "PodDNSConfigOption": {"name": Needed("must not be empty")},
    "PodReadinessGate": {"": checks.always("conditionType", "", KEY)},
    "HostAlias": {"ip": (checks.address, NEEDED), "hostnames": checks.each_item(checks.form(domain_problems))},
    "PodResourceClaim": {
        "name!": LABEL,
        "resourceClaimName resourceClaimTemplateName": checks.form(domain_problems),
        "": (
            checks.choice(
                *("resourceClaimName", "resourceClaimTemplateName"),
                none=(required, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            ),
            checks.choice(
                *("resourceClaimName", "resourceClaimTemplateName"),
                many=(invalid, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
                at="resourceClaimTemplateName",
            ),
        ),
    },
    "PodSchedulingGroup": {"podGroupName!": DOMAIN},
}
