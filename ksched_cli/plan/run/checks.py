"""Refuses an input with which a command would have nothing to do: a result about nothing is no success. `--allow-empty`
permits some of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ksched_cli.api.core import Namespace, Node, Pod, Service
from ksched_cli.api.object_facts import waits_for_node
from ksched_cli.errors import ExpectationFailed, InputError, Problem, did_you_mean, named
from ksched_cli.plan.run.loaded_input import LoadedInput, SchedulerSpec
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.sources.loaded import Loaded

if TYPE_CHECKING:
    from ksched_cli.plan.scenario import ScenarioRun

_NAMED = 5
# Kinds that a manifest has beside its workloads, and that decide nothing by themselves.
_INERT = (Namespace, Service)


def check_scenario_held(run: ScenarioRun) -> None:
    """Raise the expectations that have not held."""
    if run.failed:
        raise ExpectationFailed(
            Problem(f"{each.text}: {each.against[0]}", run.source, each.line) for each in run.failed
        )


def check_something_to_place(options: RunOptions, begun: LoadedInput, manifests: Sequence[Loaded]) -> None:
    """Raise InputError if the cluster and the manifests leave the scheduler nothing to place, or nothing that -n and -l
    select. The first manifests are those of the options."""
    check_not_empty(options, begun.loaded, manifests[0])
    check_schedulers(options, begun.spec, begun.loaded, manifests[0])
    check_selection(options, begun.loaded, *manifests)


def check_not_empty(options: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError if there is no pod or workload to place. Manifests without both may change where pending pods
    go, or, as a quota does, which pods there are."""
    if not options.has_manifests or options.scenario is not None:
        return
    from ksched_cli.whatif.manifests import WORKLOADS, changes_policy

    if changes_policy(manifests):
        return
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
    if not cluster.of(Node) and not manifests.of(Node) and not _adds_nodes(options, cluster):
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


def check_named_nodes(options: RunOptions, cluster: Loaded, manifests: Loaded) -> None:
    """Raise InputError for pods of the manifests that name a node which the input does not have: no kubelet starts
    them, and no scheduler looks at them. A pod of the cluster may have lost its node before. Nodes that edits add are
    not known yet."""
    if not len(manifests) or _adds_nodes(options, cluster):
        return
    from ksched_cli.sources.loaded import workload_label
    from ksched_cli.sources.places import Places
    from ksched_cli.whatif.manifests import pod_templates

    nodes = {node.metadata.name for loaded in (cluster, manifests) for node in loaded.of(Node)}
    places, problems = Places(manifests), []
    for item, pod in pod_templates(manifests):
        name = pod.spec.node_name
        live = cluster.get(Pod, item.metadata.name, item.metadata.namespace) if isinstance(item, Pod) else None
        if name and name not in nodes and (live is None or live.spec.node_name != name):
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
    from ksched_cli.whatif.manifests import left_to_other_schedulers

    _refuse(options, left_to_other_schedulers(manifests, spec.configuration))


def _has_pending(cluster: Loaded) -> bool:
    return any(map(waits_for_node, cluster.of(Pod)))


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


def has_node_pools(loaded: Loaded) -> bool:
    """Whether the input shows Karpenter."""
    return any(kind.__name__ == "NodePool" for kind in loaded.karpenter)


def shows_karpenter(options: RunOptions, loaded: Loaded) -> bool:
    """Whether the cluster has Karpenter: there is a NodePool, or a file of its instance types or their prices."""
    shown = has_node_pools(loaded) or bool(options.instance_types or options.prices)
    return options.autoscaler != "none" and shown


def _adds_nodes(options: RunOptions, cluster: Loaded) -> bool:
    """Whether the run can have nodes that the input does not have."""
    edited = any(flag in ("add-node", "clone-node") for flag, _ in options.edits) or options.scenario is not None
    return edited or shows_karpenter(options, cluster)


def _namespaces(loaded: Loaded) -> Iterator[str]:
    for kind, items in loaded.objects.items():
        for item in items:
            name: Any = item.metadata.name if kind is Namespace else item.metadata.namespace
            if name:
                yield name


def counted_kinds(loaded: Loaded) -> str:
    """`3 Service, 1 ConfigMap`."""
    return named([f"{count} {kind}" for kind, count in loaded.kinds().most_common()], _NAMED)
