"""The rows of a sweep, one for each variant, and their statistics.

Only whole numbers are added up, so that the order of the rows changes nothing. A row has the same bytes for the same
variant, wherever it was run."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf
from operator import attrgetter
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ksched_cli.plan.results.outcomes import PodOdds, Share

# From the best to the worst. evicts others: pods were preempted, and all of them have a place in the end; loses pods:
# no controller recreates a pod; no place: a pod that had a place, or that the variant adds or places, has none in the
# end; error: the variant could not be run.
VariantOutcome = Literal["safe", "evicts others", "loses pods", "no place", "error"]
OUTCOMES: tuple[VariantOutcome, ...] = ("safe", "evicts others", "loses pods", "no place", "error")

# deleted: the controller wants fewer pods.
PodResultWord = Literal["scheduled", "unschedulable", "lost", "deleted"]


class SweptPod(Struct, frozen=True, array_like=True):
    """A pod to which something happened, under the name that it or its first predecessor had."""

    pod: str
    result: PodResultWord
    node: str = ""


class Figures(Struct, frozen=True, rename="camel"):
    """How the cluster is in the end. `spread` is the standard deviation of the nodes' requested cpu, in hundredths of a
    percent of what they have. Stranded is what is left of nodes on which no further average pod fits."""

    placed: int = 0
    unschedulable: int = 0
    lost: int = 0
    preempted: int = 0
    evicted: int = 0
    nodes: int = 0
    nodes_used: int = 0
    spread: int = 0
    stranded_milli_cpu: int = 0
    stranded_memory: int = 0


FIGURES = tuple(each.encode_name for each in msgspec.structs.fields(Figures))
FIGURE_FIELDS = tuple(each.name for each in msgspec.structs.fields(Figures))


class VariantRow(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`at` has the place in each dimension. `reason` is the first cause of an outcome that is not safe. `failed` are
    the expectations that did not hold."""

    variant: int
    at: dict[str, Any]
    outcome: VariantOutcome
    figures: Figures | None = None
    reason: str = ""
    failed: tuple[str, ...] = ()
    pods: tuple[SweptPod, ...] = ()
    error: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """The values of COLUMNS, without figures that the variant does not have. Coordinates are JSON."""
        figures = msgspec.to_builtins(self.figures) if self.figures is not None else {}
        head = {"variant": self.variant, "at": msgspec.json.encode(self.at).decode(), "outcome": self.outcome}
        return {**head, **figures, "reason": self.reason, "failed": list(self.failed), "error": self.error}


# The columns of rows in CSV; Parquet has the pods, too.
COLUMNS = ("variant", "at", "outcome", *FIGURES, "reason", "failed", "error")
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(VariantRow)


def encode_rows(rows: Iterable[VariantRow]) -> bytes:
    """One line of JSON for each."""
    return b"".join(_ENCODER.encode(row) + b"\n" for row in rows)


def decode_rows(lines: bytes) -> Iterator[VariantRow]:
    return map(_DECODER.decode, lines.splitlines())


_values = attrgetter(*FIGURE_FIELDS)
# What is better when it is less, for the Pareto front of the settings.
OBJECTIVES = ("unschedulable", "lost", "preempted", "nodes", "nodesUsed", "spread")


class FigureRange(Struct, frozen=True):
    """A figure over all variants that were run; the mean has four digits after the point."""

    least: int
    mean: float
    most: int


class _Sums:
    """Figures added up, of `count` rows that have them. `first` is the first variant of all rows."""

    # Made with the first figures.
    _least: list[int]
    _most: list[int]

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.count, self.first = 0, inf
        self._totals = [0] * len(FIGURES)

    def add(self, row: VariantRow) -> None:
        self.outcomes[row.outcome] += 1
        self.first = min(self.first, row.variant)
        if row.figures is None:
            return
        values = _values(row.figures)
        if not self.count:
            self._least, self._most = list(values), list(values)
        self.count += 1
        for at, value in enumerate(values):
            self._totals[at] += value
            if value < self._least[at]:
                self._least[at] = value
            elif value > self._most[at]:
                self._most[at] = value

    def shares(self) -> dict[str, Share]:
        total = self.outcomes.total()
        return {each: Share.of(self.outcomes[each], total) for each in OUTCOMES if self.outcomes[each]}

    def ranges(self) -> dict[str, FigureRange]:
        if not self.count:
            return {}
        columns = zip(FIGURES, self._least, self._totals, self._most, strict=True)
        return {name: FigureRange(least, round(total / self.count, 4), most) for name, least, total, most in columns}

    def means(self) -> tuple[Fraction, ...]:
        """The objectives."""
        totals = dict(zip(FIGURES, self._totals, strict=True))
        return tuple(Fraction(totals[name], self.count) for name in OBJECTIVES)


class Aggregator:
    """Takes rows in any order. Memory grows with pods, nodes they go to, and settings, and not with variants."""

    def __init__(self, worst: int) -> None:
        self._most_worst = worst
        self._worst: list[tuple[tuple[int, ...], VariantRow]] = []
        self._all = _Sums()
        self._results: dict[str, Counter[str]] = {}
        self._nodes: dict[str, Counter[str]] = {}
        self._settings: dict[bytes, _Sums] = {}
        self._failed: Counter[str] = Counter()
        self._failures: dict[str, VariantOutcome] = {}

    @property
    def count(self) -> int:
        return self._all.outcomes.total()

    def add(self, row: VariantRow) -> None:
        self._all.add(row)
        self._failed.update(row.failed)
        for name in row.at.get("fail", ()):
            self._failures[name] = max(self._failures.get(name, "safe"), row.outcome, key=OUTCOMES.index)
        for each in row.pods:
            self._results.setdefault(each.pod, Counter())[each.result] += 1
            if each.node:
                self._nodes.setdefault(each.pod, Counter())[each.node] += 1
        key = _setting_key(row)
        if key is not None:
            self._settings.setdefault(key, _Sums()).add(row)
        self._rank(row)

    def _rank(self, row: VariantRow) -> None:
        if row.outcome == "safe" and not row.failed:
            return
        entry = _badness(row), row
        if len(self._worst) < self._most_worst:
            heapq.heappush(self._worst, entry)
        elif entry[0] > self._worst[0][0]:
            heapq.heapreplace(self._worst, entry)

    def worst(self) -> tuple[VariantRow, ...]:
        """The worst first."""
        return tuple(row for _, row in sorted(self._worst, key=lambda entry: entry[0], reverse=True))

    def failures(self) -> dict[str, VariantOutcome]:
        """By each node, zone or other domain that failed: the worst outcome of its variants."""
        return dict(sorted(self._failures.items()))

    def outcomes(self) -> dict[str, Share]:
        return self._all.shares()

    def figures(self) -> dict[str, FigureRange]:
        return self._all.ranges()

    def failed(self) -> dict[str, Share]:
        """In how many variants an expectation failed."""
        return {text: Share.of(count, self.count) for text, count in sorted(self._failed.items())}

    def pods(self) -> tuple[PodOdds, ...]:
        return tuple(
            PodOdds(pod, total, _shares(results, total), _shares(self._nodes.get(pod, Counter()), total))
            for pod, results in sorted(self._results.items())
            for total in (results.total(),)
        )

    def settings(self) -> tuple[dict[str, Any], ...]:
        """One entry for each configuration, minor and set of counts, in the order of their first variants, as documents
        have it. `paretoFront`: no other setting is as good or better in all of OBJECTIVES."""
        found = sorted(self._settings.items(), key=lambda each: each[1].first)
        front = _front({key: sums.means() for key, sums in found if sums.count})
        entries = []
        for key, sums in found:
            about = {"paretoFront": key in front, "outcomes": sums.shares(), "figures": sums.ranges()}
            entries.append({**msgspec.json.decode(key), **msgspec.to_builtins(about)})
        return tuple(entries)


_SETTING_KEYS = ("fail", "order", "tie")


def _setting_key(row: VariantRow) -> bytes | None:
    at = {key: value for key, value in row.at.items() if key not in _SETTING_KEYS}
    return msgspec.json.encode(at) if at else None


Means = tuple[Fraction, ...]


def _front(means: Mapping[bytes, Means]) -> set[bytes]:
    """The settings that no other one beats: the Pareto front. One that beats another comes before it in order."""
    front: dict[bytes, Means] = {}
    for key, own in sorted(means.items(), key=lambda each: each[1]):
        if not any(_beats(each, own) for each in front.values()):
            front[key] = own
    return set(front)


def _beats(one: Means, other: Means) -> bool:
    return one != other and all(mine <= its for mine, its in zip(one, other, strict=True))


def _badness(row: VariantRow) -> tuple[int, ...]:
    """What is worse is greater; of equals the first variant."""
    figures = row.figures or Figures()
    new = sum(each.result == "unschedulable" for each in row.pods)
    return (
        OUTCOMES.index(row.outcome) // (len(OUTCOMES) - 1),
        len(row.failed),
        OUTCOMES.index(row.outcome),
        new,
        figures.lost,
        figures.preempted,
        figures.evicted,
        -row.variant,
    )


def _shares(counts: Counter[str], total: int) -> dict[str, Share]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return {name: Share.of(count, total) for name, count in ordered}
