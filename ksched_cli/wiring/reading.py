"""From what a setup names to the cluster that schedulers are made of: read, with manifests and edits applied."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from ksched_cli.errors import ExpectationFailed, Problem
from ksched_cli.sources.live.options import LiveOptions
from ksched_cli.wiring.setting import Setting
from ksched_cli.wiring.setup import Setup, make_setting, wanted_pods

if TYPE_CHECKING:
    from ksched_cli.api.core import Pod
    from ksched_cli.plan.results import RefusedPod
    from ksched_cli.sources.admission.chain import Refused
    from ksched_cli.sources.edits.values import Edit
    from ksched_cli.sources.live.api_server import ApiServer
    from ksched_cli.sources.live.cluster import LiveCluster, Progress
    from ksched_cli.sources.loaded import Loaded

    Live = Callable[[], LiveCluster]


@dataclass(frozen=True)
class Gathered:
    """The input as it was read, with its manifests and edits applied, before any scheduler is made of it. `made` are
    the pods that came with the manifests, and `wanted` says which pods are asked for."""

    loaded: Loaded
    setting: Setting
    refused: tuple[RefusedPod, ...]
    seconds: float
    made: tuple[str, ...]
    wanted: Callable[[Pod], bool]


def gather(setup: Setup, stdin: BinaryIO | None = None, cluster: Loaded | None = None) -> Gathered:
    """Read everything that the setup names, but for a `cluster` that has been read. A scenario has been run to its end,
    and what it expected has held."""
    if setup.scenario is None:
        return read_input(setup, stdin, cluster)
    from ksched_cli.wiring.scenarios import play_scenario

    result, gathered = play_scenario(setup, stdin, cluster)
    if result.failed:
        raise ExpectationFailed(
            Problem(f"{each.text}: {each.against[0]}", result.source, each.line) for each in result.failed
        )
    return gathered


def read_input(setup: Setup, stdin: BinaryIO | None, cluster: Loaded | None = None) -> Gathered:
    """The cluster, unless it has been read already, with the manifests and edits of the setup."""
    from ksched_cli.api.core import Pod
    from ksched_cli.api.pod_facts import pod_key

    started = time.perf_counter()
    wanted = wanted_pods(setup)
    loaded = read_sources(setup, stdin) if cluster is None else cluster
    before = len(loaded.of(Pod))
    loaded, refused = put_manifests(loaded, setup.filenames, namespace=setup.namespace, stdin=stdin)
    made = tuple(pod_key(pod) for pod in loaded.of(Pod)[before:])
    loaded, refused_too = apply_edits(loaded, setup.edits, setup.edit_problems, setup.namespace)
    setting = make_setting(setup, loaded.server_version)
    return Gathered(loaded, setting, refused + refused_too, time.perf_counter() - started, made, wanted)


def read_sources(setup: Setup, stdin: BinaryIO | None, live: Live | None = None) -> Loaded:
    """The sources and objects, or the live cluster where there are neither; `live` has it when it was read already."""
    from ksched_cli.sources.dump import LIVE, load_dump

    sources = setup.sources if setup.sources or setup.objects else [LIVE]
    live = live or (lambda: read_live(setup.live, setup.progress, events=setup.events))
    return load_dump(sources, stdin, live=live, objects=setup.objects, events=setup.events)


def connect_live(options: LiveOptions) -> ApiServer:
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


def put_manifests(
    loaded: Loaded,
    paths: Sequence[str],
    objects: Sequence[Any] = (),
    namespace: str = "",
    stdin: BinaryIO | None = None,
) -> tuple[Loaded, tuple[RefusedPod, ...]]:
    """The cluster with manifests and the pods of their workloads, in a copy of what was loaded; the pods that admission
    refuses."""
    if not paths and not objects:
        return loaded, ()
    from ksched_cli.sources.manifests import apply, load_manifests

    copy = loaded.copied()
    manifests = load_manifests(paths, stdin, namespace or loaded.namespace, objects)
    return copy, _told(apply(copy, manifests))


def _told(refused: Iterable[Refused]) -> tuple[RefusedPod, ...]:
    from ksched_cli.api.pod_facts import pod_key
    from ksched_cli.plan.results import RefusedPod

    return tuple(RefusedPod(pod_key(each.pod), each.plugin, each.message) for each in refused)


def read_edits(given: Iterable[tuple[str, str]]) -> tuple[tuple[Edit, ...], tuple[Problem, ...]]:
    """Pairs of flag and text to edits in the order in which a command line's are made; what is wrong with them."""
    from ksched_cli.sources.edits.checks import contradictions
    from ksched_cli.sources.edits.parsing import FLAGS, parse

    order = list(FLAGS)
    edits, problems = parse(sorted(given, key=lambda each: order.index(each[0])))
    return tuple(edits), (*problems, *contradictions(edits))


def apply_edits(
    loaded: Loaded, edits: Sequence[Edit], problems: Sequence[Problem] = (), namespace: str = ""
) -> tuple[Loaded, tuple[RefusedPod, ...]]:
    """The cluster with the edits made, in a copy of what was loaded; new pods that admission refuses."""
    if not edits and not problems:
        return loaded, ()
    from ksched_cli.sources.edits.apply import apply

    edited = apply(loaded, edits, problems, namespace or loaded.namespace)
    return edited.loaded, _told(edited.refused)
