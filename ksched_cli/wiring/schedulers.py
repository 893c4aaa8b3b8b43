"""Makes schedulers: the plugins of a run, its configuration, and the parts of the engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.policy import PodGroup, PriorityClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.controlplane.admission.priority import admit_group_priority, admit_priority
from ksched_cli.engine.registry import Registry, add_class, add_installed, add_named
from ksched_cli.engine.selection import lowest_name, random_choice
from ksched_cli.engine.timings import Timings
from ksched_cli.plan.scheduler_spec import SchedulerSpec, plugin_points
from ksched_cli.plugins.in_tree import plugins_of
from ksched_cli.releases.minors import NEWEST, Release, minor_in, nearest_release
from ksched_cli.sources.release_fields import as_stored, storage_counts
from ksched_cli.wiring.options import AUTO, PluginGiven, RunOptions

if TYPE_CHECKING:
    from ksched_cli.cluster.known_pods import KnownPods
    from ksched_cli.engine.scheduler import Scheduler
    from ksched_cli.sources.loaded import Loaded


def make_registry(given: Sequence[PluginGiven] = (), current: Release = NEWEST) -> Registry:
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
        requested = server_version or NEWEST.version
        current = NEWEST if minor_in(requested) is None else nearest_release(requested)
    else:
        current = nearest_release(requested)
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
    pods = sorted(loaded.of(Pod), key=lambda pod: pod.metadata.name)
    pods.sort(key=lambda pod: pod.metadata.namespace)
    admit_priority(pods, loaded.of(PriorityClass))
    if spec.gates.enabled("WorkloadAwarePreemption"):
        admit_group_priority(loaded.of(PodGroup), loaded.of(PriorityClass))
    if not spec.stores_all_fields:
        pods = as_stored(pods, spec.release, spec.gates)
    nodes = sorted(loaded.of(Node), key=lambda node: node.metadata.name)
    cluster = Cluster(
        nodes,
        pods,
        Catalog(loaded.others()),
        reuse=options.reuse,
        release=spec.release,
        known=known,
        storage_counts=storage_counts(spec.release, spec.gates),
    )
    timings, extenders = Timings() if options.timings else None, None
    if options.allow_extenders and spec.configuration.extenders:
        from ksched_cli.engine.extenders.chain import make_extenders

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
