"""How kube-scheduler frames the error of a plugin, by extension point and minor.

It mirrors the `fmt.Errorf` calls in the Run...Plugins functions of framework/runtime/framework.go. Predicates and
priorities (1.16) have no such calls; their errors are reported as they are and only counted.
"""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import Release

_FILTER_WITH_POD = 'running "{plugin}" filter plugin for pod "{pod}": {text}'
_PRE_FILTER_FAILED = 'prefilter plugin "{plugin}" failed for pod "{pod}": {text}'
_PRE_SCORE_WITH_POD = 'error while running "{plugin}" prescore plugin for pod "{pod}": {text}'
_KUBE_SCHEDULER = "kube-scheduler"


class ErrorTexts(ReleaseRules):
    """Format strings with the plugin, the pod and the text of the plugin. The attributes are named like the points."""

    pre_filter = (
        Rule(
            "1.17",
            before=_PRE_FILTER_FAILED,
            now='error while running "{plugin}" prefilter plugin for pod "{pod}": {text}',
            described_by=_KUBE_SCHEDULER,
        )
        .then("1.19", now=_PRE_FILTER_FAILED, described_by=_KUBE_SCHEDULER)
        .then("1.20", now='running PreFilter plugin "{plugin}": {text}', described_by=_KUBE_SCHEDULER)
    )
    filter = (
        Rule(
            "1.17",
            before=_FILTER_WITH_POD,
            now='error while running "{plugin}" filter plugin for pod "{pod}": {text}',
            described_by=_KUBE_SCHEDULER,
        )
        .then("1.18", now=_FILTER_WITH_POD, described_by=_KUBE_SCHEDULER)
        .then("1.21", now='running "{plugin}" filter plugin: {text}', described_by=_KUBE_SCHEDULER)
    )
    pre_score = (
        Rule(
            "1.17",
            before=_PRE_SCORE_WITH_POD,
            now='error while running "{plugin}" postfilter plugin for pod "{pod}": {text}',
            described_by=_KUBE_SCHEDULER,
        )
        .then("1.18", now=_PRE_SCORE_WITH_POD, described_by=_KUBE_SCHEDULER)
        .then("1.20", now='running PreScore plugin "{plugin}": {text}', described_by=_KUBE_SCHEDULER)
    )
    score = Rule(
        "1.20",
        before='error while running score plugin for pod "{pod}": {text}',
        now='running Score plugins: plugin "{plugin}" failed with: {text}',
        described_by=_KUBE_SCHEDULER,
    )
    score_range = Rule(
        "1.20",
        before='error while applying score defaultWeights for pod "{pod}": score plugin "{plugin}" {text}',
        now='applying score defaultWeights on Score plugins: plugin "{plugin}" {text}',
        described_by=_KUBE_SCHEDULER,
    )

    def text_of(self, point: str) -> str:
        """The format string of an extension point, or of a score out of its range ("range")."""
        texts = {
            "preFilter": self.pre_filter,
            "filter": self.filter,
            "preScore": self.pre_score,
            "score": self.score,
            "range": self.score_range,
        }
        return texts[point]


def error_of(point: str, plugin: str, pod: str, text: str, release: Release) -> str:
    """The text of a plugin as the cycle's error."""
    return ErrorTexts.of(release).text_of(point).format(plugin=plugin, pod=pod, text=text)
