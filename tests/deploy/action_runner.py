"""Runs the steps of a composite action as GitHub's runner does, as far as our action needs it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass
class ActionRun:
    """`uses` has the arguments of the steps that call other actions; `codes` the exit codes of the scripts."""

    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    uses: dict[str, dict[str, str]] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    log: str = ""

    @property
    def succeeded(self) -> bool:
        return not any(self.codes.values())


def run_action(
    action: Path, inputs: Mapping[str, str], workspace: Path, environment: Mapping[str, str], skip: str = ""
) -> ActionRun:
    """`skip` is the id of a step that the caller has done in another way."""
    document = yaml.safe_load((action / "action.yml").read_text())
    unknown = inputs.keys() - document["inputs"].keys()
    required = {name for name, each in document["inputs"].items() if each.get("required")}
    assert not unknown, unknown
    assert required <= inputs.keys()
    values = {name: inputs.get(name, each.get("default", "")) for name, each in document["inputs"].items()}
    run = ActionRun()
    for step in document["runs"]["steps"]:
        name = step.get("id") or step["uses"].partition("@")[0]
        if name == skip or not _is_wanted(step, values, run):
            continue
        if "uses" in step:
            run.uses[name] = {key: _filled(str(each), values, run) for key, each in step["with"].items()}
        else:
            _run_script(step, name, action, workspace, values, environment, run)
    return run


def _run_script(
    step: Mapping[str, Any],
    name: str,
    action: Path,
    workspace: Path,
    values: Mapping[str, str],
    environment: Mapping[str, str],
    run: ActionRun,
) -> None:
    """GITHUB_OUTPUT is a file of the step, and its lines are the outputs."""
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "an expression in a script is a way to inject commands"
    written = workspace.parent / f"{name}.output"
    written.touch()
    own = {key: _filled(each, values, run) for key, each in step.get("env", {}).items()}
    given = {"GITHUB_ACTION_PATH": str(action), "GITHUB_OUTPUT": str(written)}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=workspace,
        env={**os.environ, **environment, **given, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    run.log += done.stdout + done.stderr
    run.codes[name] = done.returncode
    run.outputs[name] = dict(line.split("=", 1) for line in written.read_text().splitlines())


def _filled(text: str, values: Mapping[str, str], run: ActionRun) -> str:
    return _EXPRESSION.sub(lambda found: _value(found[1], values, run), text)


def _value(expression: str, values: Mapping[str, str], run: ActionRun) -> str:
    if expression.startswith("'"):
        return expression.strip("'")
    scope, *path = expression.split(".")
    if scope == "inputs":
        return values[path[0]]
    assert (scope, path[1]) == ("steps", "outputs"), expression
    return run.outputs.get(path[0], {}).get(path[2], "")


def _is_wanted(step: Mapping[str, Any], values: Mapping[str, str], run: ActionRun) -> bool:
    """Without a condition a step needs the success of all before it."""
    if "if" not in step:
        return run.succeeded
    conditions = _EXPRESSION.fullmatch(step["if"])
    assert conditions is not None
    terms = conditions[1].split(" && ")
    comparisons = [term.partition(" != ") for term in terms if term != "!cancelled()"]
    assert all(operator for _, operator, _ in comparisons), conditions[1]
    wanted = all(_value(left, values, run) != _value(right, values, run) for left, _, right in comparisons)
    return wanted and ("!cancelled()" in terms or run.succeeded)
