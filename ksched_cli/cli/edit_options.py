"""The options of what-if edits: one for each declared edit, and --scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import typer
from msgspec import Struct, defstruct, field

from ksched_cli.cli.help_layout import EDITS, Panel
from ksched_cli.simulator import EditSpec, edit_specs

_SCENARIO = typer.Option(
    metavar="FILE",
    help="Steps of edits and expectations. They run one after the other; `ksched scenario schema` prints the fields of "
    "the file. Exit code 4 when an expectation fails.",
)


class EditFields:
    """The edits of a command line. The option of each edit may be given as often as you like."""

    panel: ClassVar[Panel] = Panel(EDITS, {"scenario"})
    scenario: str | None

    def given(self) -> Iterator[tuple[str, str]]:
        """Flag and text of every edit."""
        for spec in edit_specs():
            yield from ((spec.flag, text) for text in getattr(self, spec.field))


def _field(spec: EditSpec) -> tuple[str, Any, Any]:
    option = typer.Option(f"--{spec.flag}", metavar=spec.metavar, help=spec.help)
    return spec.field, Annotated[list[str], option], field(default_factory=list)


if TYPE_CHECKING:
    EditOptions: TypeAlias = EditFields
else:
    EditOptions = defstruct(
        "EditOptions",
        [*map(_field, edit_specs()), ("scenario", Annotated[str | None, _SCENARIO], None)],
        bases=(EditFields, Struct),
        frozen=True,
    )
