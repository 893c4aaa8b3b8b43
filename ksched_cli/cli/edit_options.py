"""What-if edits: changes to the cluster that was read, before anything is scheduled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Annotated, Optional

import typer

EDITS_HELP = """What-if edits change the cluster before pods are tried; the files stay as they are. They are made in
this order: nodes are added, cloned, removed, uncordoned, cordoned, labelled, tainted and drained; then workloads are
deleted and scaled. A pod that has to leave its node and has a controller comes back as a new pending pod; without one
it is gone. DaemonSets run on new nodes too."""


def _many(flag: str, metavar: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, metavar=metavar, help=text, show_default=False)
    return option


@dataclass(frozen=True)
class EditOptions:
    """Each may be given as often as you like."""

    add_node: Annotated[
        list[str],
        _many(
            "--add-node",
            "TEMPLATE[=N]",
            "Add nodes: a file with a Node, or words such as cpu=4,memory=16Gi,zone=a (also region, pods, name and "
            "other resources). With =N so many of them, numbered.",
        ),
    ] = field(default_factory=list)
    clone_node: Annotated[
        list[str],
        _many("--clone-node", "NODE[=N]", "Add new, empty nodes of the same make, labels and taints as NODE."),
    ] = field(default_factory=list)
    remove_node: Annotated[
        list[str],
        _many("--remove-node", "NODE", "Take a node away. Pods of controllers become pending, the others are gone."),
    ] = field(default_factory=list)
    cordon: Annotated[list[str], _many("--cordon", "NODE", "Mark a node unschedulable.")] = field(default_factory=list)
    uncordon: Annotated[list[str], _many("--uncordon", "NODE", "Mark a node schedulable.")] = field(
        default_factory=list
    )
    drain: Annotated[
        list[str],
        _many(
            "--drain",
            "NODE",
            "Cordon a node and evict its pods, as kubectl drain --ignore-daemonsets --force does: those of DaemonSets "
            "and mirror pods stay. No PodDisruptionBudget is asked.",
        ),
    ] = field(default_factory=list)
    taint: Annotated[
        list[str],
        _many(
            "--taint",
            "NODE=KEY[=VALUE]:EFFECT",
            "Taint a node; NODE=KEY- and NODE=KEY:EFFECT- remove taints. NoExecute evicts who does not tolerate it.",
        ),
    ] = field(default_factory=list)
    label: Annotated[list[str], _many("--label", "NODE=KEY=VALUE", "Label a node; NODE=KEY- removes the label.")] = (
        field(default_factory=list)
    )
    scale: Annotated[
        list[str],
        _many(
            "--scale",
            "KIND/NAME=N",
            "Scale a Deployment, ReplicaSet, StatefulSet or ReplicationController of the input: new pods are pending, "
            "and those go that its controller deletes first. KIND/NAMESPACE/NAME where the name is not enough.",
        ),
    ] = field(default_factory=list)
    delete: Annotated[
        list[str],
        _many(
            "--delete",
            "KIND/NAME",
            "Delete an object with what belongs to it. A pod of a controller comes back as a new one.",
        ),
    ] = field(default_factory=list)

    scenario: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time
        typer.Option(
            metavar="FILE",
            help="Steps of edits and expectations, run one after the other; `ksched scenario schema` tells what may "
            "stand in it. Exit code 4 when an expectation fails.",
        ),
    ] = None

    def given(self) -> Iterator[tuple[str, str]]:
        """Flag and text of every edit."""
        for each in fields(self):
            if each.name == "scenario":
                continue
            for text in getattr(self, each.name):
                yield each.name.replace("_", "-"), text
