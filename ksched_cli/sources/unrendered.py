"""Recognises files that another tool must render to manifests: input of Kustomize, Helm and Jsonnet."""

from __future__ import annotations

import posixpath
import re
import shlex

from ksched_cli.errors import InputError, Problem
from ksched_cli.sources.input_codes import NOT_RENDERED

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
