"""A sweep from a file and from the words of a command line or of the Python API, every mistake with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.yaml_reader import Document
from ksched_cli.errors import InputError, KschedError, Problem, UsageError
from ksched_cli.plan.sweep.document import KIND, DimensionsDocument, GridDocument, SweepDocument
from ksched_cli.plan.sweep.grid import grid_points
from ksched_cli.plan.sweep.model import DEFAULT_WORST, EditRange, GridPoint, Sweep
from ksched_cli.plan.sweep.reading import check_draws, read_edit_range, read_failing, read_versions
from ksched_cli.sources.own_documents import API_VERSION, expected_kind, read_one_document
from ksched_cli.whatif.edits.lib.arguments import EditMistake
from ksched_cli.whatif.edits.lib.registry import specs_by_flag
from ksched_cli.whatif.ranges import COUNTED_EDITS
from ksched_cli.whatif.scenario.load import ScenarioReader
from ksched_cli.whatif.scenario.model import Expectation

T = TypeVar("T")
_Steps = tuple[str | int, ...]

# Words of the Python API: the fields of the document and its dimensions.
DIMENSION_WORDS = tuple(structs.asdict(DimensionsDocument()))
OTHER_WORDS = ("sample", "seed", "keep_worst")


def read_sweep(path: str | None, words: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Sweep:
    """The sweep of a file, in which `words` replace what is written there. A grid changes the configuration. InputError
    or UsageError with all mistakes."""
    document = _read_file(path) if path is not None else None
    reader = _SweepReader(path or "", document, words, config)
    sweep = reader.read()
    if reader.problems:
        problems = sorted(reader.problems, key=lambda problem: problem.line or 0)
        raise (InputError if path is not None else UsageError)(problems)
    return sweep


def validate_sweep(path: str) -> str:
    """The name of the sweep. InputError with all mistakes of the file."""
    return read_sweep(path, {}).name


def _read_file(path: str) -> Document:
    document = read_one_document(path, expected_kind(KIND))
    expect = document.value.get("expect")
    if isinstance(expect, dict) and "true" in expect and "on" not in expect:
        # YAML as Kubernetes reads it takes a bare `on` for true.
        expect["on"] = expect.pop("true")
    return document


class _SweepReader:
    def __init__(
        self, source: str, file: Document | None, words: Mapping[str, Any], config: Mapping[str, Any] | None
    ) -> None:
        self._source, self._file, self._words, self._config = source, file, words, config
        self.problems: list[Problem] = []

    def read(self) -> Sweep:
        document = self._document()
        of = document.dimensions
        sweep = Sweep(
            document.metadata.name or Path(self._source).stem,
            self._made("fail", read_failing, of.fail),
            self._made("orders", check_draws, of.orders) or 0,
            self._made("ties", check_draws, of.ties) or 0,
            self._made("grid", self._grid, of.grid) or (),
            self._made("kube_version", read_versions, of.kube_version) or (),
            tuple(self._edits(of)),
            document.sample,
            document.seed,
            document.keep_worst or DEFAULT_WORST,
            document.keep_worst is not None,
            self._expectations(document),
        )
        for key, least in (("sample", 1), ("keep_worst", 1)):
            value = getattr(document, key)
            if value is not None and value < least:
                self._complain(key, f"{value} is not at least {least}")
        if not self.problems and not sweep.has_dimension:
            hint = "--fail node, --orders N, --ties N, --kube-version A..B, --scale KIND/NAME=A..B, ..."
            self._complain("dimensions", "the sweep has no dimension: it would be a single variant", hint)
        return sweep

    def _document(self) -> SweepDocument:
        """The file with the words in the place of its own."""
        value = self._file.value if self._file is not None else {"apiVersion": API_VERSION, "kind": KIND}
        for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            if value.get(field) != wanted:
                found = value.get(field)
                self._complain(field, f"expected {wanted}, got {'none' if found is None else found}")
        typed, mistakes = problems_in(value, SweepDocument)
        for steps, text in mistakes:
            self.problems.append(self._problem(text, steps))
        document: SweepDocument = typed or SweepDocument()
        words = {key: each for key, each in self._words.items() if each not in (None, (), "")}
        dimensions = {key: each for key, each in words.items() if key in DIMENSION_WORDS}
        others = {key: each for key, each in words.items() if key in OTHER_WORDS}
        made = structs.replace(document.dimensions, **dimensions)
        return structs.replace(document, dimensions=made, **others)

    def _expectations(self, document: SweepDocument) -> tuple[Expectation, ...]:
        if self._file is None:
            return ()
        reader = ScenarioReader(self._file, self._source)
        reader.problems = self.problems
        return reader.expectations(document.expect, ("expect",))

    def _grid(self, grid: str | Mapping[str, Any] | GridDocument) -> tuple[GridPoint, ...]:
        """A grid of a file beside the sweep file, or one that is written out."""
        if isinstance(grid, GridDocument):
            return grid_points(grid, self._config)
        value: Any = grid
        if isinstance(grid, str):
            in_file = self._words.get("grid") != grid
            path = Path(self._source).parent / grid if in_file else Path(grid)
            value = read_one_document(str(path), "one mapping with weights, strategies or arguments").value
        typed, mistakes = problems_in(value, GridDocument)
        if mistakes:
            raise InputError(Problem(text, path=path_text(steps)) for steps, text in mistakes)
        assert typed is not None
        return grid_points(typed, self._config)

    def _edits(self, of: DimensionsDocument) -> Sequence[EditRange]:
        """In the order in which a command line's edits are made."""
        found = []
        for flag in sorted(COUNTED_EDITS, key=lambda flag: specs_by_flag()[flag].order):
            field = flag.replace("-", "_")
            texts = getattr(of, field)
            for text in (texts,) if isinstance(texts, str) else texts:
                made = self._made(field, lambda text, flag=flag: read_edit_range(flag, text), text)  # type: ignore[misc]
                found += [made] if made is not None else []
        return found

    def _made(self, key: str, read: Callable[[Any], T], value: Any) -> T | None:
        """What is read of the value, if there is one."""
        if value is None:
            return None
        try:
            return read(value)
        except EditMistake as mistake:
            self._complain(key, str(mistake), mistake.hint, value)
        except KschedError as mistake:
            for problem in mistake.problems:
                self._complain(key, str(replace(problem, hint="")), problem.hint, value)
        return None

    def _complain(self, key: str, message: str, hint: str = "", value: Any = None) -> None:
        if self._words.get(key) not in (None, (), "") or self._file is None:
            flag = f"--{key.replace('_', '-')}" if key != "dimensions" else ""
            self.problems.append(Problem(message, f"{flag} {'' if value is None else value}".strip(), hint=hint))
        else:
            self.problems.append(self._problem(message, self._steps(key), hint))

    def _steps(self, key: str) -> _Steps:
        head, *tail = key.split("_")
        name = head + "".join(word.title() for word in tail)
        return ("dimensions", name) if key in DIMENSION_WORDS else (name,)

    def _problem(self, message: str, steps: Sequence[str | int], hint: str = "") -> Problem:
        assert self._file is not None
        return Problem(message, self._source, self._file.line_of(tuple(steps)), path_text(steps), hint)
