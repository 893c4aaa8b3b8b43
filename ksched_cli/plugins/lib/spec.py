"""What the room of a plugin declares in one place."""

from __future__ import annotations

from msgspec import Struct, field

from ksched_cli.framework.interfaces import Plugin
from ksched_cli.framework.reasons import ReasonKind, ReasonTable, RejectionGuide


class Spec(Struct, frozen=True, kw_only=True):
    """A room. `plugins` have one class each; names, arguments, columns and minors stand there. `reasons` are the
    tables that the plugins take their reasons from. `narrowing` is the kind of reason by which a pod is rejected where
    the plugin alone leaves it no node in PreFilter."""

    plugins: tuple[type[Plugin], ...]
    reasons: tuple[type[ReasonTable], ...] = ()
    guide: RejectionGuide = field(default_factory=RejectionGuide)
    narrowing: ReasonKind | None = None
