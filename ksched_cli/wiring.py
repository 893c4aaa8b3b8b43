"""The composition root: makes the input of a run and its scheduler from the options of the command line.

Plugins, configuration and the parts of the engine become a scheduler (`make_scheduler`); sources or the live cluster,
manifests and edits become an input (`load_input`). `INPUT_MAKER` has these functions for commands that make inputs of
their own: `diff` and `sweep`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.workloads import PodGroup, PriorityClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.controlplane.admission.pods import admit_group_priority, admit_priority
from ksched_cli.engine.decision import lowest_name, random_choice
from ksched_cli.engine.registry import Registry, add_class, add_installed, add_named
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.plan.run.checks import (
    check_named_nodes,
    check_nodes,
    check_scenario_held,
    check_schedulers,
    has_node_pools,
    shows_karpenter,
)
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput, MakeScheduler, SchedulerSpec, plugin_points
from ksched_cli.plan.run.options import AUTO, PluginGiven, RunOptions, wanted_pods
from ksched_cli.plugins.in_tree import plugins_of
from ksched_cli.releases.minors import DEFAULT, Release, minor_in, nearest_release, newest_minor_in
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.unread import as_stored, storage_counts
from ksched_cli.whatif.changes import Changes

if TYPE_CHECKING:
    from ksched_cli.autoscale.autoscaler import Karpenter
    from ksched_cli.cluster.cache import KnownPods
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.sources.live.cluster import LiveCluster
    from ksched_cli.whatif.edits.lib.edit import Edit

    Live = Callable[[], LiveCluster]


def make_registry(given: Sequence[PluginGiven] = (), current: Release = DEFAULT) -> Registry:
    """The minor's in-tree plugins, those that installed packages announce, and those given, as classes or as
    `module:Class`."""
    registry = Registry(plugins_of(current))
    add_installed(registry)
    for each in given:
        if isinstance(each, str):
            add_named(registry, each)
        else:
            add_class(registry, each)
    return registry


def scheduler_spec(options: RunOptions, server_version: str = "") -> SchedulerSpec:
    """The scheduler of the options; with version auto that of the server's version."""
    requested = options.kube_version
    if requested == AUTO:
        # A server may give a text that is no version: that is no mistake of the user.
        requested = server_version or DEFAULT.version
        current = DEFAULT if minor_in(requested) is None else nearest_release(requested)
    else:
        current = nearest_release(requested)
        if not current.is_minor_of(requested):
            nearest = f"the nearest is {current.version}; ksched versions lists all"
            raise UsageError(Problem(f"--kube-version {requested}: this minor is not modelled", hint=nearest))
    gates = current.gates(options.feature_gates)
    registry = make_registry(options.plugins, current)
    points = plugin_points(registry, current)
    models = registry.models()
    configuration, given = SchedulerConfiguration(), options.config
    if given is not None:
        from ksched_cli.config.load import load_config
        from ksched_cli.config.reading import read_file

        content, name = (read_file(given), given) if isinstance(given, str) else (json.dumps(given), "configuration")
        configuration = load_config(content, name, current, gates, points, models)
    return SchedulerSpec(requested, current, gates, registry, points, configuration)


def make_scheduler(
    options: RunOptions, loaded: Loaded, spec: SchedulerSpec, known: KnownPods | None = None
) -> Scheduler:
    """A scheduler over the objects by name, so that the order of the input does not matter. An API server lists nodes
    in that order too, and the order decides which node's report of an image's size counts."""
    from ksched_cli.engine.scheduler import Scheduler

    # Two sorts take less memory than one by pairs: a workload may have 200,000 pods.
    pods = sorted(loaded.of(Pod), key=attrgetter("metadata.name"))
    pods.sort(key=attrgetter("metadata.namespace"))
    admit_priority(pods, loaded.of(PriorityClass))
    if spec.gates.enabled("WorkloadAwarePreemption"):
        admit_group_priority(loaded.of(PodGroup), loaded.of(PriorityClass))
    if not spec.stores_all_fields:
        pods = as_stored(pods, spec.release, spec.gates)
    nodes = sorted(loaded.of(Node), key=attrgetter("metadata.name"))
    cluster = Cluster(
        nodes,
        pods,
        Catalog(loaded.others()),
        reuse=options.reuse,
        release=spec.release,
        known=known,
        storage_counts=storage_counts(spec.release, spec.gates),
    )
    timings = extenders = None
    if options.timings:
        from ksched_cli.engine.timings import Timings

        timings = Timings()
    if options.allow_extenders and spec.configuration.extenders:
        from ksched_cli.engine.extenders.client import make_extenders

        extenders = make_extenders(spec.configuration, spec.release, cluster, timings)
    return Scheduler(
        cluster,
        spec.configuration,
        spec.registry,
        spec.release,
        spec.gates,
        spec.points,
        tie_break=random_choice(options.seed, cluster.undo) if options.tie_break == "random" else lowest_name,
        sampling=options.sampling,
        timings=timings,
        extenders=extenders,
    )


def load_input(options: RunOptions, cluster: Loaded | None = None) -> tuple[LoadedInput, Changes]:
    """The cluster, unless it is loaded already, and the changes of its manifests and edits, which are not applied."""
    started = time.perf_counter()
    wanted = wanted_pods(options)
    loaded = read_sources(options) if cluster is None else cluster
    spec = scheduler_spec(options, loaded.server_version or _version_of_nodes(options, loaded))
    changes = _changes(options, options.namespace or loaded.namespace, spec, loaded)
    check_nodes(options, loaded, changes.manifests)
    check_named_nodes(options, loaded, changes.manifests)
    check_schedulers(options, spec, loaded, changes.manifests)
    scheduler, autoscaler = partial(make_scheduler, options), make_autoscaler(options, loaded)
    seconds = time.perf_counter() - started
    return LoadedInput(loaded, spec, scheduler, wanted, seconds).with_autoscaler(autoscaler), changes


def make_autoscaler(options: RunOptions, loaded: Loaded) -> Karpenter | None:
    """The autoscaler that the input shows, None if there is none or if it is switched off."""
    if options.autoscaler == "karpenter" and not has_node_pools(loaded):
        raise InputError(Problem("the input has no NodePool of Karpenter", ", ".join(options.sources)))
    if not shows_karpenter(options, loaded):
        return None
    from ksched_cli.autoscale.autoscaler import karpenter_of

    found = karpenter_of(loaded, options.autoscaler_flags, options.instance_types, options.node_startup, options.prices)
    if isinstance(found, str):
        loaded.gaps += [found] if found not in loaded.gaps else []
        return None
    return found


def _version_of_nodes(options: RunOptions, loaded: Loaded) -> str:
    """The minor of the newest kubelet, for an input that does not name the version of its API server: the API server is
    of no older one. Empty if the nodes have no version."""
    found = (node.status.node_info.kubelet_version for node in loaded.of(Node) if node.status.node_info)
    version = newest_minor_in(found) if options.kube_version == AUTO else ""
    if not version:
        return ""
    text = f"the input does not name the version of the API server: ksched answers as Kubernetes {version}, the newest "
    text += "kubelet of the nodes (--kube-version)"
    loaded.warnings += [text] if text not in loaded.warnings else []
    return version


def load_changed(options: RunOptions, cluster: Loaded | None = None) -> LoadedInput:
    """The input with its manifests and edits applied. A scenario is run to its end, and its expectations have held."""
    source, changes = load_input(options, cluster)
    return changed_input(options, source, changes)


def changed_input(options: RunOptions, source: LoadedInput, *changes: Changes) -> LoadedInput:
    """The same for an input that is loaded already."""
    if options.scenario is None:
        for each in changes:
            source = source.changed(each)
        return source
    from ksched_cli.plan.scenario import play_scenario

    run = play_scenario(options.scenario, source, *changes)
    check_scenario_held(run)
    return replace(source, loaded=run.loaded)


def _changes(options: RunOptions, namespace: str, spec: SchedulerSpec, cluster: Loaded) -> Changes:
    edits, problems = read_edits(options.edits)
    return Changes(read_manifests(options, namespace, spec, cluster, options.filenames), edits, problems, namespace)


def read_edits(
    given: Sequence[tuple[str, str]], earlier: Sequence[Edit] = ()
) -> tuple[tuple[Edit, ...], tuple[Problem, ...]]:
    """The edits of pairs of flag and text in the order in which they are made, and all mistakes, among them
    contradictions with earlier edits."""
    if not given:
        return (), ()
    from ksched_cli.whatif.edits.lib.apply import contradictions
    from ksched_cli.whatif.edits.lib.edit import parse_edits, specs_by_flag

    specs = specs_by_flag()
    edits, problems = parse_edits(sorted(given, key=lambda each: specs[each[0]].order))
    return tuple(edits), (*problems, *(contradictions([*earlier, *edits]) if edits else ()))


def read_manifests(
    options: RunOptions,
    namespace: str,
    spec: SchedulerSpec,
    cluster: Loaded,
    filenames: Sequence[str],
    objects: Sequence[Any] = (),
) -> Loaded:
    """The manifests as the API server of the cluster, of the minor and with the gates of `spec`, reads them."""
    rendered = options.reading.kustomizations or options.reading.charts
    if not filenames and not objects and not rendered:
        return Loaded()
    from ksched_cli.sources.manifests import load_manifests

    return load_manifests(filenames, options.stdin, spec.reading(options.reading, namespace, cluster), objects)


def read_sources(options: RunOptions, live: Live | None = None) -> Loaded:
    """The sources and objects, or the live cluster where there are neither; `live` returns it when it is read."""
    from ksched_cli.sources.dump import LIVE, load_dump

    sources = options.sources if options.sources or options.objects else [LIVE]
    live = live or (lambda: _read_live(options))
    return load_dump(
        sources,
        options.stdin,
        live=live,
        objects=options.objects,
        events=options.events,
        newest=options.newest,
        documents=options.keeps_documents,
    )


def _read_live(options: RunOptions) -> LiveCluster:
    from ksched_cli.sources.events import REASONS
    from ksched_cli.sources.live.cluster import read_cluster
    from ksched_cli.sources.live.connection import connect

    server = connect(options.live)
    try:
        return read_cluster(server, options.progress, REASONS if options.events else ())
    finally:
        server.close()
        if options.progress is not None:
            options.progress.close()


def scheduler_maker(options: RunOptions) -> MakeScheduler:
    return partial(make_scheduler, options)


INPUT_MAKER = InputMaker(read_sources, load_input, scheduler_spec, scheduler_maker)
