"""PodNodeSelector, and its counterpart of OpenShift: a namespace that keeps its pods to some nodes."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.core import Namespace, Pod
from ksched_cli.api.label_names import is_label_key, is_label_value, key_problems, value_problems

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
