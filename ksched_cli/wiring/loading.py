"""Loads the input of a run: sources or the live cluster, then the changes of the options.

An input with which a command would have nothing to do is refused: a result about nothing is no success.


Makes schedulers: the plugins of a run, its configuration, and the parts of the engine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ksched_cli.api.core import Namespace, Node, Pod, Service
from ksched_cli.api.listing import did_you_mean, named
from ksched_cli.api.pod_facts import is_terminal
from ksched_cli.api.policy import PodGroup, PriorityClass
from ksched_cli.cluster.cache import Cluster
from ksched_cli.cluster.catalog import Catalog
from ksched_cli.config.model import SchedulerConfiguration
from ksched_cli.controlplane.admission.priority import admit_group_priority, admit_priority
from ksched_cli.engine.registry import Registry, add_class, add_installed, add_named
from ksched_cli.engine.selection import lowest_name, random_choice
from ksched_cli.engine.timings import Timings
from ksched_cli.errors import ExpectationFailed, InputError, Problem
from ksched_cli.plan.run.loaded_input import LoadedInput, SchedulerSpec, plugin_points
from ksched_cli.plugins.in_tree import plugins_of
from ksched_cli.releases.minors import NEWEST, Release, minor_in, nearest_release
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.release_fields import as_stored, storage_counts
from ksched_cli.whatif.changes import Changes
from ksched_cli.wiring.options import AUTO, PluginGiven, RunOptions, wanted_pods

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


if TYPE_CHECKING:
    from ksched_cli.plan.run.loaded_input import SchedulerSpec
    from ksched_cli.plan.scenario import ScenarioResult
    from ksched_cli.sources.live.cluster import LiveCluster
    from ksched_cli.whatif.edits.lib.edit import Edit

    Live = Callable[[], LiveCluster]

_NAMED = 5
# Kinds that a manifest has beside its workloads, and that decide nothing by themselves.
_INERT = (Namespace, Service)


def load_input(options: RunOptions, cluster: Loaded | None = None) -> tuple[LoadedInput, Changes]:
    """The cluster, unless it is loaded already, and the changes of its manifests and edits, which are not applied."""
    started = time.perf_counter()
    wanted = wanted_pods(options)
    loaded = read_sources(options) if cluster is None else cluster
    spec = scheduler_spec(options, loaded.server_version or _version_of_nodes(options, loaded))
    changes = _changes(options, options.namespace or loaded.namespace)
    check_nodes(options, loaded, changes.manifests)
    _check_named_nodes(options, loaded, changes.manifests)
    check_schedulers(options, spec, loaded, changes.manifests)
    return LoadedInput(loaded, spec, partial(make_scheduler, options), wanted, time.perf_counter() - started), changes


def _version_of_nodes(options: RunOptions, loaded: Loaded) -> str:
    """The minor of the newest kubelet, for an input that does not name the version of its API server: the API server is
    of no older one. Empty if the nodes have no version."""
    found = (minor_in(node.status.node_info.kubelet_version) for node in loaded.of(Node) if node.status.node_info)
    newest = max(filter(None, found), default=None)
    if newest is None or options.kube_version != AUTO:
        return ""
    version = f"1.{newest}"
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
    check_scenario_held(run.result)
    return replace(source, loaded=run.loaded)


def check_scenario_held(result: ScenarioResult) -> None:
    """Raise the expectations that have not held."""
    if result.failed:
        raise ExpectationFailed(
            Problem(f"{each.text}: {each.against[0]}", result.source, each.line) for each in result.failed
        )


def _changes(options: RunOptions, namespace: str) -> Changes:
    edits, problems = parse_edits(options.edits)
    return Changes(read_manifests(options, namespace, options.filenames), edits, problems, namespace)


def parse_edits(
    given: Sequence[tuple[str, str]], earlier: Sequence[Edit] = ()
) -> tuple[tuple[Edit, ...], tuple[Problem, ...]]:
    """The edits of pairs of flag and text, and all mistakes; they may contradict earlier edits."""
    if not given:
        return (), ()
    from ksched_cli.whatif.edits.lib.apply import contradictions
    from ksched_cli.whatif.edits.lib.registry import parse_in_order

    edits, problems = parse_in_order(given)
    return tuple(edits), (*problems, *(contradictions([*earlier, *edits]) if edits else ()))


def read_manifests(
    options: RunOptions, namespace: str, filenames: Sequence[str], objects: Sequence[Any] = ()
) -> Loaded:
    rendered = options.reading.kustomizations or options.reading.charts
    if not filenames and not objects and not rendered:
        return Loaded()
    from ksched_cli.sources.manifests import load_manifests

    return load_manifests(filenames, options.stdin, replace(options.reading, namespace=namespace), objects)


def read_sources(options: RunOptions, live: Live | None = None) -> Loaded:
    """The sources and objects, or the live cluster where there are neither; `live` returns it when it is read."""
    from ksched_cli.sources.dump import LIVE, load_dump

    sources = options.sources if options.sources or options.objects else [LIVE]
    live = live or (lambda: _read_live(options))
    return load_dump(sources, options.stdin, live=live, objects=options.objects, events=options.events)


def _read_live(options: RunOptions) -> LiveCluster:
    from ksched_cli.sources.events import REASONS
    from ksched_cli.sources.live.cluster import read_cluster
    from ksched_cli.sources.live.connection import connect

    try:
        return read_cluster(connect(options.live), options.progress, REASONS if options.events else ())
    finally:
        if options.progress is not None:
            options.progress.close()


def check_not_empty(options: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError if there is no pod or workload to place. Manifests without both may change where pending pods
    go."""
    if not options.has_manifests or options.scenario is not None:
        return
    from ksched_cli.whatif.manifests import WORKLOADS

    creates = any(manifests.of(kind) for kind in (Pod, *WORKLOADS))
    check_manifests(options, manifests, places=creates or bool(options.edits) or _has_pending(cluster))


def check_manifests(options: RunOptions, manifests: Loaded, *, places: bool = True) -> None:
    """Raise InputError if the options name manifests of which none changes the run, or if the run `places` no pod. A
    budget or a priority class changes a run, a ConfigMap or a Namespace does not."""
    changing = (items for kind, items in manifests.objects.items() if kind not in _INERT)
    if options.has_manifests and not (places and any(changing)):
        text = f"nothing to place: the manifests have {counted_kinds(manifests) or 'no object'} and no pod or workload"
        _refuse(options, [Problem(text, ", ".join(options.filenames), hint="--allow-empty exits with code 0")])


def check_nodes(options: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError if there is no node."""
    if not cluster.of(Node) and not manifests.of(Node) and not _adds_nodes(options):
        text = f"the input has no Node: it has {counted_kinds(cluster) or 'no object that ksched reads'}"
        hint = "dump the nodes too: kubectl get nodes,pods -A -o json"
        _refuse(options, [Problem(text, ", ".join(options.sources), hint=hint)])


def check_selection(options: RunOptions, *inputs: Loaded) -> None:
    """Raise InputError if nothing of the inputs is in the namespace of -n, or no pod or workload of them has the labels
    of -l."""
    _refuse(options, [*_unknown_namespace(options, inputs)] or [*_unknown_labels(options, inputs)])


def _refuse(options: RunOptions, problems: Sequence[Problem]) -> None:
    if problems and not options.allow_empty:
        raise InputError(problems)


def _check_named_nodes(options: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError for pods of the manifests that name a node which the input does not have: no kubelet starts
    them, and no scheduler looks at them. Nodes that edits add are not known yet."""
    if not len(manifests) or _adds_nodes(options):
        return
    from ksched_cli.sources.custom.labels import workload_label
    from ksched_cli.sources.places import Places
    from ksched_cli.whatif.manifests import pod_templates

    nodes = {node.metadata.name for loaded in (cluster, manifests) for node in loaded.of(Node)}
    places, problems = Places(manifests), []
    for item, pod in pod_templates(manifests):
        name = pod.spec.node_name
        if name and name not in nodes and not (isinstance(pod, Pod) and is_terminal(pod)):
            place = places.of_pod_field(item, ("spec", "nodeName"))
            hint = did_you_mean(name, nodes, "leave the field out: the scheduler chooses the node")
            path = f"{workload_label(item)}: {place.path}"
            problems.append(Problem(f'there is no node "{name}"', place.source, place.line, path, hint))
    if problems:
        raise InputError(problems)


def check_schedulers(options: RunOptions, spec: SchedulerSpec, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError if every pod to place is one of the manifests and is left to another scheduler."""
    if not len(manifests) or _has_pending(cluster):
        return
    from ksched_cli.whatif.other_schedulers import left_to_other_schedulers

    _refuse(options, left_to_other_schedulers(manifests, spec.configuration))


def _has_pending(cluster: Loaded) -> bool:
    return any(not pod.spec.node_name and not is_terminal(pod) for pod in cluster.of(Pod))


def _unknown_namespace(options: RunOptions, inputs: Sequence[Loaded]) -> Iterator[Problem]:
    wanted = options.namespace
    if not wanted:
        return
    known = {each for loaded in inputs for each in _namespaces(loaded)}
    unread = any(Namespace.__name__ in loaded.missing for loaded in inputs)
    if wanted not in known and not unread:
        hint = did_you_mean(wanted, known, f"there are {named(sorted(known), _NAMED)}")
        yield Problem(f"nothing of the input is in namespace {wanted}", f"-n {wanted}", hint=hint)


def _unknown_labels(options: RunOptions, inputs: Sequence[Loaded]) -> Iterator[Problem]:
    if not options.selector:
        return
    from ksched_cli.api.selectors import read_query

    query, namespace = read_query(options.selector), options.namespace
    every = [labels for loaded in inputs for space, labels in _pod_labels(loaded) if namespace in ("", space)]
    if not any(map(query.matches, every)):
        found = sorted({f"{key}={value}" for labels in every for key, value in labels.items()})
        hint = did_you_mean(options.selector, found, f"there are {named(found, _NAMED)}" if found else "")
        where = f" in namespace {namespace}" if namespace else ""
        yield Problem(f"no pod or workload of the input{where} has these labels", f"-l {options.selector}", hint=hint)


def _pod_labels(loaded: Loaded) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Namespace and labels of each pod, and of the pods that each workload creates."""
    from ksched_cli.whatif.manifests import pod_templates

    for item, template in pod_templates(loaded):
        yield item.metadata.namespace, template.metadata.labels


def _adds_nodes(options: RunOptions) -> bool:
    return any(flag in ("add-node", "clone-node") for flag, _ in options.edits) or options.scenario is not None


def _namespaces(loaded: Loaded) -> Iterator[str]:
    for kind, items in loaded.objects.items():
        for item in items:
            name: Any = item.metadata.name if kind is Namespace else item.metadata.namespace
            if name:
                yield name


def counted_kinds(loaded: Loaded) -> str:
    """`3 Service, 1 ConfigMap`."""
    return named([f"{count} {kind}" for kind, count in loaded.kinds().most_common()], _NAMED)
