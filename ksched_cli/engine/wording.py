"""How kube-scheduler frames the error of a plugin, by extension point and minor."""

from __future__ import annotations

from ksched_cli.releases.engine_rules import EngineRules
from ksched_cli.releases.minors import Release

_TEXTS = {
    "preFilter": 'running PreFilter plugin "{plugin}": {text}',
    "filter": 'running "{plugin}" filter plugin: {text}',
    "preScore": 'running PreScore plugin "{plugin}": {text}',
    "score": 'running Score plugins: plugin "{plugin}" failed with: {text}',
    "range": 'applying score defaultWeights on Score plugins: plugin "{plugin}" {text}',
}
_TEXTS_1_20 = {**_TEXTS, "filter": 'running "{plugin}" filter plugin for pod "{pod}": {text}'}
_TEXTS_1_19 = {
    "preFilter": 'prefilter plugin "{plugin}" failed for pod "{pod}": {text}',
    "filter": _TEXTS_1_20["filter"],
    "preScore": 'error while running "{plugin}" prescore plugin for pod "{pod}": {text}',
    "score": 'error while running score plugin for pod "{pod}": {text}',
    "range": 'error while applying score defaultWeights for pod "{pod}": score plugin "{plugin}" {text}',
}
_TEXTS_1_18 = {**_TEXTS_1_19, "preFilter": 'error while running "{plugin}" prefilter plugin for pod "{pod}": {text}'}
_TEXTS_1_17 = {
    **_TEXTS_1_18,
    "filter": 'error while running "{plugin}" filter plugin for pod "{pod}": {text}',
    "preScore": 'error while running "{plugin}" postfilter plugin for pod "{pod}": {text}',
}


def error_of(point: str, plugin: str, pod: str, text: str, release: Release) -> str:
    """The text of a plugin as the cycle's error."""
    return _texts(release)[point].format(plugin=plugin, pod=pod, text=text)


def _texts(release: Release) -> dict[str, str]:
    # Predicates count the errors as they are.
    by_index = (_TEXTS_1_19, _TEXTS_1_17, _TEXTS_1_18, _TEXTS_1_19, _TEXTS_1_20, _TEXTS)
    return by_index[EngineRules.of(release).error_texts]
