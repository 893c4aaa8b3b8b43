"""The words of rejections by DynamicResources in `explain`."""

from __future__ import annotations

from typing import Any

from ksched_cli.api.quantity import amount_text
from ksched_cli.framework.rejections import Figures, RejectionGuide


class DevicesGuide(RejectionGuide):
    def describe(self, figures: Figures) -> str:
        claims, lacking = ", ".join(figures["claims"]), figures.get("lacking", {})
        if lacking:
            return f"{claims}: {'; '.join(_short(name, each) for name, each in lacking.items())}"
        return f"{claims}: {figures['free']} of {figures['devices']} devices free, none that fits"

    def ends_on_empty_node(self, figures: Figures) -> bool:
        return all(each["asked"] <= each["allocatable"] for each in figures.get("lacking", {}).values())


def _short(name: str, figures: Any) -> str:
    needed, free = amount_text(name, figures["asked"]), amount_text(name, figures["free"])
    return f"the pod with its claims needs {name} {needed}, {free} free"
