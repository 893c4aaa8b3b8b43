"""Renders manifests with an installed tool (`kustomize build`, `kubectl kustomize`, `helm template`), and recognises
files that such a tool must render first: input of Kustomize, Helm and Jsonnet. ksched renders nothing by itself."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from msgspec import Struct

from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.loaded import NOT_RENDERED

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_JSONNET = (".jsonnet", ".libsonnet")
_ACTION = re.compile(rb"\{\{")


def unrendered(source: str) -> Problem | None:
    """The problem of a file whose name shows that it is not a manifest."""
    folder, name = posixpath.split(source)
    folder = folder or "."
    if name in _KUSTOMIZATIONS:
        return _problem("a kustomization", source, f"kustomize build {_quoted(folder)}", f"-k {_quoted(folder)}", False)
    if name == "Chart.yaml":
        return _problem("a Helm chart", source, f"helm template {_quoted(folder)}", f"--helm {_quoted(folder)}")
    if name.endswith(_JSONNET):
        return _problem("Jsonnet", source, f"jsonnet -y {_quoted(source)}")
    return None


def broken_template(mistake: InputError, source: str, content: bytes) -> InputError:
    """The mistake of a file that is not YAML because it is a template of Helm; else the given mistake."""
    if not _ACTION.search(content):
        return mistake
    folder, found, _ = source.rpartition("/templates/")
    chart = folder if found else "CHART"
    problem = _problem("a Helm template", source, f"helm template {_quoted(chart)}", f"--helm {_quoted(chart)}")
    return InputError(Problem(problem.message, source, mistake.problems[0].line, hint=problem.hint, code=NOT_RENDERED))


def _problem(what: str, source: str, command: str, option: str = "", is_error: bool = True) -> Problem:
    also = f", or `ksched check {option}`" if option else ""
    hint = f"run `{command} | ksched check -f -`{also}"
    text = f"this is {what}, which ksched does not render"
    return Problem(text, source, 1, hint=hint, code=NOT_RENDERED, level="error" if is_error else "warning")


def _quoted(path: str) -> str:
    return path if path.isupper() else shlex.quote(path)


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
    found = (each for each in _KUSTOMIZATIONS if os.path.isfile(os.path.join(folder, each)))
    file = next(found, _KUSTOMIZATIONS[0])
    return Rendering(folder, commands, folder, os.path.normpath(os.path.join(folder, file)))


def chart(path: str, values: Sequence[str], namespace: str) -> Rendering:
    """The rendering of a chart, the value of --helm, with the files of --values."""
    options = [part for each in values for part in ("--values", each)]
    options += ["--namespace", namespace] if namespace else []
    name = os.path.basename(os.path.abspath(path)) or "release"
    file = os.path.join(path, "Chart.yaml") if os.path.isdir(path) else path
    return Rendering(path, (["helm", "template", name, path, *options],), path, os.path.normpath(file))
