"""The JSON document of a simulation (apiVersion ksched/v1), written pod by pod to need little memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from msgspec import Raw, structs, to_builtins

from ksched_cli.plan.results.nodes import ByKind, Failure, NodeDetail, Score
from ksched_cli.plan.results.outcomes import PodGroupOutcome, PodOutcome, Simulation
from ksched_cli.plan.simulate import SimulationStream
from ksched_cli.report.encoding import compact_json, json_text
from ksched_cli.report.registry import RenderOptions
from ksched_cli.report.view.documents import entry_of, filled, final_entry, node_table_entry, run_entry, stats_entry
from ksched_cli.report.view.pods import NodeAnswers
from ksched_cli.report.view.shared import CurvePart, OddsPart
from ksched_cli.sources.own_documents import API_VERSION

KIND = "Simulation"
_OPTIONS = RenderOptions("json")


def simulation_document(simulation: Simulation, options: RenderOptions = _OPTIONS) -> dict[str, Any]:
    """The whole document, for YAML and for Python code."""
    entries = _PodEntries(options, simulation.nodes.names if simulation.nodes else None)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "pods": [entries.entry(outcome) for outcome in simulation.outcomes],
        **entries.failure_kinds(),
        **_rest(simulation),
    }


def write_stream(stream: SimulationStream, out: TextIO, options: RenderOptions) -> None:
    """Write the document while the cycles run, one pod a line, without keeping any."""
    entries = _PodEntries(options)
    out.write(f'{{"apiVersion": "{API_VERSION}", "kind": "{KIND}", "pods": [')
    separator = "\n"
    for outcome in stream:
        text = compact_json(entries.entry(outcome, encode=lambda entry: Raw(compact_json(entry).encode())))
        stream.characters += out.write(separator + text)
        separator = ",\n"
    rest = {**entries.failure_kinds(), **_rest(stream.finish()), **run_entry(options)}
    out.write("\n], " + json_text(rest)[1:] + "\n")


def write_stream_page(stream: SimulationStream, out: TextIO, options: RenderOptions) -> None:
    """Write the page of the document."""
    from ksched_cli.report.sinks.html import write_page

    entries = _PodEntries(options)
    pods = [entries.entry(outcome) for outcome in stream]
    document = {"apiVersion": API_VERSION, "kind": KIND, "pods": pods, **entries.failure_kinds()}
    write_page({**document, **_rest(stream.finish()), **run_entry(options)}, out)


class _PodEntries:
    """Makes the entries of `pods` one after another, with the answers of nodes in short form if the options want
    them."""

    def __init__(self, options: RenderOptions, names: Sequence[str] | None = None) -> None:
        self._answers = NodeAnswers(names) if options.node_answers else None
        self._pods = 0

    def entry(self, outcome: PodOutcome, encode: Callable[[Any], Any] = lambda entry: entry) -> dict[str, Any]:
        number, detail = self._pods, outcome.detail
        self._pods += 1
        if self._answers is None or detail is None:
            return pod_entry(outcome, encode)
        entry = pod_entry(structs.replace(outcome, detail=None), encode)
        if outcome.pre_filter is None:
            entry["nodeAnswers"] = self._answers.pack(number, detail)
        return entry

    def failure_kinds(self) -> dict[str, Any]:
        """The failures whose numbers `nodeAnswers` has."""
        return {"failureKinds": [_failure(each) for each in self._answers.kinds]} if self._answers else {}


def _rest(simulation: Simulation) -> dict[str, Any]:
    groups = [_pod_group(group) for group in simulation.pod_groups]
    refused = (entry_of(each, "pod plugin message") for each in simulation.refused)
    return {
        "gated": [entry.pod for entry in simulation.gated],
        "ignored": [entry.pod for entry in simulation.ignored],
        "refused": list(refused),
        **({"podGroups": groups} if groups else {}),
        "final": [final_entry(each) for each in simulation.final_pods()],
        **node_table_entry(simulation.nodes),
        **({"warnings": list(simulation.warnings)} if simulation.warnings else {}),
        **({"odds": to_builtins(OddsPart.of(simulation.odds))} if simulation.odds is not None else {}),
        **({"autoscaling": simulation.autoscaling.document()} if simulation.autoscaling is not None else {}),
        **({"curve": [to_builtins(CurvePart.of(each)) for each in simulation.curves]} if simulation.curves else {}),
        "coverage": dict(simulation.coverage),
        "stats": stats_entry(simulation.stats),
    }


def _pod_group(group: PodGroupOutcome) -> dict[str, Any]:
    entry = entry_of(group, "podGroup result minCount pods placed placement message")
    entry["preemption"] = {"victims": list(group.victims)} if group.victims else ""
    return {key: value for key, value in entry.items() if value != "" and (key, value) != ("minCount", 0)}


def pod_entry(outcome: PodOutcome, encode: Callable[[Any], Any] = lambda entry: entry) -> dict[str, Any]:
    """The entry of a pod, without empty keys. `encode` is called once for each failure and each set of scores that
    nodes share."""
    per_node = _summary(outcome) if outcome.detail is None else _detail(outcome.detail, outcome.pre_filter, encode)
    entry: dict[str, Any] = {
        "pod": outcome.pod,
        "result": outcome.result,
        "node": outcome.node,
        "ties": list(outcome.ties),
        **per_node,
        "message": outcome.message,
        "preemption": entry_of(outcome.preemption, "node victims pdbViolations") if outcome.preemption else None,
        "nominatedNode": outcome.nominated_node,
        "podGroup": outcome.pod_group,
        "unschedulablePlugins": list(outcome.unschedulable_plugins),
        "missing": list(outcome.missing),
    }
    return filled(entry)


def _detail(detail: NodeDetail, pre_filter: Failure | None, encode: Callable[[Any], Any]) -> dict[str, Any]:
    failures, scores = detail.filters_by_kind(), detail.scores_by_kind()
    filters = _by_name(failures, [encode(_failure(each)) for each in failures.kinds])
    if len(detail.filters) > len(filters):
        filters = {name: encode(_failure(each)) for name, each in detail.filters.items()}
    return {
        "feasible": list(detail.feasible),
        "preFilter": _failure(pre_filter) if pre_filter else None,
        "filters": filters,
        "scores": _by_name(scores, [encode(_scores(each)) for each in scores.kinds]),
        "totals": detail.totals,
    }


def _by_name(nodes: ByKind[Any], entries: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(nodes.names, map(entries.__getitem__, nodes.numbers), strict=True))


def _summary(outcome: PodOutcome) -> dict[str, Any]:
    return {
        "nodes": {"total": outcome.total_nodes, "feasible": outcome.feasible_nodes},
        "preFilter": _failure(outcome.pre_filter) if outcome.pre_filter else None,
        "failures": [{**_failure(each.failure), **entry_of(each, "nodes examples")} for each in outcome.failures],
        "top": [
            {"node": scored.node, "total": scored.total, "scores": _scores(scored.scores)} for scored in outcome.top
        ],
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {"plugin": failure.plugin, "code": failure.code, "reasons": list(failure.reasons)}


def _scores(scores: Mapping[str, Score]) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(dict(scores.items()))
    return found
