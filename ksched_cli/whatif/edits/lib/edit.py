"""What an edit is, and how a file of the folder above declares one. Imports nothing heavy: the help needs it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import Struct

from ksched_cli.whatif.edits.lib.arguments import some_name

if TYPE_CHECKING:
    from msgspec import Struct

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
    """The declaration of an edit: `SPEC` of its file.

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
