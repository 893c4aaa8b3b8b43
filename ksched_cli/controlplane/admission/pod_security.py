"""PodSecurity: what the levels baseline and restricted of a namespace forbid (pod-security-admission/policy). A check
is a row: its id, its level and its function; `PodSecurityPolicy` has what depends on the version of the policy. The
checks read the pod as it is written in a manifest: the typed pod lacks most of these fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ksched_cli.api.core import Namespace
from ksched_cli.api.validation.containers import CONTAINERS
from ksched_cli.api.validation.fields import items_at, object_at, text_at, texts_at
from ksched_cli.api.validation.others import pod_security_minor
from ksched_cli.releases.pod_security import PodSecurityPolicy

_LABEL = "pod-security.kubernetes.io/enforce"
_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_VOLUMES = frozenset(
    (
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"),
        "secret",
    )
)
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"

# What is forbidden, and the detail.
_Verdict = tuple[str, str] | None


class _PodFacts(NamedTuple):
    """A pod as it is written. `containers` are in the order of PodSecurity: init containers come first."""

    annotations: Mapping[str, Any]
    spec: Mapping[str, Any]
    policy: PodSecurityPolicy

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        return [each for field in CONTAINERS for _, each in items_at(self.spec, field)]

    def contexts(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The name and the securityContext of each container."""
        for each in self.containers:
            yield text_at(each, "name"), object_at(each, "securityContext")

    def setting(self, *steps: str) -> tuple[Any, list[tuple[str, Any]]]:
        """A setting of the pod's securityContext, and that of each container."""
        own = [(name, _value(context, steps)) for name, context in self.contexts()]
        return _value(object_at(self.spec, "securityContext"), steps), own

    @property
    def is_windows(self) -> bool:
        return text_at(object_at(self.spec, "os"), "name") == "windows" and self.policy.exempts_windows

    @property
    def has_user_namespace(self) -> bool:
        return self.spec.get("hostUsers") is False and self.policy.exempts_user_namespaces


def _value(found: Mapping[str, Any], steps: Sequence[str]) -> Any:
    return object_at(found, *steps[:-1]).get(steps[-1])


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _counted(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {_quoted(names)}"


def _setters(of_pod: bool, containers: Sequence[str]) -> str:
    return " and ".join([*(["pod"] if of_pod else []), *([_counted("container", containers)] if containers else [])])


def _host_namespaces(pod: _PodFacts) -> _Verdict:
    given = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(field) is True]
    return ("host namespaces", ", ".join(given)) if given else None


def _host_paths(pod: _PodFacts) -> _Verdict:
    names = [text_at(each, "name") for _, each in items_at(pod.spec, "volumes") if each.get("hostPath") is not None]
    return ("hostPath volumes", _counted("volume", names)) if names else None


def _host_ports(pod: _PodFacts) -> _Verdict:
    found = [
        (text_at(each, "name"), str(port["hostPort"]))
        for each in pod.containers
        for _, port in items_at(each, "ports")
        if port.get("hostPort")
    ]
    names, ports = list(dict.fromkeys(name for name, _ in found)), sorted({port for _, port in found})
    verb, noun = "uses" if len(names) == 1 else "use", "hostPort" if len(ports) == 1 else "hostPorts"
    return ("hostPort", f"{_counted('container', names)} {verb} {noun} {', '.join(ports)}") if found else None


def _hosts_of_handlers(pod: _PodFacts) -> _Verdict:
    found = {
        (text_at(each, "name"), host)
        for each in pod.containers
        for steps in (
            *(("livenessProbe",), ("readinessProbe",), ("startupProbe",)),
            *(("lifecycle", "postStart"), ("lifecycle", "preStop")),
        )
        for kind in ("httpGet", "tcpSocket")
        if (host := text_at(object_at(each, *steps, kind), "host"))
    }
    names, hosts = sorted({name for name, _ in found}), sorted({host for _, host in found})
    verb = "uses" if len(names) == 1 else "use"
    text = f"{_counted('container', names)} {verb} {_counted('probe or lifecycle host', hosts)}"
    return ("probe or lifecycle host", text) if found else None


def _privileged(pod: _PodFacts) -> _Verdict:
    names = [name for name, context in pod.contexts() if context.get("privileged") is True]
    text = f"{_counted('container', names)} must not set securityContext.privileged=true"
    return ("privileged", text) if names else None


def _proc_mount(pod: _PodFacts, *, restricted: bool = False) -> _Verdict:
    if pod.has_user_namespace and not restricted:
        return None
    bad = [(name, value) for name, value in pod.setting("procMount")[1] if value not in (None, "Default")]
    types = _quoted(sorted({value for _, value in bad}))
    text = f"{_counted('container', [name for name, _ in bad])} must not set securityContext.procMount to {types}"
    return ("procMount", text) if bad else None


def _app_armor(pod: _PodFacts) -> _Verdict:
    of_pod, own = pod.setting("appArmorProfile", "type")
    allowed = (None, "RuntimeDefault", "Localhost")
    names = [name for name, value in own if value not in allowed]
    values = sorted({value for value in (of_pod, *(value for _, value in own)) if value not in allowed})
    notes = [
        f'{key}="{value}"'
        for key, value in sorted(pod.annotations.items())
        if key.startswith(_APPARMOR)
        and value not in ("", "runtime/default")
        and not str(value).startswith("localhost/")
    ]
    setters = [each for each in (_setters(of_pod not in allowed, names),) if each]
    setters += [f"annotation{'' if len(notes) == 1 else 's'}"] if notes else []
    text = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted([*values, *notes])}"
    plural = "" if len(values) + len(notes) == 1 else "s"
    return (f"forbidden AppArmor profile{plural}", text) if setters else None


def _capabilities(pod: _PodFacts) -> _Verdict:
    added = {name: texts_at(object_at(context, "capabilities"), "add") for name, context in pod.contexts()}
    bad = {name: found for name, each in added.items() if (found := [one for one in each if one not in _CAPABILITIES])}
    return ("non-default capabilities", _must_not_add(bad)) if bad else None


def _must_not_add(bad: Mapping[str, Sequence[str]]) -> str:
    every = sorted({each for found in bad.values() for each in found})
    return f"{_counted('container', list(bad))} must not include {_quoted(every)} in securityContext.capabilities.add"


def _restricted_capabilities(pod: _PodFacts) -> _Verdict:
    if pod.is_windows:
        return None
    missing, bad = [], {}
    for name, context in pod.contexts():
        capabilities = object_at(context, "capabilities")
        if "ALL" not in texts_at(capabilities, "drop"):
            missing.append(name)
        added = [each for each in texts_at(capabilities, "add") if each != "NET_BIND_SERVICE"]
        if added:
            bad[name] = added
    texts = [f'{_counted("container", missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    texts += [_must_not_add(bad)] if bad else []
    return ("unrestricted capabilities", "; ".join(texts)) if texts else None


def _escalation(pod: _PodFacts) -> _Verdict:
    names = [name for name, context in pod.contexts() if context.get("allowPrivilegeEscalation") is not False]
    text = f"{_counted('container', names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", text) if names and not pod.is_windows else None


def _volume_types(pod: _PodFacts) -> _Verdict:
    bad = {
        text_at(each, "name"): kind
        for _, each in items_at(pod.spec, "volumes")
        if not each.keys() & _VOLUMES
        for kind in each.keys() - {"name"}
    }
    verb, types = "uses" if len(bad) == 1 else "use", sorted(set(bad.values()))
    text = f"{_counted('volume', list(bad))} {verb} {_counted('restricted volume type', types)}"
    return ("restricted volume types", text) if bad else None


def _non_root(pod: _PodFacts) -> _Verdict:
    if pod.has_user_namespace:
        return None
    of_pod, own = pod.setting("runAsNonRoot")
    setters = _setters(of_pod is False, [name for name, value in own if value is False])
    if setters:
        return "runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false"
    missing = [name for name, value in own if value is None and of_pod is not True]
    text = f"pod or {_counted('container', missing)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", text) if missing else None


def _user(pod: _PodFacts) -> _Verdict:
    of_pod, own = pod.setting("runAsUser")
    setters = _setters(of_pod == 0, [name for name, value in own if value == 0])
    return ("runAsUser=0", f"{setters} must not set runAsUser=0") if setters and not pod.has_user_namespace else None


def _selinux(pod: _PodFacts) -> _Verdict:
    of_pod, own = pod.setting("seLinuxOptions")
    allowed = pod.policy.selinux_types

    def is_bad(found: Any) -> bool:
        return bool(text_at(found, "type") not in allowed or text_at(found, "user") or text_at(found, "role"))

    bad = [found for found in (of_pod, *(value for _, value in own)) if found is not None and is_bad(found)]
    types = sorted({text_at(found, "type") for found in bad} - allowed)
    data = [_counted("type", types)] if types else []
    data += [f"{field} may not be set" for field in ("user", "role") if any(text_at(found, field) for found in bad)]
    names = [name for name, value in own if value is not None and is_bad(value)]
    setters = _setters(of_pod is not None and is_bad(of_pod), names)
    text = f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    return ("seLinuxOptions", text) if bad else None


def _seccomp(pod: _PodFacts, *, restricted: bool = False) -> _Verdict:
    of_pod, own = pod.setting("seccompProfile", "type")
    allowed = (None, "Localhost", "RuntimeDefault")
    bad = [name for name, value in own if value not in allowed]
    values = sorted({value for value in (of_pod, *(value for _, value in own)) if value not in allowed})
    setters = _setters(of_pod not in allowed, bad)
    if setters:
        return "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {_quoted(values)}"
    missing = [name for name, value in own if value is None and of_pod is None]
    kinds = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    text = f"pod or {_counted('container', missing)} must set {kinds}"
    return ("seccompProfile", text) if restricted and missing and not pod.is_windows else None


def _sysctls(pod: _PodFacts) -> _Verdict:
    allowed = pod.policy.sysctls
    found = (text_at(each, "name") for _, each in items_at(object_at(pod.spec, "securityContext"), "sysctls"))
    bad = [name for name in found if name not in allowed]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(pod: _PodFacts) -> _Verdict:
    of_pod, own = pod.setting("windowsOptions", "hostProcess")
    setters = _setters(of_pod is True, [name for name, value in own if value is True])
    return (
        ("hostProcess", f"{setters} must not set securityContext.windowsOptions.hostProcess=true") if setters else None
    )


_SECCOMP = "seccompProfile_baseline"


class _Row(NamedTuple):
    """A check, and the check of baseline that it replaces."""

    id: str
    level: str
    check: Callable[[_PodFacts], _Verdict]
    replaces: str = ""


# By id within each level: the order of the message.
_ROWS = (
    _Row("appArmorProfile", "baseline", _app_armor),
    _Row("capabilities_baseline", "baseline", _capabilities),
    _Row("hostNamespaces", "baseline", _host_namespaces),
    _Row("hostPathVolumes", "baseline", _host_paths),
    _Row("hostPorts", "baseline", _host_ports),
    _Row("hostProbesAndHostLifecycle", "baseline", _hosts_of_handlers),
    _Row("privileged", "baseline", _privileged),
    _Row("procMount", "baseline", _proc_mount),
    _Row("seLinuxOptions", "baseline", _selinux),
    _Row(_SECCOMP, "baseline", _seccomp),
    _Row("sysctls", "baseline", _sysctls),
    _Row("windowsHostProcess", "baseline", _host_process),
    _Row("allowPrivilegeEscalation", "restricted", _escalation),
    _Row("capabilities_restricted", "restricted", _restricted_capabilities, "capabilities_baseline"),
    _Row("procMount_restricted", "restricted", partial(_proc_mount, restricted=True), "procMount"),
    _Row("restrictedVolumes", "restricted", _volume_types, "hostPathVolumes"),
    _Row("runAsNonRoot", "restricted", _non_root),
    _Row("runAsUser", "restricted", _user),
    _Row(
        "seccompProfile_restricted",
        "restricted",
        lambda pod: _seccomp(pod, restricted=True),
        "seccompProfile_baseline",
    ),
)


class PodSecurity:
    """The policies that namespaces enforce. `newest` is the minor of the API server: it knows no policies of later
    minors, and takes its newest ones for them and for `latest`."""

    def __init__(self, namespaces: Iterable[Namespace], newest: int) -> None:
        self._newest = newest
        self._policies: dict[str, tuple[str, str]] = {}
        for each in namespaces:
            level = each.metadata.labels.get(_LABEL)
            if level in ("baseline", "restricted"):
                version = each.metadata.labels.get(f"{_LABEL}-version", "latest")
                self._policies[each.metadata.name] = level, version

    def __bool__(self) -> bool:
        return bool(self._policies)

    def admit(self, namespace: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
        """EvaluatePod: why the policy of the namespace refuses the pod, or an empty string."""
        policy = self._policies.get(namespace)
        if policy is None:
            return ""
        level, version = policy
        pod = _PodFacts(
            object_at(metadata, "annotations"), spec, PodSecurityPolicy.of(pod_security_minor(version), self._newest)
        )
        rows = [row for row in _ROWS if pod.policy.has_check(row.id) and row.level in ("baseline", level)]
        replaced = {row.replaces for row in rows}
        verdicts = (row.check(pod) for row in rows if row.id not in replaced)
        texts = [f"{reason} ({detail})" for reason, detail in filter(None, verdicts)]
        return f'violates PodSecurity "{level}:{version}": {", ".join(texts)}' if texts else ""
