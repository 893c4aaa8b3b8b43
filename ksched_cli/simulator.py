"""The Python API: a cluster that can be loaded, changed and scheduled, and whose results can be read.

    from ksched_cli import Simulator

    now = Simulator.load("cluster.json", config="scheduler.yaml")
    run = now.run()
    print(run.placements)
    print(now.cordon("node-1").run().pod("shop/web-1").message)

The commands work on it too. Whatever is wrong with an input is raised as a `KschedError` that carries every problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypedDict, Unpack

from ksched_cli.errors import UsageError
from ksched_cli.sources.live.options import LiveOptions
from ksched_cli.whatif.edits.lib.methods import EditMethods
from ksched_cli.wiring import LoadedInput, Prepared, RunOptions, assemble, change_gathered, gather
from ksched_cli.wiring.emptiness import check_not_empty
from ksched_cli.wiring.reading import check_no_rollouts, read_unchanged
from ksched_cli.world.results import DEFAULT_LIMITS, Limits, WorldResult

if TYPE_CHECKING:
    from msgspec import Struct

    from ksched_cli.api.core import Node, Pod
    from ksched_cli.framework.interfaces import Plugin
    from ksched_cli.plan.results import Simulation
    from ksched_cli.whatif.changes import Changes
    from ksched_cli.whatif.edits.lib.edit import Edit

# A file or directory, a document as YAML and JSON have it, a typed object of `ksched_cli.api`, or several of these.
Objects: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Struct | Iterable[Objects]"


class Options(TypedDict, total=False):
    """Which scheduler is asked; what is left out is as on the command line.

    `config` is a KubeSchedulerConfiguration, a file or a document. `feature_gates` are `A=true,B=false`, or a mapping.
    `plugins` are classes, or `module:Class`, and the configuration switches them on. `namespace` is for manifests and
    names that come without one.
    """

    config: str | PathLike[str] | Mapping[str, Any] | None
    kube_version: str
    feature_gates: str | Mapping[str, bool]
    plugins: Sequence[str | type[Plugin]]
    namespace: str
    tie_break: str
    seed: int
    sampling: bool
    allow_extenders: bool
    timings: bool


class Simulator(EditMethods):
    """A cluster and the scheduler that is asked about it. It never changes: an edit gives a new one, so that the state
    before it can be asked on."""

    def __init__(
        self,
        setup: RunOptions,
        gathered: LoadedInput,
        begun: LoadedInput | None = None,
        changes: tuple[Changes, ...] = (),
    ) -> None:
        """`gathered` is what `begun` became by the changes."""
        self._setup = setup
        self._gathered = gathered
        self._begun = begun or gathered
        self._changes = changes

    # Loading

    @classmethod
    def load(cls, *cluster: Objects, **options: Unpack[Options]) -> Simulator:
        """A cluster from files and directories as `--from` takes them, from documents, and from typed objects."""
        sources, objects = _sorted_out(cluster)
        if not sources and not objects:
            raise UsageError("there is nothing to load: give files, documents or objects, or use Simulator.live()")
        return cls.of(replace(_setup(options), sources=sources, objects=objects))

    @classmethod
    def live(
        cls, *, context: str | None = None, kubeconfig: str | None = None, **options: Unpack[Options]
    ) -> Simulator:
        """The cluster of a kube context, the current one unless another is named. It is read once, and never written
        to."""
        return cls.of(replace(_setup(options), live=LiveOptions(context=context, kubeconfig=kubeconfig)))

    @classmethod
    def of(cls, setup: RunOptions, stdin: BinaryIO | None = None) -> Simulator:
        """What a command line asks for."""
        if setup.scenario is not None:
            return cls(setup, gather(setup, stdin))
        begun, changes = read_unchanged(setup, stdin)
        gathered = change_gathered(begun, changes)
        check_not_empty(setup, begun.loaded, changes.manifests)
        return cls(setup, gathered, begun, (changes,))

    # Reading

    @property
    def nodes(self) -> tuple[Node, ...]:
        """By name."""
        from ksched_cli.api.core import Node

        return tuple(sorted(self._gathered.loaded.of(Node), key=lambda node: node.metadata.name))

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All of them, running or not, by namespace and name."""
        from ksched_cli.api.core import Pod

        pods = self._gathered.loaded.of(Pod)
        return tuple(sorted(pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the input."""
        return (*self._gathered.loaded.warnings, *self._gathered.setting.warnings_of_runs)

    def __repr__(self) -> str:
        version = self._gathered.setting.release.version
        return f"<Simulator of Kubernetes {version}: {len(self.nodes)} nodes, {len(self.pods)} pods>"

    # Running

    def run(self, *, detail: bool = True, top: int = 10) -> Simulation:
        """Every pending pod through one scheduling cycle, as `ksched simulate` does it. With `detail` an outcome tells
        every node's first failure and every plugin's score; without, counts and the `top` nodes only. The simulator
        stays as it is: running it again gives the same."""
        return self.prepared().simulate(detail=detail, top=top)

    def settle(self, limits: Limits = DEFAULT_LIMITS) -> WorldResult:
        """All changes made at once, and then everything that follows from them until nothing moves, as `ksched simulate
        --settle` does it: `final` says where every pod is in the end."""
        from ksched_cli.wiring.settling import settle_gathered

        _, _, settlement = settle_gathered(self._setup, self._begun, self._changes, limits, detail=False, top=0)
        return settlement.world

    def prepared(self) -> Prepared:
        """A scheduler over a cluster of its own, for those who want the outcomes one by one."""
        check_no_rollouts(self._gathered)
        return assemble(self._setup, self._gathered)

    # Changing

    def apply(self, *manifests: Objects) -> Simulator:
        """With manifests laid over the cluster, as `-f` does it: workloads become the pods that their controllers would
        make, and all pods go through admission. Pods that it refuses are in `refused` of a run."""
        paths, objects = _sorted_out(manifests)
        from ksched_cli.sources.manifests import load_manifests
        from ksched_cli.whatif.changes import Changes

        namespace = self._setup.namespace or self._gathered.loaded.namespace
        loaded = load_manifests(paths, None, replace(self._setup.reading, namespace=namespace), objects)
        return self._changed(Changes(loaded, namespace=namespace))

    def add_pod(self, pod: Mapping[str, Any] | Pod) -> Simulator:
        """With one more pod, as `apply` adds it."""
        return self.apply(pod)

    def _edited(self, *edits: Edit) -> Simulator:
        from ksched_cli.whatif.changes import Changes

        namespace = self._setup.namespace or self._gathered.loaded.namespace
        return self._changed(Changes(edits=edits, namespace=namespace))

    def _changed(self, changes: Changes) -> Simulator:
        gathered = change_gathered(self._gathered, changes)
        return Simulator(self._setup, gathered, self._begun, (*self._changes, changes))


def _setup(options: Options) -> RunOptions:
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        raise UsageError(f"there is no option {', '.join(unknown)}; there are {', '.join(Options.__annotations__)}")
    same: dict[str, Any] = {key: value for key, value in options.items() if key not in ("config", "feature_gates")}
    setup = RunOptions(**same)
    config, gates = options.get("config"), options.get("feature_gates", "")
    if setup.tie_break not in ("name", "random"):
        raise UsageError(f"tie_break is {setup.tie_break!r}: it is name or random")
    if not isinstance(gates, str):
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())
    return replace(setup, config=str(config) if isinstance(config, PathLike) else config, feature_gates=gates)


def _sorted_out(given: Iterable[Objects]) -> tuple[list[str], list[Any]]:
    """Paths, and everything that is an object itself."""
    paths: list[str] = []
    objects: list[Any] = []
    for each in _flat(given):
        if isinstance(each, str | PathLike):
            paths.append(str(each))
        else:
            objects.append(each)
    return paths, objects


def _flat(given: Iterable[Any]) -> Iterator[Any]:
    for each in given:
        if isinstance(each, Iterable) and not isinstance(each, str | Mapping | PathLike):
            yield from _flat(each)
        else:
            yield each
