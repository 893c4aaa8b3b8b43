"""Each edit is declared once, and everything that offers edits has all of them."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from pathlib import Path

import pytest

from ksched_cli.cli.complete import kind_of
from ksched_cli.cli.main import EVERY, program_with
from ksched_cli.errors import UsageError
from ksched_cli.simulator import Simulator
from ksched_cli.whatif import edits
from ksched_cli.whatif.edits.lib.arguments import is_version_range
from ksched_cli.whatif.edits.lib.edit import EditSpec, edit_specs, parse_arguments
from ksched_cli.whatif.scenario import schema
from tests.whatif.edit_stub import STUB, stub

SPECS = [pytest.param(spec, id=spec.flag) for spec in edit_specs()]
OFFERING = ("simulate", "capacity", "drain", "diff", "check", "explain")
COMMANDS = program_with(EVERY).commands


def test_every_module_of_the_folder_declares_edits() -> None:
    modules = [import_module(f"{edits.__name__}.{path.stem}") for path in Path(edits.__path__[0]).glob("[!_]*.py")]
    declared = [spec for module in modules for spec in module.SPECS]
    assert sorted(spec.flag for spec in edit_specs()) == sorted(spec.flag for spec in declared)
    # An edit that a module defines and leaves out of its SPECS would have no option.
    made = {each for module in modules for each in vars(module).values() if isinstance(each, EditSpec)}
    assert made <= set(declared)
    assert len(declared) >= 10
    assert len({spec.order for spec in edit_specs()}) == len(declared)


@pytest.mark.parametrize(
    ("text", "several"), [("1.33..1.36", True), ("1.33,1.34", True), ("1.33", False), ("1.33.4", False)]
)
def test_a_range_of_versions(text: str, several: bool) -> None:
    assert is_version_range(text) == several


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("command", OFFERING)
def test_every_command_with_edits_has_the_option(spec: EditSpec, command: str) -> None:
    (option,) = (each for each in COMMANDS[command].params if f"--{spec.flag}" in each.opts)
    assert not option.is_flag
    kinds = {"NODE": "node", "KIND/NAME": "workload"}
    assert kind_of(option) == next((kind for word, kind in kinds.items() if spec.metavar.startswith(word)), "")


@pytest.mark.parametrize("command", OFFERING)
def test_the_options_are_listed_in_the_order_in_which_the_edits_are_made(command: str) -> None:
    flags = [f"--{spec.flag}" for spec in edit_specs()]
    names = [name for param in COMMANDS[command].params for name in param.opts]
    assert [name for name in names if name in flags] == flags


@pytest.mark.parametrize("spec", SPECS)
def test_scenario_files_and_python_have_the_edit(spec: EditSpec) -> None:
    step = schema()["$defs"]["StepDocument"]["properties"]
    assert step[spec.key]["description"] == f"One or several, each written as behind --{spec.flag}."
    method = getattr(Simulator, spec.field)
    parameters = list(inspect.signature(method).parameters)
    assert parameters == ["self", *inspect.signature(spec.arguments).parameters]
    assert method.__doc__


def test_the_stub_of_the_methods_is_that_of_the_edits() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        STUB.write_text(stub())
    assert STUB.read_text() == stub()


def named(flag: str) -> EditSpec:
    return next(each for each in edit_specs() if each.flag == flag)


@pytest.mark.parametrize(
    ("flag", "arguments", "written"),
    [
        pytest.param("clone-node", ("n", 2), ["--clone-node n=2"], id="clones"),
        pytest.param("clone-node", ("n",), ["--clone-node n"], id="one clone"),
        pytest.param("hpa", ("max",), ["--hpa max"], id="a bound"),
    ],
)
def test_arguments_of_python(flag: str, arguments: tuple[object, ...], written: list[str]) -> None:
    assert [str(each) for each in parse_arguments(named(flag), *arguments)] == written


@pytest.mark.parametrize(
    ("flag", "arguments", "text"),
    [
        pytest.param("clone-node", ("n", 0), "0 nodes cannot be added", id="no clone"),
        pytest.param("hpa", ("most",), "'most' is no bound", id="no bound"),
    ],
)
def test_arguments_of_python_that_mean_nothing(flag: str, arguments: tuple[object, ...], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        parse_arguments(named(flag), *arguments)
