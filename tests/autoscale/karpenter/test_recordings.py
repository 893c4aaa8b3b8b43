"""What Karpenter 1.13's own provisioner decided, case by case: nodes, pods, types, prices, requirements and messages.

The recordings are described in fixtures/autoscalers/README.md. Left out are only parts that Karpenter draws, which a
recording names: `requirementsVary`, `zoneDrawn` and `messagesSeen`.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.autoscale.instance_types.catalog import InstanceType
from ksched_cli.autoscale.karpenter.provisioner import Options, provision
from ksched_cli.sources.dump import load_dump

RECORDINGS = Path(__file__).parents[3] / "fixtures" / "autoscalers" / "karpenter.jsonl.xz"
THEMES = [
    "affinity",
    "antiaffinity",
    "arch-gpu",
    "daemonfit",
    "daemons",
    "deleting",
    "existing",
    "gating",
    "hostports",
    "labels",
    "many-claims",
    "minvalues",
    "mixed",
    "narrowing",
    "offerings",
    "packing",
    "preferences",
    "probes",
    "relaxation",
    "requirements",
    "reserved",
    "selectors",
    "spread-capacity",
    "spread-host",
    "spread-zone",
    "taints",
    "truncation",
    "unplaceable",
    "volumes",
    "weights-limits",
    "zonalanti",
]
CASES = 346


@cache
def recorded() -> dict[str, list[dict[str, Any]]]:
    """The cases by theme."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with lzma.open(RECORDINGS, "rt") as lines:
        for case in map(json.loads, lines):
            found[case["name"].rpartition("-")[0]].append(case)
    return found


def decide(case: dict[str, Any]) -> dict[str, Any]:
    loaded = load_dump([], objects=case["items"])
    types = msgspec.convert(case["instanceTypes"], list[InstanceType])
    settings = case["settings"]
    options = Options(
        ignore_preferences=settings.get("preferencePolicy") == "Ignore",
        best_effort_min_values=settings.get("minValuesPolicy") == "BestEffort",
    )
    return provision(loaded.with_karpenter, types, options).document()


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for key in ("existing", "notConsidered"):
        if wanted[key] != found[key]:
            yield f"{key}: {found[key]} instead of {wanted[key]}"
    yield from _pods(wanted["unplaced"], found["unplaced"])
    nodes = {tuple(each["pods"]): each for each in found["newNodes"]}
    if len(nodes) != len(found["newNodes"]) or nodes.keys() != {tuple(each["pods"]) for each in wanted["newNodes"]}:
        yield f"nodes for {sorted(nodes)}"
        return
    for each in wanted["newNodes"]:
        yield from _node(each, nodes[tuple(each["pods"])])


def _pods(wanted: list[dict[str, Any]], found: list[dict[str, Any]]) -> Iterator[str]:
    unplaced = {each["pod"]: each for each in found}
    if unplaced.keys() != {each["pod"] for each in wanted}:
        yield f"unplaced: {sorted(unplaced)}"
        return
    for each in wanted:
        own = unplaced[each["pod"]]
        message = re.sub(r"hostname-placeholder-\d+", "hostname-placeholder-N", own["message"])
        if own["stage"] != each["stage"] or ("messagesSeen" not in each and message != each["message"]):
            yield f"{each['pod']}: {own['stage']} {message!r} instead of {each['stage']} {each['message']!r}"


def _node(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    found = {**found, "requirements": dict(found["requirements"]), "cheapest": dict(found["cheapest"])}
    for key in wanted.get("requirementsVary", ()):
        found["requirements"].pop(key)
    if wanted.get("zoneDrawn"):
        found["cheapest"].pop("zone")
        wanted = {key: value for key, value in wanted.items() if key != "zoneDrawn"}
    for key in wanted.keys() | found.keys():
        if wanted.get(key) != found.get(key):
            yield f"{wanted['pods'][0]}: {key} {found.get(key)} instead of {wanted.get(key)}"


@pytest.mark.slow
def test_all_cases_are_there() -> None:
    assert sorted(recorded()) == sorted(THEMES)
    assert sum(map(len, recorded().values())) == CASES


@pytest.mark.parametrize("theme", THEMES)
def test_decisions_are_those_of_karpenter(theme: str) -> None:
    wrong = {}
    for case in recorded()[theme]:
        found = list(differences(case["expected"], decide(case)))
        if found:
            wrong[case["name"]] = found[:3]
    assert wrong == {}
