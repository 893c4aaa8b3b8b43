"""Texts about PodTopologySpread's rejections, and changes that may end them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.api.json_patch import add, drop
from ksched_cli.api.listing import named
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rejections import C, Figures, RejectedPod, RejectionGuide


class SpreadGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        return "; ".join(map(_constraint, figures["constraints"]))

    describe_briefly = describe

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        for each in figures.get("constraints", ()):
            key, lacks = each["topologyKey"], each["domain"] is None
            yield f"do not have label {key} to spread over" if lacks else f"would break the spread over {key}"

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        raised, softened = [], []
        for broken in figures["constraints"]:
            found = [
                index
                for index, each in enumerate(place.pod.spec.topology_spread_constraints)
                if each.topology_key == broken["topologyKey"]
                and each.when_unsatisfiable == "DoNotSchedule"
                and each.max_skew == broken.get("maxSkew", each.max_skew)
            ]
            if not found:
                return
            for index in found:
                softened.append(_softened(place, index, broken["topologyKey"]))
                if "skew" in broken:
                    raised.append(_raised(place, index, broken))
        if len(raised) == len(softened):
            yield raised
        yield softened


def _softened(place: RejectedPod[C], index: int, key: str) -> C:
    at = ("spec", "topologySpreadConstraints", index)
    operations = [add("ScheduleAnyway", *at, "whenUnsatisfiable")]
    if place.pod.spec.topology_spread_constraints[index].min_domains is not None:
        # Only a hard constraint may have it.
        operations.append(drop(*at, "minDomains"))
    return place.patch(f"only prefer the spread over {key}", "soft spread", 2, *operations)


def _raised(place: RejectedPod[C], index: int, broken: Mapping[str, Any]) -> C:
    text = f"raise maxSkew from {broken['maxSkew']} to {broken['skew']} over {broken['topologyKey']}"
    cost = 1 + (broken["skew"] - broken["maxSkew"]) / 10
    return place.patch(text, "skew", cost, add(broken["skew"], "spec", "topologySpreadConstraints", index, "maxSkew"))


def _constraint(each: Mapping[str, Any]) -> str:
    if each["domain"] is None:
        return f"no label {each['topologyKey']} to spread over"
    if "minDomains" in each:
        least = f"0 count while there are {each['domains']} of at least {each['minDomains']} domains"
    else:
        least = f"{each['minimum']} in {named(each['emptiest']) or 'no domain'}"
    return (
        f"{each['topologyKey']}={each['domain']} has {each['matching']} matching, {least}: "
        f"skew {each['skew']} over {each['maxSkew']}"
    )
