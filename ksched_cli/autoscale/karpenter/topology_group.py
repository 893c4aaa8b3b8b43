"""One topology rule and the pods that it counts, by domain.

Mirrors topologygroup.go and topologynodefilter.go. Rules of several pods that hash alike are one group. Where Go takes
the first of equally good domains in the random order of a map, the first by name is taken, and the choice is reported
as a draw.

The hash has quirks, and they decide: it does not include `minDomains`, nor the values of the node affinity (only its
keys), and an element that is twice in a list cancels out (hashstructure with SlicesAsSets). The first pod then decides
for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.api.core import LabelSelector, LabelSelectorRequirement, TopologySpreadConstraint
from ksched_cli.api.selectors import EVERYTHING, NOTHING, Selector, SelectorError, compile_selector
from ksched_cli.autoscale.karpenter.preferences import Wishes
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, LabelRequirement, LabelRequirements
from ksched_cli.autoscale.karpenter.taints import Taints, Tolerations, untolerated

SPREAD: Final = "topology spread"
AFFINITY: Final = "pod affinity"
ANTI_AFFINITY: Final = "pod anti-affinity"
_NO_LIMIT = 2**31 - 1
HONOR, IGNORE = "Honor", "Ignore"


class NodeFilter(Struct, frozen=True):
    """Which nodes count for a spread constraint (TopologyNodeFilter). The terms are alternatives."""

    terms: tuple[LabelRequirements, ...] = ()
    taints: str = ""
    affinity: str = ""
    tolerations: Tolerations = ()

    @classmethod
    def of(cls, wishes: Wishes, constraint: TopologySpreadConstraint) -> NodeFilter:
        own = LabelRequirements.of_labels(wishes.node_selector)
        if wishes.required is None:
            terms: tuple[LabelRequirements, ...] = (own,)
        else:
            of_terms = (LabelRequirements.of_selectors(each.match_expressions) for each in wishes.required)
            terms = tuple(own.added(each) for each in of_terms)
        taints, affinity = constraint.node_taints_policy or IGNORE, constraint.node_affinity_policy or HONOR
        return cls(terms, taints, affinity, wishes.tolerations)

    def matches(self, taints: Taints, requirements: LabelRequirements) -> bool:
        """Whether a node with these taints and labels counts. A well-known label that it lacks is missing."""
        if self.affinity == HONOR and self.terms and not any(map(requirements.is_compatible, self.terms)):
            return False
        return self.taints != HONOR or not untolerated(taints, self.tolerations)

    def hashed(self) -> Hashable:
        keys = _odd(frozenset(each) for each in self.terms)
        return keys, self.taints, self.affinity, _odd(self.tolerations)


class GroupSpec(Struct, frozen=True, eq=False):
    """A rule of a pod, before it is counted. `key` is what it shares with the rules of other pods."""

    kind: str
    topology_key: str
    namespaces: frozenset[str]
    raw_selector: LabelSelector | None
    node_filter: NodeFilter = NodeFilter()
    max_skew: int = _NO_LIMIT
    min_domains: int | None = None

    def hashed(self) -> Hashable:
        """TopologyGroup.Hash."""
        selector = self.raw_selector
        found: Hashable = None
        if selector is not None:
            expressions = frozenset(map(_hashed_expression, selector.match_expressions))
            found = expressions, frozenset(selector.match_labels.items())
        return self.topology_key, self.kind, self.namespaces, self.max_skew, self.node_filter.hashed(), found

    def selectors(self) -> tuple[Selector, Selector]:
        """The selector for pods to place, and that for pods that run. Without a selector no pod to place is selected,
        and every pod that runs is."""
        try:
            own = compile_selector(self.raw_selector)
        except SelectorError:
            return NOTHING, NOTHING
        return own, EVERYTHING if self.raw_selector is None else own


def _hashed_expression(expression: LabelSelectorRequirement) -> Hashable:
    return expression.key, expression.operator, _odd(expression.values)


def _odd(items: Iterable[Hashable]) -> frozenset[Hashable]:
    """The items that are there an odd number of times: equal hashes cancel out."""
    return frozenset(each for each, count in Counter(items).items() if count % 2)


class TopologyGroup:
    """A rule with its domains and counts. Domains of kubernetes.io/hostname are numbers of `Hosts` as well."""

    def __init__(self, spec: GroupSpec, domains: Iterable[str], registered_hosts: int) -> None:
        self.kind, self.key = spec.kind, spec.topology_key
        self.node_filter = spec.node_filter
        self.namespaces = spec.namespaces
        self.selector, self.running_selector = spec.selectors()
        self.max_skew, self.min_domains = spec.max_skew, spec.min_domains
        self.is_hostname = spec.topology_key == HOSTNAME
        self.counts: dict[str, int] = dict.fromkeys(domains, 0)
        # The pods on each host of `Hosts`; hosts that are added later have none.
        self.on_host: NDArray[np.int64] = np.zeros(64 if self.is_hostname else 0, np.int64)
        self._occupied = 0
        # Whether the domain of some pod that counts was drawn: the domains of those that follow depend on it.
        self.was_drawn = False
        # How many registrations of hosts there were before the group.
        self.registered_hosts = registered_hosts
        self._matches: dict[tuple[Taints, LabelRequirements], bool] = {}

    def register(self, domain: str) -> None:
        self.counts.setdefault(domain, 0)

    def record(self, domain: str, host: int = -1) -> None:
        """One more pod in the domain. `host`: its number, if it is a host."""
        count = self.counts.get(domain, 0)
        self.counts[domain] = count + 1
        self._occupied += not count
        if host >= 0:
            if host >= len(self.on_host):
                self.on_host = np.concatenate((self.on_host, np.zeros(max(len(self.on_host), host), np.int64)))
            self.on_host[host] += 1

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace in self.namespaces and self.selector.matches(labels)

    def counts_node(self, taints: Taints, requirements: LabelRequirements) -> bool:
        """Whether a pod on a node with these taints and requirements counts (the second half of Counts)."""
        if self.kind != SPREAD:
            return True
        key = (taints if self.node_filter.taints == HONOR else (), requirements)
        found = self._matches.get(key)
        if found is None:
            found = self._matches[key] = self.node_filter.matches(taints, requirements)
        return found

    def allowed_hosts(
        self, hosts: NDArray[np.int64], *, selects: bool, pod_domains: LabelRequirement | None
    ) -> NDArray[np.bool_]:
        """For hosts, by number, whether the rule allows a pod there. A host is a domain of its own, and a new one can
        always be made, so the smallest count is zero."""
        counts = self._on(hosts)
        if self.kind == ANTI_AFFINITY:
            empty: NDArray[np.bool_] = counts == 0
            return empty
        if self.kind == SPREAD:
            return counts + selects <= self.max_skew
        if selects and not self._is_any_occupied(pod_domains):
            return np.ones(len(hosts), bool)
        return counts > 0

    def _on(self, hosts: NDArray[np.int64]) -> NDArray[np.int64]:
        known = len(self.on_host)
        if len(hosts) and int(hosts.max()) >= known:
            return np.where(hosts < known, self.on_host[np.minimum(hosts, known - 1)], 0)
        return self.on_host[hosts]

    def next_domain(
        self, *, selects: bool, pod_domains: LabelRequirement, node_domains: LabelRequirement
    ) -> tuple[LabelRequirement, bool]:
        """The domains in which the pod may be, and whether they were drawn from equally good ones (Get). `pod_domains`
        are those that the pod requires, `node_domains` those in which the node can be."""
        if self.kind == SPREAD:
            return self._next_spread(selects, pod_domains, node_domains)
        if self.kind == AFFINITY:
            return self._next_affinity(selects, pod_domains, node_domains)
        empty = (each for each, count in self.counts.items() if not count)
        return self._within(each for each in empty if node_domains.has(each) and pod_domains.has(each)), False

    def _within(self, domains: Iterable[str]) -> LabelRequirement:
        return LabelRequirement(self.key, frozenset(domains))

    def _next_spread(
        self, selects: bool, pod_domains: LabelRequirement, node_domains: LabelRequirement
    ) -> tuple[LabelRequirement, bool]:
        supported = [count for domain, count in self.counts.items() if pod_domains.has(domain)]
        least = min(supported, default=_NO_LIMIT)
        if self.min_domains is not None and len(supported) < self.min_domains:
            least = 0
        valid = {
            domain: count
            for domain, count in self.counts.items()
            if count + selects - least <= self.max_skew and node_domains.has(domain)
        }
        if not valid:
            return LabelRequirement(self.key), False
        smallest = min(valid.values())
        best = sorted(domain for domain, count in valid.items() if count == smallest)
        is_drawn = len(best) > 1 or (self.was_drawn and sum(map(node_domains.has, self.counts)) > 1)
        return self._within(best[:1]), is_drawn

    def _next_affinity(
        self, selects: bool, pod_domains: LabelRequirement, node_domains: LabelRequirement
    ) -> tuple[LabelRequirement, bool]:
        found = [
            each for each, count in self.counts.items() if count and pod_domains.has(each) and node_domains.has(each)
        ]
        if found or not selects or self._is_any_occupied(pod_domains):
            return self._within(found), False
        # The first pod of its kind: a domain of the node if there is one, and any domain of the pod.
        both = pod_domains.intersection(node_domains)
        on_node = sorted(filter(both.has, self.counts))
        of_pod = sorted(filter(pod_domains.has, self.counts))
        return self._within((*on_node[:1], *of_pod[:1])), len(on_node) != 1 and len(of_pod) > 1

    def _is_any_occupied(self, pod_domains: LabelRequirement | None) -> bool:
        """Whether some domain that the pod allows has pods (anyCompatiblePodDomain)."""
        if pod_domains is None or (pod_domains.operator == "Exists" and pod_domains.gte is pod_domains.lte is None):
            return self._occupied > 0
        return any(count and pod_domains.has(domain) for domain, count in self.counts.items())
