"""What Karpenter gives up for a pod that finds no place, and in which order."""

from __future__ import annotations

from typing import Any

import msgspec

from ksched_cli.api.core import PodSpec
from ksched_cli.autoscale.karpenter.preferences import Wishes


def _terms(kind: str, **more: Any) -> dict[str, Any]:
    """Two preferred terms, the lighter one first."""
    preferred = [{"weight": weight, kind: {}} for weight in (1, 2)]
    return {"preferredDuringSchedulingIgnoredDuringExecution": preferred, **more}


def test_one_thing_is_given_up_after_the_other() -> None:
    node_terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in "ab"]}
    spec = {
        "affinity": {
            "nodeAffinity": _terms("preference", requiredDuringSchedulingIgnoredDuringExecution=node_terms),
            "podAffinity": _terms("podAffinityTerm"),
            "podAntiAffinity": _terms("podAffinityTerm"),
        },
        "topologySpreadConstraints": [
            {"maxSkew": number, "topologyKey": "zone", "whenUnsatisfiable": how}
            for number, how in enumerate(("DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"), 1)
        ],
    }
    wishes: Wishes | None = Wishes.of(msgspec.convert(spec, PodSpec))
    found = []
    while wishes is not None:
        weights = (wishes.affinity, wishes.anti_affinity, wishes.preferred)
        found.append(
            " ".join(
                (
                    "".join(each.match_expressions[0].key for each in wishes.required or ()),
                    *("".join(str(each.weight) for each in terms) for terms in weights),
                    "".join(str(each.max_skew) for each in wishes.spread),
                )
            )
        )
        wishes = wishes.relaxed(tolerate_preferences=False)
    assert found == [
        "ab 21 21 21 1234",
        "b 21 21 21 1234",
        "b 1 21 21 1234",
        "b  21 21 1234",
        "b  1 21 1234",
        "b   21 1234",
        "b   1 1234",
        "b    1234",
        "b    143",
        "b    14",
    ]
