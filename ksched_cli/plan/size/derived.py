"""Catalogs made of what a cluster shows: its nodes by instance type, and the node groups of its autoscalers. Prices are
given by the user or by the data of a cloud; a shape that no node shows is unknown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Node, Taint
from ksched_cli.api.karpenter import NodeClaim, NodePool
from ksched_cli.api.label_names import is_label_value
from ksched_cli.api.quantity import format_bytes, is_bytes, milli_value, parse_quantity, value
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.plan.reasons.fixes.limits import is_of_a_state
from ksched_cli.plan.results.nodes import POOL_LABELS
from ksched_cli.plan.run.loaded_input import LoadedInput
from ksched_cli.plan.size.catalog import (
    HOSTNAME,
    INSTANCE_TYPE,
    KIND,
    OS,
    ZONE,
    NodeShape,
    ShapeCatalog,
    node_base,
    read_shapes_of,
)
from ksched_cli.sources.decoding import API_VERSION
from ksched_cli.sources.loaded import Loaded, NodeGroup

_TYPES = (INSTANCE_TYPE, "beta.kubernetes.io/instance-type")
_ZONES = (ZONE, "failure-domain.beta.kubernetes.io/zone")
_SHOWN = 5
# Nodes are of one shape if the smaller has this share of every resource of the larger. A label names nodes one by one
# if it has more values than these, and than half of its nodes.
_ALIKE, _FEW_VALUES = Fraction(9, 10), 3
_ROLE = "node-role.kubernetes.io/"
# Labels that name one node, or that repeat the name and the zones of the shape.
_OWN_LABELS = frozenset({HOSTNAME, *_TYPES, *_ZONES})
CAPACITY_TYPE = "karpenter.sh/capacity-type"
_SPOT = (
    (CAPACITY_TYPE, "spot"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("cloud.google.com/gke-spot", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
)


class DerivedCatalog(Struct, frozen=True):
    """A catalog as a document. `warnings`: what the input does not show, and prices that are missing."""

    document: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


@dataclass
class _Draft:
    """What is known of one instance type."""

    allocatable: dict[str, str]
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    zones: set[str] = field(default_factory=set)
    most: int | None = None
    spot: bool = False
    kind: str = ""
    # Labels that have the name of the node's zone, under other keys than Kubernetes gives it.
    zone_labels: set[str] = field(default_factory=set)
    group: str = ""

    def is_as_large(self, other: _Draft) -> bool:
        """Whether the two have the same resources, and of each about as much: kubelets keep back different amounts."""
        if self.allocatable.keys() != other.allocatable.keys():
            return False
        pairs = ([parse_quantity(each.allocatable[name]) for each in (self, other)] for name in self.allocatable)
        return all(min(pair) >= _ALIKE * max(pair) for pair in pairs)

    def join(self, other: _Draft) -> None:
        """Keep what holds for both: the smaller amounts, and the labels that they share."""
        for resource, amount in other.allocatable.items():
            if parse_quantity(amount) < parse_quantity(self.allocatable[resource]):
                self.allocatable[resource] = amount
        self.labels = {key: each for key, each in self.labels.items() if other.labels.get(key) == each}
        self.zone_labels &= other.zone_labels
        self.zones |= other.zones


def derive_catalog(loaded: Loaded, prices: Sequence[str] = (), rates: str = "") -> DerivedCatalog:
    """Shapes of the nodes and node groups, with the prices that are given as NAME=PRICE, or by the rates of resources
    such as cpu=0.04,memory=0.005 (memory and storage by GiB)."""
    drafts = _drafts_of_nodes(loaded.of(Node))
    warnings = list(_add_groups(drafts, loaded))
    if not drafts:
        text = "the input has no Node and no node group of an autoscaler: there is nothing to make a catalog of"
        raise InputError(Problem(text))
    known, per = _prices(prices, drafts), _rates(rates)
    known = {name: known[given] for name, draft in drafts.items() for given in (draft.kind, name) if given in known}
    shapes, unpriced = [], []
    for name, draft in sorted(drafts.items()):
        price = known.get(name, _priced(draft, per) if per else None)
        unpriced += [name] if price is None else []
        shapes.append(_entry(name, draft, price))
    document = {"apiVersion": API_VERSION, "kind": KIND, "shapes": shapes}
    if unpriced:
        shown = ", ".join(unpriced[:_SHOWN]) + (" and others" if len(unpriced) > _SHOWN else "")
        warnings.append(f"fill in the price of {shown}: `ksched size` does not take a shape without a price")
    return DerivedCatalog(document, tuple(warnings))


def shapes_to_buy(catalog: str | Mapping[str, Any] | None, source: LoadedInput) -> ShapeCatalog | None:
    """The catalog of a file or a document, else what the NodePools of the input can launch."""
    return read_shapes_of(catalog) if catalog is not None else shapes_of_pools(source)


def shapes_of_pools(source: LoadedInput) -> ShapeCatalog | None:
    """What the NodePools of the cluster can launch, with the prices of the autoscaler; None without an autoscaler. Of
    shapes that differ in the price only, as zones and capacity types do, each is by itself."""
    if source.autoscaler is None:
        return None
    # Imported here: without an autoscaler nothing of it is imported.
    from ksched_cli.autoscale.karpenter.instance_types import allocatable_of

    names: dict[str, NodeShape] = {}
    for each in source.autoscaler.offers(source.loaded):
        if each.offering.price is None:
            continue
        kind, spot = each.instance_type, each.offering.capacity_type == "spot"
        template = each.pool.spec.template
        amounts = {key: _amount(key, str(amount)) for key, amount in allocatable_of(kind).items()}
        labels = {**each.labels, CAPACITY_TYPE: each.offering.capacity_type}
        shape = NodeShape(
            kind.name,
            Decimal(str(each.offering.price)),
            {key: amount for key, amount in amounts.items() if parse_quantity(amount)},
            labels,
            template.spec.taints,
            spot=spot,
            zone=each.offering.zone,
        )
        of_pool = f"{kind.name}.{each.pool.metadata.name}"
        for name in (kind.name, of_pool, f"{of_pool}.spot"):
            if node_base(name, shape.zone) not in names:
                names[node_base(name, shape.zone)] = replace(shape, name=name)
                break
    return ShapeCatalog(tuple(names.values()), "$/h", "NodePools of the input")


def _drafts_of_nodes(nodes: Iterable[Node]) -> dict[str, _Draft]:
    """One draft for nodes of an instance type that have the same taints, the same labels and about as much of every
    resource; nodes without a type differ by their size. Labels that name nodes one by one are left out. A node that
    reports no amounts, as before its kubelet has started, shows no size."""
    with_size = [each for each in nodes if each.status.allocatable]
    individual = _individual_labels(with_size)
    found: defaultdict[str, dict[Hashable, list[_Draft]]] = defaultdict(dict)
    for node in with_size:
        labels, name = node.metadata.labels, type_of(node)
        zone = next((labels[key] for key in _ZONES if labels.get(key)), "")
        of_zone = {key for key, each in labels.items() if zone and each == zone and key != ZONE and "zone" in key}
        own = {key: each for key, each in labels.items() if key not in _OWN_LABELS | of_zone | individual}
        taints = tuple(each for each in node.spec.taints if not is_of_a_state(each))
        draft = _Draft(
            _amounts_of(node),
            own,
            taints,
            {zone} if zone else set(),
            spot=any(labels.get(key) == each for key, each in _SPOT),
            kind=name,
            zone_labels=of_zone,
            group=_group_of(node),
        )
        # A zone may have other names and numbers, which do not make another shape.
        distinct = frozenset((key, each) for key, each in own.items() if "zone" not in key)
        alike = found[name].setdefault((distinct, frozenset(taints)), [])
        known = next((each for each in alike if each.is_as_large(draft)), None)
        if known is None:
            alike.append(draft)
        else:
            known.join(draft)
    drafts: dict[str, _Draft] = {}
    for of_type in found.values():
        drafts |= _named([draft for alike in of_type.values() for draft in alike])
    return drafts


def _individual_labels(nodes: Sequence[Node]) -> set[str]:
    """Labels with as good as one value for each node."""
    values: defaultdict[str, list[str]] = defaultdict(list)
    for key, text in (pair for node in nodes for pair in node.metadata.labels.items()):
        values[key].append(text)
    return {key for key, found in values.items() if len(set(found)) > max(_FEW_VALUES, len(found) // 2)}


def _named(drafts: Sequence[_Draft]) -> dict[str, _Draft]:
    """The drafts of an instance type with their names: that of the type if there is one draft, else with the pool, and
    with what else differs: `m6i.2xlarge.worker.ssd`."""
    found: dict[str, _Draft] = {}
    for number, draft in enumerate(sorted(drafts, key=lambda each: (each.group, sorted(each.labels.items())))):
        parts = (draft.group, *_differences(draft, drafts)) if len(drafts) > 1 else ()
        name = ".".join(filter(None, (draft.kind, *parts)))
        found[name if is_label_value(name) and name not in found else f"{draft.kind}.{number}"] = draft
    for draft in drafts if len(drafts) > 1 else ():
        draft.labels[INSTANCE_TYPE] = draft.kind
    return found


def _differences(draft: _Draft, drafts: Sequence[_Draft]) -> Iterator[str]:
    """What others of the same pool lack: values of labels, taints, or else the size and other resources."""
    others = [each for each in drafts if each is not draft and each.group == draft.group]
    yield from (
        text for key, text in sorted(draft.labels.items()) if any(each.labels.get(key) != text for each in others)
    )
    yield from (_last(each.key) for each in draft.taints if any(each not in other.taints for other in others))
    same = [each.allocatable for each in others if (each.labels, each.taints) == (draft.labels, draft.taints)]
    if any(_size(each) != _size(draft.allocatable) for each in same):
        yield _size(draft.allocatable)
    yield from (_last(name) for name in draft.allocatable if any(name not in each for each in same))


def _last(name: str) -> str:
    """The name without its domain."""
    return name.rpartition("/")[2]


def _group_of(node: Node) -> str:
    """What differs between nodes of one instance type: the pool, else the roles, and a system other than Linux."""
    labels = node.metadata.labels
    roles = sorted(key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE))
    pool = next((labels[key] for key in POOL_LABELS if labels.get(key)), "-".join(roles))
    system = labels.get(OS, "linux")
    return ".".join(filter(None, (pool, system if system != "linux" else "")))


def type_of(node: Node) -> str:
    """The name of the shape of the node: its instance type, or a name of its size if it has none."""
    labels = node.metadata.labels
    return next((labels[key] for key in _TYPES if labels.get(key)), _size(_amounts_of(node)))


def _amounts_of(node: Node) -> dict[str, str]:
    amounts = ((name, _amount(name, each)) for name, each in node.status.allocatable.items())
    return {name: amount for name, amount in amounts if parse_quantity(amount)}


def _add_groups(drafts: dict[str, _Draft], loaded: Loaded) -> Iterator[str]:
    """The shapes of node groups. Of the instance types that a NodePool allows, those whose size a node or a NodeClaim
    shows."""
    sizes: dict[str, dict[str, str]] = {}
    for draft in drafts.values():
        known = sizes.setdefault(draft.kind, dict(draft.allocatable))
        known.update({key: each for key, each in draft.allocatable.items() if _is_less(each, known.get(key))})
    kinds = set(sizes)
    for claim in loaded.with_karpenter(NodeClaim):
        amounts, name = claim.status.allocatable or claim.status.capacity, claim.metadata.labels.get(INSTANCE_TYPE)
        if amounts and name is not None:
            sizes.setdefault(name, {key: _amount(key, each) for key, each in amounts.items()})
    for group in map(_of_pool, loaded.with_karpenter(NodePool)):
        unknown = [name for name in group.types if name not in sizes]
        if unknown:
            text = "no node and no NodeClaim of the input shows how large they are"
            yield f"NodePool {group.name} allows {', '.join(unknown)}: {text}"
        for name in group.types:
            if name in sizes:
                key = name if name not in kinds and name not in drafts else f"{name}.{group.name}"
                shown, drafts[key] = drafts.get(key), _of_group(group, sizes[name])
                drafts[key].kind = name
                drafts[key].labels = {INSTANCE_TYPE: name, **(shown.labels if shown else {}), **drafts[key].labels}
    for group in loaded.node_groups:
        drafts[group.name] = _of_group(group, {key: _amount(key, each) for key, each in group.resources.items()})


def _of_pool(pool: NodePool) -> NodeGroup:
    """The nodes that Karpenter makes for the NodePool, as far as its requirements have one value."""
    name, template = pool.metadata.name, pool.spec.template
    wanted = {each.key: each.values for each in template.spec.requirements if each.operator == "In"}
    one = {key: each[0] for key, each in wanted.items() if len(each) == 1 and key not in (ZONE, INSTANCE_TYPE)}
    types, zones, spot = wanted.get(INSTANCE_TYPE, ()), wanted.get(ZONE, ()), wanted.get(CAPACITY_TYPE) == ("spot",)
    labels = {"karpenter.sh/nodepool": name, **one, **template.metadata.labels}
    return NodeGroup(name, types, zones, labels=labels, taints=template.spec.taints, spot=spot)


def _is_less(one: str, other: str | None) -> bool:
    return other is not None and parse_quantity(one) < parse_quantity(other)


def _of_group(group: NodeGroup, amounts: Mapping[str, str]) -> _Draft:
    labels = {**({INSTANCE_TYPE: group.types[0]} if len(group.types) == 1 else {}), **group.labels}
    return _Draft(dict(amounts), labels, group.taints, set(group.zones), group.most, group.spot)


def _amount(name: str, quantity: str | int | float) -> str:
    if name == "cpu":
        milli = milli_value(quantity)
        return f"{milli}m" if milli % 1000 else str(milli // 1000)
    return format_bytes(value(quantity)) if is_bytes(name) else str(value(quantity))


def _size(amounts: Mapping[str, str]) -> str:
    """A name for nodes without an instance type: `cpu4-memory16`."""
    cores = milli_value(amounts.get("cpu", "0")) // 1000
    return f"cpu{cores}-memory{value(amounts.get('memory', '0')) // 2**30}"


def _entry(name: str, draft: _Draft, price: str | None) -> dict[str, Any]:
    allocatable = {key: each for key, each in draft.allocatable.items() if parse_quantity(each)}
    entry: dict[str, Any] = {"name": name, "price": price, "allocatable": allocatable}
    optional = {
        "labels": dict(sorted(draft.labels.items())),
        "taints": [_taint_entry(each) for each in draft.taints],
        "zones": sorted(draft.zones),
        "zoneLabels": sorted(draft.zone_labels) if draft.zones else [],
        "max": draft.most,
        "spot": draft.spot,
    }
    return {**entry, **{key: each for key, each in optional.items() if each not in ({}, [], None, False)}}


def _taint_entry(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}


def _prices(given: Sequence[str], drafts: Mapping[str, _Draft]) -> dict[str, str]:
    """The prices by the names of shapes or of instance types."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, price = text.rpartition("=")
        if not sign or (name not in drafts and all(name != draft.kind for draft in drafts.values())):
            known = ", ".join(sorted(drafts)[:5])
            raise UsageError(
                Problem(f"no shape is called {name or text!r}", f"--price {text}", hint=f"there are {known}")
            )
        found[name] = _number(price, f"--price {text}")
    return found


def _rates(text: str) -> dict[str, Fraction]:
    pairs = [each.partition("=") for each in text.split(",") if each]
    return {name: Fraction(_number(rate, f"--rate {text}")) for name, _, rate in pairs}


def _number(text: str, source: str) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise UsageError(Problem(f"{text!r} is not a price", source, hint="write a number such as 0.192")) from None
    if not number.is_finite() or number < 0:
        raise UsageError(Problem(f"{text} is no price: it cannot be negative or without end", source))
    return text


def _priced(draft: _Draft, per: Mapping[str, Fraction]) -> str:
    """The sum of the rates, in six decimals."""
    total = Fraction(0)
    for resource, rate in per.items():
        amount = parse_quantity(draft.allocatable.get(resource, "0"))
        total += rate * (amount / 2**30 if resource in ("memory", "ephemeral-storage") else amount)
    number = Decimal(round(total * 10**6)) / Decimal(10**6)
    return f"{number.normalize():f}"
