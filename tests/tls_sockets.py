"""Sockets that are closed also if the other side leaves while TLS begins, for the test servers and their clients."""

from __future__ import annotations

import ssl
from typing import Any


class _ClosedSocket(ssl.SSLSocket):
    """CPython's SSLSocket looks for its peer while it is made, and stays open if the peer has left: the warning of the
    garbage collector then fails a later test."""

    def getpeername(self) -> Any:
        try:
            return super().getpeername()
        except OSError:
            if self._sslobj is None:  # type: ignore[attr-defined]  # typeshed has no private names
                self.close()
                raise ConnectionResetError("the other side has left") from None
            raise


def close_sockets_without_peer() -> None:
    """For all contexts of this process, since clients make theirs in libraries."""
    ssl.SSLContext.sslsocket_class = _ClosedSocket
