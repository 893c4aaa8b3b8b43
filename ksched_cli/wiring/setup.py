"""What decides a run, before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ksched_cli.errors import Problem, UsageError
from ksched_cli.sources.live.options import LiveOptions
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.wiring.setting import AUTO, Configuration, PluginGiven, SchedulerSpec, setting_of

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.api.selectors import Selector
    from ksched_cli.sources.live.cluster import Progress
    from ksched_cli.whatif.edits.lib.edit import Edit


@dataclass(frozen=True)
class RunOptions:
    """Everything that decides a run, as the command line gives it."""

    sources: Sequence[str] = ()
    # Kubernetes objects themselves, documents or typed, beside those of the sources.
    objects: Sequence[Any] = ()
    filenames: Sequence[str] = ()
    reading: ManifestReading = field(default_factory=ManifestReading)
    # Whether a run that finds nothing to place is a success.
    allow_empty: bool = False
    namespace: str = ""
    selector: str = ""
    live: LiveOptions = field(default_factory=LiveOptions)
    progress: Progress | None = None
    edits: Sequence[Edit] = ()
    # Mistakes in edits that are known before there is a cluster, to be told with those that only it shows.
    edit_problems: Sequence[Problem] = ()
    scenario: str | None = None
    config: Configuration = None
    kube_version: str = AUTO
    feature_gates: str = ""
    plugins: Sequence[PluginGiven] = field(default=())
    tie_break: str = "name"
    seed: int = 0
    sampling: bool = False
    reuse: bool = True
    timings: bool = False
    allow_extenders: bool = False
    # Whether FailedScheduling events are read, which say nothing to any but those who look back.
    events: bool = False

    @property
    def has_manifests(self) -> bool:
        return bool(self.filenames or self.reading.kustomizations or self.reading.charts)

    def without_manifests(self) -> RunOptions:
        """The same run before any manifest is applied."""
        return replace(self, filenames=(), reading=replace(self.reading, kustomizations=(), charts=()))


def make_setting(setup: RunOptions, server_version: str = "") -> SchedulerSpec:
    return setting_of(setup.config, setup.kube_version, setup.feature_gates, setup.plugins, server_version)


def read_query(text: str, option: str = "-l") -> Selector:
    """Labels as the option gives them."""
    from ksched_cli.api.label_query import parse_query
    from ksched_cli.api.selectors import SelectorError

    try:
        return parse_query(text)
    except SelectorError as mistake:
        raise UsageError(f"{option} {text}: {mistake}") from None


def wanted_pods(setup: RunOptions) -> Callable[[Pod], bool]:
    """Which pods -n and -l ask for."""
    query = read_query(setup.selector)
    namespace = setup.namespace
    return lambda pod: namespace in ("", pod.metadata.namespace) and query.matches(pod.metadata.labels)
