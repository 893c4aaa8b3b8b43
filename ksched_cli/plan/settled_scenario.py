"""A scenario on the timeline of settling: a step's edits are events, and the next step comes when nothing moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ksched_cli.api.core import Node, Pod
from ksched_cli.api.pod_facts import is_terminal, pod_key
from ksched_cli.engine.handlers import EventHandlers
from ksched_cli.engine.scheduler import Scheduler
from ksched_cli.plan.aftermath import Make
from ksched_cli.plan.expectations import StepFacts
from ksched_cli.plan.place import Telling
from ksched_cli.plan.scenario import ScenarioResult, StepResult, edits_of, step_result
from ksched_cli.plan.settle import Limits, Settling
from ksched_cli.plan.settlement import Ending, Settlement
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.scenario.model import Scenario


def settle_scenario(
    scenario: Scenario, loaded: Loaded, make: Make, limits: Limits, telling: Telling, namespace: str = ""
) -> tuple[ScenarioResult, Settlement]:
    """All steps that the limits allow; what a step expects is asked when everything has come to rest after it."""
    scheduler = make(loaded)
    run = Settling(scheduler, telling)
    results: list[StepResult] = []
    ending: Ending = "settled"
    for step in scenario.steps:
        before = as_it_is(loaded, scheduler)
        edited = edits_of(scenario.source, step, before, namespace)
        run.begin_step(step.name)
        tell_changes(run.loop.handlers, before, edited.loaded)
        ending = run.to_the_end(limits)
        loaded = as_it_is(edited.loaded, scheduler)
        facts = StepFacts(loaded, run.tried(), run.preempting, make, namespace)
        results.append(step_result(step, edited, facts, run.gated(), known=before.warnings))
        if ending != "settled":
            break
    return ScenarioResult(scenario.name, scenario.source, tuple(results)), run.result(ending)


def as_it_is(loaded: Loaded, scheduler: Scheduler) -> Loaded:
    """What was loaded, as the cluster has it by now. Finished pods are nobody's business there, and are kept."""
    cluster = scheduler.cluster
    now = loaded.copied()
    kinds: list[type[Any]] = list(loaded.objects)
    for kind in kinds:
        if kind not in (Node, Pod):
            now.set_all(kind, cluster.catalog.all(kind))
    now.set_all(Node, cluster.nodes.arrival)
    pods = [info.pod for row, info in enumerate(cluster.pods.infos) if row not in cluster.pods.gone]
    now.set_all(Pod, [*pods, *(pod for pod in loaded.of(Pod) if is_terminal(pod))])
    return now


def tell_changes(handlers: EventHandlers, before: Loaded, after: Loaded) -> None:
    """The difference as events. What pods need comes before them and goes after them; a node goes after its pods."""
    kinds: list[type[Any]] = [kind for kind in {**before.objects, **after.objects} if kind not in (Node, Pod)]
    needed: list[type[Any]] = [*kinds, Node]
    for kind in needed:
        for item in _new_or_changed(before.objects.get(kind, []), after.objects.get(kind, [])):
            handlers.add(item)
    for pod in _gone(before.of(Pod), after.of(Pod)):
        handlers.delete(pod)
    for node in _gone(before.of(Node), after.of(Node)):
        handlers.delete(node)
    for pod in _new_or_changed(before.of(Pod), after.of(Pod)):
        handlers.add(pod)
    for kind in kinds:
        for item in _gone(before.objects.get(kind, []), after.objects.get(kind, [])):
            handlers.delete(item)


def _identity(item: Any) -> tuple[str, str]:
    """A pod that has taken another's name is another pod."""
    if isinstance(item, Pod):
        return item.metadata.uid, pod_key(item)
    return item.metadata.namespace, item.metadata.name


def _new_or_changed(before: list[Any], after: list[Any]) -> Iterator[Any]:
    known = {_identity(item): item for item in before}
    for item in after:
        old = known.get(_identity(item))
        if old is not item and old != item:
            yield item


def _gone(before: list[Any], after: list[Any]) -> Iterator[Any]:
    there = {_identity(item) for item in after}
    return (item for item in before if _identity(item) not in there)
