"""The sweep: its dimensions, whose values are combined, and how it is read from a file, options or the Python API.

The `...Document` types are what may stand in a sweep file, and its JSON Schema is made of them. Dimensions are written
as words: `node:2`, a range of minors, `cpu=4,memory=16Gi=0..20`. A grid combines weights, strategies and arguments of a
configuration. All mistakes are raised together, each with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, field, structs

from ksched_cli.api.conversion import path_text, problems_in
from ksched_cli.api.label_names import is_label_key
from ksched_cli.api.yaml_reader import Document
from ksched_cli.errors import InputError, KschedError, Problem, UsageError
from ksched_cli.releases.minors import GROUP, NEWEST, RELEASES, minor_named, release, releases_from
from ksched_cli.releases.plugin_names import NODE_RESOURCES_FIT
from ksched_cli.sources.decoding import API_VERSION
from ksched_cli.sources.own_documents import components_of, expected_kind, json_schema, read_one_document
from ksched_cli.whatif.edits.lib.arguments import COUNTED_EDITS, EDIT_RANGE, EditMistake
from ksched_cli.whatif.edits.lib.edit import Edit, specs_by_flag
from ksched_cli.whatif.scenario import Expectation, ExpectDocument, ScenarioReader, with_on

KIND = "Sweep"

Texts = str | tuple[str, ...]


class GridDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Values to try in every profile of the configuration; all their combinations are tried."""

    weights: Annotated[
        dict[str, tuple[int, ...]], Meta(description="Score plugin to weights; 0 disables its score.")
    ] = {}
    strategies: Annotated[
        tuple[str, ...], Meta(description=f"scoringStrategy.type of {NODE_RESOURCES_FIT}, such as MostAllocated.")
    ] = ()
    arguments: Annotated[
        dict[str, dict[str, tuple[Any, ...]]],
        Meta(description="Plugin to argument to values; the argument is a path such as scoringStrategy.type."),
    ] = {}


class DimensionsDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Dimensions multiply: every combination of their values is a variant."""

    fail: Annotated[
        str | None,
        Meta(description="node, zone, region or label=KEY; node:2 is every pair of nodes, zone:NAME one zone."),
    ] = None
    orders: Annotated[int | None, Meta(description="How many random orders of arrival of the pending pods.")] = None
    ties: Annotated[int | None, Meta(description="How many random choices among nodes with equal scores.")] = None
    grid: Annotated[
        str | GridDocument | None,
        Meta(description="Scheduler configurations to try, here or in a file beside this one."),
    ] = None
    kube_version: Annotated[Texts | None, Meta(description="Minors to try: FIRST..LAST, or a list.")] = None
    add_node: Annotated[Texts, Meta(description="TEMPLATE=A..B, the template as behind --add-node.")] = ()
    clone_node: Annotated[Texts, Meta(description="NODE=A..B: so many new nodes like a node.")] = ()
    scale: Annotated[Texts, Meta(description="KIND/NAME=A..B: so many replicas.")] = ()


class SweepMetadata(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    name: str = ""


class SweepDocument(Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Variants of one cluster, each tried by itself."""

    api_version: str = ""
    kind: str = ""
    metadata: SweepMetadata = SweepMetadata()
    dimensions: DimensionsDocument = DimensionsDocument()
    expect: Annotated[ExpectDocument, Meta(description="What has to hold at the end of every variant.")] = (
        ExpectDocument()
    )
    sample: Annotated[int | None, Meta(description="Try so many of the variants, drawn with the seed.")] = None
    seed: Annotated[int, Meta(description="For orders, tie-breaks and the sample.")] = 0
    keep_worst: Annotated[int | None, Meta(description="Keep the full documents of so many of the worst variants.")] = (
        None
    )


DEFAULT_WORST = 10


class Failing(Struct, frozen=True):
    """Every choice of `count` nodes, zones, regions or values of a label fails, or the one with this name."""

    what: str
    count: int = 1
    name: str = ""

    def __str__(self) -> str:
        more = self.name or (str(self.count) if self.count > 1 else "")
        return f"{self.what}:{more}" if more else self.what


class EditRange(Struct, frozen=True):
    """One edit of the command line with each number of a range. `edits` has the edit of each number, None for a number
    that changes nothing."""

    flag: str
    subject: str
    first: int
    edits: tuple[Edit | None, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.edits) - 1

    def __str__(self) -> str:
        return f"{self.subject}={self.first}..{self.last}"


class GridPoint(Struct, frozen=True):
    """One KubeSchedulerConfiguration, and the parameters that it differs in from the others."""

    parameters: Mapping[str, Any]
    configuration: Mapping[str, Any]


class Sweep(Struct, frozen=True):
    """`orders` and `ties` are numbers of random orders and random tie-breaks. `sample` draws so many variants with
    `seed`. `worst` is how many of the worst variants the result lists; with `keeps_worst` it keeps their documents."""

    name: str = ""
    failing: Failing | None = None
    orders: int = 0
    ties: int = 0
    grid: tuple[GridPoint, ...] = ()
    kube_versions: tuple[str, ...] = ()
    edits: tuple[EditRange, ...] = ()
    sample: int | None = None
    seed: int = 0
    worst: int = DEFAULT_WORST
    keeps_worst: bool = False
    expectations: tuple[Expectation, ...] = field(default=())

    @property
    def has_dimension(self) -> bool:
        return bool(self.failing or self.orders or self.ties or self.grid or self.kube_versions or self.edits)


def dimensions_of(sweep: Sweep) -> dict[str, Any]:
    """Each dimension by the name that it has in a sweep file."""
    edits: dict[str, list[str]] = {}
    for each in sweep.edits:
        edits.setdefault(specs_by_flag()[each.flag].key, []).append(str(each))
    found: dict[str, Any] = {
        "kubeVersion": list(sweep.kube_versions),
        "grid": [dict(each.parameters) for each in sweep.grid],
        **edits,
        "orders": sweep.orders,
        "ties": sweep.ties,
        "fail": str(sweep.failing) if sweep.failing else "",
    }
    return {key: value for key, value in found.items() if value}


MOST_POINTS = 10_000

Profile = dict[str, Any]
# Puts a value into a profile.
Put = Callable[[Profile, Any], None]


def grid_points(grid: GridDocument, base: Mapping[str, Any] | None) -> tuple[GridPoint, ...]:
    """Every combination of the values, in every profile of the base. Raises EditMistake."""
    axes = list(_axes(grid))
    empty = next((name for name, _, values in axes if not values), "")
    if empty or not axes:
        raise EditMistake(
            f"{empty or 'the grid'} has no value", "write weights, strategies or arguments, each with a list"
        )
    count = prod(len(values) for _, _, values in axes)
    if count > MOST_POINTS:
        raise EditMistake(f"the grid has {count:,} combinations, and at most {MOST_POINTS:,} are tried")
    return tuple(_point(axes, values, base) for values in product(*(values for _, _, values in axes)))


def _axes(grid: GridDocument) -> Iterator[tuple[str, Put, tuple[Any, ...]]]:
    """Name, setter and values of each parameter."""
    for plugin, weights in grid.weights.items():
        yield f"{plugin} weight", partial(_put_weight, plugin), weights
    if grid.strategies:
        yield "strategy", partial(_put_argument, NODE_RESOURCES_FIT, "scoringStrategy.type"), grid.strategies
    for plugin, arguments in grid.arguments.items():
        for path, values in arguments.items():
            yield f"{plugin}.{path}", partial(_put_argument, plugin, path), values


def _point(
    axes: list[tuple[str, Put, tuple[Any, ...]]], values: tuple[Any, ...], base: Mapping[str, Any] | None
) -> GridPoint:
    document = deepcopy(dict(base)) if base is not None else _empty()
    profiles = document.get("profiles") or [{}]
    document["profiles"] = profiles
    for (_, put, _), value in zip(axes, values, strict=True):
        for profile in profiles:
            put(profile, value)
    return GridPoint({name: value for (name, _, _), value in zip(axes, values, strict=True)}, document)


def _empty() -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{NEWEST.config.newest}", "kind": "KubeSchedulerConfiguration"}


def _put_weight(plugin: str, profile: Profile, weight: int) -> None:
    """A plugin of the score point has the weight of its entry there, before that of multiPoint; without an entry and
    disabled it has none."""
    score = profile.setdefault("plugins", {}).setdefault("score", {})
    enabled = [each for each in score.get("enabled", []) if each.get("name") != plugin]
    disabled = [each for each in score.get("disabled", []) if each.get("name") != plugin]
    if weight:
        enabled.append({"name": plugin, "weight": weight})
    else:
        disabled.append({"name": plugin})
    score["enabled"], score["disabled"] = enabled, disabled


def _put_argument(plugin: str, path: str, profile: Profile, value: Any) -> None:
    entries = profile.setdefault("pluginConfig", [])
    entry = next((each for each in entries if each.get("name") == plugin), None)
    if entry is None:
        entry = {"name": plugin, "args": {}}
        entries.append(entry)
    target = entry.setdefault("args", {})
    *parents, last = path.split(".")
    for key in parents:
        target = target.setdefault(key, {})
    target[last] = value


MINORS = tuple(RELEASES)
_LONGEST_RANGE = 100_000
_MOST_DRAWS = 10_000_000
_DOMAINS = ("node", "zone", "region")
_FAIL_HINT = "write node, zone, region or label=KEY, with :2 for pairs or :NAME for one of them"


def read_failing(text: str) -> Failing:
    what, colon, number = text.partition(":")
    if what.startswith("label="):
        what = what.removeprefix("label=")
        if not is_label_key(what):
            raise EditMistake(f"{what!r} cannot be a label's key", _FAIL_HINT)
    elif what not in _DOMAINS:
        raise EditMistake(f"{what!r} is nothing that fails", _FAIL_HINT)
    if not colon:
        return Failing(what)
    if not number.isdecimal() and number:
        return Failing(what, name=number)
    if not number or int(number) < 1:
        raise EditMistake(f"{number!r} is not how many fail together", _FAIL_HINT)
    return Failing(what, int(number))


def check_draws(count: int) -> int:
    """The number of orders or tie-breaks."""
    if not 1 <= count <= _MOST_DRAWS:
        raise EditMistake(f"{count} is not between 1 and {_MOST_DRAWS:,}")
    return count


def read_versions(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    """Minors, each once, in the given order."""
    words = texts.split(",") if isinstance(texts, str) else texts
    return tuple(dict.fromkeys(each for word in words for each in _versions(word.strip())))


def _versions(word: str) -> Iterator[str]:
    first, dots, last = word.partition("..")
    if not dots:
        yield release(word).version
        return
    low, high = minor_named(first), minor_named(last)
    if low is None or high is None:
        raise EditMistake(f"{word!r} is not a range of minors", f"write {MINORS[-2]}..{MINORS[-1]}")
    if low.is_later_than(high):
        raise EditMistake(f"the range {word} is empty", f"write {last}..{first}")
    found = [each.version for each in releases_from(low, high)]
    if not found or high.is_later_than(NEWEST):
        raise EditMistake(f"minors of {word} are not modelled", f"there is {', '.join(RELEASES)}")
    yield from found


def read_edit_range(flag: str, text: str) -> EditRange:
    """`TEMPLATE=0..20`: one edit for each number."""
    found = EDIT_RANGE.fullmatch(text)
    if found is None:
        raise EditMistake(f"{text!r} has no range of numbers", f"write {text.rpartition('=')[0] or text}=1..10")
    subject, first, last = found[1], int(found[2]), int(found[3])
    if first > last:
        raise EditMistake(f"the range {first}..{last} is empty", f"write {last}..{first}")
    if last - first >= _LONGEST_RANGE:
        raise EditMistake(f"the range {first}..{last} has more than {_LONGEST_RANGE:,} numbers")
    # The mistakes of the edit itself are those of its largest number.
    largest = specs_by_flag()[flag].parse(f"{subject}={last}")
    return EditRange(flag, subject, first, tuple(_with_number(flag, largest, each) for each in range(first, last + 1)))


def _with_number(flag: str, edit: Edit, number: int) -> Edit | None:
    """No edit for no new nodes."""
    if flag != "scale" and number == 0:
        return None
    change: dict[str, Any] = {COUNTED_EDITS[flag]: number}
    if flag == "add-node":
        change["text"] = ""
    return structs.replace(edit, **change)  # type: ignore[type-var]  # every edit is a Struct


_LEAST = {"orders": 1, "ties": 1, "sample": 1, "keepWorst": 1}


def sweep_schema() -> dict[str, Any]:
    document, definitions = components_of(SweepDocument, _bounded)
    document["properties"] = {
        **document["properties"],
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
    }
    document["required"] = ["apiVersion", "kind", "dimensions"]
    definitions["DimensionsDocument"]["minProperties"] = 1
    return json_schema(document, definitions, "A sweep of ksched")


def _bounded(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out null, which an editor has no use for."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if not choices:
        return schema
    bounds = {"minimum": _LEAST[name]} if name in _LEAST else {}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, **({**choices[0], **bounds} if len(choices) == 1 else {"anyOf": choices})}


T = TypeVar("T")
_Steps = tuple[str | int, ...]

# Words of the Python API: the fields of the document and its dimensions.
DIMENSION_WORDS = tuple(structs.asdict(DimensionsDocument()))
OTHER_WORDS = ("sample", "seed", "keep_worst")


def read_sweep(path: str | None, words: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Sweep:
    """The sweep of a file, in which `words` replace what is written there. A grid changes the configuration. InputError
    or UsageError with all mistakes."""
    document = with_on(read_one_document(path, expected_kind(KIND))) if path is not None else None
    reader = _SweepReader(path or "", document, words, config)
    sweep = reader.read()
    if reader.problems:
        problems = sorted(reader.problems, key=lambda problem: problem.line or 0)
        raise (InputError if path is not None else UsageError)(problems)
    return sweep


def validate_sweep(path: str) -> str:
    """The name of the sweep. InputError with all mistakes of the file."""
    return read_sweep(path, {}).name


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
        for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            if value.get(key) != wanted:
                found = value.get(key)
                self._complain(key, f"expected {wanted}, got {'none' if found is None else found}")
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
