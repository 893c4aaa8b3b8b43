"""The step of the action that runs ksched: once for each format that is asked for.

It reads its inputs from KSCHED_* and writes the paths of the files and the exit code of `ksched check` to
GITHUB_OUTPUT. It ends with 0 whatever the check comes to, so that the files are uploaded; the last step of the action
ends with the exit code.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FORMATS = ("annotations", "summary", "sarif", "html", "comment")
# The format of ksched, and the file that it goes to.
FILES = {
    "sarif": ("sarif", "ksched.sarif"),
    "html": ("html", "ksched.html"),
    "comment": ("markdown", "ksched.md"),
}


def main() -> None:
    wanted = [each.strip() for each in os.environ["KSCHED_FORMAT"].split(",") if each.strip()]
    unknown = sorted(set(wanted) - set(FORMATS))
    if unknown:
        raise SystemExit(f"format: {', '.join(unknown)}: there are {', '.join(FORMATS)}")
    arguments = check_arguments()
    folder = Path(os.environ.get("RUNNER_TEMP", "."), "ksched")
    folder.mkdir(parents=True, exist_ok=True)
    code = annotate(arguments, wanted)
    outputs = {"exit-code": str(code)}
    for name in wanted:
        if name in FILES:
            form, file = FILES[name]
            write_check(arguments, form, folder / file)
            outputs[name] = str(folder / file)
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as out:
        out.writelines(f"{name}={value}\n" for name, value in outputs.items())


def check_arguments() -> list[str]:
    arguments = ["--from", os.environ["KSCHED_SNAPSHOT"]]
    for path in os.environ["KSCHED_PATHS"].splitlines():
        arguments += ["-f", path.strip()] if path.strip() else []
    for option, variable in (("--config", "KSCHED_CONFIG"), ("--kube-version", "KSCHED_KUBE_VERSION")):
        arguments += [option, os.environ[variable]] if os.environ.get(variable) else []
    for each in os.environ.get("KSCHED_FAIL_ON", "").split(","):
        arguments += ["--fail-on", each.strip()] if each.strip() else []
    return arguments


def annotate(arguments: list[str], wanted: list[str]) -> int:
    """The exit code of the check. ksched writes annotations and the summary of the step in one run."""
    environment = dict(os.environ)
    if "summary" not in wanted:
        environment.pop("GITHUB_STEP_SUMMARY", None)
    form = "github" if {"annotations", "summary"} & set(wanted) else "table"
    shown = subprocess.DEVNULL if form == "github" and "annotations" not in wanted else None
    command = ["ksched", "check", *arguments, "-o", form]
    return subprocess.run(command, env=environment, stdout=shown, check=False).returncode


def write_check(arguments: list[str], form: str, path: Path) -> None:
    """Wrong input is a document, too: it has the mistakes."""
    with path.open("wb") as file:
        subprocess.run(["ksched", "check", *arguments, "-o", form], stdout=file, check=False)


if __name__ == "__main__":
    sys.exit(main())
