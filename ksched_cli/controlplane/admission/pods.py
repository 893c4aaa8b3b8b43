"""Admission plugins that complete a pod or a claim, and may refuse it (plugin/pkg/admission): ServiceAccount,
PodNodeSelector, Priority, DefaultTolerationSeconds, RuntimeClass, the labels of matchLabelKeys
(podStrategy.PrepareForCreate) and DefaultStorageClass. Each reads only the objects that it needs; their order is in
`chain.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import (
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinityTerm,
    Quantities,
    Toleration,
    TopologySpreadConstraint,
    with_pod_terms,
)
from ksched_cli.api.label_names import is_label_key, is_label_value, key_problems, value_problems
from ksched_cli.api.quantity import parse_quantity
from ksched_cli.api.storage import CLASS_ANNOTATION, PersistentVolumeClaim, StorageClass
from ksched_cli.api.validation.fields import items_at, object_at, text_at
from ksched_cli.api.workloads import SYSTEM_PRIORITIES, PodGroup, PriorityClass, RuntimeClass, RuntimeClassScheduling
from ksched_cli.errors import InputError, Problem

_LIMITS_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_TRUE = ("1", "t", "T", "true", "TRUE", "True")

Accounts = Mapping[tuple[str, str], Mapping[str, Any]]


def admit_account(accounts: Accounts, namespace: str, spec: Mapping[str, Any], listed: Collection[str]) -> str:
    """Why the plugin refuses a pod, or an empty string, if the cluster lists service accounts. It lists those of the
    namespaces `listed`; in a new namespace a controller makes the account `default`."""
    name = text_at(spec, "serviceAccountName") or text_at(spec, "serviceAccount") or "default"
    account = accounts.get((namespace, name))
    if account is None and name == "default" and namespace not in listed:
        return ""
    if account is None:
        return f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
    if object_at(account, "metadata", "annotations").get(_LIMITS_SECRETS) not in _TRUE:
        return ""
    return next(_foreign_secrets(account, name, spec), "")


def _foreign_secrets(account: Mapping[str, Any], name: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """limitSecretReferences."""
    known = {text_at(each, "name") for _, each in items_at(account, "secrets")}
    denied = f"is not allowed because service account {name} does not reference that secret"
    for _, volume in items_at(spec, "volumes"):
        secret = text_at(object_at(volume, "secret"), "secretName")
        if volume.get("secret") is not None and secret not in known:
            yield f'volume with secret.secretName="{secret}" {denied}'
    for field, label in (("initContainers", "init container"), ("containers", "container")):
        for _, container in items_at(spec, field):
            own = f"{label} {text_at(container, 'name')}"
            for _, variable in items_at(container, "env"):
                reference = object_at(variable, "valueFrom").get("secretKeyRef")
                if reference is not None and text_at(reference, "name") not in known:
                    using = f"with envVar {text_at(variable, 'name')} referencing"
                    yield f'{own} {using} secret.secretName="{text_at(reference, "name")}" {denied}'
            for _, source in items_at(container, "envFrom"):
                reference = source.get("secretRef")
                if reference is not None and text_at(reference, "name") not in known:
                    yield f'{own} with envFrom referencing secret.secretName="{text_at(reference, "name")}" {denied}'
    pulled = {text_at(each, "name") for _, each in items_at(account, "imagePullSecrets")}
    for index, reference in items_at(spec, "imagePullSecrets"):
        if text_at(reference, "name") not in pulled:
            text = denied.replace("that secret", "that imagePullSecret")
            yield f'imagePullSecrets[{index}].name="{text_at(reference, "name")}" {text}'


ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
OPENSHIFT_ANNOTATION = "openshift.io/node-selector"


class NamespaceSelectors:
    """The plugin is off unless it is enabled; a namespace with its annotation shows that it is on."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._texts = {
            each.metadata.name: text
            for each in namespaces
            for key in (ANNOTATION, OPENSHIFT_ANNOTATION)
            if (text := each.metadata.annotations.get(key))
        }

    def admit(self, pod: Pod) -> str:
        text = self._texts.get(pod.metadata.namespace)
        if text is None:
            return ""
        wanted: dict[str, str] = {}
        for part in text.split(","):
            pieces = part.split("=")
            if len(pieces) != 2:
                return f"invalid selector: [{' '.join(pieces)}]"
            key, value = (piece.strip() for piece in pieces)
            problem = _not_a_label(key, value)
            if problem:
                return problem
            wanted[key] = value
        own = pod.spec.node_selector
        if any(own.get(key, value) != value for key, value in wanted.items()):
            return "pod node label selector conflicts with its namespace node label selector"
        pod.spec.node_selector = {**wanted, **own}
        return ""


def _not_a_label(key: str, value: str) -> str:
    """The error of labels.ConvertSelectorToLabelsMap; the key has no path, which Kubernetes writes like this."""
    if not is_label_key(key):
        return f'<nil>: Invalid value: "{key}": {"; ".join(key_problems(key))}'
    if not is_label_value(value):
        return f'[{key}]: Invalid value: "{value}": {"; ".join(value_problems(value))}'
    return ""


_PREEMPT_LOWER = "PreemptLowerPriority"


class PriorityClasses:
    """The classes of a cluster, and what a pod without a class gets."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._known = {each.metadata.name: each for each in classes}
        # Among several the one of the lowest value (Plugin.getDefaultPriorityClass).
        defaults = (each for each in self._known.values() if each.global_default)
        self.default = min(defaults, key=lambda each: each.value, default=None)

    def fill_in(self, pod: Pod) -> str:
        """The class's value and preemption policy, for a pod without a priority; what is wrong with its class."""
        spec = pod.spec
        if spec.priority is not None:
            return ""
        if not spec.priority_class_name and self.default:
            spec.priority_class_name = self.default.metadata.name
        spec.priority = self.value_of(spec.priority_class_name)
        if spec.priority is None:
            return f"no PriorityClass with name {spec.priority_class_name} was found"
        chosen = self._known.get(spec.priority_class_name)
        of_class = chosen.preemption_policy if chosen is not None else None
        spec.preemption_policy = spec.preemption_policy or of_class or _PREEMPT_LOWER
        return ""

    def value_of(self, name: str) -> int | None:
        """The priority that a class name stands for, None if there is no such class."""
        chosen = self._known.get(name) if name else self.default
        if chosen is not None:
            return chosen.value
        return SYSTEM_PRIORITIES.get(name) if name else 0

    def admit(self, pod: Pod) -> str:
        """The same for a new pod: a priority of its own must equal that of its class."""
        spec = pod.spec
        given, policy = spec.priority, spec.preemption_policy
        spec.priority = spec.preemption_policy = None
        problem = self.fill_in(pod)
        if problem:
            return problem
        for what, own, computed in (
            ("integer value of priority", given, spec.priority),
            ("string value of PreemptionPolicy", policy, spec.preemption_policy),
        ):
            if own is not None and own != computed:
                return (
                    f"the {what} ({own}) must not be provided in pod spec; "
                    f"priority admission controller computed {computed} from the given PriorityClass name"
                )
        return ""


def admit_group_priority(groups: Iterable[PodGroup], classes: Iterable[PriorityClass]) -> None:
    """Set the priority of pod groups of a dump that have none yet (admitPodGroup)."""
    known = PriorityClasses(classes)
    problems: list[Problem] = []
    for group in groups:
        spec = group.spec
        if spec.priority is None:
            spec.priority = known.value_of(spec.priority_class_name)
        if spec.priority is None:
            text = f"no PriorityClass with name {spec.priority_class_name} was found"
            problems.append(_refusal(text, "pod group", group.metadata))
    if problems:
        raise InputError(problems)


def admit_priority(pods: Iterable[Pod], classes: Iterable[PriorityClass]) -> None:
    """Set the priority of pods of a dump. A pod that has one was admitted before and keeps it."""
    known = PriorityClasses(classes)
    problems = [_refusal(text, "pod", pod.metadata) for pod in pods if (text := known.fill_in(pod))]
    if problems:
        raise InputError(problems)


def _refusal(text: str, what: str, metadata: ObjectMeta) -> Problem:
    path = f"{what.replace(' ', '')} {metadata.namespace}/{metadata.name}: spec.priorityClassName"
    return Problem(text, path=path, hint=f"the API server would refuse the {what}; add the PriorityClass to the input")


_SECONDS = 300
TOLERATED_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE = "NoExecute"


def admit_default_tolerations(pod: Pod) -> None:
    """Add a toleration of each of both taints that the pod does not tolerate."""
    added = tuple(
        Toleration(key=taint, operator="Exists", effect=_NO_EXECUTE, toleration_seconds=_SECONDS)
        for taint in TOLERATED_TAINTS
        if not any(each.key in ("", taint) and each.effect in ("", _NO_EXECUTE) for each in pod.spec.tolerations)
    )
    pod.spec.tolerations += added


class RuntimeClasses:
    def __init__(self, classes: Iterable[RuntimeClass]) -> None:
        self._known: Mapping[str, RuntimeClass] = {each.metadata.name: each for each in classes}

    def admit(self, pod: Pod) -> str:
        """setOverhead and setScheduling."""
        name = pod.spec.runtime_class_name
        if not name:
            return ""
        chosen = self._known.get(name)
        if chosen is None:
            return f'pod rejected: RuntimeClass "{name}" not found'
        return _set_overhead(pod, chosen) or _set_scheduling(pod, chosen.scheduling)

    def validate(self, pod: Pod) -> str:
        """validateOverhead: a pod that comes with an overhead that no class gave it."""
        chosen = self._known.get(pod.spec.runtime_class_name or "")
        if pod.spec.overhead and (chosen is None or chosen.overhead is None):
            return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        return ""


def _set_overhead(pod: Pod, chosen: RuntimeClass) -> str:
    if chosen.overhead is None:
        return ""
    if pod.spec.overhead and not _same(pod.spec.overhead, chosen.overhead.pod_fixed):
        return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    pod.spec.overhead = dict(chosen.overhead.pod_fixed)
    return ""


def _same(one: Quantities, other: Quantities) -> bool:
    return one.keys() == other.keys() and all(
        parse_quantity(quantity) == parse_quantity(other[name]) for name, quantity in one.items()
    )


def _set_scheduling(pod: Pod, scheduling: RuntimeClassScheduling | None) -> str:
    if scheduling is None:
        return ""
    own = pod.spec.node_selector
    for key, value in sorted(scheduling.node_selector.items()):
        if own.get(key, value) != value:
            return (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
    if scheduling.node_selector:
        pod.spec.node_selector = {**own, **scheduling.node_selector}
    pod.spec.tolerations = _merged((*pod.spec.tolerations, *scheduling.tolerations))
    return ""


def _merged(every: Sequence[Toleration]) -> tuple[Toleration, ...]:
    """MergeTolerations: what another one tolerates as well is left out, and of equal ones the first is kept."""
    kept: list[Toleration] = []
    for at, each in enumerate(every):
        earlier = any(_covers(other, each) for other in kept)
        if not earlier and not any(other != each and _covers(other, each) for other in every[at + 1 :]):
            kept.append(each)
    return tuple(kept)


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    """isSuperset."""
    if wide == narrow:
        return True
    if wide.key != narrow.key and (wide.key or wide.operator != "Exists"):
        return False
    if wide.effect not in ("", narrow.effect):
        return False
    if wide.effect == "NoExecute" and wide.toleration_seconds is not None:
        seconds = narrow.toleration_seconds
        if seconds is None or seconds > wide.toleration_seconds:
            return False
    if wide.operator in ("", "Equal"):
        return narrow.operator == "Equal" and narrow.value == wide.value
    return wide.operator == "Exists"


def merge_label_keys(pod: Pod) -> None:
    labels = pod.metadata.labels
    if pod.spec.affinity is not None:
        pod.spec.affinity = with_pod_terms(pod.spec.affinity, partial(_term, labels))
    pod.spec.topology_spread_constraints = tuple(
        _constraint(each, labels) for each in pod.spec.topology_spread_constraints
    )


def repeated_label_key(terms: Iterable[PodAffinityTerm], pod: Pod) -> str:
    """validateMatchLabelKeysAndMismatchLabelKeys after the merge: a key that the selector has already. The API server
    accepts the template of a workload with one, and refuses its pods."""
    labels = pod.metadata.labels
    holders: list[PodAffinityTerm | TopologySpreadConstraint] = [*terms, *pod.spec.topology_spread_constraints]
    for holder in holders:
        selector = holder.label_selector or LabelSelector()
        for key in holder.match_label_keys:
            merged = LabelSelectorRequirement(key, "In", (labels.get(key, ""),))
            others = [each.key for each in selector.match_expressions if each != merged]
            if key in labels and key in (*selector.match_labels, *others):
                return f'matchLabelKeys: Invalid value: "{key}": exists in both matchLabelKeys and labelSelector'
    return ""


def _term(labels: Mapping[str, str], term: PodAffinityTerm) -> PodAffinityTerm:
    """The term with the keys in its selector. A term without a selector matches no pod and is not changed."""
    if term.label_selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return term
    selector = _with(term.label_selector, term.match_label_keys, "In", labels)
    selector = _with(selector, term.mismatch_label_keys, "NotIn", labels)
    return replace(term, label_selector=selector)


def _constraint(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> TopologySpreadConstraint:
    """Gate MatchLabelKeysInPodTopologySpreadSelectorMerge, on by default."""
    if constraint.label_selector is None or not constraint.match_label_keys:
        return constraint
    selector = _with(constraint.label_selector, constraint.match_label_keys, "In", labels)
    return replace(constraint, label_selector=selector)


def _with(selector: LabelSelector, keys: Sequence[str], operator: str, labels: Mapping[str, str]) -> LabelSelector:
    """applyLabelKeysToLabelSelector. Keys without a label of the pod are skipped, and so are requirements that the
    selector of a pod from a cluster has already."""
    known = selector.match_expressions
    added = tuple(LabelSelectorRequirement(key, operator, (labels[key],)) for key in keys if key in labels)
    return replace(selector, match_expressions=known + tuple(each for each in added if each not in known))


_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def admit_storage_class(claim: PersistentVolumeClaim, classes: Iterable[StorageClass]) -> None:
    """GetDefaultClass: among several defaults the youngest, and of those of one age the first by name."""
    if claim.spec.storage_class_name is not None or CLASS_ANNOTATION in claim.metadata.annotations:
        return
    defaults = [each for each in classes if any(each.metadata.annotations.get(key) == "true" for key in _IS_DEFAULT)]
    if defaults:
        youngest = max(each.metadata.creation_timestamp or "" for each in defaults)
        claim.spec.storage_class_name = min(
            each.metadata.name for each in defaults if (each.metadata.creation_timestamp or "") == youngest
        )
