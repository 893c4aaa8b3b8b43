"""From what a setup names to the cluster that schedulers are made of: read, with manifests and edits applied."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from ksched_cli.errors import ExpectationFailed, InputError, Problem
from ksched_cli.releases.minors import minor_in
from ksched_cli.sources.live.options import LiveOptions
from ksched_cli.wiring.emptiness import check_nodes
from ksched_cli.wiring.setting import AUTO, SchedulerSpec
from ksched_cli.wiring.setup import RunOptions, make_setting, wanted_pods

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.plan.results import RefusedPod
    from ksched_cli.plan.scenario_results import ScenarioResult
    from ksched_cli.sources.live.api_server import LiveApiServer
    from ksched_cli.sources.live.cluster import LiveCluster, Progress
    from ksched_cli.sources.loaded import Loaded
    from ksched_cli.whatif.changes import Changes, GonePod
    from ksched_cli.whatif.edits.lib.edit import Edit

    Live = Callable[[], LiveCluster]


@dataclass(frozen=True)
class LoadedInput:
    """The input as it was read, with its manifests and edits applied, before any scheduler is made of it. `made` are
    the pods that came with the manifests, `gone` those that the edits have deleted, and `wanted` says which pods are
    asked for."""

    loaded: Loaded
    setting: SchedulerSpec
    refused: tuple[RefusedPod, ...]
    seconds: float
    made: tuple[str, ...]
    wanted: Callable[[Pod], bool]
    gone: tuple[GonePod, ...] = ()
    # Manifests that change the template of running pods.
    rollouts: tuple[Problem, ...] = ()


def gather(setup: RunOptions, stdin: BinaryIO | None = None, cluster: Loaded | None = None) -> LoadedInput:
    """Read everything that the setup names, but for a `cluster` that has been read. A scenario has been run to its end,
    and what it expected has held."""
    if setup.scenario is None:
        return read_input(setup, stdin, cluster)
    from ksched_cli.wiring.scenarios import play_scenario

    run, gathered = play_scenario(setup, stdin, cluster)
    check_scenario_held(run.result)
    return gathered


def check_scenario_held(result: ScenarioResult) -> None:
    """Raise what was expected and has not held."""
    if result.failed:
        raise ExpectationFailed(
            Problem(f"{each.text}: {each.against[0]}", result.source, each.line) for each in result.failed
        )


def read_input(setup: RunOptions, stdin: BinaryIO | None, cluster: Loaded | None = None) -> LoadedInput:
    """The cluster, unless it has been read already, with the manifests and edits of the setup."""

    return change_gathered(*read_unchanged(setup, stdin, cluster))


def change_gathered(gathered: LoadedInput, changes: Changes) -> LoadedInput:
    """The changes made, with no scheduler beside the controllers."""
    from ksched_cli.plan.results import refused_pods
    from ksched_cli.whatif.changes import changed

    started = time.perf_counter()
    after = changed(gathered.loaded, changes)
    refused = (*gathered.refused, *refused_pods(after.refused))
    seconds = gathered.seconds + time.perf_counter() - started
    return replace(
        gathered,
        loaded=after.loaded,
        refused=refused,
        seconds=seconds,
        made=after.made,
        gone=after.gone,
        rollouts=(*gathered.rollouts, *after.rollouts),
    )


def check_no_rollouts(gathered: LoadedInput) -> None:
    """Refuse manifests that change the template of running pods: only a world rolls them out."""
    if gathered.rollouts:
        raise InputError(gathered.rollouts)


def read_unchanged(
    setup: RunOptions, stdin: BinaryIO | None, cluster: Loaded | None = None
) -> tuple[LoadedInput, Changes]:
    """The cluster, unless it has been read already, and the changes that the setup wants made in it."""
    from ksched_cli.whatif.changes import Changes

    started = time.perf_counter()
    wanted = wanted_pods(setup)
    loaded = read_sources(setup, stdin) if cluster is None else cluster
    setting = make_setting(setup, loaded.server_version or _version_of_nodes(setup, loaded))
    namespace = setup.namespace or loaded.namespace
    manifests = read_manifests(setup, namespace, stdin)
    check_nodes(setup, loaded, manifests)
    changes = Changes(manifests, setup.edits, setup.edit_problems, namespace)
    return LoadedInput(loaded, setting, (), time.perf_counter() - started, (), wanted), changes


def _version_of_nodes(setup: RunOptions, loaded: Loaded) -> str:
    """The minor of the newest kubelet, for an input that does not name the version of its API server: the API server is
    of no older one. Empty if the nodes do not tell."""
    from ksched_cli.api.core import Node

    found = (minor_in(node.status.node_info.kubelet_version) for node in loaded.of(Node) if node.status.node_info)
    newest = max(filter(None, found), default=None)
    if newest is None or setup.kube_version != AUTO:
        return ""
    version = f"1.{newest}"
    text = f"the input does not name the version of the API server: ksched answers as Kubernetes {version}, the newest "
    text += "kubelet of the nodes (--kube-version)"
    loaded.warnings += [text] if text not in loaded.warnings else []
    return version


def read_manifests(setup: RunOptions, namespace: str, stdin: BinaryIO | None = None) -> Loaded:
    from ksched_cli.sources.loaded import Loaded

    if not setup.has_manifests:
        return Loaded()
    from ksched_cli.sources.manifests import load_manifests

    return load_manifests(setup.filenames, stdin, replace(setup.reading, namespace=namespace))


def read_sources(setup: RunOptions, stdin: BinaryIO | None, live: Live | None = None) -> Loaded:
    """The sources and objects, or the live cluster where there are neither; `live` has it when it was read already."""
    from ksched_cli.sources.dump import LIVE, load_dump

    sources = setup.sources if setup.sources or setup.objects else [LIVE]
    live = live or (lambda: read_live(setup.live, setup.progress, events=setup.events))
    return load_dump(sources, stdin, live=live, objects=setup.objects, events=setup.events)


def connect_live(options: LiveOptions) -> LiveApiServer:
    from ksched_cli.sources.live.connection import connect

    return connect(options)


def read_live(options: LiveOptions, progress: Progress | None, *, events: bool) -> LiveCluster:
    from ksched_cli.sources.events import REASONS
    from ksched_cli.sources.live.cluster import read_cluster

    try:
        return read_cluster(connect_live(options), progress, REASONS if events else ())
    finally:
        if progress is not None:
            progress.close()


def read_edits(given: Iterable[tuple[str, str]]) -> tuple[tuple[Edit, ...], tuple[Problem, ...]]:
    """Pairs of flag and text to edits in the order in which a command line's are made; what is wrong with them."""
    from ksched_cli.whatif.edits.lib.contradictions import contradictions
    from ksched_cli.whatif.edits.lib.parsing import parse_in_order

    edits, problems = parse_in_order(given)
    return tuple(edits), (*problems, *contradictions(edits))
