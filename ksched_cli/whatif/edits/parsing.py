"""From what stands behind a flag to the edit that it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from ksched_cli.api.core import Taint
from ksched_cli.api.label_names import is_label_key, is_label_value
from ksched_cli.errors import InputError, Problem
from ksched_cli.whatif.edits.kinds import kind_named
from ksched_cli.whatif.edits.node_templates import read_template, split_count
from ksched_cli.whatif.edits.values import (
    AddNode,
    CloneNode,
    Cordon,
    Delete,
    Drain,
    Edit,
    EditMistake,
    Reference,
    RemoveLabel,
    RemoveNode,
    RemoveTaint,
    Scale,
    SetLabel,
    SetTaint,
    Uncordon,
)

MAX_NODES = 100_000
MAX_REPLICAS = 1_000_000
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NUMBER = re.compile(r"\d+", re.ASCII)


def parse_edits(given: Iterable[tuple[str, str]]) -> tuple[list[Edit], list[Problem]]:
    """Pairs of flag and text, `("cordon", "node-1")`; the edits that they mean, and all mistakes."""
    edits: list[Edit] = []
    problems: list[Problem] = []
    for flag, text in given:
        try:
            edits.append(parse_one(flag, text))
        except EditMistake as mistake:
            problems.append(Problem(str(mistake), f"--{flag} {text}".rstrip(), hint=mistake.hint))
        except InputError as mistake:
            problems += mistake.problems
    return edits, problems


def parse_one(flag: str, text: str) -> Edit:
    return FLAGS[flag](text)


def _add_node(text: str) -> AddNode:
    template, number = split_count(text)
    count = _whole(number, 1, MAX_NODES, "how many") if number else 1
    return AddNode(read_template(_some(template)), count, text)


def _clone_node(text: str) -> CloneNode:
    node, found, number = text.partition("=")
    return CloneNode(_some(node), _whole(number, 1, MAX_NODES, "how many") if found else 1)


def _some(name: str) -> str:
    if not name:
        raise EditMistake("there is no name")
    return name


def _whole(text: str, least: int, most: int, what: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise EditMistake(f"{what}: {text!r} is not a whole number")
    number = int(text)
    if not least <= number <= most:
        raise EditMistake(f"{what}: {number} is not between {least} and {most}")
    return number


def _taint(text: str) -> SetTaint | RemoveTaint:
    node, rest = _of_node(text, "NODE=KEY[=VALUE]:EFFECT, or NODE=KEY[:EFFECT]- to remove it")
    if rest.endswith("-"):
        key, _, effect = rest[:-1].partition(":")
        key = key.partition("=")[0]
        _check_key(key)
        if effect:
            _check_effect(effect)
        return RemoveTaint(node, key, effect)
    pair, found, effect = rest.rpartition(":")
    if not found:
        raise EditMistake("there is no effect", f"write NODE=KEY[=VALUE]:EFFECT, such as {node}={rest}:NoSchedule")
    key, _, value = pair.partition("=")
    _check_key(key)
    _check_value(value)
    _check_effect(effect)
    return SetTaint(node, Taint(key, value, effect))


def _label(text: str) -> SetLabel | RemoveLabel:
    node, rest = _of_node(text, "NODE=KEY=VALUE, or NODE=KEY- to remove it")
    key, found, value = rest.partition("=")
    if not found and key.endswith("-"):
        _check_key(key[:-1])
        return RemoveLabel(node, key[:-1])
    if not found:
        raise EditMistake(f"label {key} has no value", f"write {node}={key}=VALUE, or {node}={key}- to remove it")
    _check_key(key)
    _check_value(value)
    return SetLabel(node, key, value)


def _of_node(text: str, form: str) -> tuple[str, str]:
    node, _, rest = text.partition("=")
    if not node or not rest:
        raise EditMistake("incomplete", f"write {form}")
    return node, rest


def _check_key(key: str) -> None:
    if not is_label_key(key):
        raise EditMistake(f"{key!r} cannot be a key", "letters, digits, - _ and ., a domain and / before it if need be")


def _check_value(value: str) -> None:
    if not is_label_value(value):
        raise EditMistake(f"{value!r} cannot be a value", "at most 63 letters, digits, - _ and .")


def _check_effect(effect: str) -> None:
    if effect not in EFFECTS:
        raise EditMistake(f"there is no effect {effect}", f"use one of {', '.join(EFFECTS)}")


def _scale(text: str) -> Scale:
    target, found, number = text.rpartition("=")
    if not found:
        raise EditMistake("there is no number", f"write {text if '/' in text else 'KIND/NAME'}=N")
    return Scale(reference(target), _whole(number, 0, MAX_REPLICAS, "replicas"))


def _delete(text: str) -> Delete:
    return Delete(reference(text))


def reference(text: str) -> Reference:
    """KIND/NAME or KIND/NAMESPACE/NAME."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise EditMistake(f"{text!r} does not say what", "write KIND/NAME or KIND/NAMESPACE/NAME")
    return Reference(kind_named(parts[0]), parts[-1], parts[1] if len(parts) == 3 else "")


# In the order in which the edits of a command line are made: first what nodes there are, then what they are like, then
# who leaves them; workloads last.
FLAGS: Mapping[str, Callable[[str], Edit]] = {
    "add-node": _add_node,
    "clone-node": _clone_node,
    "remove-node": lambda text: RemoveNode(_some(text)),
    "uncordon": lambda text: Uncordon(_some(text)),
    "cordon": lambda text: Cordon(_some(text)),
    "label": _label,
    "taint": _taint,
    "drain": lambda text: Drain(_some(text)),
    "delete": _delete,
    "scale": _scale,
}
