"""Priorities, by which kube-scheduler ranked nodes until plugins took their place. They are modelled as those of 1.16,
and most are a plugin's score under another name: a plugin scores 0 to 10 where the minor did."""

from __future__ import annotations

from typing import ClassVar


class Priority:
    """To be inherited from before the plugin whose score it is."""

    since: ClassVar[str] = ""
    until: ClassVar[str] = "1.16"
    only_at: ClassVar[tuple[str, ...]] = ("preScore", "score")
