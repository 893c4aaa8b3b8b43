"""Documents as Structs: the keys of JSON are derived from the fields, and a stored document is read back into them.

A document begins with `apiVersion` and `kind`, the tag of its Struct. A field without a default is always there, one
with a default only if it differs from it. Parts that few formats need, such as the final state of every pod, are
`LaterPart`. Below are entries of several documents as dicts, and what a result does not take into account in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec import Struct, ValidationError, convert, field, to_builtins

from ksched_cli.report.amounts import plain_money
from ksched_cli.report.encoding import LaterPart, plain
from ksched_cli.sources.decoding import API_VERSION
from ksched_cli.world.results import FinalPod, WorldResult

if TYPE_CHECKING:
    from ksched_cli.report.registry import RenderOptions


D = TypeVar("D")


class DocumentPart(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a document, and the base of documents."""

    @classmethod
    def like(cls, source: object, /, **others: Any) -> Self:
        """The part with the fields of the same names of a result, but for the others. Fields that the result does not
        have keep their defaults. Prices become texts, and what writes itself (`document`) is written."""
        names = [name for name in cls.__struct_fields__ if name not in others and hasattr(source, name)]
        return cls(**{name: _as_written(getattr(source, name)) for name in names}, **others)

    def entry(self) -> dict[str, Any]:
        """The part as dicts and lists."""
        found: dict[str, Any] = to_builtins(self, enc_hook=plain)
        return found


def _as_written(value: Any) -> Any:
    if isinstance(value, Decimal):
        return plain_money(value)
    return value.document() if hasattr(value, "document") else value


def value_of(part: Any) -> Any:
    """The value of a part that may be computed later."""
    return part.document() if hasattr(part, "document") else part


def encoded(document: Struct) -> dict[str, Any]:
    """The document as dicts and lists."""
    return {"apiVersion": API_VERSION, **to_builtins(document, enc_hook=plain)}


def decoded(document: Mapping[str, Any], kind: type[D]) -> D:
    """The document of this kind. Raises ValueError if it lacks fields."""
    try:
        return convert(document, kind)
    except ValidationError as mistake:
        raise ValueError(str(mistake)) from None


class OrdersPart(DocumentPart, frozen=True, kw_only=True):
    """In how many of the orders that were tried every pod has a node in the end, or, for a drain, which outcome
    occurred how often. `workloads` has those that do not end alike, with the number of orders in which they finish."""

    tried: int
    finished: int | None = None
    outcomes: dict[str, int] = field(default_factory=dict)
    workloads: dict[str, int] | None = None

    @classmethod
    def of(cls, world: WorldResult) -> OrdersPart | None:
        if world.orders is None:
            return None
        workloads = {name: each.finished for name, each in world.doubtful.items()}
        return cls(tried=world.orders.tried, finished=world.orders.finished, workloads=workloads)


def final_part(world: WorldResult) -> LaterPart:
    """The final state of every pod, as all commands that move pods have it."""

    return LaterPart(lambda: [final_entry(each) for each in world.final])


def entry_of(result: object, keys: str) -> dict[str, Any]:
    """The entry of a result with the fields that two or more keys name: `nominatedNode` is `nominated_node`."""
    names, fields_of = _reader(keys)
    pairs = zip(names, fields_of(result), strict=True)
    return {name: each if type(each) in _SCALARS else _plain_value(each) for name, each in pairs}


def filled(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without the keys whose value is empty, None or 0."""
    return {key: value for key, value in entry.items() if value}


@cache
def _reader(keys: str) -> tuple[list[str], Callable[[object], tuple[Any, ...]]]:
    """The keys, and a function that returns the fields of a result that they name."""
    names = keys.split()
    return names, attrgetter(
        *("".join(f"_{each.lower()}" if each.isupper() else each for each in name) for name in names)
    )


_SCALARS = frozenset((str, int, float, bool, type(None)))


def _plain_value(value: Any) -> Any:
    """The value as JSON has it: lists and dicts."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {key: _plain_value(each) for key, each in value.items()}
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return [each if type(each) in _SCALARS else _plain_value(each) for each in value] if is_list else value


def run_entry(options: RenderOptions) -> dict[str, Any]:
    """The command line and time of the run; empty for a document that Python code made."""
    if not options.command:
        return {}
    # A clone runs git for its version.
    from ksched_cli import __version__

    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"run": {"command": options.command, "version": __version__, "time": time}}


def final_entry(pod: FinalPod) -> dict[str, Any]:
    keys = "pod workload state node queue attempts nominatedNode replaces message why unschedulablePlugins"
    return filled(entry_of(pod, keys))


def unchecked_manifests(coverage: Mapping[str, Any]) -> list[str]:
    """In one sentence the kinds of manifests of which only names and types of fields were checked."""
    kinds = [f"{count} {kind}" for kind, count in coverage.get("manifestsNotChecked", {}).items()]
    return [f"manifests whose values are not checked: {', '.join(kinds)}"] if kinds else []


def omissions(coverage: Mapping[str, Any]) -> list[str]:
    """What the result does not take into account, the most important first."""
    version = coverage.get("kubeVersionNotModelled")
    found = [f"what is different in Kubernetes {version}"] if version else []
    found += [f"plugin {name}" for name in coverage.get("pluginsNotModelled", ())]
    found += [f"feature gate {name}" for name in coverage.get("featureGatesNotModelled", ())]
    found += [_uncalled(each) for each in coverage.get("extendersCouldChange", ())]
    found += [text for each in coverage.get("extenders", ()) for text in _unheard(each)]
    found += unchecked_manifests(coverage)
    found += [f"{kind} ({reason})" for kind, reason in coverage.get("missing", {}).items()]
    found += coverage.get("admissionNotModelled", ())
    found += coverage.get("autoscalersNotModelled", ())
    found += coverage.get("jobsNotModelled", ())
    found += coverage.get("podGroupsNotModelled", ())
    found += coverage.get("claimsNotRead", ())
    return found + [f"{count} {kind}" for kind, count in coverage.get("notRead", {}).items()]


def _uncalled(extender: Mapping[str, Any]) -> str:
    managed = extender.get("podsThatAskFor")
    whose = f" for pods that ask for {' or '.join(managed)}" if managed else ""
    what = " and ".join(extender["couldChange"])
    decides = f" (decides on {what}{whose}; --allow-extenders calls it)" if what else ""
    return f"extender {extender['extender']}{decides}"


def _unheard(extender: Mapping[str, Any]) -> Iterator[str]:
    """The results of a called extender that were not used."""
    name = extender["extender"]
    for failure in extender.get("passedOver", ()):
        times = "once" if failure["times"] == 1 else f"{failure['times']} times"
        yield f"{failure['verb']} of extender {name}, which failed {times} ({failure['error']})"
    if "changedNodes" in extender:
        yield f"changes that extender {name} made to nodes"
    if "bind" in extender:
        yield f"bind of extender {name}, which is never called: it gets no placement"
