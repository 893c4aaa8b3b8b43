"""Runs with other outcomes of the decisions that Kubernetes leaves to chance, and one verdict from all of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.plan.check.results import Finding, WorkloadCheck
from ksched_cli.world.results import Orders


def in_all_orders(runs: Sequence[Sequence[WorkloadCheck]]) -> tuple[WorkloadCheck, ...]:
    """Each workload with the number of orders in which it finishes. What is in its way in some orders only becomes a
    warning. The first run comes first."""
    return tuple(_verdict(outcomes) for outcomes in zip(*runs, strict=True))


def _verdict(outcomes: Sequence[WorkloadCheck]) -> WorkloadCheck:
    first, tried = outcomes[0], len(outcomes)
    failing = [each for each in outcomes if each.result == "fails"]
    orders = Orders(tried, tried - len(failing))
    if not failing:
        return replace(first, orders=orders)
    if len(failing) == tried:
        findings = tuple(
            _in_words(each, f" (in all {tried} orders that were tried)", "error") for each in first.findings
        )
        return replace(first, findings=findings, orders=orders)
    errors = (each for each in failing[0].findings if each.level == "error")
    others = (each for each in first.findings if each.level != "error")
    doubtful = [replace(each, level="warning", message=f"{orders}; in the others {each.message}") for each in errors]
    # The counts are those of an order that does not finish: that is what the warnings are about.
    return replace(failing[0], findings=(*doubtful, *others), orders=orders)


def _in_words(finding: Finding, more: str, level: str) -> Finding:
    return replace(finding, message=finding.message + more) if finding.level == level else finding
