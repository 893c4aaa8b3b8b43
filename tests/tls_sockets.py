"""Sockets of test servers that are closed also if a client leaves while the server takes its connection."""

from __future__ import annotations

import socket
import ssl
from typing import Any


class _ServerSocket(ssl.SSLSocket):
    """CPython's SSLSocket looks for its peer while it is made, and stays open if the peer has left: the warning of the
    garbage collector then fails a later test."""

    def getpeername(self) -> Any:
        try:
            return super().getpeername()
        except OSError:
            self.close()
            raise ConnectionResetError("the client has left") from None


def secured(sock: socket.socket, context: ssl.SSLContext, *, shakes_hands: bool = True) -> ssl.SSLSocket:
    """The server's end of a connection with TLS. OSError if the client has left."""
    context.sslsocket_class = _ServerSocket
    return context.wrap_socket(sock, server_side=True, do_handshake_on_connect=shakes_hands)
