"""Renders manifests with an installed tool: `kustomize build`, `kubectl kustomize`, `helm template`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from msgspec import Struct

from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.input_codes import NOT_RENDERED

# A chart with all its dependencies takes a few seconds.
TIME_LIMIT = 120.0
_LONGEST_ERROR = 500


class Rendering(Struct, frozen=True):
    """A command line for each tool that can render `source`; the first installed one runs. `folder` has the files that
    the manifests name; `file` is the file of manifests that name none."""

    source: str
    commands: Sequence[Sequence[str]]
    folder: str
    file: str

    def render(self) -> bytes:
        """The manifests. Raises InputError if no tool is installed, or if the tool fails or takes too long."""
        command = next((each for each in self.commands if shutil.which(each[0])), None)
        tools = " or ".join(dict.fromkeys(each[0] for each in self.commands))
        if command is None:
            raise self._mistake(f"{tools} is not installed", "install it, or pipe the manifests in with -f -")
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            raise self._mistake(f"{command[0]} was stopped after {TIME_LIMIT:.0f} s", "") from None
        except OSError as problem:
            raise self._mistake(f"{command[0]}: {(problem.strerror or str(problem)).lower()}", "") from None
        if done.returncode:
            message = " ".join(done.stderr.decode("utf-8", "replace").split())[:_LONGEST_ERROR]
            raise self._mistake(f"{command[0]} failed: {message or f'exit code {done.returncode}'}", "")
        return done.stdout

    def _mistake(self, text: str, hint: str) -> InputError:
        return InputError(Problem(text, self.source, hint=hint, code=NOT_RENDERED))


def kustomization(folder: str) -> Rendering:
    """The rendering of a kustomization, the value of -k."""
    commands = (["kustomize", "build", folder], ["kubectl", "kustomize", folder])
    names = ("kustomization.yaml", "kustomization.yml", "Kustomization")
    file = next((each for each in names if os.path.isfile(os.path.join(folder, each))), names[0])
    return Rendering(folder, commands, folder, os.path.normpath(os.path.join(folder, file)))


def chart(path: str, values: Sequence[str], namespace: str) -> Rendering:
    """The rendering of a chart, the value of --helm, with the files of --values."""
    options = [part for each in values for part in ("--values", each)]
    options += ["--namespace", namespace] if namespace else []
    name = os.path.basename(os.path.abspath(path)) or "release"
    file = os.path.join(path, "Chart.yaml") if os.path.isdir(path) else path
    return Rendering(path, (["helm", "template", name, path, *options],), path, os.path.normpath(file))
