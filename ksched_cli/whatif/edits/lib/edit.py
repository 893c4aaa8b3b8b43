"""What an edit is, how a module of the folder above declares some, and the list of all edits.

Imports nothing heavy: the help needs it. `parse_edits` makes edits of flags and the texts behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from msgspec import Struct

from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.whatif import edits
from ksched_cli.whatif.edits.lib.arguments import EditMistake, some_name

if TYPE_CHECKING:
    from ksched_cli.whatif.edits.lib.editor import Editor


# The reason why two edits cannot both be made, and a hint.
Clash: TypeAlias = tuple[str, str]
GIVE_ONE = "give one of the two"
# What an edit `sets` that decides about its subject as a whole.
WHOLE = "the whole object"


class Edit:
    """One change of the cluster as a value. `str` gives the flag that makes the change."""

    @property
    def subject(self) -> Hashable:
        """The object that the edit changes. Only edits of one subject clash; an edit without a subject never does."""
        return None

    @property
    def sets(self) -> Hashable:
        """The field of the subject that the edit sets. Two different edits that set one field contradict each other."""
        return None

    def rules_out(self, other: Edit) -> Clash | None:
        """Why `other`, an edit of the same subject, cannot be made together with this one, in whichever order."""
        return None

    def apply(self, editor: Editor) -> None:
        """Write the change to the API server of the editor. Raises EditMistake."""
        raise NotImplementedError


class NodeEdit(Edit, Struct, frozen=True):
    """An edit of one node of the cluster."""

    node: str

    flag: ClassVar[str]
    # The hint for the case that another edit removes the node.
    hint_when_removed: ClassVar[str] = ""

    @property
    def subject(self) -> Hashable:
        return self.node

    def __str__(self) -> str:
        return f"--{self.flag} {self.node}"

    @classmethod
    def spec(cls, order: int, about: str) -> EditSpec:
        """The declaration of an edit whose text is the name of a node."""
        return EditSpec(cls.flag, order, "NODE", about, lambda text: cls(some_name(text)))


class Reference(Struct, frozen=True):
    """KIND/NAME or KIND/NAMESPACE/NAME of the command line. Without a namespace, objects of all namespaces match."""

    kind: type[Struct]
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        parts = (self.kind.__name__.lower(), self.namespace, self.name)
        return "/".join(filter(None, parts))


class ObjectEdit(Edit, Struct, frozen=True):
    """An edit that decides about an object as a whole."""

    target: Reference

    @property
    def subject(self) -> Hashable:
        return self.target

    @property
    def sets(self) -> Hashable:
        return WHOLE


# The arguments of a Python method that takes names of nodes. The help of the edit is the docstring of the method.
def _node_names(*nodes: str) -> Iterable[str]:
    return nodes


class EditSpec(Struct, frozen=True):
    """The declaration of an edit, one of the `SPECS` of its module.

    Derived from it: the flag of the command line with its help and completion, the field of a step in scenario files
    and their schema, the method of `Simulator`, and when the edit is made.
    """

    # Without dashes: `clone-node`. Scenario files write `cloneNode`, Python `clone_node`.
    flag: str
    # The edits of one command line, and of one step, are made in ascending order.
    order: int
    metavar: str
    help: str
    # From the text behind the flag to the edit. Raises EditMistake.
    parse: Callable[[str], Edit]
    # From the arguments of the Python method to texts as behind the flag, or to edits. The method has its signature,
    # and its docstring if it has one of its own.
    arguments: Callable[..., Iterable[str | Edit]] = _node_names

    @property
    def field(self) -> str:
        return self.flag.replace("-", "_")

    @property
    def key(self) -> str:
        """The field of a step of a scenario file."""
        head, *tail = self.flag.split("-")
        return head + "".join(word.title() for word in tail)


@cache
def edit_specs() -> tuple[EditSpec, ...]:
    """The declarations, in the order in which the edits of a command line are made: first the edits that decide which
    nodes there are, then those of a node's fields, then those that evict; workloads last."""
    modules = [
        import_module(f"{edits.__name__}.{each.name}") for each in iter_modules(edits.__path__) if not each.ispkg
    ]
    found: list[EditSpec] = [spec for module in modules for spec in module.SPECS]
    return tuple(sorted(found, key=lambda spec: spec.order))


@cache
def specs_by_flag() -> dict[str, EditSpec]:
    return {spec.flag: spec for spec in edit_specs()}


def parse_edits(given: Iterable[tuple[str, str]]) -> tuple[list[Edit], list[Problem]]:
    """The edits of pairs of flag and text, such as `("cordon", "node-1")`, and all mistakes."""
    edits: list[Edit] = []
    problems: list[Problem] = []
    for flag, text in given:
        try:
            edits.append(specs_by_flag()[flag].parse(text))
        except EditMistake as mistake:
            problems.append(Problem(str(mistake), f"--{flag} {text}".rstrip(), hint=mistake.hint))
        except InputError as mistake:
            problems += mistake.problems
    return edits, problems


def parse_arguments(spec: EditSpec, *arguments: Any, **named: Any) -> list[Edit]:
    """The edits of a call of the Python method. All mistakes are raised together."""
    edits: list[Edit] = []
    problems: list[Problem] = []
    for each in spec.arguments(*arguments, **named):
        parsed, found = ([each], []) if isinstance(each, Edit) else parse_edits([(spec.flag, each)])
        edits += parsed
        problems += found
    if problems:
        raise UsageError(problems)
    return edits
