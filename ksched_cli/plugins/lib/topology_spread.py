"""Spread constraints, those of the pod and those that the profile gives to pods without any.

`TemplateValues` keeps what follows from a pod's template, the node objects and the API objects.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import (
    WHEN_UNSATISFIABLE,
    OwnerReference,
    Pod,
    Service,
    TopologySpreadConstraint,
    controller_of,
)
from ksched_cli.api.selectors import EVERYTHING, Selector, compile_selector, selector_from_map, selector_of_controller
from ksched_cli.api.workloads import ReplicaSet, ReplicationController, StatefulSet
from ksched_cli.cluster.cache import Cluster, PodCount
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.cluster.columns import BoolColumn, IdColumn, Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import DEFAULT, Release
from ksched_cli.releases.plugin_names import POD_TOPOLOGY_SPREAD, SELECTOR_SPREAD

HARD, SOFT = WHEN_UNSATISFIABLE
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_HONOR, _IGNORE = "Honor", "Ignore"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SOFT, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SOFT, max_skew=5),
)


class SpreadRules(ReleaseRules, plugins=f"{POD_TOPOLOGY_SPREAD} {SELECTOR_SPREAD}"):
    selects_as_the_controller_does = Rule(
        "1.22",
        "filter score",
        "Pods without constraints are spread with those that their own controller selects; before, with those of "
        "every controller whose selector they match.",
    )


class SpreadConstraint(Struct, frozen=True, cache_hash=True):
    """A spread constraint with everything filled in (topologySpreadConstraint)."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


def constraints_of(
    constraints: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], action: str, *, match_label_keys: bool
) -> tuple[SpreadConstraint, ...]:
    """filterTopologySpreadConstraints: those of one kind, compiled. Raises SelectorError."""
    return tuple(
        SpreadConstraint(
            max_skew=each.max_skew,
            topology_key=each.topology_key,
            selector=_selector(each, labels, match_label_keys),
            min_domains=1 if each.min_domains is None else each.min_domains,
            honor_affinity=(each.node_affinity_policy or _HONOR) == _HONOR,
            honor_taints=(each.node_taints_policy or _IGNORE) == _HONOR,
        )
        for each in constraints
        if each.when_unsatisfiable == action
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str], match_label_keys: bool) -> Selector:
    selector = compile_selector(constraint.label_selector)
    if not match_label_keys or selector.nothing:
        return selector
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    return merged(selector_from_map(own), selector)


def merged(one: Selector, other: Selector) -> Selector:
    """A selector that matches what both match."""
    both = dict.fromkeys((*one.requirements, *other.requirements))
    return Selector(tuple(sorted(both, key=lambda each: each.key)))


class DefaultSelectors:
    """Default selectors, computed once per template of pods until the catalog changes."""

    def __init__(self, catalog: Catalog, release: Release = DEFAULT) -> None:
        self._catalog = catalog
        self._release = release
        self._version = catalog.version
        self._known: dict[tuple[str, frozenset[tuple[str, str]], OwnerReference | None], Selector] = {}

    def of(self, pod: Pod) -> Selector:
        if self._version != self._catalog.version:
            self._known.clear()
            self._version = self._catalog.version
        key = pod.metadata.namespace, frozenset(pod.metadata.labels.items()), controller_of(pod.metadata)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = default_selector(pod, self._catalog, self._release)
        return found


def default_constraints_of(
    defaults: Sequence[TopologySpreadConstraint], pod: Pod, selectors: DefaultSelectors, action: str
) -> tuple[SpreadConstraint, ...]:
    """buildDefaultConstraints: the defaults with the selector of the pod's services and controllers."""
    selector = selectors.of(pod)
    if selector.everything:
        return ()
    constraints = constraints_of(defaults, pod.metadata.labels, action, match_label_keys=False)
    return tuple(replace(each, selector=selector) for each in constraints)


def default_selector(pod: Pod, catalog: Catalog, release: Release = DEFAULT) -> Selector:
    """helper.DefaultSelector: what the pod's services and its controller select."""
    namespace = pod.metadata.namespace
    labels = selected_labels(pod, catalog.in_namespace(Service, namespace))
    if not SpreadRules.of(release).selects_as_the_controller_does:
        # Whatever selects the pod counts as its controller.
        labels |= selected_labels(pod, catalog.in_namespace(ReplicationController, namespace))
        return merged(selector_from_map(labels), _of_controllers(pod, catalog))
    owner = controller_of(pod.metadata)
    if owner is None:
        return selector_from_map(labels)
    if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
        controller = catalog.get(ReplicationController, owner.name, namespace)
        return selector_from_map({**labels, **(controller.spec.selector if controller else {})})
    return merged(selector_from_map(labels), _selector_of_owner(owner, namespace, catalog))


def selected_labels(pod: Pod, owners: Iterable[Service | ReplicationController]) -> dict[str, str]:
    """The selectors that match the pod, as one. An owner without a selector selects nothing, and not everything."""
    labels: dict[str, str] = {}
    for owner in owners:
        if owner.spec.selector and owner.spec.selector.items() <= pod.metadata.labels.items():
            labels |= owner.spec.selector
    return labels


def _of_controllers(pod: Pod, catalog: Catalog) -> Selector:
    """The selectors of all ReplicaSets and StatefulSets that match the pod."""
    found, namespace = EVERYTHING, pod.metadata.namespace
    owners: list[ReplicaSet | StatefulSet] = [*catalog.in_namespace(ReplicaSet, namespace)]
    owners += catalog.in_namespace(StatefulSet, namespace)
    for owner in owners:
        selector = selector_of_controller(owner.spec.selector)
        if selector.matches(pod.metadata.labels):
            found = merged(found, selector)
    return found


def _selector_of_owner(reference: OwnerReference, namespace: str, catalog: Catalog) -> Selector:
    """The selector of a ReplicaSet or StatefulSet. Any other owner adds nothing."""
    kinds: dict[tuple[str, str], type[ReplicaSet | StatefulSet]] = {
        ("apps/v1", "ReplicaSet"): ReplicaSet,
        ("apps/v1", "StatefulSet"): StatefulSet,
    }
    kind = kinds.get((reference.api_version, reference.kind))
    owner = catalog.get(kind, reference.name, namespace) if kind is not None else None
    if owner is None:
        return EVERYTHING
    selector = selector_of_controller(owner.spec.selector)
    return EVERYTHING if selector.nothing else selector


V = TypeVar("V")

# Runs have few templates, or so many that none of them returns.
_KEPT = 512


class TemplateValues(Generic[V]):
    """Values by pod template and key, for the node objects and the API objects as they are."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def of(self, info: PodInfo, key: Hashable, make: Callable[[], V]) -> V:
        values: dict[tuple[int, bytes, Hashable], V] = self._cluster.derived(self, dict)
        place = self._cluster.catalog.version, info.parts.template, key
        found = values.get(place)
        if found is None:
            if len(values) >= _KEPT:
                values.clear()
            found = values[place] = make()
        return found


class CountedNodes(Struct):
    """Which nodes count for a constraint, and the domain of each node; `present` are the domains that there are, and
    `eligible` the nodes of these. `known` are the last counts by domain, and how many of the changes of `count` they
    include."""

    present: BoolColumn
    eligible: BoolColumn
    counted: BoolColumn
    ids: IdColumn
    count: PodCount | None = None
    known: tuple[Int64Column, int] | None = None

    def matching(self, count: PodCount) -> Int64Column:
        """The matching pods of the nodes that count, by domain. Not to be written to."""
        known = self.known if self.count is count else None
        if known is None:
            by_domain = self.summed_up(count.per_node)
        else:
            by_domain, done = known
            is_own = False
            for row, difference in count.changes[done:]:
                if self.counted.item(row):
                    if not is_own:
                        # States of earlier pods hold the old counts.
                        by_domain, is_own = by_domain.copy(), True
                    by_domain[self.ids.item(row)] += difference
        self.count, self.known = count, (by_domain, len(count.changes))
        return by_domain

    def summed_up(self, per_node: Int64Column) -> Int64Column:
        """The numbers of the nodes that count, by domain."""
        counting = np.where(self.counted, per_node, 0)
        return np.bincount(self.ids, weights=counting, minlength=len(self.present)).astype(np.int64)
