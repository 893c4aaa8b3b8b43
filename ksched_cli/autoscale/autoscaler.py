"""The autoscaler of a run: whether the input shows one, with which settings and instance types, and its answer.

Karpenter is taken where the input has a NodePool. Its instance types come from `--instance-types`, else from the
built-in tables of the cloud whose nodes or NodeClasses the input has; prices of `--prices` win over both. What was
assumed is returned as sentences for `coverage`. This module is imported only if the input shows an autoscaler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, NodeSelectorRequirement, Pod
from ksched_cli.api.karpenter import AKSNodeClass, EC2NodeClass, GCENodeClass, NodeClass, NodePool
from ksched_cli.api.object_facts import pod_key
from ksched_cli.api.storage import PersistentVolume
from ksched_cli.autoscale.instance_types.catalog import InstanceType, read_catalog
from ksched_cli.autoscale.instance_types.clouds import TITLES, CloudCatalog, Prices, cloud_catalog, cloud_of, table_of
from ksched_cli.autoscale.instance_types.prices import apply_prices, read_prices, refuse_unknown_types
from ksched_cli.autoscale.karpenter.controller import AutoscaledWorld, KarpenterController
from ksched_cli.autoscale.karpenter.decision import Provisioning
from ksched_cli.autoscale.karpenter.labels import provider_of, requirement_problems
from ksched_cli.autoscale.karpenter.provisioner import Offer, Options, node_pool_provider, offers, provision
from ksched_cli.autoscale.karpenter.requirements import ZONE
from ksched_cli.autoscale.karpenter.state import is_provisionable
from ksched_cli.errors import InputError, Problem, UsageError, named
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import Places

_REGION = "topology.kubernetes.io/region"
_CLOUDS = {"karpenter.k8s.aws": "ec2", "karpenter.azure.com": "azure", "karpenter.k8s.gcp": "gce"}
_NODE_CLASSES = (EC2NodeClass, AKSNodeClass, GCENodeClass)
# Flags of Karpenter that change no decision of one pass.
_WITHOUT_EFFECT = frozenset(
    (
        *("batch-idle-duration", "batch-max-duration", "cpu-requests", "memory-limit", "log-level", "metrics-port"),
        *("health-probe-port", "karpenter-service", "kube-client-burst", "kube-client-qps", "ignore-dra-requests"),
    )
)


class Karpenter(Struct, frozen=True):
    """Karpenter with its settings. `offered`: for each NodePool the range of its instance types. `coverage`: what was
    assumed. `objects` are those that only Karpenter reads, `startup` the seconds until a new node is ready."""

    types: Sequence[InstanceType]
    offered: Mapping[str, range]
    options: Options
    coverage: tuple[str, ...] = ()
    objects: Mapping[type[Any], list[Any]] = {}
    startup: float = 60.0

    def __call__(self, world: AutoscaledWorld) -> KarpenterController:
        """Add Karpenter to a world."""
        pools: list[NodePool] = self.objects.get(NodePool, [])
        whole = range(len(self.types))
        types = {
            pool.metadata.name: {
                self.types[at].name: self.types[at] for at in self.offered.get(pool.metadata.name, whole)
            }
            for pool in pools
        }
        return KarpenterController(world, self._provision, self.objects, types, self.startup)

    def controller_in(self, world: AutoscaledWorld) -> KarpenterController | None:
        """Karpenter in this world, None where it has no place, as in a consolidation."""
        return next((each for each in world.controllers if isinstance(each, KarpenterController)), None)

    def result_in(self, world: AutoscaledWorld) -> Provisioning | None:
        """What Karpenter has done in the world."""
        found = self.controller_in(world)
        return None if found is None else found.result()

    def _provision(self, objects: Callable[[type[Any]], list[Any]], is_pending: Callable[[Pod], bool]) -> Provisioning:
        return provision(objects, self.types, self.options, offered=self.offered, is_pending=is_pending)

    def is_well_known(self, key: str) -> bool:
        """Whether a pod may require a label that its NodePool does not define."""
        pools: list[NodePool] = self.objects.get(NodePool, [])
        return key in provider_of(pool.spec.template.spec.node_class_ref.api_group for pool in pools).well_known

    def offers(self, loaded: Loaded) -> list[Offer]:
        """The instance types that the NodePools could launch now."""
        return offers(loaded.with_karpenter, self.types, self.options, self.offered)

    def answer(
        self, loaded: Loaded, made: Iterable[str] = (), unschedulable: Iterable[str] = (), now: datetime | None = None
    ) -> Provisioning:
        """What one pass decides for the objects as they are. Pods that this run has `made` are pending if the run has
        found them `unschedulable`: no kube-scheduler has written a condition for them."""
        pending = set(made).intersection(unschedulable)

        def is_pending(pod: Pod) -> bool:
            return is_provisionable(pod) or pod_key(pod) in pending

        return provision(
            loaded.with_karpenter, self.types, self.options, offered=self.offered, now=now, is_pending=is_pending
        )


def karpenter_of(
    loaded: Loaded, flags: Sequence[str], catalog: str, startup: float = 60.0, prices: str = ""
) -> Karpenter | str:
    """Karpenter as the input shows it, or why its answer is not known. `catalog` and `prices` are files. InputError for
    NodePools, catalogs and prices with mistakes."""
    found = _found(loaded, flags, catalog, prices)
    if isinstance(found, str):
        return found
    coverage = (*found.coverage, *_without_status(loaded))
    return replace(found, objects=dict(loaded.karpenter), startup=startup, coverage=coverage)


def _without_status(loaded: Loaded) -> list[str]:
    pools: list[NodePool] = loaded.karpenter.get(NodePool, [])
    names = [pool.metadata.name for pool in pools if not pool.status.conditions]
    return [f"NodePool {name} has no conditions in its status: it is taken for ready" for name in names]


def _found(loaded: Loaded, flags: Sequence[str], catalog: str, prices_file: str) -> Karpenter | str:
    pools: list[NodePool] = loaded.karpenter.get(NodePool, [])
    of_deployment, unknown_flags = _flags_of_deployment(loaded.autoscaler_flags)
    options = _options((*of_deployment, *flags))
    problems = list(_pool_problems(pools, Places(loaded)))
    if problems:
        raise InputError(problems)
    prices = read_prices(prices_file) if prices_file else {}
    if catalog:
        types: Sequence[InstanceType] = read_catalog(catalog).instance_types
        refuse_unknown_types(prices, {each.name for each in types}, prices_file, catalog)
        apply_prices(types, prices)
        coverage = (*unknown_flags, *_unpriced(types), *_volumes_without_claim(loaded))
        return Karpenter(types, {}, options, coverage)
    found = _built_in(loaded, pools, options, prices, prices_file)
    return found if isinstance(found, str) else replace(found, coverage=(*unknown_flags, *found.coverage))


def _flags_of_deployment(given: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The flags of Karpenter's Deployment, and what is not modelled or not read of them."""
    flags, notes = [], []
    for name, value in given.items():
        choices, gates = _CHOICES.get(name), _feature_gates(value) if name == "feature-gates" else {}
        is_unknown = gates is None or (choices is not None and value not in choices[1])
        if is_unknown or (name == "ignore-dra-requests" and value != "true"):
            notes.append(f"Karpenter runs with {name}={value}, which is not modelled: the default is taken")
            continue
        flags.append(f"{name}={value}")
        if choices is not None and value == choices[1][1]:
            notes.append(f"Karpenter runs with {name}={value}")
        notes += [
            f"Karpenter's feature gate {gate} is on, and its objects are not read"
            for gate in ("NodeOverlay", "StaticCapacity")
            if (gates or {}).get(gate)
        ]
    return flags, notes


def _options(flags: Sequence[str]) -> Options:
    """The options of `--autoscaler-flag NAME=VALUE`, which are Karpenter's own."""
    found: dict[str, bool] = {}
    for flag in flags:
        name, separator, value = flag.lstrip("-").partition("=")
        choices = _CHOICES.get(name)
        if not separator or (choices is not None and value not in choices[1]):
            expected = "|".join(choices[1]) if choices is not None else "VALUE"
            raise UsageError(f"--autoscaler-flag {flag}: expected {name or 'NAME'}={expected}")
        if choices is not None:
            found[choices[0]] = value == choices[1][1]
        elif name == "feature-gates":
            gates = _feature_gates(value)
            if gates is None:
                raise UsageError(f"--autoscaler-flag {flag}: expected feature-gates=NAME=true|false,...")
            found["reserved_capacity"] = gates.get("ReservedCapacity", True)
        elif name == "ignore-dra-requests" and value != "true":
            raise UsageError(f"--autoscaler-flag {flag}: Karpenter's allocation of devices is not modelled")
        elif name not in _WITHOUT_EFFECT:
            known = ", ".join(sorted((*_CHOICES, "feature-gates")))
            raise UsageError(f"--autoscaler-flag {flag}: Karpenter has no flag {name}; flags that decide are {known}")
    return Options(**found)


# strconv.ParseBool.
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


def _feature_gates(text: str) -> dict[str, bool] | None:
    """ParseFeatureGates: the gates by name; None for a text with which Karpenter does not start."""
    pairs = [[part.strip() for part in each.split("=", 1)] for each in text.split(",") if each]
    if any(len(pair) < 2 or pair[1] not in (*_TRUE, *_FALSE) for pair in pairs):
        return None
    return {name: value in _TRUE for name, value in pairs}


# The field of Options, and the values, of which the second switches it on.
_CHOICES = {
    "preference-policy": ("ignore_preferences", ("Respect", "Ignore")),
    "min-values-policy": ("best_effort_min_values", ("Strict", "BestEffort")),
}


def _pool_problems(pools: Iterable[NodePool], places: Places) -> Iterable[Problem]:
    """The mistakes in the requirements of NodePools, for which Karpenter would not make them ready."""
    for pool in pools:
        provider = node_pool_provider(pool)
        for index, each in enumerate(pool.spec.template.spec.requirements):
            own = NodeSelectorRequirement(each.key, each.operator, each.values)
            for text in requirement_problems(own, provider, each.min_values):
                place = places.of(pool, ("spec", "template", "spec", "requirements", index))
                yield Problem(text, place.source, place.line, f"NodePool {pool.metadata.name}: {place.path}")


def _unpriced(types: Iterable[InstanceType]) -> list[str]:
    missing = sum(offering.price is None for each in types for offering in each.offerings)
    return [f"{missing} offerings of instance types have no price: they are never the cheapest"] if missing else []


def _volumes_without_claim(loaded: Loaded) -> list[str]:
    names = [each.metadata.name for each in loaded.of(PersistentVolume) if each.spec.claim_ref is None]
    if not names:
        return []
    return [f"node affinity of PersistentVolumes without a claimRef (Karpenter): {named(names, 3)}"]


def _built_in(
    loaded: Loaded, pools: Sequence[NodePool], options: Options, prices: Prices, prices_file: str
) -> Karpenter | str:
    """Karpenter with the built-in instance types of its cloud, one catalog for each NodeClass."""
    cloud, region, zones = _place(loaded, pools)
    if not cloud:
        return "nodes that Karpenter adds (its cloud is not known: give --instance-types FILE)"
    if not zones or not region:
        return "nodes that Karpenter adds (region and zones are not in the input: give --instance-types FILE)"
    refuse_unknown_types(prices, table_of(cloud).columns["name"], prices_file, f"the built-in types of {TITLES[cloud]}")
    types: list[InstanceType] = []
    offered: dict[str, range] = {}
    coverage: list[str] = []
    of_class: dict[str, range] = {}
    for pool in pools:
        reference = pool.spec.template.spec.node_class_ref
        if reference.name not in of_class:
            node_class = _node_class(loaded, reference.name)
            if node_class is None:
                coverage.append(f"{reference.kind} {reference.name} is not in the input: its defaults are assumed")
            document = msgspec.to_builtins(node_class) if node_class is not None else {}
            found = cloud_catalog(cloud, region, zones, document, prices)
            coverage += found.assumed
            start = len(types)
            types += msgspec.convert(found.instance_types, list[InstanceType])
            of_class[reference.name] = range(start, len(types))
        offered[pool.metadata.name] = of_class[reference.name]
    if prices:
        text = f"prices of {len(prices)} instance types: {prices_file}"
        coverage.append(f"{text}; a type with prices by zone has no price in a zone that is not named")
    return Karpenter(types, offered, options, tuple(dict.fromkeys((*coverage, *_volumes_without_claim(loaded)))))


def types_in_cloud_of(loaded: Loaded, prices_file: str) -> tuple[CloudCatalog, str, str]:
    """The built-in types where the cluster is, its cloud and its region. Sizes follow the NodeClass if there is only
    one. InputError if the input does not show where the cluster is."""
    cloud, region, zones = _place(loaded, loaded.karpenter.get(NodePool, []))
    if not cloud or not region or not zones:
        what = "cloud of the nodes" if not cloud else "region and the zones of the nodes"
        raise InputError(Problem(f"the input does not show the {what}", hint="give --cloud and --region"))
    prices = read_prices(prices_file) if prices_file else {}
    refuse_unknown_types(prices, table_of(cloud).columns["name"], prices_file, f"the built-in types of {TITLES[cloud]}")
    classes = [each for kind in _NODE_CLASSES for each in loaded.karpenter.get(kind, ())]
    document = msgspec.to_builtins(classes[0]) if len(classes) == 1 else None
    found = cloud_catalog(cloud, region, zones, document, prices)
    if len(classes) > 1:
        text = f"the input has {len(classes)} NodeClasses: sizes are those of a NodeClass without settings"
        found = replace(found, assumed=(*found.assumed, text))
    return found, cloud, region


def _place(loaded: Loaded, pools: Sequence[NodePool]) -> tuple[str, str, list[str]]:
    """The cloud, the region and the zones, each empty where the input does not show it."""
    groups = [pool.spec.template.spec.node_class_ref.api_group for pool in pools]
    cloud = cloud_of(loaded.of(Node)) or next((_CLOUDS[group] for group in groups if group in _CLOUDS), "")
    zones = _zones(loaded, pools)
    return cloud, _region(loaded, zones, cloud) if cloud else "", zones


def _node_class(loaded: Loaded, name: str) -> NodeClass | None:
    classes: list[NodeClass] = [each for kind in _NODE_CLASSES for each in loaded.karpenter.get(kind, ())]
    return next((each for each in classes if each.metadata.name == name), None)


def _zones(loaded: Loaded, pools: Iterable[NodePool]) -> list[str]:
    """The zones of the subnets of the NodeClasses, of the nodes, and of the NodePools."""
    found = {node.metadata.labels.get(ZONE, "") for node in loaded.of(Node)}
    for each in loaded.karpenter.get(EC2NodeClass, ()):
        found.update(str(subnet.get("zone", "")) for subnet in each.status.get("subnets") or ())
    for pool in pools:
        for requirement in pool.spec.template.spec.requirements:
            if requirement.key == ZONE and requirement.operator == "In":
                found.update(requirement.values)
    return sorted(found - {""})


def _region(loaded: Loaded, zones: Sequence[str], cloud: str) -> str:
    """The region label of the nodes; else that of the first zone, whose name begins with it."""
    labelled = (node.metadata.labels.get(_REGION, "") for node in loaded.of(Node))
    found = next(filter(None, labelled), "")
    if found or not zones:
        return found
    return zones[0].rstrip("abcdef") if cloud == "ec2" else zones[0].rpartition("-")[0]
