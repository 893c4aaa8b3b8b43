"""Whether manifests schedule and roll out: each workload with its findings (`Check` of `plan/check/`). The formats of
CI systems are written by `report/sinks/findings.py`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

from ksched_cli.controlplane.draws import Draw
from ksched_cli.errors import capitalised, counted, joined, named
from ksched_cli.plan.check.results import Check, Finding, RolloutStep, WorkloadCheck, WorkloadLoss
from ksched_cli.plan.reasons.codes import all_codes
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.autoscaling import sections_of
from ksched_cli.report.view.documents import DocumentPart, final_part
from ksched_cli.report.view.ends import draws_notes, final_pods_section, rollouts, span
from ksched_cli.report.view.model import (
    TONES,
    Line,
    Lines,
    Section,
    Step,
    Steps,
    Table,
    Tone,
    View,
    columns,
    counting,
)
from ksched_cli.report.view.shared import node_map, zone_bars
from ksched_cli.sources.loaded import NOTHING_CHECKED
from ksched_cli.sources.places import SourcePlace
from ksched_cli.world.results import Orders

_LEVELS: Mapping[str, Tone] = {"error": "bad", "warning": "warn", "note": "plain"}
# The first line names up to this many workloads that lose pods.
_PAYERS, _NAMED, _MOST_STEPS = 2, 4, 60
_MAP = "A cell is a node, filled by what pods request of it; the darker band is what the manifests add."


def _place(place: SourcePlace) -> dict[str, Any]:
    """The fields of a part that has the file, the line and the field that it is about."""
    return {"file": place.source, "line": place.line or 0, "path": place.path}


class FindingPart(DocumentPart, frozen=True, kw_only=True):
    code: str
    name: str
    level: Literal["error", "warning", "note"]
    title: str
    workload: str = ""
    message: str = ""
    file: str = ""
    line: int = 0
    path: str = ""
    pods: tuple[str, ...] = ()
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    step: int = 0
    ignored_by: str = ""
    reason: str | None = None

    @classmethod
    def of(cls, found: Finding, ignored_by: str = "", reason: str | None = None) -> FindingPart:
        return cls.like(found, **_place(found.place), ignored_by=ignored_by, reason=reason)

    @property
    def spot(self) -> str:
        """`deploy/web.yaml:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def place(self) -> str:
        """The spot relative to the repository, with the field."""
        place = SourcePlace(self.file, self.line or None, self.path)
        file = repository_path(place) or self.file
        return " ".join(filter(None, (f"{file}:{self.line}" if self.line else file, self.path)))


class WorkloadPart(DocumentPart, frozen=True, kw_only=True):
    workload: str
    result: str
    file: str = ""
    line: int = 0
    path: str = ""
    pods: int
    running: int
    old: int
    rollout: bool
    steps: tuple[RolloutStep, ...]
    orders: Orders | None = None
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: WorkloadCheck) -> WorkloadPart:
        return cls.like(found, **_place(found.place))

    @property
    def progress(self) -> str:
        """`2 of 3 pods have a node, 1 old pod is left, after 4 steps`."""
        if not self.pods and not self.old:
            return "no pods"
        has = "has" if 1 in (self.pods, self.running) else "have"
        text = f"{self.running} of {counted(self.pods, 'pod')} {has} a node"
        if self.old:
            text += f", {counted(self.old, 'old pod')} left"
        if self.rollout:
            text += f", after {counted(len(self.steps), 'step')}"
        return f"{text}, {self.orders}" if self.orders else text

    @property
    def unread(self) -> str:
        return f"{', '.join(self.missing)} could not be read"


class CheckDocument(DocumentPart, frozen=True, kw_only=True, tag_field="kind", tag="Check"):
    """`final`, `finished` and `draws` are those of all commands that move pods."""

    workloads: tuple[WorkloadPart, ...]
    findings: tuple[FindingPart, ...]
    ignored: tuple[FindingPart, ...] = ()
    evicted: tuple[str, ...]
    evicted_anyway: tuple[str, ...] = ()
    losses: tuple[WorkloadLoss, ...] = ()
    final: Any = None
    finished: Mapping[str, bool] | None = None
    draws: tuple[Draw, ...] = ()
    warnings: tuple[str, ...]
    node_table: Any = None
    autoscaling: Mapping[str, Any] | None = None
    coverage: Mapping[str, Any]
    stats: Mapping[str, Any]

    def count(self, level: str) -> int:
        return sum(finding.level == level for finding in self.findings)

    @property
    def inputs(self) -> list[FindingPart]:
        """The findings about the input; that nothing was checked follows from the others."""
        found = [finding for finding in self.findings if not finding.workload]
        return sorted(found, key=lambda finding: finding.code == NOTHING_CHECKED)


Document = CheckDocument


def document(check: Check, options: RenderOptions) -> CheckDocument:
    world = check.world
    return CheckDocument.like(
        check,
        workloads=tuple(map(WorkloadPart.of, check.workloads)),
        findings=tuple(map(FindingPart.of, check.findings)),
        ignored=tuple(FindingPart.of(each.finding, each.by, each.reason) for each in check.ignored),
        final=final_part(world) if world is not None else None,
        finished=dict(world.finished) if world is not None else None,
        draws=world.draws if world is not None else (),
        node_table=check.nodes,
        stats={
            "nodes": check.stats.nodes,
            "pods": check.stats.pods,
            "errors": check.count("error"),
            "warnings": check.count("warning"),
            "notes": check.count("note"),
            **({"ignored": len(check.ignored)} if check.ignored else {}),
            "loadSeconds": check.stats.load_seconds,
            "scheduleSeconds": check.stats.schedule_seconds,
            "peakMiB": check.stats.peak_mib,
        },
    )


# For the writers of findings


def finding_text(found: Finding | FindingPart) -> str:
    """The message, after the name of its workload."""
    return f"{found.workload}: {found.message}" if found.workload else found.message


def spot(place: SourcePlace) -> str:
    """`deploy/web.yaml:12`."""
    return f"{place.source}:{place.line}" if place.line is not None else place.source


# The view


def check_summary(check: Check) -> str:
    """The first line, for formats of CI systems."""
    return view(document(check, RenderOptions())).first_line


def view(found: CheckDocument) -> View:
    """`4 workloads: 1 fails, 2 errors, 1 warning (6 nodes)`."""
    subject, verdict, tone, details = _verdict(found)
    notes = []
    if found.losses and found.workloads:
        notes.append(Line(_payers(found), "warn"))
    if found.evicted_anyway and found.workloads:
        names = named(found.evicted_anyway, _NAMED)
        text = f"pending pods of the cluster evict {names} with or without the manifests"
        notes.append(Line(text, aside=True))
    if codes := sorted({each.code for each in found.findings if each.level == "error"}):
        notes.append(Line(f"what to do: ksched explain-code {' '.join(codes)}", aside=True))
    figures = [counting(len(found.workloads), "workload")]
    for level, tone_of_level in _LEVELS.items():
        number = found.count(level)
        figures.append(counting(number, level, tone=tone_of_level if number else "plain"))
    return View(
        "check",
        subject,
        verdict,
        tone,
        details,
        counted(found.stats["nodes"], "node"),
        notes=[*notes, *draws_notes(found.draws, None)],
        figures=figures,
        sections=[
            *_each_workload(found),
            *_findings(found.findings),
            *_workloads(found.workloads),
            *_codes(found.findings),
            node_map(found.node_table, _MAP),
            *_steps(found.workloads),
            *_losses(found.losses),
            *sections_of(found.autoscaling, found.coverage),
            *rollouts(found.finished or {}),
            final_pods_section(found.final),
            *_ignored(found.ignored),
            zone_bars(found.node_table),
        ],
    )


def _verdict(found: CheckDocument) -> tuple[str, str, Tone, list[str]]:
    total, failing = len(found.workloads), sum(each.result == "fails" for each in found.workloads)
    is_input_wrong = any(each.level == "error" for each in found.inputs)
    subject = counted(total, "workload")
    counts = [counted(found.count(level), level) for level in ("error", "warning") if found.count(level)]
    counts += [_evicted(found)] if found.evicted and total else []
    new_nodes = len((found.autoscaling or {}).get("newNodes", ()))
    counts += [f"Karpenter adds {counted(new_nodes, 'node')}"] if new_nodes else []
    counts += [f"{counted(len(found.ignored), 'finding')} ignored"] if found.ignored else []
    if is_input_wrong:
        rest = [f"{failing} of the rest {'fails' if failing == 1 else 'fail'}"] if total else []
        verdict = "the input is wrong in part" if total else "nothing was checked, the input is wrong"
        return subject, verdict, "bad", [*rest, *counts]
    if not total:
        return "no workload changes", "no pods or workloads in the manifests", "warn", []
    if failing:
        return subject, f"{failing} {'fails' if failing == 1 else 'fail'}", "bad", counts
    verdict, whole = _fits(found.workloads)
    if any(each.orders and 0 < each.orders.finished < each.orders.tried for each in found.workloads):
        verdict, whole = f"{verdict} in some orders only", False
    return subject, verdict, "good" if whole and not counts else "warn", counts


def _fits(workloads: Sequence[WorkloadPart]) -> tuple[str, bool]:
    """`all fit`, unless errors of a workload are ignored or a workload is held back: `3 fit, errors of 1 ignored`."""
    results = [each.result for each in workloads]
    ignored, held, total = results.count("ignored"), results.count("held back"), len(results)
    if not ignored and not held:
        return ("all fit" if total > 1 else "fits"), True
    fit = total - ignored - held
    parts = [f"{fit} {'fits' if fit == 1 else 'fit'}"] if fit else []
    parts += [f"{held} held back"] if held else []
    parts += [f"errors of {ignored} ignored"] if ignored else []
    return ", ".join(parts), False


def _evicted(found: CheckDocument) -> str:
    """`3 pods evicted of Deployment batch/crawler and Deployment batch/reports`."""
    workloads = [loss.workload.replace("/", " ", 1) for loss in found.losses]
    more = len(workloads) - _PAYERS
    shown = workloads if more <= 0 else [*workloads[:_PAYERS], counted(more, "more workload")]
    return f"{counted(len(found.evicted), 'pod')} evicted{f' of {joined(shown)}' if shown else ''}"


def _payers(found: CheckDocument) -> str:
    fits = not any(each.result in ("fails", "ignored") for each in found.workloads)
    what = "fits only by evicting running pods" if fits else "running pods are evicted"
    return f"{what}: {'; '.join(loss.sentence for loss in found.losses)}"


def _each_workload(found: CheckDocument) -> list[Section]:
    """Each workload with its findings, for a terminal."""
    inputs = [Section("inputs", "The input", Lines(list(_lines(found.inputs))), place="screen")]
    steps = []
    for each in found.workloads:
        lines = [*_rollout_lines(each), *_lines([f for f in found.findings if f.workload == each.workload])]
        if each.missing:
            lines.append(Line(f"could be otherwise: {each.unread}", "warn"))
        steps.append(Step(each.workload, lines, each.progress, each.result, TONES[each.result]))
    block = Steps(steps, dense=True)
    each_section = Section("each", "Each workload", block, place="screen", joined=bool(found.inputs))
    return [*(inputs if found.inputs else []), *([each_section] if steps else [])]


def _lines(findings: Sequence[FindingPart]) -> Iterator[Line]:
    """A finding as compilers print it: a place that a terminal can open, the level, the code and the title."""
    for each in findings:
        where = f"{each.spot}: " if each.file else ""
        yield Line(f"{where}{each.level} {each.code}: {each.title}", _LEVELS[each.level])
        yield Line(each.message, indent=1)
        if each.path:
            yield Line(f"field: {each.path}", aside=True, indent=1)


def _rollout_lines(workload: WorkloadPart) -> Iterator[Line]:
    """The steps of the rollout, with -o wide."""
    for number, step in enumerate(workload.steps if workload.rollout else (), start=1):
        parts = [f"{len(step.made)} created"] if step.made else []
        parts += [f"placed {_placed(step)}"] if step.placed else []
        parts += [f"deleted {named(step.removed, _NAMED)}"] if step.removed else []
        yield Line(f"step {number} ({span(step.seconds)}): {'; '.join(parts)}", aside=True, place="wide")


# More for pages and comments


def _workloads(workloads: Sequence[WorkloadPart]) -> list[Section]:
    shown = columns("Workload; Result: badge filters; Progress: flows; Could be otherwise: flows; File")
    rows = [
        [each.workload, each.result, each.progress, each.unread if each.missing else "", each.file]
        for each in workloads
    ]
    return [Section("workloads", "Workloads", Table(shown, rows), place="paper")] if rows else []


def _findings(findings: Sequence[FindingPart]) -> list[Section]:
    shown = columns("Code: filters; Level: badge filters; Workload: filters; What: flows; Where: flows")
    rows = [[each.code, each.level, each.workload, f"{each.title}: {each.message}", each.place] for each in findings]
    intro = "`ksched explain-code CODE` explains a code and lists what to do."
    return [Section("findings", "Findings", Table(shown, rows, _LEVELS), intro, place="paper")] if rows else []


def _codes(findings: Sequence[FindingPart]) -> list[Section]:
    """The meaning of each code and what to do."""
    known = all_codes()
    steps = [
        Step(f"{code} {known[code].name}", [Line(each) for each in known[code].advice], known[code].meaning)
        for code in sorted({each.code for each in findings})
        if code in known
    ]
    title = "What the codes mean, and what to do"
    return [Section("codes", title, Steps(steps), place="paper", folded=True)] if steps else []


def _steps(workloads: Sequence[WorkloadPart]) -> list[Section]:
    """The steps of the rollouts in order of time."""
    done = [
        Step(f"{each.workload} at {step.seconds:g}s", list(_step_lines(step)))
        for each in workloads
        if each.rollout or len(each.steps) > 1
        for step in each.steps
    ]
    left = len(done) - _MOST_STEPS
    intro = f"The first {_MOST_STEPS} of {len(done):,} steps; the JSON document has all of them." if left > 0 else ""
    block = Steps(done[:_MOST_STEPS])
    return [Section("steps", "Rollouts step by step", block, intro, place="page", folded=True)] if done else []


def _step_lines(step: RolloutStep) -> Iterator[Line]:
    if step.made:
        yield Line(f"created: {named(step.made, _NAMED)}")
    if step.placed:
        yield Line(f"placed: {_placed(step)}", "good")
    if step.removed:
        yield Line(f"deleted: {named(step.removed, _NAMED)}")


def _placed(step: RolloutStep) -> str:
    return named([f"{pod} on {node}" for pod, node in step.placed.items()], _NAMED)


def _losses(losses: Sequence[WorkloadLoss]) -> list[Section]:
    shown = columns("Workload; Evicted: list flows; Pending in the end: number; Budgets violated: list")
    rows = [[each.workload, list(each.evicted), each.pending, list(each.budgets)] for each in losses]
    return [Section("losses", "Workloads that lose running pods", Table(shown, rows), place="page")] if rows else []


def _ignored(ignored: Sequence[FindingPart]) -> list[Section]:
    shown = columns("Code; Level: badge; Workload; What: flows; Accepted by")
    rows = [
        [
            each.code,
            each.level,
            each.workload,
            f"{each.title}: {each.message}",
            f"{each.ignored_by} {capitalised(each.reason or '')}".strip(),
        ]
        for each in ignored
    ]
    return [Section("ignored", "Ignored findings", Table(shown, rows, _LEVELS), place="page")] if rows else []


# Files as CI systems name them: relative to the repository, with slashes.
_STDIN = "stdin"


def repository_path(place: SourcePlace) -> str:
    """The file relative to the checkout of the CI system, or to the working directory. The name of an archive replaces
    that of a file in it. Empty for stdin."""
    source = place.source
    if not source or source == _STDIN:
        return ""
    if not os.path.exists(source):
        archive = archive_of(source)
        source = archive if os.path.exists(archive) else source
    return relative_to_first(Path(os.path.abspath(source)), _roots())


def archive_of(source: str, paths: Any = os.path) -> str:
    """The part of "archive.zip:inner.yaml" before the colon. `paths` is os.path of the system: C: is no archive."""
    drive, rest = paths.splitdrive(source)
    return f"{drive}{rest.partition(':')[0]}"


def relative_to_first(path: PurePath, roots: Iterable[PurePath]) -> str:
    """The path relative to the first root that contains it, with slashes; the whole path if no root contains it."""
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


def _roots() -> list[Path]:
    """The checkout as each CI system names it, the folder of the git repository, and the working directory."""
    variables = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", *(["WORKSPACE"] if "JENKINS_URL" in os.environ else [])]
    named = (os.environ.get(name) for name in variables)
    return [Path(os.path.abspath(each)) for each in (*named, _git_root(), os.getcwd()) if each]


def _git_root() -> Path | None:
    """The folder of the git repository that has the working directory. In a worktree `.git` is a file."""
    here = Path(os.getcwd())
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)
