"""All topology rules of one run: spread constraints, pod affinity and anti-affinity, and whom they bind.

Mirrors topology.go and topologydomaingroup.go. A pod obeys the groups of its own rules (the rules that it has after
relaxation) and the *inverse* groups: required anti-affinity of other pods that selects it. Domains are the values that
the NodePools can offer for a label, and those of the nodes that exist. A group that is made while pods are placed,
after a relaxation, counts running pods only, not those that were placed before; so does Karpenter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.api.core import LabelSelector, LabelSelectorRequirement, PodAffinityTerm, TopologySpreadConstraint
from ksched_cli.api.selectors import SelectorError, compile_selector
from ksched_cli.autoscale.karpenter.instance_types import InstanceTypes
from ksched_cli.autoscale.karpenter.messages import SchedulingError, TopologyError, incompatible
from ksched_cli.autoscale.karpenter.pods import PendingClass, Stage
from ksched_cli.autoscale.karpenter.requirements import HOSTNAME, LabelRequirement, LabelRequirements, States
from ksched_cli.autoscale.karpenter.taints import Taints, Tolerations, untolerated
from ksched_cli.autoscale.karpenter.topology_group import (
    AFFINITY,
    ANTI_AFFINITY,
    IGNORE,
    SPREAD,
    GroupSpec,
    NodeFilter,
    TopologyGroup,
)

Labels = Mapping[str, str]


class Hosts:
    """The hosts of one run, each with a number: existing nodes, and claims under a placeholder."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        # The number of the last registration of each host: -1 never.
        self.registered: list[int] = []
        self.registrations = 0

    def number(self, name: str) -> int:
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self.names)
            self.names.append(name)
            self.registered.append(-1)
        return found

    def register(self, host: int) -> None:
        """TopologyRules.Register: the groups that exist now have the host as a domain."""
        self.registered[host] = self.registrations
        self.registrations += 1


class RunningNode(Struct, frozen=True):
    """A node for counting. `domains`: the labels of which Karpenter takes domains; those of the NodeClaim before the
    node has registered. Not `is_active`: it is being deleted, and only its pods count."""

    name: str
    labels: Labels
    taints: Taints
    domains: Labels
    is_active: bool = True


class RunningPods(Struct):
    """The bound pods that count, by namespace and labels, with how many are on each node; and those with required
    anti-affinity, with their namespace, term, node and tolerations."""

    by_labels: dict[str, list[tuple[Labels, Counter[str]]]] = {}
    anti_affinity: list[tuple[str, PodAffinityTerm, str, Tolerations]] = []


class PoolDomains(Struct, frozen=True):
    """What one NodePool offers: the requirements and labels of its template, and its taints."""

    requirements: LabelRequirements
    taints: Taints


class Universe:
    """The domains that the NodePools can offer, by label (buildDomainGroups)."""

    def __init__(self, pools: Sequence[PoolDomains], types: InstanceTypes) -> None:
        self._pools = pools
        self._types = types
        self._domains: dict[str, dict[str, set[Taints]]] = {}

    def domains(self, key: str, tolerations: Tolerations, taint_policy: str) -> Iterator[str]:
        """ForEachDomain: all domains if taints are ignored, else those of pools whose taints are tolerated."""
        for domain, taints in self._of(key).items():
            if taint_policy == IGNORE or any(not untolerated(each, tolerations) for each in taints):
                yield domain

    def _of(self, key: str) -> dict[str, set[Taints]]:
        found = self._domains.get(key)
        if found is None:
            found = self._domains[key] = defaultdict(set)
            for pool in self._pools:
                for domain in self._offered(pool.requirements.get(key), key):
                    found[domain].add(pool.taints)
        return found

    def _offered(self, own: LabelRequirement | None, key: str) -> Iterator[str]:
        """The values of the pool's requirement with that of each type. Go reads the values of NotIn as well."""
        for of_type in self._types.requirements_for(key):
            if own is None:
                yield from of_type.values if of_type is not None else ()
            else:
                yield from (own if of_type is None else of_type.intersection(own)).values
        if own is not None and own.operator == "In":
            yield from own.values


class TopologyRules:
    def __init__(
        self,
        universe: Universe,
        states: States,
        hosts: Hosts,
        nodes: Sequence[RunningNode],
        running: RunningPods,
        namespaces: Mapping[str, Labels],
        known: frozenset[str],
        *,
        ignore_preferences: bool,
    ) -> None:
        """`known`: well-known labels. `running`: without the pods that are to be placed."""
        self._universe, self._states, self._hosts = universe, states, hosts
        self._nodes = {each.name: each for each in nodes}
        self._node_requirements = {each.name: LabelRequirements.of_labels(each.labels) for each in nodes}
        self._running, self._namespaces, self._known = running, namespaces, known
        self._ignore_preferences = ignore_preferences
        self._groups: dict[Hashable, TopologyGroup] = {}
        self._inverse: dict[Hashable, TopologyGroup] = {}
        self._selecting: dict[int, tuple[int, list[TopologyGroup]]] = {}
        self._selecting_inverse: dict[int, tuple[int, list[TopologyGroup]]] = {}
        for namespace, term, node, tolerations in running.anti_affinity:
            group = self._inverse_group(namespace, term, tolerations)
            labels = self._nodes[node].labels
            if group.key in labels:
                self._record(group, labels[group.key])

    # Groups

    def update(self, pod: PendingClass, stage: Stage) -> None:
        """Make the groups of the pod's rules at this stage of relaxation, and its inverse groups."""
        if stage.groups is not None:
            return
        if pod.inverse is None:
            own = stage.wishes.tolerations
            terms = pod.required_anti_affinity
            pod.inverse = tuple(dict.fromkeys(self._inverse_group(pod.namespace, term, own) for term in terms))
        groups = []
        for spec in self._specs(pod, stage):
            key = spec.hashed()
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = self._counted(spec, stage.wishes.tolerations)
            groups.append(group)
        stage.groups = tuple(dict.fromkeys(groups))

    def _specs(self, pod: PendingClass, stage: Stage) -> Iterator[GroupSpec]:
        wishes = stage.wishes
        for constraint in wishes.spread:
            if not self._ignore_preferences or constraint.when_unsatisfiable == "DoNotSchedule":
                yield GroupSpec(
                    SPREAD,
                    constraint.topology_key,
                    frozenset((pod.namespace,)),
                    _with_label_keys(constraint, pod.labels),
                    NodeFilter.of(wishes, constraint),
                    constraint.max_skew,
                    constraint.min_domains,
                )
        rules = (
            (AFFINITY, pod.required_affinity, wishes.affinity),
            (ANTI_AFFINITY, pod.required_anti_affinity, wishes.anti_affinity),
        )
        for kind, required, preferred in rules:
            soft = () if self._ignore_preferences else (each.pod_affinity_term for each in preferred)
            for term in (*required, *soft):
                namespaces = self._namespaces_of(pod.namespace, term)
                yield GroupSpec(kind, term.topology_key, namespaces, term.label_selector)

    def _namespaces_of(self, own: str, term: PodAffinityTerm) -> frozenset[str]:
        """buildNamespaceList."""
        if term.namespace_selector is None:
            return frozenset(term.namespaces or (own,))
        try:
            selector = compile_selector(term.namespace_selector)
        except SelectorError:
            return frozenset(term.namespaces)
        return frozenset(term.namespaces).union(
            name for name, labels in self._namespaces.items() if selector.matches(labels)
        )

    def _inverse_group(self, namespace: str, term: PodAffinityTerm, tolerations: Tolerations) -> TopologyGroup:
        """updateInverseAntiAffinity: the group of the pods that have this term."""
        spec = GroupSpec(ANTI_AFFINITY, term.topology_key, self._namespaces_of(namespace, term), term.label_selector)
        key = spec.hashed()
        if key not in self._inverse:
            self._inverse[key] = self._new(spec, tolerations)
        return self._inverse[key]

    def _new(self, spec: GroupSpec, tolerations: Tolerations) -> TopologyGroup:
        domains = self._universe.domains(spec.topology_key, tolerations, spec.node_filter.taints)
        return TopologyGroup(spec, domains, self._hosts.registrations)

    def _counted(self, spec: GroupSpec, tolerations: Tolerations) -> TopologyGroup:
        """countDomains: the group with the domains of the nodes that exist, and their pods."""
        group = self._new(spec, tolerations)
        for name, node in self._nodes.items():
            if (
                node.is_active
                and group.key in node.domains
                and group.node_filter.matches(node.taints, self._node_requirements[name])
            ):
                group.register(node.domains[group.key])
        for namespace in group.namespaces:
            for labels, on_nodes in self._running.by_labels.get(namespace, ()):
                if group.running_selector.matches(labels):
                    for name, pods in on_nodes.items():
                        self._count(group, self._nodes[name], pods)
        return group

    def _count(self, group: TopologyGroup, node: RunningNode, pods: int) -> None:
        """The pods on a node. A node without the hostname label is its own domain."""
        domain = node.labels.get(group.key, node.name if group.is_hostname else None)
        if domain is not None and group.node_filter.matches(node.taints, self._node_requirements[node.name]):
            for _ in range(pods):
                self._record(group, domain)

    def _record(self, group: TopologyGroup, domain: str) -> None:
        group.record(domain, self._hosts.number(domain) if group.is_hostname else -1)

    # Placing

    def matching(self, pod: PendingClass, stage: Stage) -> list[tuple[TopologyGroup, bool]]:
        """getMatchingTopologies: the groups that bind the pod, each with whether it selects the pod."""
        if stage.matching is None or stage.matching_of != len(self._inverse):
            inverse = self._selecting_groups(pod, self._inverse, self._selecting_inverse)
            own = [(group, group.selects(pod.namespace, pod.labels)) for group in stage.groups or ()]
            stage.matching = [*own, *((group, True) for group in inverse)]
            stage.matching_of = len(self._inverse)
        return stage.matching

    def _selecting_groups(
        self,
        pod: PendingClass,
        groups: Mapping[Hashable, TopologyGroup],
        memory: dict[int, tuple[int, list[TopologyGroup]]],
    ) -> list[TopologyGroup]:
        """The groups that select pods with these labels. Groups are only added."""
        seen, found = memory.get(pod.labels_number, (0, []))
        if seen != len(groups):
            new = list(groups.values())[seen:]
            found = [*found, *(group for group in new if group.selects(pod.namespace, pod.labels))]
            memory[pod.labels_number] = len(groups), found
        return found

    def allowed_hosts(self, pod: PendingClass, stage: Stage, hosts: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """For hosts, by number, whether all rules about hosts allow the pod there; None without such rules."""
        found = None
        for group, selects in self.matching(pod, stage):
            if group.is_hostname:
                allowed = group.allowed_hosts(hosts, selects=selects, pod_domains=stage.hostname_strict)
                found = allowed if found is None else found & allowed
        return found

    def with_volumes(
        self, base: LabelRequirements, volumes: LabelRequirements | None, host: int, *, strict: bool
    ) -> LabelRequirements | None:
        """The requirements of a node or claim with those of volumes; None if they are not compatible."""
        if volumes is None:
            return base
        on_host = volumes.get(HOSTNAME)
        if on_host is not None and not on_host.has(self._hosts.names[host]):
            return None
        return self._states.added(base, self._states.numbered(volumes.without(HOSTNAME)), strict=strict)

    def narrowed(
        self, pod: PendingClass, stage: Stage, base: LabelRequirements, host: int, *, strict: bool
    ) -> tuple[LabelRequirements | None, frozenset[str]]:
        """AddRequirements: the node's requirements with the domains that the rules leave, None if they leave none; and
        the labels whose domain was drawn. `strict`: as for an existing node."""
        domains, drawn = [], []
        for group, _, _, found, is_drawn in self._limits(pod, stage, base, host):
            if not found.values:
                return None, frozenset()
            domains.append(found)
            if is_drawn:
                drawn.append(group.key)
        if not domains:
            return base, frozenset()
        narrowed = self._states.added(base, self._states.numbered(LabelRequirements(domains)), strict=strict)
        return narrowed, frozenset(drawn)

    def _limits(
        self, pod: PendingClass, stage: Stage, base: LabelRequirements, host: int
    ) -> Iterator[tuple[TopologyGroup, LabelRequirement, LabelRequirement, LabelRequirement, bool]]:
        """Each rule that binds the pod with the domains that the pod requires, those of the node, those that the rule
        leaves, and whether they were drawn. A rule about hosts is left out if it allows the host."""
        for group, selects in self.matching(pod, stage):
            if not group.is_hostname:
                pod_domains, node_domains = stage.strict.allowed(group.key), base.allowed(group.key)
                found, is_drawn = group.next_domain(selects=selects, pod_domains=pod_domains, node_domains=node_domains)
                yield group, pod_domains, node_domains, found, is_drawn
            elif not group.allowed_hosts(np.array([host]), selects=selects, pod_domains=stage.hostname_strict)[0]:
                wanted = stage.hostname_strict or LabelRequirement(HOSTNAME, complement=True)
                own = LabelRequirement(HOSTNAME, frozenset((self._hosts.names[host],)))
                yield group, wanted, own, LabelRequirement(HOSTNAME), False

    def error(self, pod: PendingClass, stage: Stage, base: LabelRequirements, host: int) -> SchedulingError:
        """Why `narrowed` returns None for a new claim."""
        domains = []
        for group, pod_domains, node_domains, found, _ in self._limits(pod, stage, base, host):
            if not found.values:
                return self._topology_error(group, pod_domains, node_domains)
            domains.append(found)
        wanted_domains = base.added(LabelRequirements(domains))
        return incompatible(base, wanted_domains, self._known, prefix="")

    def _topology_error(
        self, group: TopologyGroup, pod_domains: LabelRequirement, node_domains: LabelRequirement
    ) -> TopologyError:
        hosts = self._hosts

        def counts() -> Mapping[str, int]:
            if not group.is_hostname:
                return group.counts
            registered = {
                name: 0 for name, at in zip(hosts.names, hosts.registered, strict=True) if at >= group.registered_hosts
            }
            return registered | group.counts

        return TopologyError(group.kind, group.key, counts, pod_domains, node_domains)

    def record(
        self,
        pod: PendingClass,
        taints: Taints,
        state: LabelRequirements,
        host: int,
        drawn: frozenset[str] = frozenset(),
    ) -> None:
        """Record: the pod is on a node with these requirements. `drawn`: labels of which a draw decided the domain."""
        for group in self._selecting_groups(pod, self._groups, self._selecting):
            if not group.counts_node(taints, state):
                continue
            group.was_drawn |= group.key in drawn
            if group.is_hostname:
                group.record(self._hosts.names[host], host)
                continue
            domains = state.allowed(group.key)
            # Anti-affinity blocks every domain in which the pod can land; the others count a domain that is certain.
            if group.kind == ANTI_AFFINITY or (len(domains.values) == 1 and not domains.complement):
                for domain in domains.values:
                    group.record(domain)
        for group in pod.inverse or ():
            if group.is_hostname:
                group.record(self._hosts.names[host], host)
            else:
                for domain in state.allowed(group.key).values:
                    group.record(domain)


def _with_label_keys(constraint: TopologySpreadConstraint, labels: Labels) -> LabelSelector | None:
    """The selector with the pod's values of matchLabelKeys."""
    selector = constraint.label_selector
    keys = [key for key in constraint.match_label_keys if key in labels]
    if selector is None or not keys:
        return selector
    own = (LabelSelectorRequirement(key, "In", (labels[key],)) for key in keys)
    return replace(selector, match_expressions=(*selector.match_expressions, *own))


def running_pods(pods: Iterable[tuple[str, Labels, str]]) -> dict[str, list[tuple[Labels, Counter[str]]]]:
    """Pods by namespace and labels, from their namespace, labels and node."""
    found: dict[str, dict[frozenset[tuple[str, str]], tuple[Labels, Counter[str]]]] = defaultdict(dict)
    for namespace, labels, node in pods:
        entry = found[namespace].setdefault(frozenset(labels.items()), (labels, Counter()))
        entry[1][node] += 1
    return {namespace: list(of.values()) for namespace, of in found.items()}
