"""TaintToleration: taints that the pod does not tolerate, computed once per distinct set of taints (tainttoleration).

First the reasons and the texts and changes of `explain`, then the plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ksched_cli.api.core import Taint, Toleration
from ksched_cli.api.object_facts import is_same_pod
from ksched_cli.api.selectors import find_untolerated, tolerates
from ksched_cli.cluster.columns import Int64Column
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.depends import Depends
from ksched_cli.framework.events import Action, ClusterEvent
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interfaces import Detail, FilterPlugin, PreScorePlugin, ScorePlugin
from ksched_cli.framework.reasons import (
    C,
    Figures,
    Reason,
    ReasonCode,
    ReasonKind,
    ReasonTable,
    RejectedPod,
    RejectionGuide,
    fixed_field,
)
from ksched_cli.framework.rows import NodeRows
from ksched_cli.framework.scoring import default_normalize_score
from ksched_cli.framework.status import SUCCESS, Status, error, unresolvable
from ksched_cli.framework.verdict import Verdict
from ksched_cli.plugins.lib.spec import Spec
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import TAINTS_ARE_NOT_NAMED
from ksched_cli.releases.plugin_names import NODE_UNSCHEDULABLE, POD_TOPOLOGY_SPREAD

_UNTOLERATED = ReasonCode(
    "KS107",
    "untolerated-taint",
    "the nodes have a taint that the pod does not tolerate",
    "A NoSchedule or NoExecute taint keeps every pod away that has no toleration for it.",
    ("add a toleration for the taint, if the pod belongs there", "remove the taint", "add nodes without it"),
)


def _in_words(taint: Mapping[str, str]) -> str:
    """With the taint, where the text of the minor names it."""
    if not taint:
        return "are tainted"
    value = f"={taint['value']}" if taint["value"] else ""
    return f"have taint {taint['key']}{value}"


class TaintTolerationReasons(ReasonTable, plugins="TaintToleration"):
    # Where the text names the taint, kube-scheduler counts the nodes of each taint.
    untolerated = ReasonKind(
        Rule(
            "1.18",
            "message",
            "The reason names the taint; before, it did not.",
            before="node(s) had taints that the pod didn't tolerate",
            now="node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate",
        )
        .then(
            "1.24",
            "message",
            "The reason has the words untolerated taint; before, that the pod didn't tolerate.",
            now="node(s) had untolerated taint {{{key}: {value}}}",
        )
        .then(
            TAINTS_ARE_NOT_NAMED,
            "message",
            "The reason does not name the taint; before, it did.",
            now="node(s) had untolerated taint(s)",
        ),
        _UNTOLERATED,
        field=fixed_field("spec", "tolerations"),
        problem=_in_words,
    )


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

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C | None]]:
        taints = [taint for taint in place.node.spec.taints if str(taint) in figures["taints"]]
        yield [place.tolerate(taint) for taint in taints]
        yield [
            place.uncordon() if place.cordoned and taint.key == _CORDONED else place.untaint(taint) for taint in taints
        ]


_HARD = ("NoSchedule", "NoExecute")
_SOFT = "PreferNoSchedule"


class TaintTolerationRules(ReleaseRules, plugins="TaintToleration"):
    notes = (
        # The weight itself is in releases/default_plugins.py.
        Rule("1.23", "weight", "Its score weighs 3; before, 1."),
        Rule(
            "TaintTolerationComparisonOperators",
            "filter",
            "Tolerations can compare numbers (Gt, Lt); without the gate, such a toleration tolerates nothing.",
            plugins=f"TaintToleration {POD_TOPOLOGY_SPREAD} {NODE_UNSCHEDULABLE}",
        ),
    )


# The tolerations that can apply to PreferNoSchedule taints.
SoftTolerations = tuple[Toleration, ...]


class TaintToleration(FilterPlugin[None], PreScorePlugin[None, SoftTolerations], ScorePlugin[SoftTolerations]):
    name = "TaintToleration"
    column = "Taints"
    summary = (
        "Rejects nodes with NoSchedule or NoExecute taints that the pod does not tolerate; prefers fewer soft ones."
    )
    events = (
        ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_TAINT),
        ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        untolerated = TaintTolerationReasons.of(handle.release).untolerated
        self._refusal = cache(lambda key, value: unresolvable(untolerated(key=key, value=value)))

    @property
    def _comparison(self) -> bool:
        return self.handle.gates.enabled("TaintTolerationComparisonOperators")

    def is_schedulable_after(self, event: ClusterEvent, info: PodInfo, old: Any, new: Any) -> bool:
        if event.resource == "Pod":
            return is_same_pod(new, info.pod)
        kept_out = old is None or not self._judge(old.spec.taints, info).ok
        return kept_out and self._judge(new.spec.taints, info).ok

    def filter(self, state: None, info: PodInfo, nodes: NodeRows) -> Verdict:
        table = nodes.cluster.nodes
        statuses = [self._judge(taints, info) for taints in table.taint_sets.values]
        return Verdict.by_group(nodes.take(table.taint_set), statuses)

    def depends(self, info: PodInfo) -> Depends:
        return Depends("node", info.pod.spec.tolerations)

    def _judge(self, taints: Iterable[Taint], info: PodInfo) -> Status:
        found = find_untolerated(taints, info.pod.spec.tolerations, _HARD, comparison=self._comparison)
        return SUCCESS if found is None else self._refusal(found.key, found.value)

    def explain(self, state: None, info: PodInfo, nodes: NodeRows, index: int) -> Detail:
        """All taints of the node that the pod does not tolerate; kube-scheduler names the first."""
        taints = [
            taint
            for taint in nodes.cluster.nodes.objects[nodes.rows[index]].spec.taints
            if find_untolerated([taint], info.pod.spec.tolerations, _HARD, comparison=self._comparison)
        ]
        return {"taints": [str(each) for each in taints]} if taints else {}

    def pre_score(self, state: None, info: PodInfo, nodes: NodeRows) -> SoftTolerations:
        # A toleration without an effect is for every effect, so for the soft one too.
        return tuple(each for each in info.pod.spec.tolerations if each.effect in ("", _SOFT))

    def score(self, state: SoftTolerations | None, info: PodInfo, nodes: NodeRows) -> Int64Column | Status:
        """How many soft taints the pod does not tolerate."""
        if state is None:
            return error('failed to read "PreScoreTaintToleration" from cycleState: not found')
        table = nodes.cluster.nodes
        counts = np.array(
            [self._count_intolerable(taints, state) for taints in table.taint_sets.values], dtype=np.int64
        )
        return counts[nodes.take(table.taint_set)]

    def _count_intolerable(self, taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> int:
        return sum(
            taint.effect == _SOFT
            and not any(tolerates(each, taint, comparison=self._comparison) for each in tolerations)
            for taint in taints
        )

    def normalize(self, state: SoftTolerations, info: PodInfo, nodes: NodeRows, scores: Int64Column) -> Int64Column:
        return default_normalize_score(scores, self.handle.release.max_node_score, reverse=True)


SPEC = Spec(plugins=(TaintToleration,), reasons=(TaintTolerationReasons,), guide=TaintGuide())
