"""How kube-scheduler frames the error of a plugin."""

from __future__ import annotations

from ksched_cli.releases.engine_rules import ErrorTexts
from ksched_cli.releases.minors import Release


def error_of(point: str, plugin: str, pod: str, text: str, release: Release) -> str:
    """The text of a plugin as the cycle's error."""
    return ErrorTexts.of(release).text_of(point).format(plugin=plugin, pod=pod, text=text)
