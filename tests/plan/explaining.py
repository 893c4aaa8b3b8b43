"""Explanations over a few objects, without files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ksched_cli.plan.explain.explain import explain
from ksched_cli.plan.explain.pods import find_subject
from ksched_cli.plan.explain.results import Explanation
from ksched_cli.plan.run.options import RunOptions
from ksched_cli.plan.run.run import Run
from ksched_cli.sources.loaded import Autoscaler
from tests.builders import loaded_of
from tests.running import input_of


def explained(
    items: Iterable[Any], pod: str, *, node: str = "", autoscalers: Sequence[Autoscaler] = (), **options: Any
) -> Explanation:
    setup = RunOptions(**options)
    loaded = loaded_of(*items)
    loaded.autoscalers.extend(autoscalers)
    subject = find_subject(loaded, pod)
    return explain(subject, Run(input_of(setup, subject.loaded)), node)


def why(found: Explanation) -> dict[str, list[str]]:
    """Which plugins reject which node."""
    return {node.name: [each.plugin for each in node.rejections] for node in found.nodes if node.rejections}
