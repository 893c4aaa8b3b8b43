"""Options that several commands have, among them those of random orders and tie-breaks. `groups.py` has the groups of
options that describe an input; an option of one command stands in the module of the command."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from msgspec import Struct

from ksched_cli.cli.help_layout import OUTPUT, RARE
from ksched_cli.releases import DEFAULT_VERSION


class FormatOption(Struct, frozen=True):
    """-o with the formats of classes of results: those that renderers are registered for, `without` one of them."""

    result: str
    without: str = ""

    def annotation(self) -> Any:
        """The option as typer reads it."""
        from ksched_cli.report.registry import formats_of

        purposes = {
            name: each
            for result in self.result.split()
            for name, each in formats_of(result).items()
            if name != self.without
        }
        names: dict[str, list[str]] = {}
        for name, purpose in purposes.items():
            names.setdefault(purpose, []).append(name)
        text = ", ".join(f"{' and '.join(each)} {purpose}".rstrip() for purpose, each in names.items())
        # kubectl's templates are filled in from the document.
        text += _TEMPLATES if {"json", "yaml"} <= purposes.keys() else "."
        choices = StrEnum("Output", {name.upper(): name for name in purposes})  # type: ignore[misc]  # made at run time
        return Annotated[choices, typer.Option("-o", "--output", help=text, rich_help_panel=OUTPUT)]


_TEMPLATES = (
    "; or kubectl's jsonpath='{...}' and custom-columns=NAME:path,... over the json (a row for each entry of its first "
    "list)."
)


class Detail(StrEnum):
    SUMMARY = "summary"
    NODES = "nodes"
    FULL = "full"


class TieBreakChoice(StrEnum):
    NAME = "name"
    RANDOM = "random"


class FailOn(StrEnum):
    PREEMPTION = "preemption"
    WARNING = "warning"
    NEW_NODE = "new-node"


class AutoscalerChoice(StrEnum):
    AUTO = "auto"
    KARPENTER = "karpenter"
    NONE = "none"


From = Annotated[
    list[str],
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="Kubernetes objects in JSON or YAML: a file, also compressed, a directory, a .tar, .tgz or .zip, "
        "a snapshot, - for stdin, or live. Give it as often as you like. Without it: the cluster of your kube context.",
    ),
]
Newest = Annotated[
    bool,
    typer.Option(
        "--newest",
        help="Of an object that several files of --from have, read the newer one: by resourceVersion, else by the time "
        "of the file.",
    ),
]
Recursive = Annotated[
    bool, typer.Option("-R", "--recursive", help="Read the folders below a directory of -f, too, as kubectl does.")
]
Exclude = Annotated[
    list[str],
    typer.Option(
        "--exclude", metavar="GLOB", help="Leave files or folders of a -f directory out. Give it as often as you like."
    ),
]
StdinFilename = Annotated[
    str,
    typer.Option(
        "--stdin-filename",
        metavar="FILE",
        help="The file that messages and CI formats name for manifests from stdin that do not name their own.",
    ),
]
PodTemplateOption = Annotated[
    list[str],
    typer.Option(
        "--pod-template",
        metavar="KIND.GROUP=PATH[,replicas=PATH]",
        help="Where a custom resource has its pod template and number of pods; [*] after a list means each element.",
    ),
]
Kustomize = Annotated[
    list[str],
    typer.Option(
        "-k",
        "--kustomize",
        metavar="DIR",
        help="Manifests that the installed kustomize or kubectl builds of this directory.",
    ),
]
Helm = Annotated[
    list[str], typer.Option("--helm", metavar="CHART", help="Manifests that the installed helm renders of this chart.")
]
Values = Annotated[list[str], typer.Option("--values", metavar="FILE", help="Values for --helm.")]
CreateNamespace = Annotated[
    bool, typer.Option("--create-namespace", help="The deployment creates the namespaces that the input does not have.")
]
AssumeNamespace = Annotated[
    list[str], typer.Option("--assume-namespace", metavar="NAME", help="A namespace that exists.")
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict/--no-strict",
        help="Refuse fields of manifests that their kind does not have, as kubectl does, or ignore them.",
    ),
]
ServerSide = Annotated[
    bool,
    typer.Option(
        "--server-side",
        help="Apply the manifests as kubectl apply --server-side does: the managers of fields are respected.",
    ),
]
ForceConflicts = Annotated[
    bool, typer.Option("--force-conflicts", help="With --server-side: take over fields of other managers.")
]
AllowEmpty = Annotated[
    bool, typer.Option("--allow-empty", help="Exit with 0 although there was nothing to place, or no node.")
]


def namespace(about: str) -> typer.models.OptionInfo:
    """-n with this help."""
    option: typer.models.OptionInfo = typer.Option("-n", "--namespace", metavar="NAMESPACE", help=about)
    return option


AllNamespaces = Annotated[
    bool, typer.Option("-A", "--all-namespaces", help="Show the pods of all namespaces, which is what happens anyway.")
]
Selector = Annotated[str, typer.Option("-l", "--selector", metavar="QUERY", help="Show pods with these labels only.")]
Config = Annotated[
    str | None, typer.Option(metavar="FILE", help="A KubeSchedulerConfiguration; without it kube-scheduler's defaults.")
]
KubeVersion = Annotated[
    str,
    typer.Option(
        metavar="X.Y",
        help="Answer as this minor of Kubernetes. auto: the version of the server, where the input has it, "
        f"else {DEFAULT_VERSION}.",
    ),
]
FeatureGates = Annotated[
    str, typer.Option(metavar="A=true,B=false", help="Feature gates that differ from their default.")
]
DetailOption = Annotated[
    Detail,
    typer.Option(
        help="How much json and yaml have of each node: nodes for every node's first failure in short form, which the "
        "node map of `ksched report` needs; full for every node's first failure and every plugin's score.",
        rich_help_panel=OUTPUT,
    ),
]
PluginOption = Annotated[
    list[str], typer.Option("--plugin", metavar="MODULE:CLASS", help="A plugin of your own beside the in-tree ones.")
]
ExitZero = Annotated[
    bool, typer.Option("--exit-zero", help="Exit with 0 although some pod does not fit.", rich_help_panel=OUTPUT)
]
FailOnOption = Annotated[
    list[FailOn],
    typer.Option(
        "--fail-on",
        help="Exit with 1 also for: a pod that has to preempt, a warning, a pod that needs a new node.",
        rich_help_panel=OUTPUT,
    ),
]
NoHeaders = Annotated[
    bool, typer.Option("--no-headers", help="Leave out the header of the table.", rich_help_panel=OUTPUT + RARE)
]


class DrawOptions(Struct, frozen=True):
    """A sentence for each pod: how often it goes where in random orders and tie-breaks."""

    orders: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="N random orders of arrival of the pending pods.")
    ] = None
    ties: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="N random choices among nodes with equal scores.")
    ] = None

    def __bool__(self) -> bool:
        return self.orders is not None or self.ties is not None
