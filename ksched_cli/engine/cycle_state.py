"""What the plugins of one cycle hand from one extension point to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class CycleState:
    """The states of the plugins, each readable by its own plugin only (fwk.CycleState with plugin names as keys)."""

    filter_states: dict[str, Any] = field(default_factory=dict)
    score_states: dict[str, Any] = field(default_factory=dict)
    skip_filter: set[str] = field(default_factory=set)
    skip_score: set[str] = field(default_factory=set)
