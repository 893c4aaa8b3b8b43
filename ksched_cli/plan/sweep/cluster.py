"""The input of a sweep under the configurations and minors that it tries, as a value that can be sent to workers."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace as replace_fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.api.yaml_reader import read_documents
from ksched_cli.errors import ConfigError, Problem, UsageError
from ksched_cli.plan.run.checks import check_nodes
from ksched_cli.plan.run.each import Cores, Executor, InProcess, OnDask, Processes
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput
from ksched_cli.plan.run.options import Configuration, RunOptions, SweepKeywords
from ksched_cli.plan.sweep.load import read_sweep
from ksched_cli.plan.sweep.model import Sweep
from ksched_cli.plan.sweep.run import RowStore, SweepProgress, SweepRun, about_rows
from ksched_cli.plan.sweep.space import SweepTask, variant_space
from ksched_cli.releases.minors import minor_in
from ksched_cli.sources.loaded import Loaded

if TYPE_CHECKING:
    from ksched_cli.autoscale.autoscaler import Karpenter


class SweptCluster(Struct, frozen=True):
    """The cluster with its changes made, its autoscaler, and the options of the scheduler."""

    options: RunOptions
    loaded: Loaded
    sweep: Sweep
    maker: InputMaker
    autoscaler: Karpenter | None = None

    @classmethod
    def of(cls, options: RunOptions, source: LoadedInput, sweep: Sweep, maker: InputMaker) -> SweptCluster:
        """Everything that is for reading is left out: nothing is read again."""
        kept = replace(
            options, sources=(), objects=(), filenames=(), edits=(), scenario=None, progress=None, stdin=None
        )
        loaded = replace(source.loaded, origins={}, texts={}, paths_in_resources={}, _places={})
        # The version may come from the cluster.
        version = source.spec.requested
        if minor_in(version) is None:
            version = source.spec.release.version
        kept = replace(kept, kube_version=version, config=_as_document(options.config))
        return cls(kept, loaded, sweep, maker, source.autoscaler)

    @property
    def digest(self) -> str:
        """The same for the same cluster under the same options."""
        found = sha256()
        for kind, items in sorted(self.loaded.objects.items(), key=lambda each: each[0].__name__):
            found.update(kind.__name__.encode())
            found.update(msgspec.json.encode(sorted(items, key=_name), order="deterministic"))
        options = self.options
        plugins = [
            each if isinstance(each, str) else f"{each.__module__}:{each.__qualname__}" for each in options.plugins
        ]
        of_scheduler = (options.config, options.kube_version, options.feature_gates, plugins, options.tie_break)
        others = (options.seed, options.sampling, options.allow_extenders, options.namespace)
        found.update(repr((of_scheduler, others)).encode())
        if self.autoscaler is not None:
            found.update(msgspec.json.encode((self.autoscaler.types, repr(self.autoscaler.options))))
        return found.hexdigest()[:32]

    def under(self, grid: int, version: int) -> LoadedInput:
        """The input with the configuration and the minor of these indexes, -1 for those of the options."""
        options = self.options
        if grid >= 0:
            options = replace(options, config=self.sweep.grid[grid].configuration)
        if version >= 0:
            options = replace(options, kube_version=self.sweep.kube_versions[version])
        spec = self.maker.scheduler_spec(options)
        source = LoadedInput(self.loaded, spec, self.maker.maker(options), _every_pod)
        return source.with_autoscaler(self.autoscaler)


def sweep_input(
    options: RunOptions,
    source: LoadedInput,
    maker: InputMaker,
    path: str | None,
    words: Mapping[str, Any],
    *,
    workers: int = 1,
    dask: str | None = None,
    out: str | None = None,
    resume: bool = False,
    progress: SweepProgress | None = None,
) -> SweepRun:
    """The run of a sweep file, of words, or of both, over this input."""
    if resume and out is None:
        raise UsageError("--resume goes with --out: it continues with the rows of that folder")
    if workers < 0:
        raise UsageError(f"--workers {workers}: 0 is one for each core")
    unknown = sorted(words.keys() - SweepKeywords.__annotations__.keys())
    if unknown:
        known = ", ".join(SweepKeywords.__annotations__)
        raise UsageError(f"there is no dimension {', '.join(unknown)}; there are {known}")
    sweep = read_sweep(path, words, _as_document(options.config))
    cluster = SweptCluster.of(options, source, sweep, maker)
    _check_grid(cluster)
    check_nodes(options, cluster.loaded, Loaded())
    space = variant_space(sweep, cluster.loaded)
    task = SweepTask(space, cluster, options.namespace or cluster.loaded.namespace)
    executor = _executor(workers, dask, len(space))
    store = RowStore(out, about_rows(task), resume=resume) if out is not None else None
    seconds = source.seconds
    return SweepRun(task, executor, progress=progress, store=store, load_seconds=seconds, warnings=source.warnings)


def _check_grid(cluster: SweptCluster) -> None:
    """ConfigError with what kube-scheduler would not accept of the configurations of the grid."""
    problems: dict[str, Problem] = {}
    for point in cluster.sweep.grid:
        try:
            cluster.maker.scheduler_spec(replace(cluster.options, config=point.configuration))
        except ConfigError as mistake:
            problems |= {str(each): replace_fields(each, source="--grid", line=None) for each in mistake.problems}
    if problems:
        raise ConfigError(problems.values())


def _executor(workers: int, dask: str | None, variants: int) -> Executor:
    if dask is None:
        return Processes(min(workers, variants)) if workers > 1 else InProcess() if workers else Cores()
    if importlib.util.find_spec("distributed") is None:
        raise UsageError("--dask needs dask.distributed: pip install 'ksched-cli[dask]'")
    return OnDask(dask)


def _name(item: Any) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name


def _every_pod(_: object) -> bool:
    return True


def _as_document(config: Configuration) -> Mapping[str, Any] | None:
    """The configuration as a value: workers may not have its file. It has been read without mistakes before."""
    if config is None or isinstance(config, Mapping):
        return config
    (document,) = read_documents(Path(config).read_bytes(), config)
    value: Mapping[str, Any] = document.value
    return value
