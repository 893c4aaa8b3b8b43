"""ResourceQuota: an object that would take its namespace over a quota is never created. Pods count by what they
request (evaluator/core/pods.go), claims by storage and class, Services by type and ports, everything as an object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from ksched_cli.api.affinity import PodAffinityTerm
from ksched_cli.api.core import Pod, Service
from ksched_cli.api.kinds import versions_of
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.pod_resources import is_pod_level_resource
from ksched_cli.api.policy import ResourceQuota, ScopedResourceSelectorRequirement
from ksched_cli.api.selectors import LABEL_OPERATORS, SelectorError, make_requirement
from ksched_cli.api.storage import CLASS_ANNOTATION, PersistentVolumeClaim
from ksched_cli.cluster.resources import is_extended
from ksched_cli.cluster.undo import Logged, LoggedDict, UndoLog
from ksched_cli.controlplane.admission.amounts import (
    NOTHING,
    Amount,
    Amounts,
    amount,
    amounts,
    pod_limits,
    pod_requests,
)

_ONE = Amount(Fraction(1))
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_COUNTED = ("services", "replicationcontrollers", "secrets", "configmaps", "resourcequotas")
_BASIC = ("cpu", "memory", "ephemeral-storage")
_HUGEPAGES = "hugepages-"
# The evaluator's validationSet: with a quota on these, every container must have a request or limit.
_MUST_BE_GIVEN = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


class Quotas(Logged):
    """The quotas of all namespaces, and what is used of them as pods come in."""

    def __init__(self, quotas: Iterable[ResourceQuota], items: Iterable[Any], undo: UndoLog | None = None) -> None:
        self.undo = undo or UndoLog()
        self._quotas: defaultdict[str, list[_Quota]] = defaultdict(list)
        for each in sorted(quotas, key=lambda each: each.metadata.name):
            self._quotas[each.metadata.namespace].append(_Quota(each, self.undo))
        if self._quotas:
            for item in items:
                for quota in self._quotas.get(item.metadata.namespace, ()):
                    quota.count(item)

    def __bool__(self) -> bool:
        return bool(self._quotas)

    def admit(self, pod: Any) -> str:
        """CheckRequest: all quotas have to allow the object, and then all are charged."""
        concerned = self._concerned(pod)
        if not concerned:
            return ""
        unspecified = next(filter(None, (quota.unspecified(pod) for quota in concerned)), "")
        if unspecified:
            return unspecified
        usage = usage_of(pod)
        exceeded = next(filter(None, (quota.exceeded(usage) for quota in concerned)), "")
        if exceeded:
            return exceeded
        for quota in concerned:
            quota.charge(usage)
        return ""

    def _concerned(self, pod: Any) -> list[_Quota]:
        return [each for each in self._quotas.get(pod.metadata.namespace, ()) if each.concerns(pod)]

    def count(self, pod: Any) -> None:
        for quota in self._concerned(pod):
            quota.charge(usage_of(pod))

    def reload(self, quotas: Iterable[ResourceQuota], items: Iterable[Any]) -> None:
        """New quotas count the objects that there are; changed quotas keep what is used of them."""
        fresh = Quotas(quotas, items, self.undo)
        for namespace, items in fresh._quotas.items():
            known = {each.name: each for each in self._quotas.get(namespace, ())}
            for each in items:
                each.take_over(known.get(each.name))
        self._quotas = fresh._quotas

    def release(self, pod: Any) -> None:
        """Give back what the object uses."""
        for quota in self._concerned(pod):
            quota.charge({name: -each for name, each in usage_of(pod).items()})


class _Quota:
    def __init__(self, quota: ResourceQuota, undo: UndoLog) -> None:
        self.name = quota.metadata.name
        self._hard = amounts(quota.spec.hard)
        self._scopes = [
            *(ScopedResourceSelectorRequirement(scope, "Exists") for scope in quota.spec.scopes),
            *(quota.spec.scope_selector.match_expressions if quota.spec.scope_selector else ()),
        ]
        self._reported = quota.status.used.keys() & self._hard.keys()
        self._used: Amounts = LoggedDict(undo, dict.fromkeys(self._hard, NOTHING))
        self._used.update((name, amount(quota.status.used[name])) for name in self._reported)

    def count(self, pod: Any) -> None:
        """An object of the cluster counts where the quota does not report itself what is used."""
        missing = self._hard.keys() - self._reported
        if missing and self.concerns(pod):
            for name, each in usage_of(pod).items():
                if name in missing:
                    self._used[name] += each

    def concerns(self, pod: Any) -> bool:
        """Evaluator.Matches: every scope has to hold. Scopes are of pods, except that of VolumeAttributesClasses."""
        return all(_in_scope(pod, scope) for scope in self._scopes)

    def unspecified(self, pod: Any) -> str:
        if not isinstance(pod, Pod):
            return ""
        missing = _not_given(pod, self._hard.keys() & _MUST_BE_GIVEN)
        return f"failed quota: {self.name}: must specify {missing}" if missing else ""

    def exceeded(self, usage: Mapping[str, Amount]) -> str:
        """A resource that the pod does not request is not checked, even where too much of it is used."""
        new = {name: each for name, each in usage.items() if name in self._hard and each.value}
        over = [name for name in sorted(new) if (self._used[name] + new[name]).value > self._hard[name].value]
        if not over:
            return ""
        requested, used, limited = (
            ",".join(f"{name}={of[name]}" for name in over) for of in (new, self._used, self._hard)
        )
        return f"exceeded quota: {self.name}, requested: {requested}, used: {used}, limited: {limited}"

    def take_over(self, before: _Quota | None) -> None:
        """What is used of the same quota as it was before."""
        if before is not None:
            self._used.update((name, each) for name, each in before._used.items() if name in self._used)

    def charge(self, usage: Mapping[str, Amount]) -> None:
        for name, each in usage.items():
            if name in self._used:
                self._used[name] += each


def usage_of(item: Any) -> Amounts:
    """What an object uses, under every name that a quota may go by."""
    if isinstance(item, Pod):
        return pod_usage(item)
    plural, group = resource_of(type(item))  # type: ignore[arg-type]  # classes are hashable
    usage = {f"count/{plural}{group}": _ONE, **({plural: _ONE} if plural in _COUNTED else {})}
    if isinstance(item, PersistentVolumeClaim):
        return {**usage, **_claim_usage(item)}
    if isinstance(item, Service) and item.spec.type in ("NodePort", "LoadBalancer"):
        given = [port for port in item.spec.ports if port.node_port]
        only_given = item.spec.type == "LoadBalancer" and item.spec.allocate_load_balancer_node_ports is False
        usage["services.nodeports"] = Amount(Fraction(len(given if only_given else item.spec.ports)))
        if item.spec.type == "LoadBalancer":
            usage["services.loadbalancers"] = _ONE
    return usage


def _claim_usage(claim: PersistentVolumeClaim) -> Amounts:
    """pvcEvaluator.Usage."""
    usage: Amounts = {"persistentvolumeclaims": _ONE}
    storage = claim.spec.resources.requests.get("storage")
    if storage is not None:
        usage["requests.storage"] = amount(storage)
    of_class = claim.metadata.annotations.get(CLASS_ANNOTATION) or claim.spec.storage_class_name
    suffix = f"{of_class}.storageclass.storage.k8s.io/"
    return {**usage, **({f"{suffix}{name}": each for name, each in usage.items()} if of_class else {})}


@cache
def resource_of(kind: type[Any]) -> tuple[str, str]:
    """The plural of the kind, and its group with a dot before it."""
    name, group = kind.__name__.lower(), versions_of(kind)[0].rpartition("/")[0]
    plural = f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return plural, f".{group}" if group else ""


def pod_usage(pod: Pod) -> Amounts:
    """PodUsageFunc, under every name that a quota may go by. A pod that is over still is an object."""
    if is_terminal(pod):
        return {"count/pods": _ONE}
    usage: Amounts = {"pods": _ONE, "count/pods": _ONE}
    requests, overhead = pod_requests(pod), amounts(pod.spec.overhead)
    for name, each in overhead.items():
        requests[name] = requests.get(name, NOTHING) + each
    for name, each in requests.items():
        if name in _BASIC or name.startswith(_HUGEPAGES):
            usage[name] = usage[f"requests.{name}"] = each
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            usage[f"requests.{name}"] = each
    for name, each in pod_limits(pod).items():
        if name in _BASIC:
            usage[f"limits.{name}"] = each + (overhead.get(name, NOTHING) if each.value else NOTHING)
    return usage


def _not_given(pod: Pod, required: Iterable[str]) -> str:
    """podEvaluator.Constraints, such as `limits.cpu for: main,side`; empty for a pod with pod-level requests."""
    own = pod.spec.resources
    if own is not None and any(is_pod_level_resource(name) for name in (*own.requests, *own.limits)):
        return ""
    missing: defaultdict[str, set[str]] = defaultdict(set)
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        requests, limits = container.resources.requests, container.resources.limits
        given = {*requests, *(f"requests.{each}" for each in requests), *(f"limits.{each}" for each in limits)}
        for name in required:
            if name not in given:
                missing[name].add(container.name)
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _in_scope(pod: Any, scope: ScopedResourceSelectorRequirement) -> bool:
    """podMatchesScopeFunc."""
    if not isinstance(pod, Pod):
        return False
    match scope.scope_name:
        case "Terminating":
            return pod.spec.active_deadline_seconds is not None
        case "NotTerminating":
            return pod.spec.active_deadline_seconds is None
        case "BestEffort":
            return is_best_effort(pod)
        case "NotBestEffort":
            return not is_best_effort(pod)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in _affinity_terms(pod))
        case "PriorityClass":
            return _of_class(pod, scope)
    return False


def _of_class(pod: Pod, scope: ScopedResourceSelectorRequirement) -> bool:
    try:
        requirement = make_requirement(scope.scope_name, scope.operator, scope.values, LABEL_OPERATORS)
    except SelectorError:
        return False
    return requirement.holds(pod.spec.priority_class_name or None)


def is_best_effort(pod: Pod) -> bool:
    """qos.GetPodQOS: no request and no limit of cpu and memory."""
    amounts = (pod_requests(pod), pod_limits(pod))
    return not any(each.get(name, NOTHING).value for each in amounts for name in ("cpu", "memory"))


def _affinity_terms(pod: Pod) -> list[PodAffinityTerm]:
    affinity = pod.spec.affinity
    terms: list[PodAffinityTerm] = []
    for each in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if each is not None:
            terms += each.required_during_scheduling_ignored_during_execution
            preferred = each.preferred_during_scheduling_ignored_during_execution
            terms += (weighted.pod_affinity_term for weighted in preferred)
    return terms
