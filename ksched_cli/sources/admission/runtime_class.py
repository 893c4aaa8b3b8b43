"""RuntimeClass: what a runtime costs by itself, and on which nodes it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ksched_cli.api.core import Pod, Quantities
from ksched_cli.api.policy import RuntimeClass, RuntimeClassScheduling
from ksched_cli.api.quantity import parse_quantity


class RuntimeClasses:
    def __init__(self, classes: Iterable[RuntimeClass]) -> None:
        self._known: Mapping[str, RuntimeClass] = {each.metadata.name: each for each in classes}

    def admit(self, pod: Pod) -> str:
        """setOverhead, setScheduling and validateOverhead."""
        name = pod.spec.runtime_class_name
        if not name:
            if pod.spec.overhead:
                return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            return ""
        chosen = self._known.get(name)
        if chosen is None:
            return f'pod rejected: RuntimeClass "{name}" not found'
        return _set_overhead(pod, chosen) or _set_scheduling(pod, chosen.scheduling)


def _set_overhead(pod: Pod, chosen: RuntimeClass) -> str:
    if chosen.overhead is None:
        if pod.spec.overhead:
            return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
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
    known = pod.spec.tolerations
    pod.spec.tolerations = known + tuple(each for each in scheduling.tolerations if each not in known)
    return ""
