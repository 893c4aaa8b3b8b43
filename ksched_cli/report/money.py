"""Prices as exact decimal numbers, without an exponent and without zeros at the end."""

from __future__ import annotations

from decimal import Decimal


def plain_money(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
