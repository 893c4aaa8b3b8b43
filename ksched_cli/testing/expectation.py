"""What a test expects of manifests: `expect(cluster).schedules("deploy/").without_preemption().survives(node=1)`. The
manifests are rolled out as by `ksched check`, for `survives` once for each set of lost nodes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Self

from ksched_cli.errors import KschedError, UsageError
from ksched_cli.plan.check.results import Check, WorkloadCheck
from ksched_cli.plan.reasons.codes import PREEMPTS
from ksched_cli.report.registry import RenderOptions, render
from ksched_cli.simulator import Simulator
from ksched_cli.testing.manifests import with_folders

_ZONE = "topology.kubernetes.io/zone"
# pytest writes messages four columns to the right.
_WIDTH = 116

Edits = tuple[tuple[str, str], ...]


class NotSchedulable(AssertionError):
    """An expectation does not hold. The message has the findings of `check` and the report of `explain`."""


@dataclass
class Checks:
    """The checks of a test session. Tests of single workloads share the check of all manifests."""

    done: dict[tuple[Simulator, tuple[str, ...], Edits], Check] = field(default_factory=dict)

    def check(self, simulator: Simulator, manifests: tuple[str, ...], edits: Edits) -> Check:
        key = (simulator, manifests, edits)
        if key not in self.done:
            self.done[key] = simulator.check(*manifests, edits=edits)
        return self.done[key]


@dataclass
class Expectation:
    """What a test expects of manifests in a cluster. Each method raises NotSchedulable if it does not hold, and
    returns the expectation otherwise. `workload`: only this one is looked at, such as "Deployment shop/web"; all
    manifests are applied nevertheless. `locate` returns where a path of the test is."""

    simulator: Simulator
    manifests: tuple[str, ...] = ()
    workload: str = ""
    checks: Checks = field(default_factory=Checks)
    locate: Callable[[str], str] = str

    def schedules(self, *paths: str, recursive: bool = False) -> Self:
        """Every pod gets a node and every rollout finishes, as `ksched check` decides it. Without paths: the manifests
        of the mark."""
        __tracebackhide__ = True
        if paths:
            self.manifests = with_folders([self.locate(path) for path in paths], recursive=recursive)
        self._raise(_failing(self._check()), "{} does not schedule")
        return self

    def without_preemption(self) -> Self:
        """No pod of the manifests evicts another pod."""
        __tracebackhide__ = True
        found = self._check()
        evicting = [each for each in found.workloads if any(finding.code == PREEMPTS for finding in each.findings)]
        self._raise(replace(found, workloads=tuple(evicting)), "{} evicts pods of lower priority")
        return self

    def survives(self, *, node: int = 0, zone: int = 0) -> Self:
        """Every pod still gets a node after any `node` nodes, or the nodes of any `zone` zones, are lost. Every
        combination is tried."""
        __tracebackhide__ = True
        self._check()
        losses = list(self._losses(node, zone))
        failing = [(loss, found) for loss in losses if (found := _failing(self._check(_removed(loss)))).workloads]
        if failing:
            # The first loss in full, the others by name.
            (loss, found), *others = failing
            more = f"\nalso not the loss of {'; '.join(', '.join(each) for each, _ in others)}" if others else ""
            self._raise(found, f"{{}} does not survive the loss of {', '.join(loss)}{more}", _removed(loss))
        return self

    def _losses(self, node: int, zone: int) -> Iterator[tuple[str, ...]]:
        if (node < 1) == (zone < 1):
            raise UsageError("survives() needs one number of at least 1: node=1 or zone=1")
        nodes = self.simulator.nodes
        groups: dict[str, list[str]] = {}
        for each in nodes:
            group = each.metadata.name if node else each.metadata.labels.get(_ZONE, "")
            groups.setdefault(group, []).append(each.metadata.name)
        if zone and "" in groups:
            raise UsageError(f"survives(zone={zone}): node {groups[''][0]} has no label {_ZONE}")
        count = node or zone
        if len(groups) <= count:
            raise UsageError(f"the cluster has {len(groups)} {'nodes' if node else 'zones'}: it cannot lose {count}")
        for lost in combinations(sorted(groups), count):
            yield tuple(name for group in lost for name in groups[group])

    def _check(self, edits: Edits = ()) -> Check:
        """The check of all manifests, narrowed to the workload. A workload that is not in it is no success."""
        __tracebackhide__ = True
        if not self.manifests:
            raise UsageError("give manifests: expect(cluster).schedules(PATH), or the mark workloads(PATH)")
        found = self.checks.check(self.simulator, self.manifests, edits)
        if found.is_input_wrong:
            raise NotSchedulable(f"the manifests cannot be checked\n\n{_shown(replace(found, workloads=()))}")
        if not self.workload:
            return found
        workloads = tuple(each for each in found.workloads if each.workload == self.workload)
        if not workloads:
            names = ", ".join(each.workload for each in found.workloads)
            raise UsageError(f"{self.workload} is not in {', '.join(self.manifests)}, which has {names}")
        return replace(found, workloads=workloads, losses=(), evicted=())

    def _raise(self, found: Check, sentence: str, edits: Edits = ()) -> None:
        """NotSchedulable if the check has workloads."""
        __tracebackhide__ = True
        if not found.workloads:
            return
        names = ", ".join(each.workload for each in found.workloads)
        reports = [text for each in found.workloads if (text := self._explained(each, edits))]
        raise NotSchedulable("\n\n".join([sentence.format(names), _shown(found), *reports]))

    def _explained(self, workload: WorkloadCheck, edits: Edits) -> str:
        """The report of `explain` about a pod that has no place. Empty where `explain` has none: a rollout waits."""
        cluster = self.simulator.apply(*self.manifests)
        for _, node in edits:
            cluster = cluster.remove_node(node)
        for pod in (pod for finding in workload.findings if finding.level == "error" for pod in finding.pods):
            try:
                result = cluster.explain(f"{workload.namespace}/{pod}")
            except KschedError:  # the pod is made in a later step of the rollout
                continue
            if result.explanation.unplaced:
                return _shown(result)
        return ""


def _failing(found: Check) -> Check:
    return replace(found, workloads=tuple(each for each in found.workloads if each.result == "fails"))


def _removed(nodes: Sequence[str]) -> Edits:
    return tuple(("remove-node", name) for name in nodes)


def _shown(result: object) -> str:
    out = io.StringIO()
    render(result, out, RenderOptions(width=_WIDTH))
    return out.getvalue().rstrip()
