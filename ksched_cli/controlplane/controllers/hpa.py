"""The HorizontalPodAutoscaler controller (pkg/controller/podautoscaler) and KEDA, as far as an input shows it: the
bounds hold at once. A target of use needs metrics, which no input has, so that replicas between the bounds stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec.structs import replace

from ksched_cli.api.workloads import Deployment, ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.controlplane.controllers.replicaset import wanted_replicas
from ksched_cli.controlplane.store import Identity, identity_of
from ksched_cli.controlplane.work import Controller
from ksched_cli.sources.custom.labels import resource_of

SCALED = (Deployment, ReplicaSet, ReplicationController, StatefulSet)


class AutoscalerBounds(Controller):
    """Its keys are the objects that autoscalers scale."""

    informers: ClassVar[tuple[type[Any], ...]] = SCALED

    def concerned(self, old: Any, new: Any) -> Iterable[Identity]:
        if not self.store.autoscalers or new is None:
            return ()
        return (name for name in _names(new) if name in self.store.autoscalers)

    def reconcile(self, key: Identity) -> None:
        autoscaler, item = self.store.autoscalers.get(key), self.target(key)
        if autoscaler is None or item is None or item.spec.template is None:
            return
        replicas = wanted_replicas(item)
        within = autoscaler.within(replicas)
        if within != replicas:
            self.api.update(replace(item, spec=replace(item.spec, replicas=within)))

    def target(self, key: Identity) -> Any | None:
        """The object that is scaled; of a custom resource the workload that stands for it."""
        kind, namespace, name = key
        for each in SCALED:
            found = self.store.get(each, name, namespace) if each.__name__ == kind else None
            if found is not None:
                return found
        candidates = (item for each in SCALED for item in self.store.of(each))
        return next((item for item in candidates if resource_of(item) == key), None)


def _names(item: Any) -> Iterator[Identity]:
    yield identity_of(item)
    resource = resource_of(item)
    if resource is not None and resource != identity_of(item):
        yield resource
