"""The methods of `Simulator` that make edits, one for each declaration. Type checkers read them from `methods.pyi`,
which is generated; a test compares both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ksched_cli.whatif.edits.lib.edit import Edit, EditSpec, edit_specs, parse_arguments


class EditMethods:
    """One method for each declared edit. A subclass defines what becomes of the edits."""

    def _edited(self, *edits: Edit) -> Any:
        raise NotImplementedError


def _method(spec: EditSpec) -> Callable[..., Any]:
    def call(self: EditMethods, *arguments: Any, **named: Any) -> Any:
        return self._edited(*parse_arguments(spec, *arguments, **named))

    signature = inspect.signature(spec.arguments)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]  # read by inspect
        parameters=[this, *signature.parameters.values()], return_annotation=inspect.Signature.empty
    )
    call.__name__ = spec.field
    call.__qualname__ = f"{EditMethods.__name__}.{spec.field}"
    call.__doc__ = spec.arguments.__doc__ or spec.help
    return call


for _spec in edit_specs():
    setattr(EditMethods, _spec.field, _method(_spec))
