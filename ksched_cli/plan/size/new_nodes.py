"""New nodes with the pods that DaemonSets run on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import uid_of_pod
from ksched_cli.api.policy import PriorityClass
from ksched_cli.api.workloads import DaemonSet
from ksched_cli.controlplane.admission.priority import admit_priority
from ksched_cli.controlplane.controllers.daemon_pods import daemon_spec, node_of, should_run
from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.size.shapes import NodeShape, names_of_new_nodes
from ksched_cli.sources.release_fields import as_stored
from ksched_cli.whatif.edits.lib.node_templates import renamed


class NewNodes:
    """Nodes by name, each made once. A control plane with the DaemonSets of the input creates their pods."""

    def __init__(self, source: LoadedInput) -> None:
        self._loaded, self._spec = source.loaded, source.spec
        self.taken = frozenset(node.metadata.name for node in source.loaded.of(Node))
        self._nodes: dict[str, Node] = {}
        self._daemons: dict[str, list[Pod]] = {}
        self._templates: dict[NodeShape, Node] = {}
        self._has_daemons: dict[NodeShape, bool] = {}
        self._plane: ControlPlane | None = None
        self._created: list[Pod] = []
        # Pods that DaemonSets lack on nodes of the cluster, and that their controllers create as soon as they run.
        self.on_old_nodes: list[Pod] = []

    def of(self, counts: Mapping[NodeShape, int]) -> tuple[list[Node], list[Pod], dict[str, NodeShape]]:
        """So many nodes of each shape with the names that `--add-node` gives them, the pods of DaemonSets on them, and
        the shape of each node."""
        shape_of: dict[str, NodeShape] = {}
        for shape, count in counts.items():
            for name in names_of_new_nodes(shape, count, self.taken):
                shape_of[name] = shape
        missing = {name: shape for name, shape in shape_of.items() if name not in self._nodes}
        if missing:
            self._make(missing)
        pods = [pod for name in shape_of for pod in self._daemons.get(name, ())]
        return [self._nodes[name] for name in shape_of], pods, shape_of

    def template(self, shape: NodeShape) -> Node:
        found = self._templates.get(shape)
        if found is None:
            found = self._templates[shape] = shape.template()
        return found

    def _make(self, shapes: Mapping[str, NodeShape]) -> None:
        for name, shape in shapes.items():
            self._nodes[name] = renamed(self.template(shape), name)
        wanted = [self._nodes[name] for name, shape in shapes.items() if self._runs_daemons(shape)]
        if wanted:
            self._create_daemons(wanted)

    def _runs_daemons(self, shape: NodeShape) -> bool:
        found = self._has_daemons.get(shape)
        if found is None:
            node = self.template(shape)
            sets = (item for item in self._loaded.of(DaemonSet) if item.spec.template is not None)
            found = self._has_daemons[shape] = any(should_run(daemon_spec(item), node) for item in sets)
        return found

    def _create_daemons(self, nodes: Iterable[Node]) -> None:
        if self._plane is None:
            self._plane = ControlPlane(Store(self._loaded), watches=(self._observe,), places_everything=True)
            self._plane.run()
        for node in nodes:
            self._plane.api.update(node)
        self._plane.run()
        created, self._created = self._created, []
        admit_priority(created, self._loaded.of(PriorityClass))
        if not self._spec.stores_all_fields:
            created = as_stored(created, self._spec.release, self._spec.gates)
        for pod in created:
            name = node_of(pod)
            own = self._daemons.setdefault(name, []) if name in self._nodes else self.on_old_nodes
            own.append(pod)

    def _observe(self, old: Any, new: Any) -> None:
        if old is None and isinstance(new, Pod) and node_of(new):
            self._created.append(replace(new, metadata=replace(new.metadata, uid=uid_of_pod(new))))
