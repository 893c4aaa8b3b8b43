"""The namespace controller (pkg/controller/namespace): a deleted namespace takes its contents with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksched_cli.api.core import Namespace
from ksched_cli.controlplane.work import Controller


class NamespaceController(Controller):
    """Keys are names of deleted namespaces."""

    informers = (Namespace,)

    def concerned(self, old: Any, new: Any) -> Iterable[str]:
        return (old.metadata.name,) if isinstance(old, Namespace) and new is None else ()

    def reconcile(self, key: str) -> None:
        if self.store.get(Namespace, key) is None:
            for item in self.store.in_namespace(key):
                self.api.delete(item, why=f"deleted with Namespace {key}")
