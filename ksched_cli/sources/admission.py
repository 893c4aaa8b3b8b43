"""What admission controllers would have written into a pod before the scheduler sees it."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.core import Pod
from ksched_cli.api.policy import PriorityClass
from ksched_cli.errors import InputError, Problem

# The API server makes these two by itself, so that a dump need not hold them (scheduling.SystemPriorityClasses).
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPT_LOWER = "PreemptLowerPriority"


def admit_priority(pods: Iterable[Pod], classes: Iterable[PriorityClass]) -> None:
    """The Priority plugin: the class's value and preemption policy, the global default for pods without a class.

    A pod that has a priority was admitted before and keeps it.
    """
    known = {each.metadata.name: each for each in classes}
    default = _global_default(known.values())
    problems = [problem for pod in pods if (problem := _admit(pod, known, default)) is not None]
    if problems:
        raise InputError(problems)


def _global_default(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """Among several the one of the lowest value (Plugin.getDefaultPriorityClass)."""
    return min((each for each in classes if each.global_default), key=lambda each: each.value, default=None)


def _admit(pod: Pod, known: dict[str, PriorityClass], default: PriorityClass | None) -> Problem | None:
    spec = pod.spec
    if spec.priority is not None:
        return None
    if not spec.priority_class_name:
        spec.priority = default.value if default else 0
        if default:
            spec.priority_class_name = default.metadata.name
        spec.preemption_policy = spec.preemption_policy or (default.preemption_policy if default else None)
    elif spec.priority_class_name in known:
        chosen = known[spec.priority_class_name]
        spec.priority = chosen.value
        spec.preemption_policy = spec.preemption_policy or chosen.preemption_policy
    elif spec.priority_class_name in _SYSTEM_CLASSES:
        spec.priority = _SYSTEM_CLASSES[spec.priority_class_name]
    else:
        return Problem(
            f'no PriorityClass with name "{spec.priority_class_name}" was found',
            path=f"pod {pod.metadata.namespace}/{pod.metadata.name}: spec.priorityClassName",
            hint="the API server would refuse the pod; add the PriorityClass to the input",
        )
    spec.preemption_policy = spec.preemption_policy or _PREEMPT_LOWER
    return None
