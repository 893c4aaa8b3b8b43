"""How often a pod goes to which node in random orders and tie-breaks: as a sentence and as an entry of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.statistics import DrawOdds, PodOdds, Share


def odds_sentence(odds: DrawOdds, pod: str) -> str:
    """`shop/web-1 goes to node-3 in 71.0 % of 200 tie-breaks, never stays Pending`."""
    found = odds.pods.get(pod)
    draws = _draws(odds)
    if found is None:
        return f"nothing happens to {pod} in {draws}"
    return f"{pod} {_nodes(found, draws)}{_pending(found)}"


def _nodes(found: PodOdds, draws: str) -> str:
    if not found.nodes:
        return f"goes to no node in {draws}"
    (node, share), *others = found.nodes
    if not others and share.count == share.total:
        return f"goes to {node} in all of {draws}"
    more = sum(each.count for _, each in others) / share.total
    text = f"goes to {node} in {percent_text(share.share)} of {draws}"
    return f"{text}, to {_counted(len(others), 'other node')} in {percent_text(more)}" if others else text


def _pending(found: PodOdds) -> str:
    share = 1 - sum(each.count for _, each in found.nodes) / found.variants
    if not found.nodes:
        return ""
    return f", stays Pending in {percent_text(share)}" if share > 0 else ", never stays Pending"


def _draws(odds: DrawOdds) -> str:
    orders, ties = _counted(odds.orders, "arrival order"), _counted(odds.ties, "tie-break")
    if odds.orders and odds.ties:
        return f"{orders} with {ties} each"
    return orders if odds.orders else ties


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


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
