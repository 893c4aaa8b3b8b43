"""What the plugins of one cycle hand from one extension point to the next (fwk.CycleState)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ksched_cli.framework.depends import Depends
from ksched_cli.framework.interfaces import FilterPlugin, PreFilterResult
from ksched_cli.framework.status import Status


@dataclass
class CycleState:
    """The states of the plugins, each readable by its own plugin only (fwk.CycleState with plugin names as keys).
    `binds_alike`: a copy of the pod was bound, and the plugins from Reserve on do nothing for copies of it. `in_force`
    are the filters that are not skipped, once they are needed; a copy has none. `depends` is what the plugins depend
    on, once it is known, and `pre_filter` what PreFilter of each plugin returned."""

    filter_states: dict[str, Any] = field(default_factory=dict)
    score_states: dict[str, Any] = field(default_factory=dict)
    skip_filter: set[str] = field(default_factory=set)
    skip_score: set[str] = field(default_factory=set)
    binds_alike: bool = field(default=False, init=False)
    depends: dict[str, Depends | None] | None = field(default=None, init=False)
    pre_filter: dict[str, PreFilterResult[Any] | Status] = field(default_factory=dict, init=False)
    in_force: tuple[FilterPlugin[Any], ...] | None = field(default=None, init=False)
