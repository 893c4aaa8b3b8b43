"""Texts about TaintToleration's rejections, and changes that may end them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rejections import C, Figures, RejectedPod, RejectionGuide

# The node controller puts this taint on a cordoned node.
_CORDONED = "node.kubernetes.io/unschedulable"
_OF_A_STATE = "node.kubernetes.io/"


class TaintGuide(RejectionGuide):
    easily_mended = True
    closes_node = True

    def describe(self, figures: Figures) -> str:
        return f"taint{'s' if len(figures['taints']) > 1 else ''} {', '.join(figures['taints'])} not tolerated"

    def describe_briefly(self, figures: Figures) -> str:
        return f"tainted {', '.join(figures['taints'])}"

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        """A cordoned node and its taint are one problem and not two."""
        for taint in figures.get("taints", ()):
            if not (cordoned and taint == f"{_CORDONED}:NoSchedule"):
                yield f"have taint {taint}"

    def ends_on_empty_node(self, figures: Figures) -> bool:
        return all(taint.startswith(_OF_A_STATE) for taint in figures.get("taints", ("",)))

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        taints = [taint for taint in place.node.spec.taints if str(taint) in figures["taints"]]
        yield [place.tolerate(taint) for taint in taints]
        yield [
            place.uncordon() if place.cordoned and taint.key == _CORDONED else place.untaint(taint) for taint in taints
        ]
