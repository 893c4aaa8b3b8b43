"""Options of random orders and tie-breaks."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec import Struct


class DrawOptions(Struct, frozen=True):
    """A sentence for each pod: how often it goes where in random orders and tie-breaks."""

    orders: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="N random orders of arrival of the pending pods.")
    ] = None
    ties: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="N random choices among nodes with equal scores.")
    ] = None

    def __bool__(self) -> bool:
        return self.orders is not None or self.ties is not None
