"""Groups of options that several commands share: which cluster, and how it is scheduled.

A command names the groups it takes (`cluster: ClusterOptions`); `takes_groups` spells them out for typer, so that every
option is written in one place and every command has all of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

from ksched_cli.cli import options
from ksched_cli.cli.edit_options import EditOptions
from ksched_cli.cli.help_layout import EDITS, INPUT, RARE, RULES
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.report.progress import ListProgress
    from ksched_cli.simulator import LiveOptions, ManifestReading, RunOptions


@dataclass(frozen=True)
class Panel:
    """The group of the help that options are shown in. `described` have a line each; the others are named only."""

    name: str
    described: Set[str]

    def of(self, field: str) -> str:
        return self.name if field in self.described else self.name + RARE


@dataclass(frozen=True)
class LiveClusterOptions:
    """The cluster of a kubeconfig, in kubectl's own words."""

    panel: ClassVar[Panel] = Panel(INPUT, {"context"})
    context: options.Context = None
    kubeconfig: options.Kubeconfig = None
    as_user: options.As = ""
    as_group: options.AsGroup = field(default_factory=list)
    request_timeout: options.RequestTimeout = "60s"

    def read(self) -> LiveOptions:
        from ksched_cli.simulator import LiveOptions, parse_timeout

        if self.as_group and not self.as_user:
            raise UsageError("--as-group goes with --as: the API server does not take groups without a user")
        timeout = parse_timeout(self.request_timeout)
        return LiveOptions(self.context, self.kubeconfig, self.as_user, tuple(self.as_group), timeout)


@dataclass(frozen=True)
class ManifestOptions:
    """The cluster, and manifests for it."""

    panel: ClassVar[Panel] = Panel(INPUT, {"sources", "filenames", "namespace"})
    sources: options.From = field(default_factory=list)
    filenames: options.Filename = field(default_factory=list)
    namespace: options.ManifestNamespace = ""
    recursive: options.Recursive = False
    exclude: options.Exclude = field(default_factory=list)
    stdin_filename: options.StdinFilename = ""
    allow_empty: options.AllowEmpty = False
    pod_template: options.PodTemplateOption = field(default_factory=list)
    create_namespace: options.CreateNamespace = False
    assume_namespace: options.AssumeNamespace = field(default_factory=list)
    kustomize: options.Kustomize = field(default_factory=list)
    helm: options.Helm = field(default_factory=list)
    values: options.Values = field(default_factory=list)
    strict: options.Strict = None

    @property
    def has_manifests(self) -> bool:
        return bool(self.filenames or self.kustomize or self.helm)

    def reading(self) -> ManifestReading:
        from ksched_cli.simulator import ManifestReading

        name, templates = self.stdin_filename or "stdin", tuple(self.pod_template)
        return ManifestReading(
            "",
            self.recursive,
            tuple(self.exclude),
            name,
            pod_templates=templates,
            assumed_namespaces=tuple(self.assume_namespace),
            creates_namespaces=self.create_namespace,
            kustomizations=tuple(self.kustomize),
            charts=tuple(self.helm),
            values=tuple(self.values),
            strict=self.strict,
        )

    def check(self) -> None:
        if self.values and not self.helm:
            raise UsageError("--values are for a chart: give it with --helm CHART")
        if "-" in self.sources and "-" in self.filenames:
            raise UsageError("--from - and -f - cannot both read stdin: give one of them as a file")


@dataclass(frozen=True)
class ClusterOptions(ManifestOptions):
    """The cluster, the manifests to place in it, and which pods to show."""

    panel: ClassVar[Panel] = Panel(INPUT, {"sources", "filenames", "namespace", "selector"})
    namespace: options.Namespace = ""
    all_namespaces: options.AllNamespaces = False
    selector: options.Selector = ""

    def check(self) -> None:
        super().check()
        _one_namespace_or_all(self.namespace, self.all_namespaces)


@dataclass(frozen=True)
class PodOptions:
    """The cluster as it is, and which of its pods to look at."""

    panel: ClassVar[Panel] = Panel(INPUT, {"sources", "namespace", "selector"})
    sources: options.From = field(default_factory=list)
    namespace: options.OfNamespace = ""
    all_namespaces: options.AllNamespaces = False
    selector: options.Selector = ""

    def check(self) -> None:
        _one_namespace_or_all(self.namespace, self.all_namespaces)


def _one_namespace_or_all(namespace: str, all_namespaces: bool) -> None:
    if namespace and all_namespaces:
        raise UsageError("-n and -A contradict each other: give one of them")


@dataclass(frozen=True)
class SchedulerOptions:
    """Options of the scheduler that decides."""

    panel: ClassVar[Panel] = Panel(RULES, {"config", "kube_version", "tie_break"})
    config: options.Config = None
    kube_version: options.KubeVersion = "auto"
    feature_gates: options.FeatureGates = ""
    plugin: options.PluginOption = field(default_factory=list)
    tie_break: options.TieBreakOption = options.TieBreakChoice.NAME
    seed: options.Seed = 0
    sampling: options.Sampling = False
    allow_extenders: options.AllowExtenders = False
    no_reuse: options.NoReuse = False


def run_options(
    cluster: ManifestOptions | PodOptions,
    live: LiveClusterOptions,
    scheduler: SchedulerOptions,
    edits: EditOptions | None = None,
    *,
    timings: bool = False,
) -> RunOptions:
    """The options of the run. Contradictions are refused."""
    from ksched_cli.simulator import RunOptions

    cluster.check()
    made = RunOptions(
        sources=cluster.sources,
        namespace=cluster.namespace,
        selector=cluster.selector if isinstance(cluster, ClusterOptions | PodOptions) else "",
        live=live.read(),
        progress=shown_progress(),
        stdin=sys.stdin.buffer,
        edits=tuple(edits.given()) if edits else (),
        scenario=edits.scenario if edits else None,
        config=scheduler.config,
        kube_version=scheduler.kube_version,
        feature_gates=scheduler.feature_gates,
        plugins=scheduler.plugin,
        tie_break=scheduler.tie_break.value,
        seed=scheduler.seed,
        sampling=scheduler.sampling,
        reuse=not scheduler.no_reuse,
        timings=timings,
        allow_extenders=scheduler.allow_extenders,
    )
    if not isinstance(cluster, ManifestOptions):
        return made
    return replace(made, filenames=cluster.filenames, reading=cluster.reading(), allow_empty=cluster.allow_empty)


def shown_progress() -> ListProgress | None:
    """For the reading of a live cluster, which takes its time; only where a person looks on."""
    if not sys.stderr.isatty():
        return None
    from ksched_cli.report.progress import ListProgress

    return ListProgress()


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer wants it: one parameter an option, in the order of the groups."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    groups = {name: hints[name] for name in signature.parameters if is_dataclass(hints[name])}

    def call(**given: Any) -> None:
        made = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)}) for name, group in groups.items()
        }
        command(**made, **given)

    parameters = list(_parameters(signature, hints))
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    return call


def _parameters(signature: inspect.Signature, hints: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    for name, parameter in signature.parameters.items():
        group = hints[name]
        if is_dataclass(group):
            of_group = get_type_hints(group, include_extras=True)
            for each in fields(group):
                annotation = of_group[each.name]
                if (panel := _PANELS.get(group) or getattr(group, "panel", None)) is not None:
                    annotation = _in_panel(annotation, panel.of(each.name))
                yield _keyword(each.name, _default(each), annotation)
        else:
            yield _keyword(name, parameter.default, group)


# The options of edits are made of the declared edits.
_PANELS: dict[Any, Panel] = {EditOptions: Panel(EDITS, {"scenario"})}


def _in_panel(annotation: Any, panel: str) -> Any:
    """The annotation with a copy of its option that is shown in the group."""
    option = copy(annotation.__metadata__[0])
    option.rich_help_panel = panel
    return Annotated[annotation.__origin__, option]


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    for each in getattr(annotation, "__metadata__", ()):
        if isinstance(each, options.FormatOption):
            annotation = each.annotation()
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(option: Field[Any]) -> Any:
    return option.default if option.default_factory is MISSING else option.default_factory()
