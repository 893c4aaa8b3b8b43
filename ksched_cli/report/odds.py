"""How often a pod goes to which node in random orders and tie-breaks: as a sentence and as an entry of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.statistics import DrawOdds, PodOdds, Share


def odds_entry(odds: DrawOdds | None) -> dict[str, Any]:
    """The entry `odds`; empty without odds."""
    if odds is None:
        return {}
    pods = [odds_of_pod(each) for each in odds.pods.values()]
    return {"odds": {"orders": odds.orders, "ties": odds.ties, "pods": pods}}


def share_entry(each: Share) -> dict[str, Any]:
    low, high = each.interval
    return {"variants": each.count, "share": round(each.share, 6), "low": round(low, 6), "high": round(high, 6)}


def odds_of_pod(each: PodOdds) -> dict[str, Any]:
    return {
        "pod": each.pod,
        "variants": each.variants,
        "results": {name: share_entry(share) for name, share in each.results},
        "nodes": {name: share_entry(share) for name, share in each.nodes},
    }


def percent_text(share: float) -> str:
    return f"{share * 100:.1f} %"
