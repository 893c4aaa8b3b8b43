"""A cluster after changes, with no scheduler beside the controllers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.controlplane.store import Store
from ksched_cli.errors import Problem
from ksched_cli.sources.loaded import Loaded
from ksched_cli.whatif.changes import ChangedCluster, Changes, changed, loaded_after, refused_by
from ksched_cli.whatif.edits.lib.apply import attempt_edits
from ksched_cli.whatif.edits.lib.edit import Edit


def edited_by(
    loaded: Loaded, edits: Sequence[Edit], problems: Sequence[Problem] = (), namespace: str = ""
) -> ChangedCluster:
    return changed(loaded, Changes(edits=edits, problems=problems, namespace=namespace))


def attempted(loaded: Loaded, edits: Iterable[Edit]) -> ChangedCluster:
    """After the edits that can be made."""
    plane = ControlPlane(Store(loaded), places_everything=True)
    attempt_edits(plane, edits)
    plane.run()
    return ChangedCluster(loaded_after(plane, Changes()), refused_by(plane))


def with_manifests(loaded: Loaded, manifests: Loaded) -> ChangedCluster:
    return changed(loaded, Changes(manifests))
