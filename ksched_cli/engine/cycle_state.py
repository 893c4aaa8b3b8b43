"""What the plugins of one cycle hand from one extension point to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ksched_cli.engine.filters_in_force import FiltersInForce


@dataclass
class CycleState:
    """The states of the plugins, each readable by its own plugin only (fwk.CycleState with plugin names as keys).
    `in_force` are the filters that are not skipped, once they are needed; a copy has none."""

    filter_states: dict[str, Any] = field(default_factory=dict)
    score_states: dict[str, Any] = field(default_factory=dict)
    skip_filter: set[str] = field(default_factory=set)
    skip_score: set[str] = field(default_factory=set)
    in_force: FiltersInForce | None = field(default=None, init=False)
