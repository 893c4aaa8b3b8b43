"""Manifests of which kube-scheduler places no pod, because all of them name another scheduler."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

from ksched_cli.api.defaults import DEFAULT_SCHEDULER
from ksched_cli.errors import Problem
from ksched_cli.sources.custom.labels import workload_label
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.places import Places, template_of

_FIELD = ("spec", "schedulerName")


def left_to_other_schedulers(
    manifests: Loaded, items: Sequence[Any], profiles: Collection[str], code: str = ""
) -> list[Problem]:
    """A problem for each pod and workload if none of them names a profile; else nothing."""
    named = [template_of(item).spec.scheduler_name or DEFAULT_SCHEDULER for item in items]
    if any(name in profiles for name in named):
        return []
    places, problems = Places(manifests), []
    for item, name in zip(items, named, strict=True):
        place = places.of_pod_field(item, _FIELD)
        close = difflib.get_close_matches(name, profiles, 1)
        hint = (
            f"did you mean {close[0]}?" if close else "--config FILE has its profile; --allow-empty exits with code 0"
        )
        text = f'nothing to place: no profile is named "{name}", and another scheduler places its pods'
        problems.append(Problem(text, place.source, place.line, f"{workload_label(item)}: {place.path}", hint, code))
    return problems
