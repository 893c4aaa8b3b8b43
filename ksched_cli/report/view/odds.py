"""How often a pod goes to which node in random orders and tie-breaks: a sentence, a part of documents, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ksched_cli.report.view.documents import DocumentPart
from ksched_cli.report.view.model import Place, Section, Table, columns, counted

if TYPE_CHECKING:
    from ksched_cli.plan.sweep.statistics import DrawOdds, PodOdds, Share


class SharePart(DocumentPart, frozen=True, kw_only=True):
    """The number and share of variants, with the 95 % interval of the share."""

    variants: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, each: Share) -> SharePart:
        low, high = each.interval
        return cls(variants=each.count, share=round(each.share, 6), low=round(low, 6), high=round(high, 6))

    @property
    def percent(self) -> str:
        return f"{self.share * 100:.1f} %"

    @property
    def interval_text(self) -> str:
        return f"{self.low * 100:.1f} - {self.high * 100:.1f} %"


class PodOddsPart(DocumentPart, frozen=True, kw_only=True):
    pod: str
    variants: int
    results: Mapping[str, SharePart]
    nodes: Mapping[str, SharePart]

    @classmethod
    def of(cls, each: PodOdds) -> PodOddsPart:
        results = {name: SharePart.of(share) for name, share in each.results}
        nodes = {name: SharePart.of(share) for name, share in each.nodes}
        return cls(pod=each.pod, variants=each.variants, results=results, nodes=nodes)

    @property
    def placed(self) -> int:
        """In how many variants the pod has a node."""
        return sum(each.variants for each in self.nodes.values())


class OddsPart(DocumentPart, frozen=True, kw_only=True):
    orders: int
    ties: int
    pods: tuple[PodOddsPart, ...]

    @classmethod
    def of(cls, odds: DrawOdds | None) -> OddsPart | None:
        if odds is None:
            return None
        return cls(orders=odds.orders, ties=odds.ties, pods=tuple(map(PodOddsPart.of, odds.pods.values())))

    def sentence(self, pod: str) -> str:
        """`shop/web-1 goes to node-3 in 71.0 % of 200 tie-breaks, never stays Pending`."""
        found = next((each for each in self.pods if each.pod == pod), None)
        if found is None:
            return f"nothing happens to {pod} in {self._draws}"
        if not found.nodes:
            return f"{pod} goes to no node in {self._draws}"
        (node, share), *others = found.nodes.items()
        pending = 1 - found.placed / found.variants
        stays = f"stays Pending in {pending * 100:.1f} %" if pending > 0 else "never stays Pending"
        if not others and share.variants == found.variants:
            return f"{pod} goes to {node} in all of {self._draws}, {stays}"
        more = sum(each.variants for _, each in others) / found.variants
        elsewhere = f", to {counted(len(others), 'other node')} in {more * 100:.1f} %" if others else ""
        return f"{pod} goes to {node} in {share.percent} of {self._draws}{elsewhere}, {stays}"

    @property
    def _draws(self) -> str:
        orders, ties = counted(self.orders, "arrival order"), counted(self.ties, "tie-break")
        if self.orders and self.ties:
            return f"{orders} with {ties} each"
        return orders if self.orders else ties


def pod_odds(name: str, pods: Sequence[PodOddsPart], *, place: Place = "page") -> list[Section]:
    """The table of how often each pod is on each node, and how often it has none."""
    shown = columns("Pod; Variants: number; Has a node: share; Results: flows; Nodes: flows")
    rows = [
        [each.pod, each.variants, each.placed / each.variants, _shares(each.results), _shares(each.nodes)]
        for each in sorted(pods, key=lambda each: each.placed / each.variants)
    ]
    title = "How often each pod goes where"
    return [Section(name, title, Table(shown, rows, most=20, rows_are="pod"), place=place)] if rows else []


def _shares(shares: Mapping[str, SharePart]) -> str:
    return ", ".join(f"{name} {100 * each.share:.0f} %" for name, each in shares.items())
