"""Catalogs of the instance types of EC2, Azure and Compute Engine, made of the built-in tables.

The tables (`ec2.json.gz`, `azure.json.gz`, `gce.json.gz`) are columns of facts that `deploy/instance-types/make.py`
takes from public repositories; each has its sources and their date. The modules `ec2`, `azure` and `gce` have the
formulas of the providers. What a table cannot know is assumed and returned as a sentence of `coverage`: that each
type is sold in each zone, and prices of a region or of spot capacity that were not given.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from types import ModuleType
from typing import Any

import msgspec

from ksched_cli.api.core import Node
from ksched_cli.autoscale.instance_types import azure, ec2, gce

_CLOUDS: Mapping[str, ModuleType] = {"ec2": ec2, "azure": azure, "gce": gce}
_OF_PROVIDER_ID = {"aws": "ec2", "azure": "azure", "gce": "gce"}
TITLES = {"ec2": "EC2", "azure": "Azure", "gce": "Compute Engine"}

# Dollars an hour by name of the type, then by capacity type ("on-demand", "spot"): one figure, or one for each zone.
Prices = Mapping[str, Mapping[str, float | Mapping[str, float]]]


class CloudCatalog(msgspec.Struct, frozen=True):
    """A catalog as `--instance-types` reads it, and what was assumed to make it."""

    instance_types: tuple[dict[str, Any], ...]
    assumed: tuple[str, ...]


class CloudTable(msgspec.Struct, frozen=True):
    sources: tuple[str, ...]
    columns: dict[str, list[Any]]
    prices: dict[str, list[float]]


@cache
def table_of(cloud: str) -> CloudTable:
    packed = resources.files(__package__).joinpath(f"{cloud}.json.gz").read_bytes()
    return msgspec.convert(json.loads(gzip.decompress(packed)), CloudTable)


def cloud_of(nodes: Iterable[Node]) -> str:
    """The cloud of the first node whose provider ID names one (`aws:///eu-west-1a/i-0abc`), else an empty string."""
    schemes = (node.spec.provider_id.partition(":")[0] for node in nodes)
    return next((_OF_PROVIDER_ID[scheme] for scheme in schemes if scheme in _OF_PROVIDER_ID), "")


def cloud_catalog(
    cloud: str,
    region: str,
    zones: Sequence[str],
    node_class: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
) -> CloudCatalog:
    """All instance types that a node class of the cloud may use, offered in each of the zones.

    `node_class` is the document of an EC2NodeClass, AKSNodeClass or GCENodeClass. `prices` wins over the table. Until
    prices of spot capacity are known, the providers take those on demand, and so does this.
    """
    module, table = _CLOUDS[cloud], table_of(cloud)
    priced_region = region if region in table.prices else module.FALLBACK_REGION
    names = table.columns["name"]
    on_demand = {name: price for name, price in zip(names, table.prices[priced_region], strict=True) if price}
    given = prices or {}

    def price_of(name: str, capacity_type: str, zone: str) -> float | None:
        found = given.get(name, {}).get(capacity_type)
        if found is None and capacity_type == "spot":
            return price_of(name, "on-demand", zone)
        if isinstance(found, Mapping):
            return found.get(zone)
        return on_demand.get(name) if found is None else found

    rows = (dict(zip(table.columns, values, strict=True)) for values in zip(*table.columns.values(), strict=True))
    made = (module.instance_type(row, region, zones, node_class or {}, price_of) for row in rows)
    found = tuple(each for each in made if each is not None and each["offerings"])
    title = TITLES[cloud]
    assumed = [
        f"instance types and on-demand prices of {title}: built-in table, {' and '.join(table.sources)}",
        f"each instance type is assumed to be sold in each zone ({', '.join(zones)})",
    ]
    if priced_region != region:
        assumed.append(
            f"no on-demand prices of region {region} are built in: those of {priced_region} are used; "
            "give others with --prices"
        )
    if not any("spot" in of_type for of_type in given.values()):
        assumed.append(
            "no spot prices are known: the on-demand price is used, as Karpenter does until it has read them; "
            "give them with --prices"
        )
    return CloudCatalog(found, tuple(assumed))
