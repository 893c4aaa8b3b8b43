"""RuntimeClass: what a runtime costs by itself, and on which nodes it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ksched_cli.api.affinity import Toleration
from ksched_cli.api.core import Pod, Quantities
from ksched_cli.api.policy import RuntimeClass, RuntimeClassScheduling
from ksched_cli.api.quantity import parse_quantity


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
