"""Host ports in use, inverted: (protocol, port) to address to rows (fwk.HostPortInfo)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, RowColumn

ANY_ADDRESS = "0.0.0.0"


class HostPort(NamedTuple):
    address: str
    protocol: str
    port: int


class PortIndex:
    """A set and not a count, as in Go: taking away one of two pods that share a port frees the port."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[str, set[int]]] = {}

    def take(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._used.setdefault((port.protocol, port.port), {}).setdefault(port.address, set()).add(row)

    def free(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._used.get((port.protocol, port.port), {}).get(port.address, set()).discard(row)

    def holds(self, row: int, port: HostPort) -> bool:
        return row in self._used.get((port.protocol, port.port), {}).get(port.address, ())

    def conflicts(self, wanted: Iterable[HostPort], size: int) -> BoolColumn:
        """Rows where a wanted port is taken: the wildcard address clashes with every address."""
        taken = np.zeros(size, dtype=np.bool_)
        for port in wanted:
            by_address = self._used.get((port.protocol, port.port))
            if not by_address:
                continue
            addresses = by_address if port.address == ANY_ADDRESS else (port.address, ANY_ADDRESS)
            for address in addresses:
                taken[list(by_address.get(address, ()))] = True
        return taken

    def renumbered(self, new_row: RowColumn) -> PortIndex:
        """The same ports after rows moved; rows that went away (-1) lose theirs."""
        moved = PortIndex()
        for key, by_address in self._used.items():
            for address, rows in by_address.items():
                kept = {int(new_row[row]) for row in rows if new_row[row] >= 0}
                moved._used.setdefault(key, {})[address] = kept
        return moved
