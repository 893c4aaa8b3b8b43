"""What a comparison reports of a pod that is on another node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.releases.changes import Aspect, RuleChange

FITS = "fits"

# A weighted score, None where the plugin does not score; or the result of a filter or of preemption.
Figure: TypeAlias = "int | str | None"


class OnNode(Struct, frozen=True):
    """The plugin's result for a node before and after."""

    node: str
    before: Figure
    after: Figure


class Decider(Struct, frozen=True):
    """A plugin whose decision differs between before and after in one state of the cluster. The name of kube-scheduler
    itself is empty. `rules` are the rules that may have changed the decision: all of them together for a score, any of
    them otherwise. `configuration`: the configuration differs, too, and may have changed it. Without both the reason
    for the difference is unknown."""

    plugin: str
    aspect: Aspect
    rules: tuple[RuleChange, ...] = ()
    nodes: tuple[OnNode, ...] = ()
    configuration: bool = False

    @property
    def back(self) -> Decider:
        """The decider with before and after exchanged."""
        return replace(self, nodes=tuple(OnNode(each.node, each.after, each.before) for each in self.nodes))


class Cause(Struct, frozen=True):
    """`rule`: the deciders moved the pod, the decider of most weight first. `preemption`: another pod, the preemptor,
    evicts the pod on one side only; `deciders` are what moved the preemptor. `others`: the pod moved only because other
    pods moved; `pods` moved before it, from or to one of its nodes. A rule with `pods`: the pod would have stayed
    without the rule, and it would have stayed without the other pods. `alone` is the node to which the deciders would
    have sent the pod if no other pod had moved, empty for no node; None if the pod is there."""

    kind: Literal["rule", "preemption", "others"]
    deciders: tuple[Decider, ...] = ()
    preemptor: str = ""
    side: Literal["", "before", "after"] = ""
    pods: Sequence[str] = ()
    alone: str | None = None


class Tally(Struct, frozen=True):
    """A rule that differs between the sides, and how many of the reported pods it moved."""

    rule: RuleChange
    pods: int
