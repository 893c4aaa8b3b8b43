"""The Python API: every use case is a method of `Simulator`. The command line computes all results with it.

    from ksched_cli import Simulator

    now = Simulator.load("cluster.json", config="scheduler.yaml")
    run = now.simulate()
    print(run.placements)
    print(now.cordon("node-1").simulate().pod("shop/web-1").message)

All problems of an input are raised together, as a `KschedError`. A use case is imported when its method is called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack

from msgspec.structs import replace

from ksched_cli.errors import Problem, UsageError
from ksched_cli.plan.results.outcomes import DrawOdds, display_with
from ksched_cli.plan.run.options import (
    AUTO,
    Objects,
    RunOptions,
    SchedulerKeywords,
    SweepKeywords,
    options_of,
    paths_and_objects,
    settle_limits,
)
from ksched_cli.report.registry import NotebookDisplay
from ksched_cli.sources.read_options import LiveOptions, ManifestReading, parse_seconds, parse_timeout
from ksched_cli.whatif.edits.lib.arguments import is_edit_range, is_version_range, swept_edits
from ksched_cli.whatif.edits.lib.edit import Edit, EditSpec, edit_specs
from ksched_cli.whatif.edits.lib.methods import EditMethods

if TYPE_CHECKING:
    from ksched_cli.api.core import Node, Pod
    from ksched_cli.config.migrate import Migration
    from ksched_cli.plan.capacity import CapacityResult
    from ksched_cli.plan.check.results import Check
    from ksched_cli.plan.check.suppression import Suppressions
    from ksched_cli.plan.consolidate.results import Consolidation
    from ksched_cli.plan.diff import DiffResult
    from ksched_cli.plan.drain.drain import DrainReport
    from ksched_cli.plan.drain.results import GroupDrain
    from ksched_cli.plan.explain.results import ExplainResult
    from ksched_cli.plan.instance_types import InstanceTypeList
    from ksched_cli.plan.reference.config import EffectiveConfiguration
    from ksched_cli.plan.reference.explain_code import ReasonCodes
    from ksched_cli.plan.reference.plugins import PluginList
    from ksched_cli.plan.reference.versions import VersionChanges, VersionList
    from ksched_cli.plan.results.outcomes import Simulation
    from ksched_cli.plan.rightsize import Rightsizing
    from ksched_cli.plan.run.loaded_input import LoadedInput
    from ksched_cli.plan.run.run import Run
    from ksched_cli.plan.scenario import ScenarioRun
    from ksched_cli.plan.settle import SettledSimulation
    from ksched_cli.plan.simulate import SimulationStream
    from ksched_cli.plan.size.derived import DerivedCatalog
    from ksched_cli.plan.size.results import SearchSettings, Sizing
    from ksched_cli.plan.snapshot import SnapshotResult
    from ksched_cli.plan.sweep.curves import CurveSweep
    from ksched_cli.plan.sweep.run import SweepProgress, SweepResult, SweepRun
    from ksched_cli.plan.verify.results import Verification, VerifySettings
    from ksched_cli.plan.watch import Following
    from ksched_cli.whatif.changes import Changes
    from ksched_cli.world.results import Limits

__all__ = [
    "Check",
    "EditSpec",
    "Following",
    "Limits",
    "LiveOptions",
    "ManifestReading",
    "RunOptions",
    "SettledSimulation",
    "Simulation",
    "Simulator",
    "Sizing",
    "SnapshotResult",
    "Suppressions",
    "SweepResult",
    "edit_specs",
    "is_edit_range",
    "is_version_range",
    "parse_seconds",
    "parse_timeout",
    "settle_limits",
    "swept_edits",
]


display_with(NotebookDisplay())


class Simulator(EditMethods):
    """A cluster with its scheduler. It never changes: an edit returns a new simulator."""

    def __init__(
        self,
        options: RunOptions,
        begun: LoadedInput,
        changes: tuple[Changes, ...] = (),
        current: LoadedInput | None = None,
    ) -> None:
        """`current` is `begun` after the changes and, if the options name one, the scenario."""
        self._options = options
        self._begun = begun
        self._changes = changes
        self._changed_input = current

    # Loading

    @classmethod
    def load(cls, *cluster: Objects, **options: Unpack[SchedulerKeywords]) -> Simulator:
        """A cluster from files and directories as `--from` takes them, from documents, and from typed objects."""
        sources, objects = paths_and_objects(cluster)
        if not sources and not objects:
            raise UsageError("there is nothing to load: give files, documents or objects, or use Simulator.live()")
        return cls.of(replace(options_of(options), sources=sources, objects=objects))

    @classmethod
    def live(
        cls, *, context: str | None = None, kubeconfig: str | None = None, **options: Unpack[SchedulerKeywords]
    ) -> Simulator:
        """The cluster of a kube context, by default the current one. It is read once and never written to."""
        return cls.of(replace(options_of(options), live=LiveOptions(context=context, kubeconfig=kubeconfig)))

    @classmethod
    def of(cls, options: RunOptions) -> Simulator:
        """The cluster and the changes of a command line. Changes are applied when a method computes a result."""
        from ksched_cli.wiring import load_input

        begun, changes = load_input(options)
        return cls(options, begun, (changes,))

    def _current(self) -> LoadedInput:
        """The input after all changes, which are made when a result first needs it."""
        if self._changed_input is None:
            from ksched_cli.wiring import changed_input

            self._changed_input = changed_input(self._options, self._begun, *self._changes)
        return self._changed_input

    # Reading

    @property
    def nodes(self) -> tuple[Node, ...]:
        """By name."""
        from ksched_cli.api.core import Node

        return tuple(sorted(self._current().loaded.of(Node), key=lambda node: node.metadata.name))

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All of them, running or not, by namespace and name."""
        from ksched_cli.api.core import Pod

        pods = self._current().loaded.of(Pod)
        return tuple(sorted(pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)))

    @property
    def zones(self) -> Mapping[str, str]:
        """The zone of each node, empty where a node names none. Edits that are not made yet do not count."""
        from ksched_cli.api.core import Node
        from ksched_cli.api.object_facts import NodeZones

        return NodeZones((self._changed_input or self._begun).loaded.of(Node))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the input."""
        return self._current().warnings

    def __repr__(self) -> str:
        version = self._begun.spec.release.version
        return f"<Simulator of Kubernetes {version}: {len(self.nodes)} nodes, {len(self.pods)} pods>"

    def _repr_html_(self) -> str:
        """The cluster at a glance, for notebooks."""
        from ksched_cli.plan.overview import cluster_overview

        return NotebookDisplay().html(cluster_overview(self._current()))

    # Use cases

    def simulate(self, *, detail: bool = True, top: int = 10, curve: Sequence[str] = ()) -> Simulation:
        """One scheduling cycle for each pending pod. With `detail` an outcome has every node's first failure and every
        plugin's score, else counts and the `top` nodes. `curve`: resources whose `curves` it has, such as cpu."""
        return self.prepared().simulate(detail=detail, top=top, curve=curve)

    run = simulate

    def stream(self, *, detail: bool = True, top: int = 10) -> SimulationStream:
        """The same, one outcome after the other: what has been read is not kept."""
        return self.prepared().stream(detail=detail, top=top)

    def prepared(self, *, orders: int = 0, ties: int = 0) -> Run:
        """A scheduler over a cluster of its own, ready to run; with `odds` of so many random orders and tie-breaks."""
        from ksched_cli.plan.run.run import Run

        self._current().refuse_rollouts()
        self._check_not_empty()
        return Run(self._current(), odds=self._odds(orders, ties))

    def _odds(self, orders: int, ties: int) -> DrawOdds | None:
        """What becomes of the pending pods that are wanted, in so many random orders and tie-breaks."""
        if not orders and not ties:
            return None
        from ksched_cli.api.object_facts import pod_key

        words: SweepKeywords = {"seed": self._options.seed}
        words |= {"orders": orders} if orders else {}
        words |= {"ties": ties} if ties else {}
        found: Any = self.sweep(workers=0, **words).result()
        pending = {pod_key(pod) for pod in self.pods if self._current().wanted(pod) and not pod.spec.node_name}
        return DrawOdds(orders, ties, tuple(each for each in found.pods if each.pod in pending))

    def settle(self, limits: Limits | None = None, *, detail: bool = False, top: int = 0) -> SettledSimulation:
        """Make all changes and run until nothing moves. `final` has the place of every pod in the end."""
        from ksched_cli.plan.settle import settle_input
        from ksched_cli.world.results import DEFAULT_LIMITS

        self._check_not_empty()
        return settle_input(self._begun, self._changes, limits or DEFAULT_LIMITS, detail=detail, top=top)

    def scenario(self, path: str, limits: Limits | None = None) -> ScenarioRun:
        """The steps of a scenario file, each run until nothing moves, and whether its expectations hold."""
        from ksched_cli.plan.run.checks import check_selection
        from ksched_cli.plan.scenario import play_scenario
        from ksched_cli.world.results import DEFAULT_LIMITS

        run = play_scenario(path, self._begun, *self._changes, limits=limits or DEFAULT_LIMITS)
        check_selection(self._options, self._begun.loaded, run.loaded)
        return run

    def explain(
        self,
        pod: str | None = None,
        *,
        node: str = "",
        fixes: bool = True,
        orders: int = 0,
        ties: int = 0,
        catalog: str | Mapping[str, Any] | None = None,
    ) -> ExplainResult:
        """Why a pod is Pending or on its node; by default a pod of the manifests, or the first pending pod without a
        place. `node`: why not there. `fixes`: the smallest changes that help. `orders` and `ties`: how often it goes
        where in random orders and tie-breaks. `catalog`: the cheapest node that helps."""
        from ksched_cli.plan.explain.explain import explain_pod
        from ksched_cli.plan.size.catalog import read_shapes_of

        self._check_manifests(need_pods=pod is None)
        if pod is None:
            self._check_selection()
        found = explain_pod(
            self._current(),
            pod,
            self._options.namespace,
            node=node,
            fixes=fixes,
            manifests=[changes.manifests for changes in self._changes],
            catalog=read_shapes_of(catalog),
            arguments=tuple(self._options.arguments()),
        )
        return replace(found, odds=self._odds(orders, ties))

    def check(
        self,
        *manifests: Objects,
        reading: ManifestReading | None = None,
        edits: Sequence[tuple[str, str]] = (),
        restart: bool = False,
        replicas: str = "current",
        fail_on: Collection[str] = (),
        accepted: Suppressions | None = None,
        allow_empty: bool = False,
    ) -> Check:
        """Manifests rolled out over the cluster, and what is in their way. `edits` are made after the manifests are
        applied. `restart`: every workload counts as changed. `replicas` of workloads with an autoscaler: min, current,
        max or all. `fail_on`: `preemption` or `warning` for findings that count as errors."""
        from ksched_cli.plan.check.check import ManifestCheck, with_errors
        from ksched_cli.plan.check.suppression import NOTHING_ACCEPTED
        from ksched_cli.plan.run.checks import check_nodes
        from ksched_cli.wiring import read_edits

        source = self._current()
        paths, changes = self._manifests(manifests, reading, collects=True)
        check_nodes(replace(self._options, allow_empty=allow_empty), source.loaded, changes.manifests)
        made, problems = read_edits(edits, [edit for each in self._changes for edit in each.edits])
        changes = replace(changes, edits=made, problems=problems, restart=restart)
        namespace, accepted = self._options.namespace, accepted or NOTHING_ACCEPTED
        found = ManifestCheck(source, changes, paths, namespace, replicas, accepted, allow_empty).run()
        return with_errors(found, preemptions="preemption" in fail_on, warnings="warning" in fail_on)

    def capacity(
        self,
        *manifests: Objects,
        reading: ManifestReading | None = None,
        mix: str = "",
        limit: int = 10_000,
        ignore_pending: bool = False,
        allow_empty: bool = False,
    ) -> CapacityResult:
        """How many more pods of each manifest fit, or sets of them as `mix` has them (`web=3,batch=1`)."""
        from ksched_cli.plan.capacity import count_capacity
        from ksched_cli.plan.run.checks import check_nodes

        source = self._current()
        paths, loaded = self._manifests(manifests, reading)
        check_nodes(replace(self._options, allow_empty=allow_empty), source.loaded, loaded.manifests)
        first, where = not ignore_pending, ", ".join(paths)
        return count_capacity(source, loaded.manifests, mix=mix, limit=limit, pending_first=first, where=where)

    def drain_nodes(
        self,
        *nodes: str,
        selector: str = "",
        each: Literal["node", "zone"] | None = None,
        force: bool = False,
        ignore_daemonsets: bool = False,
        delete_emptydir_data: bool = False,
        pod_selector: str = "",
        disable_eviction: bool = False,
        grace_period: float | None = None,
        timeout: float | None = None,
        skip_wait_for_delete_timeout: int = 0,
        ignore_pending: bool = False,
        every_pod: bool = False,
        done: Callable[[GroupDrain], object] = lambda trial: None,
        partial: bool = False,
    ) -> DrainReport:
        """What `kubectl drain` would do with these or the selected nodes, or with every node or zone by itself
        (`each`). `grace_period` and `timeout` are in seconds. `every_pod`: the end has also the pods that stay. `done`
        is called with each trial at its end. With `partial` an interrupt ends the run, and its trials are shown."""
        from ksched_cli.api.selectors import read_query
        from ksched_cli.plan.drain.drain import drain_nodes
        from ksched_cli.plan.drain.results import Flags

        self._check_manifests()
        self._check_selection()
        query = read_query(pod_selector, "--pod-selector")
        how_long = grace_period, timeout, skip_wait_for_delete_timeout
        flags = Flags(force, ignore_daemonsets, delete_emptydir_data, query, disable_eviction, *how_long)
        how: Any = {"each": each, "pending_first": not ignore_pending, "every_pod": every_pod}
        return drain_nodes(self._current(), nodes, selector, flags, **how, done=done, stop_on_interrupt=partial)

    def size(
        self,
        catalog: str | Mapping[str, Any] | None = None,
        *,
        time_limit: float = 20.0,
        greedy: bool = False,
        spot: bool = True,
        allow_empty: bool = False,
        settings: SearchSettings | None = None,
    ) -> Sizing:
        """The cheapest nodes of a catalog, a file or a document, to add so that the scheduler places every pending pod.
        Without a catalog the NodePools of the cluster have the shapes.
        `greedy`: without a solver. `spot`: with the spot shapes. The search ends after `time_limit` seconds;
        `settings` say how far each of its steps goes."""
        from ksched_cli.plan.size.derived import shapes_to_buy
        from ksched_cli.plan.size.run import size_input

        source = self._current()
        self._check_not_empty(allow_empty=allow_empty)
        found = shapes_to_buy(catalog, source)
        if found is None:
            raise UsageError("say what can be bought: --catalog FILE (`ksched size catalog` makes one)")
        shapes = found if spot else found.without_spot()
        return size_input(source, shapes, time_limit=time_limit, greedy=greedy, settings=settings)

    def consolidate(
        self,
        catalog: str | Mapping[str, Any] | None = None,
        *,
        keep_headroom: str = "",
        survive: str = "",
        only: str = "",
        force: bool = False,
        delete_emptydir_data: bool = False,
        time_limit: float = 20.0,
    ) -> Consolidation:
        """The nodes that can be drained and deleted one after the other, every pod placed again and every budget kept.
        With a catalog nodes have its prices, and cheaper shapes replace nodes. `keep_headroom`: `cpu=10%`; `survive`:
        `node=1` or `zone=1`; `only`: labels of the nodes that may go."""
        from ksched_cli.plan.consolidate.consolidate import consolidate_input
        from ksched_cli.plan.consolidate.results import read_conditions
        from ksched_cli.plan.drain.results import Flags
        from ksched_cli.plan.size.derived import shapes_to_buy

        self._check_selection()
        conditions = read_conditions(keep_headroom, survive, only)
        flags = Flags(force, ignore_daemonsets=True, delete_emptydir_data=delete_emptydir_data)
        shapes, source = shapes_to_buy(catalog, self._current()), replace(self._current(), controllers=())
        return consolidate_input(source, shapes, flags, conditions, time_limit=time_limit)

    def rightsize(self, catalog: str | Mapping[str, Any] | None = None) -> Rightsizing:
        """How much the pods of the manifests may request at most and still fit, now and on each shape of the catalog or
        of the nodes."""
        from ksched_cli.plan.rightsize import rightsize_input
        from ksched_cli.plan.size.catalog import read_shapes_of

        self._check_selection()
        return rightsize_input(self._current(), read_shapes_of(catalog))

    def size_catalog(self, *, prices: Sequence[str] = (), rates: str = "") -> DerivedCatalog:
        """A catalog of the instance types of the nodes and of the node groups of autoscalers. `prices` are written
        SHAPE=PRICE, `rates` cpu=PRICE,memory=PRICE."""
        from ksched_cli.plan.size.derived import derive_catalog

        return derive_catalog(self._current().loaded, prices, rates)

    def sweep(
        self,
        file: str | PathLike[str] | None = None,
        *,
        workers: int = 1,
        dask: str | None = None,
        out: str | None = None,
        resume: bool = False,
        progress: SweepProgress | None = None,
        **words: Unpack[SweepKeywords],
    ) -> SweepRun | CurveSweep:
        """Many variants of the cluster, each by itself: those of a sweep file, of the keywords, or of both. Iterate for
        the rows as they come, or call `result()`. `workers` are processes, 0 for one on each core; `dask` is the
        address of a Dask scheduler, or `local`. Rows are stored in the folder `out`; `resume` goes on with those that
        it has. `progress` is called with how many are done and how many there are."""
        from ksched_cli.plan.sweep.curves import sweep_or_curves
        from ksched_cli.plan.sweep.run import SweepExecution
        from ksched_cli.wiring import INPUT_MAKER

        self._check_selection()
        execution = SweepExecution(workers, dask, out, resume, progress)
        options = replace(self._options, scenario=None)
        source, path = self._current(), None if file is None else str(file)
        source.refuse_rollouts()
        return sweep_or_curves(options, source, INPUT_MAKER, path, words, execution, is_changed=any(self._changes))

    @staticmethod
    def compare(before: RunOptions, after: RunOptions) -> DiffResult:
        """The pods that move between two clusters, configurations, versions or manifests, and the rules that move
        them."""
        from ksched_cli.plan.diff import compare
        from ksched_cli.wiring import INPUT_MAKER

        return compare(before, after, INPUT_MAKER)

    def verify(self, settings: VerifySettings | None = None) -> Verification:
        """How far the results agree with what the scheduler of the cluster did. `settings`: how far it searches for the
        order of bindings."""
        from ksched_cli.plan.verify.verify import verify_input

        self._check_selection()
        return verify_input(self._current(), settings)

    @staticmethod
    def trace(
        nodes: str, pods: str, *, mapping: str = "openb", seed: int | None = None, fill: float | None = None
    ) -> dict[str, Any]:
        """The nodes and pending pods of a scheduling trace (two CSV tables) as a List that `load` reads."""
        from ksched_cli.sources.traces import read_mapping, read_trace

        return read_trace(nodes, pods, read_mapping(mapping), seed=seed, fill=fill)

    @staticmethod
    def watch(options: RunOptions, seconds: float | None = None) -> Following:
        """The news of a live cluster, for ever or for these seconds. Its manifests are placed in each state of the
        cluster."""
        from ksched_cli.plan.watch import follow
        from ksched_cli.wiring import load_changed, read_sources

        return follow(options, seconds, read_sources, load_changed)

    def snapshot(self, time: str, *, redacted: bool = False) -> SnapshotResult:
        """One file with all that scheduling reads of the cluster, redacted together with the configuration file if
        requested."""
        from ksched_cli.plan.snapshot import take_redacted_snapshot, take_snapshot

        loaded, config = self._begun.loaded, self._options.config
        if not redacted:
            return take_snapshot(loaded, time)
        rooms = self._begun.spec.registry.in_tree_models()
        return take_redacted_snapshot(loaded, time, config if isinstance(config, str) else None, rooms)

    # Changing

    def apply(self, *manifests: Objects) -> Simulator:
        """Apply manifests to the cluster, as `-f` does it: workloads become the pods that their controllers would make,
        and all pods go through admission. Pods that it refuses are in `refused` of a simulation."""

        _, loaded = self._manifests(manifests)
        return self._changed(loaded)

    def add_pod(self, pod: Mapping[str, Any] | Pod) -> Simulator:
        """Add one more pod, as `apply` adds it."""
        return self.apply(pod)

    def _edited(self, *edits: Edit) -> Simulator:
        from ksched_cli.whatif.changes import Changes

        return self._changed(Changes(edits=edits, namespace=self._namespace))

    def _changed(self, changes: Changes) -> Simulator:
        current = self._current().changed(changes)
        return Simulator(self._options, self._begun, (*self._changes, changes), current)

    @property
    def _namespace(self) -> str:
        return self._options.namespace or self._begun.loaded.namespace

    def _manifests(
        self, manifests: Iterable[Objects], reading: ManifestReading | None = None, *, collects: bool = False
    ) -> tuple[list[str], Changes]:
        """The paths among the manifests, and the changes that apply them. `collects`: mistakes become findings."""
        from ksched_cli.whatif.changes import Changes
        from ksched_cli.wiring import read_manifests

        paths, objects = paths_and_objects(manifests)
        options = replace(
            self._options, reading=replace(reading or self._options.without_manifests().reading, collects=collects)
        )
        loaded = read_manifests(options, self._namespace, self._begun.spec, self._begun.loaded, paths, objects)
        return paths, Changes(loaded, namespace=self._namespace)

    def _check_selection(self) -> None:
        """Raise InputError if nothing of the input is in the namespace, or has the labels, of the options."""
        from ksched_cli.plan.run.checks import check_selection

        check_selection(self._options, self._begun.loaded, self._current().loaded)

    def _check_manifests(self, *, need_pods: bool = False) -> None:
        """Raise InputError for manifests that change nothing, or that make no pod where some pod is needed."""
        from ksched_cli.plan.run.checks import check_manifests

        if need_pods and self._options.has_manifests:
            self._check_not_empty()
        elif self._changes:
            check_manifests(self._options, self._changes[0].manifests)

    def _check_not_empty(self, *, allow_empty: bool | None = None) -> None:
        """Raise InputError if the changes leave nothing to place. Without `allow_empty` the options decide."""
        from ksched_cli.plan.run.checks import check_selection, check_something_to_place

        options = self._options if allow_empty is None else replace(self._options, allow_empty=allow_empty)
        if options.scenario is None:
            check_something_to_place(options, self._begun, [changes.manifests for changes in self._changes])
        else:
            check_selection(options, self._begun.loaded, self._current().loaded)

    # Without a cluster

    @staticmethod
    def plugins(name: str | None = None, options: RunOptions | None = None) -> PluginList:
        """What each plugin does, where, and with which arguments; or one plugin in full."""
        from ksched_cli.plan.reference.plugins import describe_plugins
        from ksched_cli.wiring import scheduler_spec

        return describe_plugins(name, scheduler_spec(options or RunOptions()))

    @staticmethod
    def instance_types(options: RunOptions, *names: str, **wanted: Any) -> InstanceTypeList:
        """The instance types of `cloud`, `region` and `zones`, of the file `instance_types` of the options, or of the
        cloud of their sources. `names` are patterns; `arch`, `min_cpu`, `min_memory` and `gpu` filter."""
        from ksched_cli.plan.instance_types import find_types
        from ksched_cli.wiring import read_sources

        return find_types(options, read_sources, names, **wanted)

    @staticmethod
    def file_schema(kind: str) -> dict[str, Any]:
        """A JSON Schema of files: catalog, instance-types, scenario or sweep."""
        from ksched_cli.plan.reference.schemas import file_schema

        return file_schema(kind)

    @staticmethod
    def versions() -> VersionList:
        """The modelled minors of Kubernetes."""
        from ksched_cli.plan.reference.versions import list_versions

        return list_versions()

    @staticmethod
    def version_changes(version: str) -> VersionChanges:
        """What a minor changed."""
        from ksched_cli.plan.reference.versions import list_changes

        return list_changes(version)

    @staticmethod
    def reason_codes(*codes: str) -> ReasonCodes:
        """What reason codes of `check` mean; all codes where none is named."""
        from ksched_cli.plan.reference.explain_code import explain_codes

        return explain_codes(codes)

    @staticmethod
    def configuration(options: RunOptions) -> EffectiveConfiguration:
        """The configuration of the options with every default written out."""
        from ksched_cli.plan.reference.config import effective_configuration
        from ksched_cli.wiring import scheduler_spec

        return effective_configuration(scheduler_spec(options))

    @staticmethod
    def validate_configuration(options: RunOptions) -> tuple[str, ...]:
        """Warnings about the configuration of the options. ConfigError where kube-scheduler would not accept it."""
        from ksched_cli.plan.reference.config import validate_configuration
        from ksched_cli.wiring import scheduler_spec

        return validate_configuration(scheduler_spec(options), str(options.config))

    @staticmethod
    def migrate_configuration(options: RunOptions, to_kube_version: str = "") -> Migration:
        """The configuration or Policy of the options, rewritten for `to_kube_version`: by default for the minor that
        answers inputs without a version, or for that of the options if it is later."""
        from ksched_cli.plan.reference.config import migrate_file
        from ksched_cli.wiring import make_registry

        version = None if options.kube_version == AUTO else options.kube_version
        gates, plugins = options.feature_gates, options.plugins
        return migrate_file(str(options.config), options.stdin, version, to_kube_version, gates, plugins, make_registry)

    @staticmethod
    def configuration_schema(kube_version: str = AUTO) -> dict[str, Any]:
        """A JSON Schema of KubeSchedulerConfiguration."""
        from ksched_cli.config.load import configuration_schema
        from ksched_cli.wiring import scheduler_spec

        spec = scheduler_spec(RunOptions(kube_version=kube_version))
        return configuration_schema(spec.release, spec.registry.in_tree_models())

    @staticmethod
    def validate_scenario(path: str) -> str:
        """The name of a scenario. InputError with all mistakes of its file."""
        from ksched_cli.whatif.scenario import validate_scenario

        return validate_scenario(path)

    @staticmethod
    def object_names(sources: Sequence[str], kind: str) -> list[tuple[str, str]]:
        """Namespace and name of the objects of a kind in files, for completion. Nothing is checked."""
        from ksched_cli.sources.names import find_names

        return list(find_names(sources, kind))

    @staticmethod
    def validate_sweep(path: str) -> str:
        """The name of a sweep. InputError with all mistakes of its file."""
        from ksched_cli.plan.sweep.model import validate_sweep

        return validate_sweep(path)

    @staticmethod
    def suppressions(codes: Sequence[str], baseline: str = "") -> Suppressions:
        """The findings with these codes or names, and those of a baseline file, are accepted."""
        from ksched_cli.plan.check.suppression import accept

        return accept(codes, baseline)

    @staticmethod
    def baseline(found: Check) -> dict[str, Any]:
        """The document of a baseline that accepts the findings of a check."""
        from ksched_cli.plan.check.suppression import baseline_document

        return baseline_document(found)

    @staticmethod
    def check_not_run(problems: Iterable[Problem]) -> Check:
        """The result of a check that could not begin."""
        from ksched_cli.plan.check.results import check_not_run

        return check_not_run(problems)
