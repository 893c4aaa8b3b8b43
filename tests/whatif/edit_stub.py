"""The stub of the edit methods of `Simulator`, generated from the declared edits for type checkers and editors."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, get_type_hints

from ksched_cli.api.core import Node
from ksched_cli.whatif.edits.lib import methods
from ksched_cli.whatif.edits.lib.edit import EditSpec, edit_specs

ROOT = Path(__file__).parents[2]
RUFF = Path(sys.executable).parent / "ruff"
STUB = Path(methods.__file__).with_suffix(".pyi")


def stub() -> str:
    methods = [_method(spec) for spec in edit_specs()]
    modules = sorted(set(re.findall(r"\b([a-z_]\w*(?:\.[a-z_]\w*)*)\.[A-Z]", "".join(methods))))
    lines = [
        "# Generated from the files of whatif/edits by UPDATE_GOLDEN=1 pytest tests/whatif/test_edit_specs.py",
        *(f"import {module}" for module in modules),
        "from typing import Self",
        "class EditMethods:",
        *methods,
    ]
    return _ruff(_ruff("\n".join(lines), "check", "--select", "I", "--fix-only", "--quiet"), "format")


def _ruff(text: str, *command: str) -> str:
    words = [RUFF, *command, "--no-cache", "--stdin-filename", STUB, "-"]
    return subprocess.run(words, input=text, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _method(spec: EditSpec) -> str:
    # Names that a declaration imports for type checkers only.
    hints = get_type_hints(spec.arguments, localns={"Node": Node})
    parameters = inspect.signature(spec.arguments).parameters.values()
    words = ["self", *(_parameter(each, hints[each.name]) for each in parameters)]
    text = textwrap.fill(spec.arguments.__doc__ or spec.help, 106, subsequent_indent=" " * 8)
    return f'    def {spec.field}({", ".join(words)}) -> Self:\n        """{text}"""'


def _parameter(parameter: inspect.Parameter, hint: Any) -> str:
    star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    return f"{star}{parameter.name}: {_written(hint)}{default}"


def _written(hint: Any) -> str:
    if not isinstance(hint, type) or hasattr(hint, "__origin__"):
        return repr(hint)
    return hint.__qualname__ if hint.__module__ == "builtins" else f"{hint.__module__}.{hint.__qualname__}"
