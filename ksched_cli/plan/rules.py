"""Whose rule a rejection goes by, in the names of today's plugins: predicates have the same rules under other names,
and GeneralPredicates has those of four plugins at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.config.policy.families import GENERAL, PARTS, PREDICATES


def rule_of(plugin: str, reason: str = "") -> str:
    """A plugin's rule is its own."""
    if plugin == GENERAL:
        return next((rule for beginning, rule in PARTS.items() if reason.startswith(beginning)), plugin)
    return PREDICATES.get(plugin, plugin)


def rules_of(plugin: str, reasons: Sequence[str]) -> tuple[str, ...]:
    """Of a rejection for all these reasons, each once."""
    return tuple(dict.fromkeys(rule_of(plugin, reason) for reason in reasons)) or (rule_of(plugin),)


def detail_of(plugin: str, rule: str, detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers that are about one of the rules."""
    part: Mapping[str, Any] = detail.get(rule, {}) if plugin == GENERAL else detail
    return part
