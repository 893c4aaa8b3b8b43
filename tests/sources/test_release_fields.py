"""Fields that hang on a gate: with it off a pod is as if it did not have them."""

from __future__ import annotations

from typing import Any

import pytest

from ksched_cli.api.core import Pod
from ksched_cli.releases.minors import RELEASES
from ksched_cli.sources.release_fields import as_stored
from tests.builders import make_pod

EPHEMERAL = make_pod("p").spec(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
RESIZED = make_pod("p").spec(resources={"requests": {"cpu": "1"}}).status(resources={"requests": {"cpu": "2"}})


def ephemeral(pod: Pod) -> bool:
    return any(volume.ephemeral is not None for volume in pod.spec.volumes)


def resized(pod: Pod) -> bool:
    return pod.status.resources is not None


@pytest.mark.parametrize(
    ("made", "has", "minor", "gates", "kept"),
    [
        pytest.param(EPHEMERAL, ephemeral, "1.22", "", True, id="ephemeral volumes"),
        pytest.param(EPHEMERAL, ephemeral, "1.22", "GenericEphemeralVolume=false", False, id="without them"),
        pytest.param(EPHEMERAL, ephemeral, "1.36", "", True, id="now for good"),
        pytest.param(RESIZED, resized, "1.36", "", True, id="a pod that is resized as a whole"),
        pytest.param(
            RESIZED, resized, "1.36", "InPlacePodLevelResourcesVerticalScaling=false", False, id="where none is"
        ),
        pytest.param(RESIZED, resized, "1.35", "", False, id="before it was on"),
    ],
)
def test_fields(made: Any, has: Any, minor: str, gates: str, kept: bool) -> None:
    pod = made.obj()
    (stored,) = as_stored([pod], RELEASES[minor], RELEASES[minor].gates(gates))
    assert has(stored) is kept
    assert has(pod)
    assert (stored is pod) is kept
