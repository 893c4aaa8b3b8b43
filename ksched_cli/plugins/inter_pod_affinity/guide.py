"""Texts about InterPodAffinity's rejections, and changes that may end them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.api.json_patch import drop
from ksched_cli.api.listing import joined, named
from ksched_cli.framework.reasons import Reason
from ksched_cli.framework.rejections import C, Figures, RejectedPod, RejectionGuide
from ksched_cli.plugins.inter_pod_affinity.reasons import REQUIRED


class PodAffinityGuide(RejectionGuide):
    ends_without_pods = True

    def describe(self, figures: Figures) -> str:
        parts = [
            f"no label {each['topologyKey']}"
            if each["topologyValue"] is None
            else f"no pod to be with in {each['topologyKey']}={each['topologyValue']}"
            for each in figures.get("podAffinity", ())
        ]
        for name, text in (("podAntiAffinity", "keeps away from"), ("existingAntiAffinity", "is kept away by")):
            for each in figures.get(name, ()):
                pods = named(each["pods"]) or f"{each['matchingPods']} pods"
                parts.append(f"{text} {pods} in {each['topologyKey']}={each['topologyValue']}")
        return "; ".join(parts)

    describe_briefly = describe

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """`keeps away from shop/web-1`, with the pods of all nodes."""
        away, kept = (
            sorted({pod for each in figures for term in each.get(name, ()) for pod in term["pods"]})
            for name in ("podAntiAffinity", "existingAntiAffinity")
        )
        parts = ["no pod to be with"] if any("podAffinity" in each for each in figures) else []
        if away and away == kept:
            return "; ".join([*parts, f"the pod and {named(away)} keep away from each other"])
        parts += [f"keeps away from {named(away)}"] if away else []
        parts += [f"is kept away by {named(kept)}"] if kept else []
        return "; ".join(parts)

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        if "podAffinity" in figures:
            yield "do not have the pods it wants to be with"
        if "podAntiAffinity" in figures:
            yield "have pods near that it keeps away from"
        if "existingAntiAffinity" in figures:
            yield "have pods near that keep it away"

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C]]:
        own: list[C] = []
        if "podAffinity" in figures:
            operation = drop("spec", "affinity", "podAffinity", REQUIRED)
            own.append(place.patch("do without its required pod affinity", "pod affinity", 3, operation))
        affinity = place.pod.spec.affinity
        if "podAntiAffinity" in figures and affinity and affinity.pod_anti_affinity:
            keys = {each["topologyKey"] for each in figures["podAntiAffinity"]}
            terms = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
            at = ("spec", "affinity", "podAntiAffinity", REQUIRED)
            broken = [index for index, term in enumerate(terms) if term.topology_key in keys]
            operations = [drop(*at)] if len(broken) == len(terms) else [drop(*at, index) for index in reversed(broken)]
            text = f"do without its required pod anti-affinity over {joined(sorted(keys))}"
            own.append(place.patch(text, "pod anti-affinity", 3, *operations))
        if "existingAntiAffinity" not in figures:
            yield own
        in_the_way = [*figures.get("podAntiAffinity", ()), *figures.get("existingAntiAffinity", ())]
        if in_the_way and "podAffinity" not in figures and all(each["matchingPods"] <= 1 for each in in_the_way):
            yield place.remove({pod for each in in_the_way for pod in each["pods"]})
