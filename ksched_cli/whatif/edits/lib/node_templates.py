"""Templates of new nodes: a Node in a file, or words such as cpu=4,memory=16Gi,zone=a. A node of words has no taints,
and of labels only those of every kubelet beside the words: what a cloud would add is not guessed."""

from __future__ import annotations

import os
import re

from ksched_cli.api.core import Node, NodeStatus, ObjectMeta
from ksched_cli.api.defaults import default_node
from ksched_cli.api.label_names import is_label_value
from ksched_cli.api.quantity import QuantityError, parse_quantity
from ksched_cli.sources.dump import load_dump
from ksched_cli.sources.templates import copied, uid_of
from ksched_cli.whatif.edits.lib.arguments import EditMistake

_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_LABELS = {
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
    "os": "kubernetes.io/os",
    "arch": "kubernetes.io/arch",
}
# What every kubelet sets beside the hostname, of the most common machines.
_DEFAULTS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
_IN_WORDS = re.compile(rf"({'|'.join((*_RESOURCES, *_LABELS, 'name'))})=")
# The kubelet's own default.
_PODS = "110"
_DEFAULT_NAME = "new-node"
_HOSTNAME = "kubernetes.io/hostname"
_HINT = "a template is a file with one Node, or words such as cpu=4,memory=16Gi,zone=a"


def read_template(text: str) -> Node:
    return _of_words(text) if _IN_WORDS.match(text) else _of_file(text)


def split_count(text: str) -> tuple[str, str]:
    """`node.yaml=3` and `cpu=4,zone=a=3`: what it is, and the number behind it, which may be missing."""
    head, comma, last = text.rpartition(",") if _IN_WORDS.match(text) else ("", "", text)
    if _IN_WORDS.match(text) and last.count("=") < 2:
        return text, ""
    what, _, number = last.rpartition("=") if "=" in last else (last, "", "")
    return f"{head}{comma}{what}", number


def _of_file(path: str) -> Node:
    if os.path.isdir(path):
        raise EditMistake(f"{path} is a directory", _HINT)
    nodes = load_dump([path]).of(Node)
    if len(nodes) != 1:
        raise EditMistake(f"{len(nodes)} nodes in {path}" if nodes else f"no Node in {path}", _HINT)
    if not nodes[0].status.allocatable:
        raise EditMistake(f"the Node in {path} has neither allocatable nor capacity", "nothing would fit on it")
    return nodes[0]


def _of_words(text: str) -> Node:
    labels: dict[str, str] = {}
    amounts: dict[str, str | int | float] = {}
    name = _DEFAULT_NAME
    for word in text.split(","):
        key, _, value = word.partition("=")
        if not value:
            raise EditMistake(f"{key!r} has no value", "write KEY=VALUE,KEY=VALUE")
        if key == "name":
            name = value
        elif key in _LABELS:
            if not is_label_value(value):
                raise EditMistake(f"{value!r} cannot be the name of a {key}")
            labels[_LABELS[key]] = value
        elif key in _RESOURCES or "/" in key or key.startswith("hugepages-"):
            amounts[key] = _amount(key, value)
        else:
            known = ", ".join((*_RESOURCES, "DOMAIN/RESOURCE", *_LABELS, "name"))
            raise EditMistake(f"{key!r} is not known here", f"known are {known}; a file with a Node can say anything")
    amounts.setdefault("pods", _PODS)
    labels = {**_DEFAULTS, **labels}
    # Every kubelet still sets the names that these labels had first.
    labels |= {f"beta.{key}": labels[key] for key in _DEFAULTS}
    node = Node(ObjectMeta(name=name, labels=labels), status=NodeStatus(allocatable=amounts))
    default_node(node)
    return node


def _amount(key: str, value: str) -> str:
    try:
        negative = parse_quantity(value) < 0
    except QuantityError as mistake:
        raise EditMistake(f"{key}: {mistake}") from None
    if negative:
        raise EditMistake(f"{key}: {value} is negative")
    return value


def renamed(node: Node, name: str) -> Node:
    """A copy of the node with an identity of its own."""
    new = copied(node)
    labels = {**new.metadata.labels, _HOSTNAME: name}
    new.metadata = ObjectMeta(name, labels=labels, annotations=new.metadata.annotations, uid=uid_of("Node", "", name))
    new.spec.provider_id = ""
    return new
