"""The words of rejections by DynamicResources in `explain`."""

from __future__ import annotations

from ksched_cli.framework.rejections import Figures, RejectionGuide


class DevicesGuide(RejectionGuide):
    def describe(self, figures: Figures) -> str:
        return f"{', '.join(figures['claims'])}: {figures['free']} of {figures['devices']} devices free, none that fits"

    def ends_on_empty_node(self, figures: Figures) -> bool:
        return True
