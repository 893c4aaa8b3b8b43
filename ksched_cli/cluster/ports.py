"""Host ports in use, inverted: (protocol, port) to address to rows (fwk.HostPortInfo)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ksched_cli.cluster.columns import BoolColumn, RowColumn
from ksched_cli.cluster.undo import LoggedDict, LoggedSet, UndoLog

ANY_ADDRESS = "0.0.0.0"


class HostPort(NamedTuple):
    address: str
    protocol: str
    port: int


class PortIndex:
    """A set and not a count, as in Go: taking away one of two pods that share a port frees the port."""

    def __init__(self, undo: UndoLog | None = None) -> None:
        self._undo = undo or UndoLog()
        self._used: LoggedDict[tuple[str, int], LoggedDict[str, LoggedSet[int]]] = LoggedDict(self._undo)

    def take(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._rows_of(port).add(row)

    def free(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            self._rows_of(port).discard(row)

    def _rows_of(self, port: HostPort) -> LoggedSet[int]:
        by_address = self._used.get((port.protocol, port.port))
        if by_address is None:
            by_address = self._used[port.protocol, port.port] = LoggedDict(self._undo)
        rows = by_address.get(port.address)
        if rows is None:
            rows = by_address[port.address] = LoggedSet(self._undo)
        return rows

    def holds(self, row: int, port: HostPort) -> bool:
        by_address = self._used.get((port.protocol, port.port))
        return by_address is not None and row in by_address.get(port.address, ())

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
        moved = PortIndex(self._undo)
        for (protocol, number), by_address in self._used.items():
            for address, rows in by_address.items():
                kept = new_row[list(rows)] if rows else new_row[:0]
                moved._rows_of(HostPort(address, protocol, number)).update(kept[kept >= 0].tolist())
        return moved
