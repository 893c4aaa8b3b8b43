"""Admission by amounts: LimitRanger and ResourceQuota (plugin/pkg/admission). The API server shows sums of quantities
in the form in which the first one was written; `Amount` remembers that form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from ksched_cli.api.core import Pod, PodAffinityTerm, Quantities, ResourceRequirements, Service
from ksched_cli.api.decode import versions_of
from ksched_cli.api.object_facts import is_terminal
from ksched_cli.api.pod_resources import combined, is_pod_level_resource
from ksched_cli.api.quantity import Quantity, approximate, parse_quantity
from ksched_cli.api.selectors import LABEL_OPERATORS, SelectorError, make_requirement
from ksched_cli.api.storage import CLASS_ANNOTATION, PersistentVolumeClaim
from ksched_cli.api.workloads import LimitRange, LimitRangeItem, ResourceQuota, ScopedResourceSelectorRequirement
from ksched_cli.cluster.pod_info import is_extended
from ksched_cli.cluster.undo import Logged, LoggedDict, UndoLog

Form = Literal["decimal", "binary", "exponent"]

_POWERS_OF_TEN = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS_OF_1024 = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_LEAST, _MOST = -9, 18


class Amount(Struct, frozen=True):
    """resource.Quantity: a value and the form it is shown in."""

    value: Fraction
    form: Form = "decimal"

    def __add__(self, other: Amount) -> Amount:
        """Nothing takes on the form of what is added to it."""
        return Amount(self.value + other.value, self.form if self.value else other.form)

    def __radd__(self, nothing: int) -> Amount:
        return self

    def __lt__(self, other: Amount) -> bool:
        return self.value < other.value

    def __neg__(self) -> Amount:
        return Amount(-self.value, self.form)

    def __str__(self) -> str:
        """CanonicalizeBytes."""
        if not self.value:
            return "0"
        if self.form == "binary" and abs(self.value) >= 1024 and self.value.denominator == 1:
            return _binary(int(self.value))
        digits, exponent = _decimal(self.value)
        if self.form == "exponent":
            return f"{digits}e{exponent}" if exponent else str(digits)
        return f"{digits}{_POWERS_OF_TEN[exponent]}"


NOTHING = Amount(Fraction(0))
Amounts = dict[str, Amount]


def amount(quantity: Quantity) -> Amount:
    value = parse_quantity(quantity)
    text = str(quantity).strip()
    if text.endswith("i"):
        return Amount(value, "binary")
    return Amount(value, "exponent" if any(letter in text[:-1] for letter in "eE") else "decimal")


def amounts(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: amount(quantity) for name, quantity in quantities.items()}


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_POWERS_OF_1024) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_POWERS_OF_1024[power]}"


def _decimal(value: Fraction) -> tuple[int, int]:
    """The shortest whole number of thousands, millions, thousandths and so on."""
    scaled = value * 10**-_LEAST
    number, exponent = -(-scaled.numerator // scaled.denominator), _LEAST
    while number % 1000 == 0 and exponent < _MOST:
        number, exponent = number // 1000, exponent + 3
    return number, exponent


def pod_requests(pod: Pod) -> Amounts:
    return _of_pod(pod, lambda resources: resources.requests)


def pod_limits(pod: Pod) -> Amounts:
    return _of_pod(pod, lambda resources: resources.limits)


def _of_pod(pod: Pod, of: Callable[[ResourceRequirements], Quantities]) -> Amounts:
    """podRequests and podLimits: of the containers; pod-level requests go before."""
    total = combined(pod, lambda container: amounts(of(container.resources)))
    own = amounts(of(pod.spec.resources)) if pod.spec.resources else {}
    return {**total, **{name: each for name, each in own.items() if is_pod_level_resource(name)}}


LIMIT_RANGER, RESOURCE_QUOTA = "LimitRanger", "ResourceQuota"
_CONTAINER = "Container"
_POD = "Pod"
_CLAIM = "PersistentVolumeClaim"


class Denial(Struct, frozen=True):
    """Why a plugin of admission refuses an object; no message means that it does not. `resource`: the first one that is
    out of bounds."""

    plugin: str = ""
    message: str = ""
    resource: str = ""


ADMITTED = Denial()


class LimitRanges:
    def __init__(self, ranges: Iterable[LimitRange]) -> None:
        self._ranges: defaultdict[str, list[LimitRange]] = defaultdict(list)
        for each in sorted(ranges, key=lambda each: each.metadata.name):
            self._ranges[each.metadata.namespace].append(each)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def fill_in(self, pod: Pod) -> None:
        """mergePodResourceRequirements."""
        for each in self._ranges.get(pod.metadata.namespace, ()):
            for item in each.spec.limits:
                if item.type == _CONTAINER:
                    limits, requests = container_defaults(item)
                    for container in (*pod.spec.containers, *pod.spec.init_containers):
                        _fill(container.resources.limits, limits)
                        _fill(container.resources.requests, requests)

    def validate(self, pod: Pod) -> Denial:
        """PodValidateLimitFunc: everything that is out of the bounds of the first LimitRange that it is not within."""
        for each in self._ranges.get(pod.metadata.namespace, ()):
            found = dict(pair for item in each.spec.limits for pair in _violations(pod, item))
            if found:
                texts = list(found)
                text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
                return Denial(LIMIT_RANGER, text, found[texts[0]])
        return ADMITTED

    def validate_claim(self, claim: PersistentVolumeClaim) -> str:
        """PersistentVolumeClaimValidateLimitFunc: the first bound that the claim is not within."""
        storage = amounts({key: each for key, each in claim.spec.resources.requests.items() if key == "storage"})
        problems = (
            text
            for each in self._ranges.get(claim.metadata.namespace, ())
            for item in each.spec.limits
            if item.type == _CLAIM and storage
            for which, bounds in (("minimum", item.min), ("maximum", item.max))
            for name, bound in amounts(bounds).items()
            if name == "storage"
            for text in _beyond(which, name, bound, _CLAIM, ("request", storage))
        )
        return next(problems, "")


def container_defaults(item: LimitRangeItem) -> tuple[Quantities, Quantities]:
    """SetDefaults_LimitRangeItem: limits from the maximum, requests from the limits and then from the minimum."""
    limits = {**item.max, **item.default}
    return limits, {**item.min, **limits, **item.default_request}


def invalid_requests(pod: Pod) -> Denial:
    """ValidateContainerResourceRequirements once more: a default limit may be below the request of the pod."""
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for index, container in enumerate(containers):
            limits = amounts(container.resources.limits)
            for name, request in amounts(container.resources.requests).items():
                if name in limits and request.value > limits[name].value:
                    where = f"spec.{field}[{index}].resources.requests"
                    text = f"must be less than or equal to {name} limit of {limits[name]}"
                    return Denial(LIMIT_RANGER, f'Pod is invalid: {where}: Invalid value: "{request}": {text}', name)
    return ADMITTED


def _fill(given: Quantities, defaults: Quantities) -> None:
    for name, quantity in defaults.items():
        given.setdefault(name, quantity)


def _violations(pod: Pod, item: LimitRangeItem) -> Iterator[tuple[str, str]]:
    """Each violation, with the resource."""
    if item.type == _CONTAINER:
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            resources = container.resources
            yield from _out_of_bounds(item, amounts(resources.requests), amounts(resources.limits))
    elif item.type == _POD:
        yield from _out_of_bounds(item, pod_requests(pod), pod_limits(pod))


def _out_of_bounds(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[tuple[str, str]]:
    request, limit = ("request", requests), ("limit", limits)
    for name, bound in sorted(amounts(item.min).items()):
        yield from ((text, name) for text in _beyond("minimum", name, bound, item.type, request, limit))
    for name, bound in sorted(amounts(item.max).items()):
        yield from ((text, name) for text in _beyond("maximum", name, bound, item.type, limit, request))
    for name, bound in sorted(amounts(item.max_limit_request_ratio).items()):
        yield from ((text, name) for text in _too_far_apart(name, bound, item.type, requests, limits))


def _beyond(which: str, name: str, bound: Amount, kind: str, *given: tuple[str, Amounts]) -> Iterator[str]:
    """minConstraint, maxConstraint and maxRequestConstraint. The first of the given amounts must be there."""
    start = f"{which} {name} usage per {kind} is {bound}"
    if name not in given[0][1]:
        yield f"{start}.  No {given[0][0]} is specified"
        return
    for word, own in given:
        if name in own and (own[name] < bound if which == "minimum" else bound < own[name]):
            yield f"{start}, but {word} is {own[name]}"
            return


def _too_far_apart(name: str, bound: Amount, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    """limitRequestRatioConstraint."""
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    if not requests.get(name, NOTHING).value:
        yield f"{start}, but no request is specified or request is 0"
    elif not limits.get(name, NOTHING).value:
        yield f"{start}, but no limit is specified or limit is 0"
    elif (ratio := limits[name].value / requests[name].value) > bound.value:
        yield f"{start}, but provided ratio is {approximate(ratio):f}"


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

    def admit(self, pod: Any) -> Denial:
        """CheckRequest: all quotas have to allow the object, and then all are charged."""
        concerned = self._concerned(pod)
        if not concerned:
            return ADMITTED
        for quota in concerned:
            if denial := quota.unspecified(pod):
                return denial
        usage = usage_of(pod)
        for quota in concerned:
            if denial := quota.exceeded(usage):
                return denial
        for quota in concerned:
            quota.charge(usage)
        return ADMITTED

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

    def unspecified(self, pod: Any) -> Denial | None:
        if not isinstance(pod, Pod):
            return None
        missing = _not_given(pod, self._hard.keys() & _MUST_BE_GIVEN)
        if not missing:
            return None
        texts = "; ".join(f"{name} for: {','.join(names)}" for name, names in missing.items())
        return Denial(
            RESOURCE_QUOTA, f"failed quota: {self.name}: must specify {texts}", _requested(next(iter(missing)))
        )

    def exceeded(self, usage: Mapping[str, Amount]) -> Denial | None:
        """A resource that the pod does not request is not checked, even where too much of it is used."""
        new = {name: each for name, each in usage.items() if name in self._hard and each.value}
        over = [name for name in sorted(new) if (self._used[name] + new[name]).value > self._hard[name].value]
        if not over:
            return None
        requested, used, limited = (
            ",".join(f"{name}={of[name]}" for name in over) for of in (new, self._used, self._hard)
        )
        text = f"exceeded quota: {self.name}, requested: {requested}, used: {used}, limited: {limited}"
        return Denial(RESOURCE_QUOTA, text, _requested(over[0]))

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


def _requested(name: str) -> str:
    """The resource of the name in a quota: `requests.cpu` bounds cpu."""
    return name.removeprefix("requests.").removeprefix("limits.")


def _not_given(pod: Pod, required: Iterable[str]) -> dict[str, list[str]]:
    """podEvaluator.Constraints: the containers without a name of a quota, such as `limits.cpu`; empty for a pod with
    pod-level requests."""
    own = pod.spec.resources
    if own is not None and any(is_pod_level_resource(name) for name in (*own.requests, *own.limits)):
        return {}
    missing: defaultdict[str, set[str]] = defaultdict(set)
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        requests, limits = container.resources.requests, container.resources.limits
        given = {*requests, *(f"requests.{each}" for each in requests), *(f"limits.{each}" for each in limits)}
        for name in required:
            if name not in given:
                missing[name].add(container.name)
    return {name: sorted(missing[name]) for name in sorted(missing)}


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
            return any(term.namespaces or term.namespace_selector is not None for term in affinity_terms(pod))
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


def affinity_terms(pod: Pod) -> list[PodAffinityTerm]:
    affinity = pod.spec.affinity
    terms: list[PodAffinityTerm] = []
    for each in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if each is not None:
            terms += each.required_during_scheduling_ignored_during_execution
            preferred = each.preferred_during_scheduling_ignored_during_execution
            terms += (weighted.pod_affinity_term for weighted in preferred)
    return terms
