"""PodNodeSelector: a namespace that keeps its pods to some nodes."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.api.core import Namespace, Pod

ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"


class NamespaceSelectors:
    """The plugin is off unless it is asked for; a namespace with its annotation tells that it is on."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self._texts = {
            each.metadata.name: text for each in namespaces if (text := each.metadata.annotations.get(ANNOTATION))
        }

    def admit(self, pod: Pod) -> str:
        text = self._texts.get(pod.metadata.namespace)
        if text is None:
            return ""
        wanted: dict[str, str] = {}
        for part in text.split(","):
            key, equals, value = part.partition("=")
            if not equals or "=" in value:
                return f"invalid selector: {part}"
            wanted[key.strip()] = value.strip()
        own = pod.spec.node_selector
        if any(own.get(key, value) != value for key, value in wanted.items()):
            return "pod node label selector conflicts with its namespace node label selector"
        pod.spec.node_selector = {**wanted, **own}
        return ""
