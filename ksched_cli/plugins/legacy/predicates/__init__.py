"""Predicates, by which kube-scheduler kept nodes apart until plugins took their place. They are modelled as those of
1.16: most are a plugin's filter under another name, with the texts of the minor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ksched_cli.framework.events import ANYTHING, ClusterEvent


class Predicate:
    """To be inherited from before the plugin whose filter it is."""

    since: ClassVar[str] = ""
    until: ClassVar[str] = "1.16"
    only_at: ClassVar[tuple[str, ...]] = ("preFilter", "filter", "reserve", "preBind")

    def events_to_register(self) -> Sequence[ClusterEvent]:
        """Whatever happened, all pods that wait were tried again."""
        return (ANYTHING,)
