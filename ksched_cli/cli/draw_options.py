"""Options of random orders and tie-breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import typer

Orders = Annotated[
    Optional[int],  # noqa: UP045  # typer reads the annotation at run time
    typer.Option(
        "--orders", min=1, metavar="N", show_default=False, help="N random orders of arrival of the pending pods."
    ),
]
Ties = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--ties", min=1, metavar="N", show_default=False, help="N random choices among nodes with equal scores."
    ),
]


@dataclass(frozen=True)
class DrawOptions:
    """A sentence for each pod: how often it goes where in random orders and tie-breaks."""

    orders: Orders = None
    ties: Ties = None

    def __bool__(self) -> bool:
        return self.orders is not None or self.ties is not None
