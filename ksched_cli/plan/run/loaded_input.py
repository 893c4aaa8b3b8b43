"""The input that was loaded for the options of a run, and what its scheduler will be made of.

`SchedulerSpec` has the version, gates, plugins and configuration of the scheduler; `LoadedInput` the objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import pod_key
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.engine.registry import Registry
from ksched_cli.errors import InputError, Problem
from ksched_cli.plan.results.outcomes import RefusedPod, refused_pods
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.releases.default_plugins import plugin_names
from ksched_cli.releases.gates import FeatureGates
from ksched_cli.releases.minors import DEFAULT, NEWEST, Release
from ksched_cli.releases.served_versions import ServerRules
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.whatif.changes import Changes, DeletedPod, changed

if TYPE_CHECKING:
    from ksched_cli.autoscale.autoscaler import Karpenter
    from ksched_cli.cluster.cache import KnownPods
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.world.world import ControllerFactory


def plugin_points(registry: Registry, current: Release) -> dict[str, tuple[str, ...]]:
    """The extension points of each plugin. A plugin of kube-scheduler that is not modelled has none."""
    return {**dict.fromkeys(plugin_names(current), ()), **registry.points(current)}


class SchedulerSpec(Struct, frozen=True):
    """`requested` is the version that the user or the server named, `points` the extension points of each plugin."""

    requested: str
    release: Release
    gates: FeatureGates
    registry: Registry
    points: Mapping[str, Collection[str]]
    configuration: SchedulerConfiguration

    def reading(self, given: ManifestReading, namespace: str, cluster: Loaded) -> ManifestReading:
        """The options for manifests, as an API server of the minor and with these gates reads them."""
        return replace(
            given,
            namespace=namespace,
            rules=ServerRules(self.release.minor, self.gates.on()),
            autoscalers=cluster.autoscalers,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self._about_version(), *self.configuration.notes)

    def _about_version(self) -> Iterator[str]:
        if not self.modelled:
            answered = f"the answers are those of {self.release.version}, the nearest that is"
            yield f"Kubernetes {self.requested} is not modelled; {answered}"
        if self.not_read:
            yield f"{self.not_read}; it is taken for what {self.release.config.newest} would say"

    @property
    def not_read(self) -> str:
        """The reason why kube-scheduler of that minor rejects the configuration, if its version is a later one."""
        later = self.configuration.restated_from
        return f"Kubernetes {self.release.version} does not read apiVersion {later}" if later else ""

    @property
    def warnings_of_runs(self) -> tuple[str, ...]:
        """The warnings, with those about given plugins that no profile of the configuration enables."""
        used = {
            plugin.name
            for profile in self.configuration.profiles
            for own in (profile.plugins.multi_point, *(each for _, each in profile.plugins.points()))
            for plugin in own.enabled
        }
        idle = sorted(self.registry.named - used)
        hint = "name it in the configuration (plugins.multiPoint)"
        return (*self.warnings, *(f"plugin {name} is given and no profile enables it: {hint}" for name in idle))

    @property
    def modelled(self) -> bool:
        """Whether results are those of the requested minor, and not of the nearest."""
        return self.release.is_minor_of(self.requested)

    @property
    def stores_all_fields(self) -> bool:
        """Whether the API server of that minor and these gates stores every field of a pod."""
        return self.release in (DEFAULT, NEWEST) and not self.gates.changed


SchedulerMaker = Callable[[Loaded], "Scheduler"]


class MakeScheduler(Protocol):
    """Returns a scheduler over a cluster of its own. `known` has what was computed of pods for earlier clusters."""

    def __call__(self, loaded: Loaded, spec: SchedulerSpec, known: KnownPods | None = None) -> Scheduler: ...


class InputMaker(Struct, frozen=True):
    """What the composition root does for commands that make inputs of their own. It reads the sources and makes the
    input of them, or of a cluster that is read. It makes a `SchedulerSpec` of options, and a function that makes
    schedulers. It can be pickled."""

    read_sources: Callable[[RunOptions], Loaded]
    load_input: Callable[[RunOptions, Loaded | None], tuple[LoadedInput, Changes]]
    scheduler_spec: Callable[[RunOptions], SchedulerSpec]
    scheduler_maker: Callable[[RunOptions], MakeScheduler]


class LoadedInput(Struct, frozen=True):
    """The cluster before or after its manifests and edits, before any scheduler is made. `made_pods` came with
    the manifests, `deleted` those that the edits have deleted, and `wanted` selects the pods that are shown."""

    loaded: Loaded
    spec: SchedulerSpec
    make_scheduler: MakeScheduler
    wanted: Callable[[Pod], bool]
    seconds: float = 0.0
    refused: tuple[RefusedPod, ...] = ()
    made_pods: tuple[Pod, ...] = ()
    deleted: tuple[DeletedPod, ...] = ()
    # Manifests that change the template of running pods.
    rollouts: tuple[Problem, ...] = ()
    # Controllers that each world of the input has beside those of the control plane, such as autoscalers.
    controllers: Sequence[ControllerFactory] = ()
    # What answers pending pods with nodes, if the cluster has such a controller.
    autoscaler: Karpenter | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """The pods that came with the manifests, as `namespace/name`."""
        return tuple(map(pod_key, self.made_pods))

    def with_autoscaler(self, autoscaler: Karpenter | None) -> LoadedInput:
        """The same input with this autoscaler in each world, or without any."""
        controllers = (autoscaler,) if autoscaler is not None else ()
        return replace(self, controllers=controllers, autoscaler=autoscaler)

    def changed(self, changes: Changes) -> LoadedInput:
        """The input after the changes. The controllers react to them, no scheduler runs."""
        started = time.perf_counter()
        after = changed(self.loaded, changes)
        refused = (*self.refused, *refused_pods(after.refused))
        seconds = self.seconds + time.perf_counter() - started
        return replace(
            self,
            loaded=after.loaded,
            refused=refused,
            seconds=seconds,
            made_pods=after.made_pods,
            deleted=after.deleted,
            rollouts=(*self.rollouts, *after.rollouts),
        )

    def refuse_rollouts(self) -> None:
        """InputError for manifests that change the template of running pods: only a world rolls them out."""
        if self.rollouts:
            raise InputError(self.rollouts)

    def scheduler(self) -> Scheduler:
        return self.make_scheduler(self.loaded, self.spec)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.loaded.warnings, *self.spec.warnings_of_runs)


def scheduler_maker(make_scheduler: MakeScheduler, spec: SchedulerSpec) -> SchedulerMaker:
    """A function that makes schedulers over versions of one cluster. They share the values computed for a pod."""
    from ksched_cli.cluster.cache import KnownPods

    known = KnownPods(spec.release) if spec.stores_all_fields else None
    return lambda loaded: make_scheduler(loaded, spec, known)
