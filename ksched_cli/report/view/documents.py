"""Documents as Structs: the keys of JSON are derived from the fields, and a stored document is read back into them.

A document begins with `apiVersion` and `kind`, the tag of its Struct. A field without a default is always there, one
with a default only if it differs from it. Parts that few formats need, such as the final state of every pod, are
`LaterPart`. Below are entries of several documents as dicts, and what a result does not take into account in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec import Struct, ValidationError, convert, field, to_builtins

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
        have keep their defaults. What writes itself (`document`) is written."""
        names = [name for name in cls.__struct_fields__ if name not in others and hasattr(source, name)]
        return cls(**{name: value_of(getattr(source, name)) for name in names}, **others)

    def entry(self) -> dict[str, Any]:
        """The part as dicts and lists."""
        found: dict[str, Any] = to_builtins(self, enc_hook=plain)
        return found


def value_of(part: Any) -> Any:
    """The value of a part that writes itself, maybe later, and of any other."""
    return part.document() if hasattr(part, "document") else part


def encoded(document: Struct) -> dict[str, Any]:
    """The document as dicts and lists."""
    return {"apiVersion": API_VERSION, **to_builtins(document, enc_hook=plain)}


def decoded(document: Mapping[str, Any], kind: type[D]) -> D:
    """The document of this kind. Raises ValueError if it lacks fields."""
    try:
        return convert(document, kind, dec_hook=lambda part, value: part.of_document(value))
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


def run_entry(options: RenderOptions) -> dict[str, Any]:
    """The command line and time of the run; empty for a document that Python code made."""
    if not options.command:
        return {}
    # A clone runs git for its version.
    from ksched_cli import __version__

    time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"run": {"command": options.command, "version": __version__, "time": time}}


def final_entry(pod: FinalPod) -> dict[str, Any]:
    """The pod without the keys whose value is empty or 0."""
    entry = {
        "pod": pod.pod,
        "workload": pod.workload,
        "state": pod.state,
        "node": pod.node,
        "queue": pod.queue,
        "attempts": pod.attempts,
        "nominatedNode": pod.nominated_node,
        "replaces": pod.replaces,
        "message": pod.message,
        "why": pod.why,
        "unschedulablePlugins": list(pod.unschedulable_plugins),
    }
    return {key: value for key, value in entry.items() if value}


def unchecked_manifests(coverage: Mapping[str, Any]) -> list[str]:
    """In one sentence the kinds of manifests of which only names and types of fields were checked."""
    kinds = [f"{count} {kind}" for kind, count in coverage.get("manifestsNotChecked", {}).items()]
    return [f"manifests whose values are not checked: {', '.join(kinds)}"] if kinds else []


def omissions(coverage: Mapping[str, Any]) -> list[str]:
    """What the result does not take into account, the most important first; of a comparison what either side leaves
    out."""
    if "before" in coverage:
        return list(dict.fromkeys((*omissions(coverage["before"]), *omissions(coverage["after"]))))
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
    found += coverage.get("nodesNotModelled", ())
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
