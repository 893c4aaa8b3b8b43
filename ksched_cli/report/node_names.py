"""Names of nodes for people: without the suffix that they share, as `ip-10-0-2-2` for
`ip-10-0-2-2.eu-west-1.compute.internal`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct, field


class ShownNodes(Struct, frozen=True, dict=True):
    """The nodes of a cluster with their zones. Names are shown without `suffix`, which is empty for full names."""

    zones: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""

    @classmethod
    def shortened(cls, zones: Mapping[str, str]) -> ShownNodes:
        return cls(zones, common_suffix(zones))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.-])[a-z0-9-]+(?:\.[a-z0-9-]+)*?{re.escape(self.suffix)}(?![\w-]|\.\w)")

    def text(self, text: str) -> str:
        """The text with short names."""
        if not self.suffix or self.suffix not in text:
            return text
        return self._pattern.sub(lambda found: self._short(found[0]), text)

    def zone(self, node: str) -> str:
        """The zone of a node, by its full or its short name."""
        return self.zones.get(node) or self.zones.get(node + self.suffix, "")

    def with_zone(self, node: str) -> str:
        """`node-1 (zone-a)`, or the name alone if the node has no zone."""
        zone = self.zone(node)
        return f"{node} ({zone})" if zone else node

    def _short(self, name: str) -> str:
        return name.removesuffix(self.suffix) if name in self.zones else name


NO_NODES = ShownNodes()


def common_suffix(names: Iterable[str]) -> str:
    """The longest suffix after a dot that more than half of the names, and at least two, share. Empty if two names
    would be equal without it."""
    all_names = set(names)
    counts: Counter[str] = Counter()
    for name in all_names:
        labels = name.split(".")
        counts.update("." + ".".join(labels[start:]) for start in range(1, len(labels)))
    shared = [suffix for suffix, count in counts.items() if count > 1 and 2 * count > len(all_names)]
    best = max(shared, key=len, default="")
    short = {name.removesuffix(best) for name in all_names}
    return best if len(short) == len(all_names) else ""
