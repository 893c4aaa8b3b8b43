"""The document of a simulation (apiVersion ksched/v1), and JSON that is written pod by pod to need little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from msgspec import Raw, field
from msgspec.structs import replace

from ksched_cli.plan.results.nodes import Failure
from ksched_cli.plan.results.outcomes import Curve, DrawOdds, PodGroupOutcome, PodOutcome, RefusedPod, Simulation, Stats
from ksched_cli.plan.simulate import SimulationStream
from ksched_cli.report.encoding import LaterPart, compact_json, json_text
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.documents import DocumentPart, encoded, final_entry, run_entry
from ksched_cli.report.view.pods import NodeAnswers, PodPart
from ksched_cli.sources.decoding import API_VERSION

_VERY_MANY = 20_000
# So many pods of the final state are written at once.
_PIECE = 500


class SimulationDocument(DocumentPart, frozen=True, kw_only=True, tag_field="kind", tag="Simulation"):
    """The last fields are for people, of a result in memory: `reasons` of gated pods, `schedulers` of ignored pods,
    `deleted` the pods that edits have deleted with why, `places` the nodes of the autoscaler, and `names` the name of
    each pod if copies that fail alike are one part. `autoscaling` is a Provisioning then."""

    pods: tuple[PodPart, ...]
    failure_kinds: tuple[Failure, ...] | None = None
    gated: tuple[str, ...]
    ignored: tuple[str, ...]
    refused: tuple[RefusedPod, ...]
    pod_groups: tuple[PodGroupOutcome, ...] = ()
    final: Any = None
    node_table: Any = None
    warnings: tuple[str, ...] = ()
    odds: DrawOdds | None = None
    autoscaling: Any = None
    curve: tuple[Curve, ...] = ()
    coverage: Mapping[str, Any]
    stats: Stats
    reasons: Mapping[str, str] = field(default_factory=dict)
    schedulers: Mapping[str, str] = field(default_factory=dict)
    deleted: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()

    @property
    def total(self) -> int:
        """The number of pending pods."""
        return len(self.pods) + len(self.gated) + len(self.ignored) + len(self.refused)

    @property
    def provisioned(self) -> int:
        """The number of pods that a node of the autoscaler takes."""
        return sum(bool(self.place(each)) for each in self.pods) if self.places else 0

    @property
    def failing(self) -> int:
        """The number of pods that neither a node of the cluster nor one of the autoscaler takes."""
        return len(self.failed()) - self.provisioned

    def failed(self) -> list[PodPart]:
        """The pods without a node in the cluster, and for which no victims leave."""
        return [each for each in self.pods if each.verdict in ("unschedulable", "error")]

    def place(self, pod: PodPart) -> str:
        """The node that the cluster's autoscaler has for a pod without a node."""
        return self.places.get(pod.pod, "") if self.places and pod.verdict == "unschedulable" else ""


def document(found: Simulation, options: RenderOptions) -> SimulationDocument:
    """The document, with every node of every pod for programs. For people, pods that wait for the victims of their
    group have its first word as their result."""
    if options.for_programs:
        entries = _PodEntries(options, found.nodes.names if found.nodes else None)
        pods = tuple(map(entries.entry, found.outcomes))
        return SimulationDocument(pods=pods, failure_kinds=entries.failure_kinds, **_fields(found))
    # With very many pods, copies that fail alike are one part of a table.
    shares = options.format == "table" and len(found.outcomes) > _VERY_MANY
    return SimulationDocument(
        pods=tuple(_shared_parts(found.outcomes, shares=shares)),
        **_fields(found) | {"autoscaling": found.autoscaling},
        reasons={each.pod: ", ".join(each.reasons) for each in found.gated},
        schedulers={each.pod: each.scheduler for each in found.ignored},
        deleted={each.pod: each.why for each in found.deleted},
        places=_places(found),
        names=[each.pod for each in found.outcomes] if shares else (),
    )


def _fields(found: Simulation) -> dict[str, Any]:
    """The values of the fields that are not about single pods."""
    return {
        "gated": tuple(each.pod for each in found.gated),
        "ignored": tuple(each.pod for each in found.ignored),
        "refused": found.refused,
        "pod_groups": found.pod_groups,
        "final": LaterPart(lambda: [final_entry(each) for each in found.final_pods()]),
        "node_table": found.nodes,
        "warnings": found.warnings,
        "odds": found.odds,
        "autoscaling": None if found.autoscaling is None else found.autoscaling.document(),
        "curve": found.curves,
        "coverage": found.coverage,
        "stats": found.stats,
    }


def _shared_parts(outcomes: Sequence[PodOutcome], *, shares: bool) -> Iterator[PodPart]:
    """The parts of the pods. Copies that fail alike share all values but their names."""
    before: PodOutcome | None = None
    part: PodPart | None = None
    for each in outcomes:
        found = replace(each, pod="", detail=None)
        if part is None or each.result != "unschedulable" or each.nominated_node or found != before:
            part = PodPart.of(replace(each, detail=None))
        elif not shares or each.missing:
            part = replace(part, pod=each.pod)
        before = found
        yield part


def _places(found: Simulation) -> dict[str, str]:
    if found.autoscaling is None:
        return {}
    from ksched_cli.report.view.autoscaling import place_texts

    return place_texts(found.autoscaling)


class _PodEntries:
    """Makes the parts of the pods one after another, with the answers of nodes in short form if the options want
    them."""

    def __init__(self, options: RenderOptions, names: Sequence[str] | None = None) -> None:
        self._answers = NodeAnswers(names) if options.node_answers else None
        self._pods = 0

    def entry(self, outcome: PodOutcome, encode: Callable[[Any], Any] = lambda each: each) -> PodPart:
        number, detail = self._pods, outcome.detail
        self._pods += 1
        if self._answers is None or detail is None:
            return PodPart.of(outcome, encode)
        answers = self._answers.pack(number, detail) if outcome.pre_filter is None else None
        return PodPart.of(replace(outcome, detail=None), node_answers=answers)

    @property
    def failure_kinds(self) -> tuple[Failure, ...] | None:
        """The failures whose numbers `nodeAnswers` has."""
        return tuple(self._answers.kinds) if self._answers is not None else None


def write_stream(stream: SimulationStream, out: TextIO, options: RenderOptions) -> None:
    """Write the document while the cycles run, one pod a line, without keeping any."""
    entries = _PodEntries(options)
    out.write(f'{{"apiVersion": "{API_VERSION}", "kind": "Simulation", "pods": [')
    separator = "\n"
    for outcome in stream:
        text = compact_json(entries.entry(outcome, encode=lambda each: Raw(compact_json(each).encode())))
        stream.characters += out.write(separator + text)
        separator = ",\n"
    found = stream.finish()
    # The final state of the pods is by far the longest part. Its place in the order of the keys is kept for it.
    fields = _fields(found) | {"final": ()}
    whole = encoded(SimulationDocument(pods=(), failure_kinds=entries.failure_kinds, **fields))
    rest = {key: value for key, value in whole.items() if key not in ("apiVersion", "kind", "pods")}
    before, _, after = json_text(rest | run_entry(options)).partition('"final": []')
    out.write(f'\n], {before[1:]}"final": [')
    final = found.final_pods()
    for start in range(0, len(final), _PIECE):
        text = json_text(list(map(final_entry, final[start : start + _PIECE])))
        out.write((", " if start else "") + text[1:-1])
    out.write(f"]{after}\n")


def write_stream_page(stream: SimulationStream, out: TextIO, options: RenderOptions) -> None:
    """Write the page of the document."""
    from ksched_cli.report.sinks.html import write_page

    entries = _PodEntries(options)
    pods = tuple(map(entries.entry, stream))
    found = _fields(stream.finish())
    whole = SimulationDocument(pods=pods, failure_kinds=entries.failure_kinds, **found)
    write_page(encoded(whole) | run_entry(options), out)
