"""What a controller came up with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ksched_cli.api.core import Pod


@dataclass
class Made:
    """New pods in the order of their making, other objects that come with them, and what there is to say."""

    pods: list[Pod] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
