"""Groups of options that several commands share: which cluster, which what-if edits, and how pods are scheduled.

A command has a parameter for each group (`cluster: ClusterOptions`), and a group may hold other groups. `takes_groups`
makes one parameter of each option for typer, so that every option is declared once. Each declared edit has an option.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, get_type_hints

import typer
from msgspec import NODEFAULT, Struct, defstruct, field, structs
from msgspec.structs import asdict, replace

from ksched_cli.cli import options
from ksched_cli.cli.help_layout import EDITS, INPUT, RULES, Panel
from ksched_cli.errors import Problem, UsageError
from ksched_cli.report.progress import ListProgress
from ksched_cli.simulator import (
    EditSpec,
    LiveOptions,
    ManifestReading,
    RunOptions,
    edit_specs,
    parse_seconds,
    parse_timeout,
)

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


class LiveClusterOptions(Struct, frozen=True):
    """The cluster of a kubeconfig, in kubectl's own words."""

    panel: ClassVar[Panel] = Panel(INPUT, {"context"})
    context: Annotated[str | None, typer.Option(metavar="NAME", help="The context of the kubeconfig to use.")] = None
    kubeconfig: Annotated[
        str | None, typer.Option(metavar="FILE", help="The kubeconfig; else $KUBECONFIG, else ~/.kube/config.")
    ] = None
    as_user: Annotated[str, typer.Option("--as", metavar="USER", help="Read the cluster as this user sees it.")] = ""
    as_group: Annotated[list[str], typer.Option("--as-group", metavar="GROUP", help="Groups of the user of --as.")] = (
        field(default_factory=list)
    )
    request_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="How long one request to the API server may take, as 30s or 2m; 0 is for ever."
        ),
    ] = "60s"

    def contradictions(self) -> Iterator[str]:
        if self.as_group and not self.as_user:
            yield "--as-group goes with --as: the API server does not take groups without a user"

    def read(self) -> LiveOptions:
        timeout = parse_timeout(self.request_timeout)
        return LiveOptions(self.context, self.kubeconfig, self.as_user, tuple(self.as_group), timeout)


class SourceOptions(Struct, frozen=True):
    """Where the cluster is read."""

    sources: options.From = field(default_factory=list)
    newest: options.Newest = False

    def contradictions(self) -> Iterator[str]:
        """One sentence for each contradiction between these options."""
        yield from ()

    def read(self) -> RunOptions:
        """A run with these options."""
        return RunOptions(sources=self.sources, newest=self.newest)


class ManifestOptions(SourceOptions, frozen=True):
    """The cluster, and manifests for it."""

    panel: ClassVar[Panel] = Panel(INPUT, {"sources", "filenames", "namespace"})
    filenames: Annotated[
        list[str],
        typer.Option(
            "-f",
            "--filename",
            metavar="FILE",
            help="Manifests to place in that cluster: a file, a directory, or - for stdin. Workloads become the pods "
            "that their controllers would make. Give it as often as you like.",
        ),
    ] = field(default_factory=list)
    namespace: Annotated[str, options.namespace("The namespace of manifests that name none.")] = ""
    recursive: options.Recursive = False
    exclude: options.Exclude = field(default_factory=list)
    stdin_name: options.StdinFilename = "stdin"
    allow_empty: options.AllowEmpty = False
    pod_templates: options.PodTemplateOption = field(default_factory=list)
    creates_namespaces: options.CreateNamespace = False
    assumed_namespaces: options.AssumeNamespace = field(default_factory=list)
    kustomizations: options.Kustomize = field(default_factory=list)
    charts: options.Helm = field(default_factory=list)
    values: options.Values = field(default_factory=list)
    strict: options.Strict = True
    server_side: options.ServerSide = False
    force_conflicts: options.ForceConflicts = False

    def contradictions(self) -> Iterator[str]:
        if self.force_conflicts and not self.server_side:
            yield "--force-conflicts goes with --server-side"
        if self.values and not self.charts:
            yield "--values are for a chart: give it with --helm CHART"
        if "-" in self.sources and "-" in self.filenames:
            yield "--from - and -f - cannot both read stdin: give one of them as a file"

    def read(self) -> RunOptions:
        words = {name: value for name, value in asdict(self).items() if name in ManifestReading.__struct_fields__}
        reading = ManifestReading(**{**words, "namespace": ""})
        run = replace(super().read(), filenames=self.filenames, namespace=self.namespace)
        return replace(run, reading=reading, allow_empty=self.allow_empty)


class ClusterOptions(ManifestOptions, frozen=True):
    """The cluster, the manifests to place in it, and which pods to show."""

    panel: ClassVar[Panel] = Panel(INPUT, {"sources", "filenames", "namespace", "selector"})
    namespace: Annotated[
        str, options.namespace("Show the pods of this namespace only; manifests that name no namespace go into it.")
    ] = ""
    all_namespaces: options.AllNamespaces = False
    selector: options.Selector = ""

    def contradictions(self) -> Iterator[str]:
        yield from super().contradictions()
        yield from _one_namespace_or_all(self.namespace, self.all_namespaces)

    def read(self) -> RunOptions:
        return replace(super().read(), selector=self.selector)


class PodOptions(SourceOptions, frozen=True):
    """The cluster as it is, and which of its pods to look at."""

    panel: ClassVar[Panel] = Panel(INPUT, {"sources", "namespace", "selector"})
    namespace: Annotated[str, options.namespace("Look at the pods of this namespace only.")] = ""
    all_namespaces: options.AllNamespaces = False
    selector: options.Selector = ""

    def contradictions(self) -> Iterator[str]:
        yield from _one_namespace_or_all(self.namespace, self.all_namespaces)

    def read(self) -> RunOptions:
        return replace(super().read(), namespace=self.namespace, selector=self.selector)


def _one_namespace_or_all(namespace: str, all_namespaces: bool) -> Iterator[str]:
    if namespace and all_namespaces:
        yield "-n and -A contradict each other: give one of them"


class SchedulerOptions(Struct, frozen=True):
    """Options of the scheduler that decides."""

    panel: ClassVar[Panel] = Panel(RULES, {"config", "kube_version", "tie_break"})
    config: options.Config = None
    kube_version: options.KubeVersion = "auto"
    feature_gates: options.FeatureGates = ""
    plugins: options.PluginOption = field(default_factory=list)
    tie_break: Annotated[
        options.TieBreakChoice,
        typer.Option(help="Which of several best nodes is taken: the lowest name, or any, as kube-scheduler does."),
    ] = options.TieBreakChoice.NAME
    seed: Annotated[int, typer.Option(help="Makes --tie-break random repeatable.")] = 0
    sampling: Annotated[
        bool,
        typer.Option("--sampling", help="Stop after percentageOfNodesToScore of the nodes, as kube-scheduler does."),
    ] = False
    allow_extenders: Annotated[
        bool,
        typer.Option(
            "--allow-extenders",
            help="Call the configuration's extenders over HTTP: filter, prioritize and preempt, never bind.",
        ),
    ] = False
    no_reuse: Annotated[
        bool,
        typer.Option("--no-reuse", help="Work everything out afresh for every pod: slow, and the answer is the same."),
    ] = False

    def keywords(self) -> dict[str, Any]:
        """Fields of `RunOptions`."""
        words = asdict(self)
        return words | {"tie_break": self.tie_break.value, "reuse": not words.pop("no_reuse")}


class AutoscalerOptions(Struct, frozen=True):
    """The autoscaler of the cluster."""

    panel: ClassVar[Panel] = Panel(INPUT, set())
    autoscaler: Annotated[
        options.AutoscalerChoice,
        typer.Option(help="What adds nodes for pods without a place; auto: Karpenter where the input has a NodePool."),
    ] = options.AutoscalerChoice.AUTO
    autoscaler_flags: Annotated[
        list[str],
        typer.Option(
            "--autoscaler-flag", metavar="NAME=VALUE", help="A flag of Karpenter, such as preference-policy=Ignore."
        ),
    ] = field(default_factory=list)
    instance_types: Annotated[
        str, typer.Option(metavar="FILE", help="The instance types that NodePools can choose from, as JSON.")
    ] = ""
    prices: Annotated[
        str, typer.Option(metavar="FILE", help="Prices of instance types, on demand and spot, as YAML or JSON.")
    ] = ""
    node_startup: Annotated[
        str, typer.Option(metavar="TIME", help="How long a new node takes until it is ready, with --settle.")
    ] = "60s"

    def keywords(self) -> dict[str, Any]:
        """Fields of `RunOptions`."""
        seconds = parse_seconds(self.node_startup, "--node-startup")
        return asdict(self) | {"autoscaler": self.autoscaler.value, "node_startup": seconds}


class SchedulerRun(Struct, frozen=True):
    """The groups of a command that runs the scheduler."""

    cluster: SourceOptions
    live: LiveClusterOptions
    scheduler: SchedulerOptions

    def read(self, *contradictions: str) -> RunOptions:
        """The options of the run. UsageError with these contradictions of the command, and with those of the groups."""
        refuse([*self.cluster.contradictions(), *self.live.contradictions(), *contradictions])
        return replace(
            self.cluster.read(),
            live=self.live.read(),
            progress=shown_progress(),
            stdin=sys.stdin.buffer,
            keeps_documents=False,
            **self.scheduler.keywords(),
        )


class PodSelectionRun(SchedulerRun, frozen=True):
    cluster: PodOptions


class ManifestRun(SchedulerRun, frozen=True):
    """The groups of a command that reads manifests and makes what-if edits."""

    cluster: ManifestOptions
    edits: EditOptions

    def read(self, *contradictions: str) -> RunOptions:
        run, scenario = super().read(*contradictions), self.edits.scenario
        keeps_documents = run.has_manifests or scenario is not None
        return replace(run, edits=tuple(self.edits.given()), scenario=scenario, keeps_documents=keeps_documents)


class AutoscaledRun(ManifestRun, frozen=True):
    """The groups of a command that has the autoscaler of the cluster too."""

    autoscaling: AutoscalerOptions

    def read(self, *contradictions: str) -> RunOptions:
        return replace(super().read(*contradictions), **self.autoscaling.keywords())


class ClusterRun(AutoscaledRun, frozen=True):
    """The groups of a command that has the autoscaler and can choose among the pods of the cluster."""

    cluster: ClusterOptions


def refuse(contradictions: Sequence[str]) -> None:
    """UsageError with all contradictions, if there are any."""
    if contradictions:
        raise UsageError(map(Problem, contradictions))


def shown_progress() -> ListProgress | None:
    """The progress of reading a live cluster, which takes its time; None if stderr is no terminal."""
    return ListProgress() if sys.stderr.isatty() else None


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer: with a parameter for each option, in the order of the groups."""
    hints = get_type_hints(command, include_extras=True)
    defaults = inspect.signature(command).parameters

    def call(**given: Any) -> None:
        command(**{name: _value(name, hints[name], given) for name in defaults})

    parameters = [each for name in defaults for each in _parameters(name, hints[name], defaults[name].default)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    return call


# Each command reads the fields of its groups twice: for its parameters and for its values.
_fields = cache(structs.fields)


def _value(name: str, kind: Any, given: dict[str, Any]) -> Any:
    """The value of a parameter or of a field: that of the option, or a group."""
    if not _is_group(kind):
        return given[name]
    make: Any = kind
    return make(**{each.name: _value(each.name, each.type, given) for each in _fields(kind)})


def _parameters(name: str, kind: Any, default: Any, panel: Panel | None = None) -> Iterator[inspect.Parameter]:
    """The parameters of an option, or of all options of a group."""
    if _is_group(kind):
        for each in _fields(kind):
            yield from _parameters(each.name, each.type, _default(each), getattr(kind, "panel", None))
        return
    for each in getattr(kind, "__metadata__", ()):
        if isinstance(each, options.FormatOption):
            kind = each.annotation()
    kind = kind if panel is None else _in_panel(kind, panel.of(name))
    yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _in_panel(annotation: Any, panel: str) -> Any:
    """The annotation with a copy of its option that is shown in the group."""
    option = copy(annotation.__metadata__[0])
    option.rich_help_panel = panel
    return Annotated[annotation.__origin__, option]


def _default(option: structs.FieldInfo) -> Any:
    return option.default if option.default_factory is NODEFAULT else option.default_factory()
