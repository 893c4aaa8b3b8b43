"""What the plugins of one cycle hand from one extension point to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ksched_cli.engine.filters_in_force import FiltersInForce


class BoundTemplate(Protocol):
    """What is known of a template whose results are kept (TemplateResult)."""

    binds_alike: bool | None


@dataclass
class CycleState:
    """The states of the plugins, each readable by its own plugin only (fwk.CycleState with plugin names as keys).
    `in_force` are the filters that are not skipped, once they are needed, and `template` is what is kept of the pod's
    template, if anything is; a copy has neither."""

    filter_states: dict[str, Any] = field(default_factory=dict)
    score_states: dict[str, Any] = field(default_factory=dict)
    skip_filter: set[str] = field(default_factory=set)
    skip_score: set[str] = field(default_factory=set)
    in_force: FiltersInForce | None = field(default=None, init=False)
    template: BoundTemplate | None = field(default=None, init=False)
