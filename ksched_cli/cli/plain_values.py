"""The values of options and arguments, read without pydantic.

typer from 0.29 on reads every value with a pydantic model. Importing pydantic and making these models takes 70 ms, as
long as the rest of the start. The values of this program are texts, numbers, flags and words to choose from: they are
read here, with the messages of click. Older versions of typer have no such models and read the values themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, get_args, get_origin

import typer


def without_models(params: Sequence[Any]) -> list[Any]:
    """The same parameters. Those of a kind that is known here read their value without a model."""
    for param in params:
        descriptor = getattr(param, "type_descriptor", None)
        if descriptor is None or not hasattr(param, "get_runtime_param"):
            continue
        kind = descriptor.annotation
        kind = get_args(kind)[0] if get_origin(kind) is list else kind
        if kind in (str, bool, int) or (isinstance(kind, type) and issubclass(kind, Enum)):
            value = PlainValue(kind, descriptor.parameter_info.min)
            param.get_runtime_param = lambda value=value: value
    return list(params)


class PlainValue:
    """What typer calls to read the value of a parameter. `least`: the least number, if there is one."""

    def __init__(self, kind: type[Any], least: float | None) -> None:
        self._kind, self._least = kind, least

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        return [self._one(each, param, ctx) for each in value] if several else self._one(value, param, ctx)

    def _one(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, self._kind):
            return value
        try:
            read = self._kind(value)
        except ValueError:
            known = ", ".join(repr(each.value) for each in self._kind) if issubclass(self._kind, Enum) else ""
            text = f"{value!r} is not one of {known}." if known else f"{value!r} is not a valid integer."
            raise typer.BadParameter(text, ctx=ctx, param=param) from None
        if self._least is not None and read < self._least:
            raise typer.BadParameter(f"{read} is not in the range x>={self._least}.", ctx=ctx, param=param)
        return read
