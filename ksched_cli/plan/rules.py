"""Which room a rejection belongs to: that of the plugin whose reason it is, else that of the plugin that rejects.

A predicate takes its reasons from the plugin that took its place; one predicate takes them from several plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.framework.reasons import Reason, ReasonCode, ReasonKind
from ksched_cli.framework.rejections import RejectionGuide
from ksched_cli.framework.status import Code, Status
from ksched_cli.plugins.in_tree import spec_of

_UNKNOWN = RejectionGuide()


def guide_of(plugin: str) -> RejectionGuide:
    """The guide of the plugin's room about its rejections."""
    spec = spec_of(plugin)
    return _UNKNOWN if spec is None else spec.guide


def parts_of(status: Status) -> Iterator[tuple[str, tuple[Reason, ...]]]:
    """The reasons of a rejection by the plugin whose rules they are."""
    parts: dict[str, list[Reason]] = {}
    for reason in status.reasons:
        parts.setdefault(reason.kind.owner or status.plugin, []).append(reason)
    for plugin, reasons in parts.items():
        yield plugin, tuple(reasons)
    if not parts:
        yield status.plugin, ()


def own_figures(status: Status, part: str, figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers of one part of a rejection. Only a predicate of several parts has numbers for each part."""
    own: Mapping[str, Any] = figures[part] if part != status.plugin and part in figures else figures
    return own


def kind_of(reason: Reason) -> ReasonKind:
    """The kind of a reason. A plugin that alone left no node in PreFilter rejects the pod by a kind of its own."""
    spec = spec_of(reason.param("plugins")) if reason.param("plugins") else None
    return reason.kind if spec is None or spec.narrowing is None else spec.narrowing


def code_of(reasons: Sequence[Reason], *, unresolvable: bool = False) -> ReasonCode | None:
    """The code of a rejection; of several reasons the lowest. None if no reason has one."""
    codes = (kind_of(reason).code_of(unresolvable=unresolvable) for reason in reasons)
    return min((code for code in codes if code is not None), key=lambda code: code.code, default=None)


def is_unresolvable(status: Status) -> bool:
    return status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
