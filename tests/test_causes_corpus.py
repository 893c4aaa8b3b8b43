"""What is told of moved pods over clusters of the corpus: a rule that differs between the two versions, or pods that
moved before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksched_cli.config.releases import RELEASES
from ksched_cli.config.rule_changes import Rules, changed_between
from ksched_cli.plan.diff import Diff
from ksched_cli.wiring import Setup
from ksched_cli.wiring.comparison import compare
from tests.test_conformance import CORPUS


def differ(case: str, before: str, after: str) -> Diff:
    config = CORPUS / case / "config.yaml"
    setup = Setup(
        sources=[str(CORPUS / case / "cluster.json")],
        config=str(config) if config.exists() else None,
        kube_version=before,
    )
    return compare(setup, replace(setup, kube_version=after)).diff


def check(found: Diff, before: str, after: str) -> set[tuple[str, str]]:
    """What holds of every answer; the plugins that decided, with the minors of their rules."""
    known = changed_between(
        *(Rules(RELEASES[each], RELEASES[each].gates(), RELEASES[each]) for each in (before, after))
    )
    there = {side.pod for change in found.changes for side in (change.before, change.after) if side is not None}
    deciding = set()
    for change in found.changes:
        cause = change.cause
        assert cause is not None
        assert (cause.kind == "rule") <= bool(cause.deciders)
        assert (cause.kind == "preemption") == bool(cause.preemptor)
        assert set(cause.pods) <= there
        assert (cause.kind == "others") == bool(cause.pods)
        for decider in cause.deciders:
            assert decider.rules
            assert set(decider.rules) <= set(known)
            assert all(node.before != node.after for node in decider.nodes if decider.aspect not in ("score", "weight"))
            deciding |= {(decider.plugin, rule.since) for rule in decider.rules}
    if found.changes:
        # Something has to have begun it.
        assert any(change.cause is not None and change.cause.kind != "others" for change in found.changes)
    assert found.rules is not None
    return deciding


CASES = sorted(path.name for path in CORPUS.iterdir() if path.name[-2:] in ("00", "05"))


@pytest.mark.parametrize("case", CASES)
def test_between_1_35_and_1_36_one_formula_differs(case: str) -> None:
    deciding = check(differ(case, "1.35", "1.36"), "1.35", "1.36")
    assert deciding <= {("NodeResourcesBalancedAllocation", "1.36")}


@pytest.mark.parametrize("case", CASES)
def test_between_1_33_and_1_34_devices_and_requests_of_whole_pods_differ(case: str) -> None:
    found = differ(case, "1.33", "1.34")
    deciding = check(found, "1.33", "1.34")
    gates = {"DynamicResourceAllocation", "DRAPrioritizedList", "DRAAdminAccess", "PodLevelResources"}
    assert {each.rule.gate for each in found.rules or () if each.pods} <= gates | {""}
    assert {plugin for plugin, _ in deciding} <= {
        "DynamicResources",
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
    }


@pytest.mark.parametrize(
    ("case", "before", "after"),
    [
        pytest.param(case, *ends, id=f"{case} {'-'.join(ends)}")
        for ends in (("1.16", "1.21"), ("1.21", "1.28"), ("1.36", "1.28"))
        for case in ("nominated-05", "spread-05", "mixed-00", "preemption-05")
    ],
)
def test_over_many_minors(case: str, before: str, after: str) -> None:
    check(differ(case, before, after), before, after)
