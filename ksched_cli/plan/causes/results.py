"""What a comparison reports of a pod that is on another node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ksched_cli.releases.changes import Aspect, RuleChange

FITS = "fits"

# A weighted score, None where the plugin does not score; or the result of a filter or of preemption.
Figure: TypeAlias = "int | str | None"


@dataclass(frozen=True, slots=True)
class OnNode:
    """The plugin's result for a node before and after."""

    node: str
    before: Figure
    after: Figure

    @property
    def back(self) -> OnNode:
        return OnNode(self.node, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Decider:
    """A plugin that decides otherwise after than before, where nothing else has changed; no name for kube-scheduler
    itself. `rules` is the one that changed; where there are several it took all of them for a score, and else any may
    be it, and the `configuration` where that differs, too. Nothing is known of why where there are none."""

    plugin: str
    aspect: Aspect
    rules: tuple[RuleChange, ...] = ()
    nodes: tuple[OnNode, ...] = ()
    configuration: bool = False

    @property
    def back(self) -> Decider:
        """The other way round."""
        return replace(self, nodes=tuple(each.back for each in self.nodes))


@dataclass(frozen=True, slots=True)
class Cause:
    """`rule`: the deciders decide, those of most weight first. `preemption`: another pod evicts it on one side only,
    and `deciders` are the reasons for which that other pod goes elsewhere. `others`: it would go where it went before,
    were the other pods where they were before; `pods` moved ahead of it, from or to one of its nodes. With a rule and
    `pods` it took both: without the one or the other it would have stayed. `alone` is the node, or an empty string for
    none, to which the deciders would have sent it, had no other pod moved; None where it is there."""

    kind: Literal["rule", "preemption", "others"]
    deciders: tuple[Decider, ...] = ()
    preemptor: str = ""
    side: Literal["", "before", "after"] = ""
    pods: Sequence[str] = ()
    alone: str | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """A rule that is not the same on both sides, and how many of the reported pods it moved."""

    rule: RuleChange
    pods: int
