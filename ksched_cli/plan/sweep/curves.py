"""The curves of several policies: `sweep --curve`. A run places all pending pods under one policy (a configuration of
the scheduler), for one workload of a trace and one seed; policies, workloads and seeds multiply.

A trace (`--from openb:DIR`) is read again for each workload and seed, which draws its pods. For any other cluster a
seed draws the order in which the pending pods arrive; their priorities still come first. Runs are independent: they go
to cores or to Dask, and are resumed, as the variants of other sweeps (`plan/run/each.py`, `RowStore`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ksched_cli import __version__
from ksched_cli.api.core import Pod
from ksched_cli.api.object_facts import waits_for_node
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.plan.curve import CurveRecorder
from ksched_cli.plan.results.outcomes import Curve
from ksched_cli.plan.run.each import DIED, SpanRunner, error_text
from ksched_cli.plan.run.loaded_input import InputMaker, LoadedInput
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.sweep.model import Sweep
from ksched_cli.plan.sweep.run import (
    RowRun,
    SweepExecution,
    SweepRun,
    sweep_input,
)
from ksched_cli.plan.sweep.trials import SweptCluster, as_document, every_pod
from ksched_cli.sources.decoding import API_VERSION
from ksched_cli.sources.dump import TRACES
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.traces import trace_source, with_words

_MOST_RUNS, _MOST_SEEDS = 100_000, 10_000
# The words of a sweep that compares policies; the seed of the options draws among equal nodes.
CURVE_WORDS = ("curve", "policies", "workloads", "seeds", "seed")


class CurveSweepSpec(Struct, frozen=True):
    """What is varied. `policies` are names with configurations; None is the configuration of the options, `workloads`
    are those of a trace, empty for the one of the source. `seeds` are empty if nothing is drawn."""

    resources: tuple[str, ...]
    policies: tuple[tuple[str, Mapping[str, Any] | None], ...]
    workloads: tuple[str, ...]
    seeds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.policies) * (len(self.workloads) or 1) * (len(self.seeds) or 1)

    def at(self, number: int) -> dict[str, Any]:
        """The policy, workload and seed of a run. Policies vary fastest, so that neighbours share their pods."""
        rest, policy = divmod(number, len(self.policies))
        workload, seed = divmod(rest, len(self.seeds) or 1)
        found: dict[str, Any] = {"policy": self.policies[policy][0]}
        found |= {"workload": self.workloads[workload]} if self.workloads else {}
        return found | ({"seed": self.seeds[seed]} if self.seeds else {})


class CurveRow(Struct, frozen=True, omit_defaults=True):
    """One run: its curves, and the CPU seconds that it took with the reading of its pods left out; or its error."""

    variant: int
    at: Mapping[str, Any]
    curves: tuple[Curve, ...] = ()
    seconds: float = 0.0
    error: str = ""


def decode_curve_rows(lines: bytes) -> list[CurveRow]:
    return msgspec.json.Decoder(CurveRow).decode_lines(lines)


class CurveTask(Struct, frozen=True):
    """What each worker gets once. `trace` is the text of the source if each workload and seed reads it again."""

    spec: CurveSweepSpec
    cluster: SweptCluster
    trace: str = ""

    def runner(self) -> SpanRunner:
        return CurveRunner(self)

    def digest(self) -> str:
        """The same for the same input under the same options and policies."""
        found = sha256(self.cluster.digest().encode())
        for workload in (self.spec.workloads or ("",)) if self.trace else ():
            trace = trace_source(with_words(self.trace, **({"workload": workload} if workload else {})))
            for path in (trace.nodes, trace.pods):
                found.update(Path(path).read_bytes())
        found.update(repr((self.trace, self.spec.policies)).encode())
        return found.hexdigest()[:32]


class CurveRunner:
    """Runs one variant after the other. The objects of the last workload and seed are kept."""

    def __init__(self, task: CurveTask) -> None:
        self._task = task
        self._read: tuple[tuple[Any, Any], Loaded] | None = None

    def rows(self, span: Iterable[int]) -> bytes:
        encoder = msgspec.json.Encoder()
        return b"".join(encoder.encode(self._row(number)) + b"\n" for number in span)

    def died(self, number: int) -> bytes:
        """The row of a run whose worker dies whenever it runs it."""
        return msgspec.json.encode(CurveRow(number, self._task.spec.at(number), error=DIED)) + b"\n"

    def _row(self, number: int) -> CurveRow:
        at = self._task.spec.at(number)
        try:
            loaded = self._loaded(at)
            started = time.process_time()
            curves = self._curves(number, at, loaded)
            return CurveRow(number, at, curves, round(time.process_time() - started, 3))
        except UsageError:
            # A resource that no node has, or a folder that has no such workload.
            raise
        except Exception as problem:
            return CurveRow(number, at, error=error_text(problem))

    def _loaded(self, at: Mapping[str, Any]) -> Loaded:
        task, cluster = self._task, self._task.cluster
        if not task.trace:
            return cluster.loaded
        key = (at.get("workload"), at.get("seed"))
        if self._read is None or self._read[0] != key:
            self._read = None
            words = {name: str(at[name]) for name in ("workload", "seed") if name in at}
            options = replace(cluster.options, sources=(with_words(task.trace, **words),))
            self._read = key, cluster.maker.read_sources(options)
        return self._read[1]

    def _curves(self, number: int, at: Mapping[str, Any], loaded: Loaded) -> tuple[Curve, ...]:
        task, cluster = self._task, self._task.cluster
        configuration = task.spec.policies[number % len(task.spec.policies)][1]
        options = cluster.options if configuration is None else replace(cluster.options, config=configuration)
        spec = cluster.maker.scheduler_spec(options)
        scheduler = LoadedInput(loaded, spec, cluster.maker.scheduler_maker(options), every_pod).scheduler()
        queue = scheduler.enqueue()
        if "seed" in at and not task.trace:
            random.Random(at["seed"]).shuffle(queue.active)
            queue.active.sort(key=lambda row: -scheduler.cluster.pods.infos[row].priority)
        recorder = CurveRecorder(scheduler, queue, task.spec.resources)
        for decision in scheduler.run(queue):
            recorder(decision)
        return recorder.curves()


class MeanCurve(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The runs of one policy and workload for one resource. Each list has a value for each percent from `first` on:
    the mean, the least and the most over the runs of the allocated share, the mean number of pods without a node, and
    the mean of what cannot be used. `first_failure` is the mean percent at which the first pod without a node arrives,
    over the runs that have one."""

    policy: str
    workload: str = ""
    resource: str
    runs: int
    first: int
    mean: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    failed: tuple[float, ...]
    unusable: Mapping[str, tuple[float, ...]]
    first_failure: float | None = None

    @property
    def end(self) -> float:
        return self.mean[-1]

    @property
    def last(self) -> int:
        """The percent of the last point."""
        return self.first + len(self.mean) - 1

    def at(self, percent: int) -> float | None:
        place = percent - self.first
        return self.mean[place] if 0 <= place < len(self.mean) else None


def mean_curve(at: Mapping[str, Any], curves: Sequence[Curve]) -> MeanCurve:
    """The mean over the percents that all of these curves have."""
    first = max(each.first for each in curves)
    places = range(first, min(each.last for each in curves) + 1)
    shares = [[each.allocated_at[percent - each.first] for each in curves] for percent in places]
    failed = [fmean(each.failed_at[percent - each.first] for each in curves) for percent in places]
    reasons = sorted({reason for each in curves for reason in each.unusable_at})
    unusable = {
        reason: tuple(round(fmean(_share(each, reason, percent) for each in curves), 2) for percent in places)
        for reason in reasons
    }
    failures = [each.first_failure.arrived for each in curves if each.first_failure is not None]
    return MeanCurve(
        policy=at["policy"],
        workload=at.get("workload", ""),
        resource=curves[0].resource,
        runs=len(curves),
        first=first,
        mean=tuple(round(fmean(each), 2) for each in shares),
        least=tuple(map(min, shares)),
        most=tuple(map(max, shares)),
        failed=tuple(round(each, 1) for each in failed),
        unusable=unusable,
        first_failure=round(fmean(failures), 2) if failures else None,
    )


def _share(curve: Curve, reason: str, percent: int) -> float:
    shares = curve.unusable_at.get(reason)
    return shares[percent - curve.first] if shares is not None else 0.0


class CurveSweepStats(Struct, frozen=True, rename="camel"):
    """`cpu_seconds` is the mean of a run by policy. `peak_mib` is that of the largest worker."""

    executor: str
    workers: int
    resumed: int
    seconds: float
    cpu_seconds: Mapping[str, float]
    peak_mib: float = msgspec.field(name="peakMiB")


class RunError(Struct, frozen=True, kw_only=True):
    """A run that failed."""

    at: Mapping[str, Any]
    error: str


class CurveSweepResult(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind", tag="CurveSweep"
):
    """`curves` are means over the seeds, by workload, resource and policy in the order in which they were given."""

    resources: tuple[str, ...]
    policies: tuple[str, ...]
    workloads: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    runs: int
    curves: tuple[MeanCurve, ...]
    errors: tuple[RunError, ...] = ()
    stats: CurveSweepStats


class CurveSweep(RowRun[CurveTask, CurveRow, CurveSweepResult]):
    """The runs of a sweep over policies."""

    unit = "runs are done"

    def __init__(self, task: CurveTask, execution: SweepExecution, warnings: tuple[str, ...]) -> None:
        super().__init__(task, len(task.spec), execution, lambda: about_curves(task), decode_curve_rows, warnings)
        self._kept: dict[int, CurveRow] = {}

    def _add(self, row: CurveRow) -> None:
        self._kept[row.variant] = row

    def _summed(self, here: SpanRunner, load_seconds: float, seconds: float) -> CurveSweepResult:
        spec = self._task.spec
        rows = [self._kept[number] for number in sorted(self._kept)]
        good = [row for row in rows if not row.error]
        curves = []
        for workload in spec.workloads or ("",):
            for number in range(len(spec.resources)):
                for policy, _ in spec.policies:
                    found = [
                        row for row in good if (row.at["policy"], row.at.get("workload", "")) == (policy, workload)
                    ]
                    if found:
                        curves.append(mean_curve(found[0].at, [row.curves[number] for row in found]))
        times = {policy: [row.seconds for row in good if row.at["policy"] == policy] for policy, _ in spec.policies}
        stats = CurveSweepStats(
            self._executor.name,
            self._executor.workers,
            self._resumed,
            round(seconds, 2),
            {policy: round(fmean(each), 3) for policy, each in times.items() if each},
            round(self._peak, 1),
        )
        return CurveSweepResult(
            resources=spec.resources,
            policies=tuple(name for name, _ in spec.policies),
            workloads=spec.workloads,
            seeds=spec.seeds,
            runs=len(spec),
            curves=tuple(curves),
            errors=tuple(RunError(at=row.at, error=row.error) for row in rows if row.error),
            stats=stats,
        )


def about_curves(task: CurveTask) -> dict[str, Any]:
    """What rows have to agree in to be rows of one sweep."""
    spec = task.spec
    return {
        "apiVersion": API_VERSION,
        "kind": "CurveRows",
        "ksched": __version__,
        "cluster": task.digest(),
        "resources": list(spec.resources),
        "policies": [name for name, _ in spec.policies],
        "workloads": list(spec.workloads),
        "seeds": list(spec.seeds),
        "variants": len(spec),
    }


def sweep_or_curves(
    options: RunOptions,
    source: LoadedInput,
    maker: InputMaker,
    path: str | None,
    words: Mapping[str, Any],
    execution: SweepExecution,
    *,
    is_changed: bool,
) -> SweepRun | CurveSweep:
    """The sweep of a file, of words, or of both; with the word `curve` the comparison of policies. `is_changed`: the
    source has manifests or edits."""
    if not any(words.get(each) for each in ("curve", "policies", "workloads", "seeds")):
        return sweep_input(options, source, maker, path, words, execution)
    task = _curve_task(options, source, maker, path, words, is_changed)
    # The warnings of the configuration are about one that no policy has.
    warnings = tuple(source.loaded.warnings) if words.get("policies") else source.warnings
    return CurveSweep(task, execution, warnings)


def _curve_task(
    options: RunOptions,
    source: LoadedInput,
    maker: InputMaker,
    path: str | None,
    words: Mapping[str, Any],
    is_changed: bool,
) -> CurveTask:
    """The runs of all policies, each of which kube-scheduler would accept. Raises UsageError and ConfigError."""
    if path is not None:
        raise UsageError(f"{path}: a sweep file does not go with --curve")
    if not words.get("curve"):
        raise UsageError("--policy, --workload and --seeds go with --curve, which names the resources")
    if not any(map(waits_for_node, source.loaded.of(Pod))):
        raise InputError(Problem("no pod of the input is pending: a curve needs pods that arrive"))
    trace = next((each for each in options.sources if each.startswith(TRACES)), "")
    if trace and (len(options.sources) > 1 or options.objects or is_changed):
        raise UsageError("a trace is swept as it is: without other sources, manifests and edits")
    configurations = []
    for each in words.get("policies") or ():
        file = policy_path(each)
        # All mistakes of the file are raised here, with their lines.
        maker.scheduler_spec(replace(options, config=file))
        configurations.append(as_document(file))
    spec = read_curve_spec(words, configurations, is_trace=bool(trace))
    cluster = SweptCluster.of(options, source, Sweep(), maker)
    if not trace or not (spec.workloads or spec.seeds):
        return CurveTask(spec, cluster)
    return CurveTask(spec, replace(cluster, loaded=Loaded()), trace)


def read_curve_spec(
    words: Mapping[str, Any], configurations: Sequence[Mapping[str, Any] | None], *, is_trace: bool
) -> CurveSweepSpec:
    """The sweep of words: `policies` are files `[NAME=]FILE` whose documents are `configurations`."""
    others = sorted(
        key for key, value in words.items() if key not in CURVE_WORDS and value not in (None, (), "", 0, [])
    )
    if others:
        raise UsageError(
            f"--curve goes with --policy, --workload and --seeds, not with --{', --'.join(others).replace('_', '-')}"
        )
    resources = tuple(dict.fromkeys(_listed(words["curve"])))
    if not resources:
        raise UsageError("--curve names no resource: write cpu,memory or an extended resource")
    names = [_policy_name(each) for each in words.get("policies") or ()]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise UsageError(Problem(f"two policies are named {double[0]}", "--policy", hint="write NAME=FILE"))
    workloads = tuple(dict.fromkeys(_listed(words.get("workloads") or ())))
    if workloads and not is_trace:
        raise UsageError("--workload goes with a trace: --from openb:DIR")
    policies = tuple(zip(names, configurations, strict=True)) or (("default", None),)
    spec = CurveSweepSpec(resources, policies, workloads, read_seeds(words.get("seeds") or ""))
    if len(spec) > _MOST_RUNS:
        raise UsageError(f"these are {len(spec):,} runs, and at most {_MOST_RUNS:,} are made")
    return spec


def _listed(given: str | Sequence[str]) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    return [each.strip() for text in texts for each in text.split(",") if each.strip()]


def policy_path(text: str) -> str:
    """The file of `NAME=FILE` or `FILE`."""
    name, equals, path = text.partition("=")
    return path if equals else name


def _policy_name(text: str) -> str:
    name, equals, _ = text.partition("=")
    return name if equals else Path(text).stem


def read_seeds(text: str) -> tuple[int, ...]:
    """`42..51`, `7` or `1,2,5`."""
    found: dict[int, None] = {}
    for part in _listed(text):
        first, dots, last = part.partition("..")
        last = last if dots else first
        if not (first.isdecimal() and last.isdecimal()) or int(first) > int(last):
            raise UsageError(Problem(f"{part!r} is no range of seeds", "--seeds", hint="write 42..51"))
        if int(last) - int(first) >= _MOST_SEEDS:
            raise UsageError(Problem(f"{part} has more than {_MOST_SEEDS:,} seeds", "--seeds"))
        found |= dict.fromkeys(range(int(first), int(last) + 1))
    return tuple(found)
