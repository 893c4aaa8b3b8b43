"""ResourceQuota: a pod that would take its namespace over a quota is never created."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

from ksched_cli.api.affinity import PodAffinityTerm
from ksched_cli.api.core import Pod, Quantities
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.policy import ResourceQuota, ScopedResourceSelectorRequirement
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.resources import is_pod_level_resource
from ksched_cli.api.selectors import SelectorError, make_requirement
from ksched_cli.sources.admission.limit_ranger import pod_limits, pod_requests, written

_Usage = dict[str, Fraction]
_BASIC = ("cpu", "memory", "ephemeral-storage")
_HUGEPAGES = "hugepages-"
# The evaluator's validationSet: with a quota on these, every container has to say what it needs.
_MUST_BE_GIVEN = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


class Quotas:
    """The quotas of all namespaces, and what is used of them as pods come in."""

    def __init__(self, quotas: Iterable[ResourceQuota], pods: Iterable[Pod]) -> None:
        self._quotas: defaultdict[str, list[_Quota]] = defaultdict(list)
        for each in sorted(quotas, key=lambda each: each.metadata.name):
            self._quotas[each.metadata.namespace].append(_Quota(each))
        if self._quotas:
            for pod in pods:
                for quota in self._quotas.get(pod.metadata.namespace, ()):
                    quota.count(pod)

    def admit(self, pod: Pod) -> str:
        """CheckRequest: all quotas have to allow it, and then all are charged."""
        concerned = [each for each in self._quotas.get(pod.metadata.namespace, ()) if each.concerns(pod)]
        if not concerned:
            return ""
        usage = pod_usage(pod)
        for quota in concerned:
            problem = quota.refusal(pod, usage)
            if problem:
                return problem
        for quota in concerned:
            quota.charge(usage)
        return ""

    def release(self, pod: Pod) -> None:
        """A pod whose place another takes."""
        for quota in self._quotas.get(pod.metadata.namespace, ()):
            if quota.concerns(pod) and not is_terminal(pod):
                quota.charge({name: -amount for name, amount in pod_usage(pod).items()})


class _Quota:
    def __init__(self, quota: ResourceQuota) -> None:
        self._name = quota.metadata.name
        self._hard = quota.spec.hard
        self._scopes = [
            *(ScopedResourceSelectorRequirement(scope, "Exists") for scope in quota.spec.scopes),
            *(quota.spec.scope_selector.match_expressions if quota.spec.scope_selector else ()),
        ]
        self._reported = quota.status.used.keys() & self._hard.keys()
        self._used: _Usage = {name: Fraction(0) for name in self._hard}
        for name in self._reported:
            self._used[name] = parse_quantity(quota.status.used[name])

    def count(self, pod: Pod) -> None:
        """A pod of the cluster counts where the quota does not report itself what is used."""
        missing = self._hard.keys() - self._reported
        if missing and not is_terminal(pod) and self.concerns(pod):
            for name, amount in pod_usage(pod).items():
                if name in missing:
                    self._used[name] += amount

    def concerns(self, pod: Pod) -> bool:
        """Evaluator.Matches: every scope has to hold."""
        return all(_in_scope(pod, scope) for scope in self._scopes)

    def refusal(self, pod: Pod, usage: Mapping[str, Fraction]) -> str:
        unspecified = _not_given(pod, self._hard.keys() & _MUST_BE_GIVEN)
        if unspecified:
            return f"failed quota: {self._name}: must specify {unspecified}"
        asked = {name: amount for name, amount in usage.items() if name in self._hard}
        over = [name for name in sorted(asked) if self._used[name] + asked[name] > parse_quantity(self._hard[name])]
        if not over:
            return ""
        requested = ",".join(f"{name}={written(name, asked[name])}" for name in over)
        used = ",".join(f"{name}={written(name, self._used[name])}" for name in over)
        limited = ",".join(f"{name}={self._hard[name]}" for name in over)
        return f"exceeded quota: {self._name}, requested: {requested}, used: {used}, limited: {limited}"

    def charge(self, usage: Mapping[str, Fraction]) -> None:
        for name, amount in usage.items():
            if name in self._used:
                self._used[name] += amount


def pod_usage(pod: Pod) -> _Usage:
    """podComputeUsageHelper, under every name that a quota may go by."""
    usage: _Usage = {"pods": Fraction(1), "count/pods": Fraction(1)}
    overhead = {name: parse_quantity(quantity) for name, quantity in pod.spec.overhead.items()}
    for name, amount in pod_requests(pod).items():
        amount += overhead.get(name, 0)
        if name in _BASIC or name.startswith(_HUGEPAGES):
            usage[name] = amount
        if name in _BASIC or name.startswith(_HUGEPAGES) or "/" in name:
            usage[f"requests.{name}"] = amount
    for name, amount in pod_limits(pod).items():
        if name in _BASIC:
            usage[f"limits.{name}"] = amount + (overhead.get(name, 0) if amount else 0)
    return usage


def _not_given(pod: Pod, required: Iterable[str]) -> str:
    """podEvaluator.Constraints: `limits.cpu for: main,side; requests.cpu for: side`. A pod that asks as a whole need
    not say it for its containers."""
    own = pod.spec.resources
    if own is not None and any(is_pod_level_resource(name) for name in (*own.requests, *own.limits)):
        return ""
    missing: defaultdict[str, set[str]] = defaultdict(set)
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        given = _given_names(container.resources.requests, container.resources.limits)
        for name in required:
            if name not in given:
                missing[name].add(container.name)
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _given_names(requests: Quantities, limits: Quantities) -> set[str]:
    return {*requests, *(f"requests.{name}" for name in requests), *(f"limits.{name}" for name in limits)}


def _in_scope(pod: Pod, scope: ScopedResourceSelectorRequirement) -> bool:
    """podMatchesScopeFunc."""
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
        requirement = make_requirement(
            scope.scope_name, scope.operator, scope.values, ("In", "NotIn", "Exists", "DoesNotExist")
        )
    except SelectorError:
        return False
    return requirement.holds(pod.spec.priority_class_name or None)


def is_best_effort(pod: Pod) -> bool:
    """qos.GetPodQOS: nothing asked for and nothing bounded, as far as cpu and memory go."""
    asked = (pod_requests(pod), pod_limits(pod))
    return not any(amounts.get(name) for amounts in asked for name in ("cpu", "memory"))


def _affinity_terms(pod: Pod) -> list[PodAffinityTerm]:
    affinity = pod.spec.affinity
    terms: list[PodAffinityTerm] = []
    for each in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if each is not None:
            terms += each.required_during_scheduling_ignored_during_execution
            preferred = each.preferred_during_scheduling_ignored_during_execution
            terms += (weighted.pod_affinity_term for weighted in preferred)
    return terms
