"""Priority: what a PriorityClass writes into a pod."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.core import Pod
from ksched_cli.api.meta import ObjectMeta
from ksched_cli.api.policy import PodGroup, PriorityClass
from ksched_cli.errors import InputError, Problem

# The API server makes these two by itself, so that a dump need not hold them (scheduling.SystemPriorityClasses).
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPT_LOWER = "PreemptLowerPriority"


class PriorityClasses:
    """The classes of a cluster, and what a pod without a class gets."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._known = {each.metadata.name: each for each in classes}
        # Among several the one of the lowest value (Plugin.getDefaultPriorityClass).
        defaults = (each for each in self._known.values() if each.global_default)
        self._default = min(defaults, key=lambda each: each.value, default=None)

    def default_beside(self, item: PriorityClass) -> str:
        """The name of another class that is the default (ValidatePriorityClass), or an empty string."""
        found = [name for name, each in self._known.items() if each.global_default and name != item.metadata.name]
        return found[0] if found else ""

    def fill_in(self, pod: Pod) -> str:
        """The class's value and preemption policy, for a pod without a priority; what is wrong with its class."""
        spec = pod.spec
        if spec.priority is not None:
            return ""
        if not spec.priority_class_name and self._default:
            spec.priority_class_name = self._default.metadata.name
        name = spec.priority_class_name
        chosen = self._known.get(name)
        if chosen is not None:
            spec.priority = chosen.value
            spec.preemption_policy = spec.preemption_policy or chosen.preemption_policy
        elif name in _SYSTEM_CLASSES or not name:
            spec.priority = _SYSTEM_CLASSES[name] if name else 0
        else:
            return f"no PriorityClass with name {name} was found"
        spec.preemption_policy = spec.preemption_policy or _PREEMPT_LOWER
        return ""

    def value_of(self, name: str) -> int | None:
        """The priority that a class name stands for, None if there is no such class."""
        chosen = self._known.get(name) if name else self._default
        if chosen is not None:
            return chosen.value
        return _SYSTEM_CLASSES.get(name) if name else 0

    def admit(self, pod: Pod) -> str:
        """The same for a new pod: a priority of its own must equal that of its class."""
        spec = pod.spec
        given, policy = spec.priority, spec.preemption_policy
        spec.priority = spec.preemption_policy = None
        problem = self.fill_in(pod)
        if problem:
            return problem
        if given is not None and given != spec.priority:
            return (
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {spec.priority} from the given PriorityClass name"
            )
        if policy is not None and policy != spec.preemption_policy:
            return (
                f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; "
                f"priority admission controller computed {spec.preemption_policy} from the given PriorityClass name"
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
