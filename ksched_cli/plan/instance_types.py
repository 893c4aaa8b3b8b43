"""`ksched instance-types`: the instance types of a catalog file, of the cloud of a cluster, or of a cloud and a region.

The types are those that Karpenter chooses from in the other commands, with the prices of `--prices`. A list is sorted
by the lowest on-demand price. Each type is a whole entry of a catalog, so that the document is a file for
`--instance-types`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Struct

from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.autoscale.autoscaler import types_in_cloud_of
from ksched_cli.autoscale.instance_types.azure import MISSING_PRICE
from ksched_cli.autoscale.instance_types.catalog import InstanceType, read_catalog
from ksched_cli.autoscale.instance_types.clouds import TITLES, CloudCatalog, cloud_catalog, table_of
from ksched_cli.autoscale.instance_types.prices import apply_prices, read_prices, refuse_unknown_types
from ksched_cli.errors import UsageError
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.sources.loaded import Loaded

ARCH = "kubernetes.io/arch"
# Resources of EC2 for networks. The others with a domain in the name are GPUs and accelerators.
_NETWORK = "vpc.amazonaws.com/"
_FIRST_ZONE = {"ec2": "{}a", "azure": "{}-1", "gce": "{}-a"}


class InstanceTypeList(Struct, frozen=True, rename="camel", tag_field="kind", tag="InstanceTypes"):
    """The instance types that match, cheapest first, of `total` in the catalog. `coverage` has what the catalog
    assumes."""

    source: str
    total: int
    instance_types: tuple[InstanceType, ...]
    coverage: Mapping[str, Any]


class TypeFilter(Struct, frozen=True):
    """What an instance type must have: one of the names, an architecture, and at least these amounts."""

    names: Sequence[str] = ()
    arch: str = ""
    min_cpu: str = ""
    min_memory: str = ""
    gpu: bool = False

    def check(self) -> None:
        """UsageError for an amount that is no quantity."""
        for flag, text in (("--min-cpu", self.min_cpu), ("--min-memory", self.min_memory)):
            try:
                parse_quantity(text or "0")
            except QuantityError as mistake:
                raise UsageError(f"{flag}: {mistake}") from None

    def matches(self, each: InstanceType) -> bool:
        least = {"cpu": self.min_cpu, "memory": self.min_memory}
        return (
            (not self.names or any(fnmatchcase(each.name, pattern) for pattern in self.names))
            and (not self.arch or self.arch in each.requirements.get(ARCH, ()))
            and all(
                parse_quantity(each.capacity.get(key, "0")) >= parse_quantity(text or "0")
                for key, text in least.items()
            )
            and (not self.gpu or bool(gpus_of(each)))
        )


def gpus_of(each: InstanceType) -> dict[str, str]:
    """The GPUs and accelerators of the type, by resource."""
    return {
        name: str(amount)
        for name, amount in each.capacity.items()
        if "/" in name and not name.startswith(_NETWORK) and parse_quantity(amount)
    }


def lowest_price(each: InstanceType, capacity_type: str = "on-demand") -> float | None:
    """The lowest known price of the offerings. Karpenter's placeholder for an unknown price of Azure is no price."""
    found = [
        offering.price
        for offering in each.offerings
        if offering.capacity_type == capacity_type and offering.price not in (None, MISSING_PRICE)
    ]
    return min((price for price in found if price is not None), default=None)


def types_of_file(path: str, prices: str) -> CloudCatalog:
    """The types of a catalog file."""
    catalog = read_catalog(path)
    given = read_prices(prices) if prices else {}
    refuse_unknown_types(given, {each.name for each in catalog.instance_types}, prices, path)
    apply_prices(catalog.instance_types, given)
    return CloudCatalog(tuple(map(msgspec.to_builtins, catalog.instance_types)), ())


def types_of_region(cloud: str, region: str, zones: Sequence[str], prices: str) -> tuple[CloudCatalog, str]:
    """The built-in types of a cloud, and where they are from. Without zones the first zone of the region is assumed."""
    if cloud not in TITLES:
        raise UsageError(f"--cloud {cloud}: expected {', '.join(TITLES)}")
    if not region:
        raise UsageError("--cloud needs the region: --region us-east-1")
    strange = [zone for zone in zones if not zone.startswith(region)]
    if strange:
        raise UsageError(f"--zone {strange[0]}: no zone of region {region}")
    given = read_prices(prices) if prices else {}
    refuse_unknown_types(given, table_of(cloud).columns["name"], prices, f"the built-in types of {TITLES[cloud]}")
    found = cloud_catalog(cloud, region, zones or [_FIRST_ZONE[cloud].format(region)], None, given)
    return found, f"{TITLES[cloud]} {region}"


def find_types(
    options: RunOptions,
    read_sources: Callable[[RunOptions], Loaded],
    names: Sequence[str] = (),
    *,
    cloud: str = "",
    region: str = "",
    zones: Sequence[str] = (),
    **wanted: Any,
) -> InstanceTypeList:
    """The types of the cloud, else of the catalog file of the options, else of the cloud of their sources."""
    if cloud:
        found, source = types_of_region(cloud, region, zones, options.prices)
    elif options.instance_types:
        found, source = types_of_file(options.instance_types, options.prices), options.instance_types
    else:
        found, place, region = types_in_cloud_of(read_sources(options), options.prices)
        source = f"{TITLES[place]} {region}"
    return list_types(found, source, TypeFilter(names, **wanted))


def list_types(found: CloudCatalog, source: str, wanted: TypeFilter) -> InstanceTypeList:
    """The types that match, by the lowest on-demand price and then by name; types without a price are the last."""
    wanted.check()
    types = msgspec.convert(found.instance_types, list[InstanceType])
    chosen = [each for each in types if wanted.matches(each)]

    def order(each: InstanceType) -> tuple[float, str]:
        price = lowest_price(each)
        return (float("inf") if price is None else price, each.name)

    assumed = found.assumed
    unpriced = sum(any(offering.price == MISSING_PRICE for offering in each.offerings) for each in chosen)
    if unpriced:
        text = f"the price of {unpriced} instance types is not known: Karpenter takes {MISSING_PRICE:g} for it"
        assumed = (*assumed, text)
    coverage = {"autoscalerAssumed": assumed} if assumed else {}
    return InstanceTypeList(source, len(types), tuple(sorted(chosen, key=order)), coverage)
