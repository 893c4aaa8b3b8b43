"""What is said of one change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What of scheduling a rule is about: which nodes take the pod, how they are ranked, what a plugin's score weighs, who
# is evicted, whether the pod is tried, which nodes are looked at, which of its fields count, or only what is said.
Aspect = Literal["filter", "score", "weight", "preemption", "queue", "search", "fields", "message"]

# As the name of a plugin: kube-scheduler itself.
SCHEDULER = ""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule of these plugins that holds from a minor on, the first of those that are modelled; `text` says what is and
    what was. With a `gate` it holds where the gate is on, and `since` is the minor that switched it on by default, if
    one did."""

    since: str
    plugins: tuple[str, ...]
    aspects: frozenset[Aspect]
    text: str
    gate: str = ""

    @property
    def minor(self) -> int:
        """The number after "1."; 0 where no minor has the rule by default."""
        return int(self.since.partition(".")[2] or 0)

    @property
    def of_fields(self) -> bool:
        """Whether it is about what is known of a pod, and nothing else."""
        return self.aspects == {"fields"}


def rule(since: str, plugins: str, aspects: str, text: str) -> RuleChange:
    """An entry of the tables: plugins and aspects by spaces."""
    kinds: frozenset[Aspect] = frozenset(aspects.split())  # type: ignore[arg-type]  # a test holds each to be an Aspect
    return RuleChange(since, tuple(plugins.split()) or (SCHEDULER,), kinds, text)
