"""The instance types of a catalog (`InstanceTypeList`). The document is a catalog: `--instance-types` reads it."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.quantity import quantity_text
from ksched_cli.autoscale.instance_types.catalog import InstanceType
from ksched_cli.autoscale.karpenter.instance_types import allocatable_of
from ksched_cli.errors import counted
from ksched_cli.plan.instance_types import ARCH, InstanceTypeList, gpus_of, lowest_price
from ksched_cli.plan.results.amounts import amount_of
from ksched_cli.report.amounts import short
from ksched_cli.report.view.autoscaling import assumed_section
from ksched_cli.report.view.model import Section, Table, View, columns

_SHOWN = 20
_INTRO = "Left is what pods can request on an empty node, DaemonSets included. $/h is the lowest on-demand price."


Document = InstanceTypeList


def view(found: InstanceTypeList) -> View:
    """`ec2 us-east-1: 3 of 1,180 instance types, cheapest m6g.large`."""
    types = found.instance_types
    heads = columns(
        "Name; Cpu: number; Cpu left: number; Memory: number; Memory left: number; Pods: number; GPU; Arch; "
        "$/h: number; Spot $/h: number wide; Zones: list wide"
    )
    table = Table(heads, [_row(each) for each in types], most=_SHOWN, rows_are="instance type")
    sections = [Section("types", "Instance types", table, intro=_INTRO)] if types else []
    number = f"{len(types):,} of {counted(found.total, 'instance type')}"
    priced = types and lowest_price(types[0]) is not None
    return View(
        "instance-types",
        found.source,
        number if len(types) < found.total else counted(found.total, "instance type"),
        "plain" if types else "bad",
        [f"cheapest {types[0].name}"] if priced else [],
        sections=[*sections, *assumed_section(found.coverage.get("autoscalerAssumed", ()))],
        rows=[(each.name,) for each in types],
    )


def _row(each: InstanceType) -> list[Any]:
    left = allocatable_of(each)
    cells: list[Any] = [each.name]
    for resource, unit, text_of in (("cpu", 1, quantity_text), ("memory", 1000, short)):
        whole = amount_of(resource, str(each.capacity.get(resource, "0")))
        milli = left[resource].milli if resource in left else 0
        cells += [text_of(resource, whole), text_of(resource, milli // unit)]
    gpus = ", ".join(f"{amount} {name}" for name, amount in gpus_of(each).items())
    arch = ", ".join(each.requirements.get(ARCH, ()))
    prices = [lowest_price(each), lowest_price(each, "spot")]
    zones = sorted({offering.zone for offering in each.offerings if offering.available})
    pods = str(each.capacity.get("pods", ""))
    return [*cells, pods, gpus, arch, *("" if price is None else f"{price:.4f}" for price in prices), zones]
