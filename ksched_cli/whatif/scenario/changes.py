"""The manifests and edits of one step of a scenario."""

from __future__ import annotations

from ksched_cli.controlplane.plane import ControlPlane
from ksched_cli.errors import InputError, Problem, UsageError
from ksched_cli.sources.loaded import Loaded
from ksched_cli.sources.manifests import load_manifests
from ksched_cli.sources.read_options import ManifestReading
from ksched_cli.whatif.changes import Changes
from ksched_cli.whatif.edits.lib.apply import attempt_edits
from ksched_cli.whatif.manifests import apply_manifests
from ksched_cli.whatif.scenario.model import PlacedEdit, ScenarioStep


class StepChanges(Changes, frozen=True):
    """Called with a control plane, they are made there. Mistakes have the line of the scenario file `source`."""

    source: str = ""
    placed: tuple[PlacedEdit, ...] = ()

    def __call__(self, plane: ControlPlane) -> None:
        problems = self.attempt(plane)
        if problems:
            raise UsageError(problems)

    def attempt(self, plane: ControlPlane) -> list[Problem]:
        """Make what can be made. Returns what cannot."""
        problems: list[Problem] = []
        try:
            apply_manifests(plane, self.manifests)
        except InputError as mistake:
            problems += mistake.problems
        for edit, why in attempt_edits(plane, self.edits, self.namespace):
            place = next(each.place for each in self.placed if each.edit is edit)
            problems.append(Problem(str(why), self.source, place.line, place.path, why.hint))
        return problems


def read_step(source: str, step: ScenarioStep, namespace: str) -> tuple[StepChanges, list[Problem]]:
    """The changes of the step, with its manifests read, and what is wrong with the manifests."""
    manifests, problems = Loaded(), list[Problem]()
    try:
        manifests = load_manifests(step.manifests, None, ManifestReading(namespace)) if step.manifests else manifests
    except InputError as mistake:
        problems += mistake.problems
    edits = tuple(each.edit for each in step.edits)
    return StepChanges(manifests, edits, (), namespace, source=source, placed=step.edits), problems
