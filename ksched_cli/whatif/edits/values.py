"""Changes as values. `apply` makes them; each is written as the flag that asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct

from ksched_cli.api.core import Node, Taint


@dataclass(frozen=True, slots=True)
class Reference:
    """KIND/NAME or KIND/NAMESPACE/NAME, as the command line has it; without a namespace any that has the name."""

    kind: type[Struct]
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        parts = (self.kind.__name__.lower(), self.namespace, self.name)
        return "/".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class AddNode:
    """So many nodes like the template, which is a Node as `kubectl get` shows it; `text` is how it was given."""

    template: Node
    count: int = 1
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"--add-node {self.text or _times(self.template.metadata.name, self.count)}"


@dataclass(frozen=True, slots=True)
class CloneNode:
    """So many new and empty nodes of the same make as one that is there."""

    node: str
    count: int = 1

    def __str__(self) -> str:
        return f"--clone-node {_times(self.node, self.count)}"


@dataclass(frozen=True, slots=True)
class RemoveNode:
    node: str

    def __str__(self) -> str:
        return f"--remove-node {self.node}"


@dataclass(frozen=True, slots=True)
class Cordon:
    node: str

    def __str__(self) -> str:
        return f"--cordon {self.node}"


@dataclass(frozen=True, slots=True)
class Uncordon:
    node: str

    def __str__(self) -> str:
        return f"--uncordon {self.node}"


@dataclass(frozen=True, slots=True)
class Drain:
    node: str

    def __str__(self) -> str:
        return f"--drain {self.node}"


@dataclass(frozen=True, slots=True)
class SetTaint:
    """A taint; one of the same key and effect gives way to it."""

    node: str
    taint: Taint

    def __str__(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        return f"--taint {self.node}={self.taint.key}{value}:{self.taint.effect}"


@dataclass(frozen=True, slots=True)
class RemoveTaint:
    """Without an effect: all of that key."""

    node: str
    key: str
    effect: str = ""

    def __str__(self) -> str:
        return f"--taint {self.node}={self.key}{f':{self.effect}' if self.effect else ''}-"


@dataclass(frozen=True, slots=True)
class SetLabel:
    node: str
    key: str
    value: str

    def __str__(self) -> str:
        return f"--label {self.node}={self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class RemoveLabel:
    node: str
    key: str

    def __str__(self) -> str:
        return f"--label {self.node}={self.key}-"


@dataclass(frozen=True, slots=True)
class Scale:
    target: Reference
    replicas: int

    def __str__(self) -> str:
        return f"--scale {self.target}={self.replicas}"


@dataclass(frozen=True, slots=True)
class Delete:
    target: Reference

    def __str__(self) -> str:
        return f"--delete {self.target}"


Edit: TypeAlias = (
    AddNode
    | CloneNode
    | RemoveNode
    | Cordon
    | Uncordon
    | Drain
    | SetTaint
    | RemoveTaint
    | SetLabel
    | RemoveLabel
    | Scale
    | Delete
)


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{name}={count}"


class EditMistake(ValueError):
    """Why an edit cannot be made, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
