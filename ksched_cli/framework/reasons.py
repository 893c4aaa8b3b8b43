"""Why a pod is rejected, as a value: a kind of reason, its parameters, and its text in the minor.

A room declares its reasons once, in one table:

    class FeatureReasons(ReasonTable, plugins="Feature"):
        missing = ReasonKind("node(s) lacked feature {feature}", FEATURE_MISSING)

and its plugin rejects with `unresolvable(FeatureReasons.of(release).missing(feature="x"))`. Commands read
`reason.kind`; nothing reads the text. A `RejectionGuide` has the texts of `explain`, and changes that may end a
rejection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any, ClassVar, Protocol, TypeVar

from msgspec import Struct

from ksched_cli.api.core import Node, Pod, Taint
from ksched_cli.api.json_patch import Operation, PodPatch
from ksched_cli.errors import Level
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.minors import Release

# From the pod down. A text where an index belongs is the name of a volume.
FieldPath = tuple[str | int, ...]


class ReasonCode(Struct, frozen=True):
    """A stable code for what is in a pod's way: what it means, and what a person can do (`ksched explain-code
    KS104`)."""

    code: str
    name: str
    title: str
    meaning: str
    advice: tuple[str, ...]
    level: Level = "error"


class Reason(Struct, frozen=True, cache_hash=True):
    """One reason of a rejection. Two reasons are equal if their kinds, texts and parameters are."""

    kind: ReasonKind
    text: str
    params: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.text

    def param(self, name: str) -> str:
        """The parameter, or an empty string where the text of the minor does not name it."""
        return dict(self.params).get(name, "")

    @property
    def lacks(self) -> str:
        """The resource that the node has too little of, or an empty string."""
        return self.kind.lacks.format_map(dict(self.params))

    @property
    def plain(self) -> str:
        """The text without the words that kube-scheduler puts there to count nodes."""
        return self.text.removeprefix("node(s) ")

    @property
    def problem(self) -> str:
        """The predicate of a sentence about nodes: `3 nodes lack cpu`; the text where the kind has none."""
        params, found = dict(self.params), self.kind.problem
        return (found(params) if callable(found) else found.format_map(params)) or self.plain


# Of the pod, the reasons of one status and the numbers of `FilterPlugin.explain`: the field to change first.
FieldFinder = Callable[[Pod, Sequence[Reason], Mapping[str, Any]], FieldPath]


class ReasonKind:
    """A kind of reason; called with the parameters it makes a reason. `text` is a format string for the parameters, or
    one for each minor. A parameter that the text does not name is no part of the reason, so that nodes with the same
    text share a reason.

    `unresolvable_code` takes the place of `code` where no preemption can help. `lacks` names the resource that the node
    has too little of, `problem` is a predicate in plain words; both are format strings, too, or `problem` is a function
    of the parameters.
    """

    def __init__(
        self,
        text: str | Rule[str],
        code: ReasonCode | None = None,
        *,
        unresolvable_code: ReasonCode | None = None,
        field: FieldFinder | None = None,
        lacks: str = "",
        problem: str | Callable[[Mapping[str, str]], str] = "",
    ) -> None:
        self.text = text
        self.code = code
        self.unresolvable_code = unresolvable_code or code
        self.field = field
        self.lacks = lacks
        self.problem = problem
        self.name = ""
        self.table: type[ReasonTable] | None = None
        # The kind as it is declared, of which this may be the copy for a minor.
        self._declared = self
        self._set_text("" if isinstance(text, Rule) else text)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __reduce__(self) -> Any:
        """Another process has the same declaration: the table and the name are enough."""
        return (getattr, (self.table, self.name)) if self.table is not None else "FREE_TEXT"

    def __set_name__(self, table: type[ReasonTable], name: str) -> None:
        self.table, self.name, self.field = table, name, self.field or table.field

    def __call__(self, **params: object) -> Reason:
        if self._constant is not None:
            return self._constant
        kept = tuple((name, str(params[name])) for name in self._names)
        return Reason(self._declared, self._text.format_map(dict(kept)), kept)

    def _set_text(self, text: str) -> None:
        self._text = text
        self._names = tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(text) if name))
        self._constant = None if self._names else Reason(self._declared, text.format())

    def in_minor(self, release: Release) -> ReasonKind:
        """The kind with the text of one minor."""
        if not isinstance(self.text, Rule):
            return self
        found = object.__new__(type(self))
        found.__dict__.update(vars(self))
        found._set_text(self.text.value(release))
        return found

    @property
    def owner(self) -> str:
        """The plugin whose reason it is; an empty string for a reason that several plugins share."""
        plugins = self.table.plugins() if self.table is not None else ()
        return plugins[0] if len(plugins) == 1 else ""

    def texts(self) -> tuple[str, ...]:
        """The format strings of all minors."""
        if isinstance(self.text, str):
            return (self.text,)
        return (self.text.before, *(step.now for step in self.text.steps))

    def code_of(self, *, unresolvable: bool) -> ReasonCode | None:
        return self.unresolvable_code if unresolvable else self.code


class ReasonTable(ReleaseRules):
    """Base of the reasons of one room: class attributes are `ReasonKind`s, an instance makes those of one minor. A kind
    without a `field` has that of its table."""

    field: ClassVar[FieldFinder | None] = None

    @classmethod
    def values(cls, release: Release) -> dict[str, Any]:
        return {kind.name: kind.in_minor(release) for kind in cls.kinds()}

    @classmethod
    def kinds(cls) -> Iterator[ReasonKind]:
        return (each for each in vars(cls).values() if isinstance(each, ReasonKind))

    @classmethod
    def rules(cls) -> Iterator[tuple[str, Rule[Any]]]:
        return ((kind.name, kind.text) for kind in cls.kinds() if isinstance(kind.text, Rule))

    @classmethod
    def tables(cls) -> Iterator[type[ReasonTable]]:
        """Every table that a loaded module declares."""
        return (each for each in ReleaseRules.declared if issubclass(each, ReasonTable) and each is not ReasonTable)


# Reasons of extenders and out-of-tree plugins, in words of their own.
FREE_TEXT = ReasonKind("{text}")


def free_text(text: str) -> Reason:
    """A reason that is known by its text alone."""
    return Reason(FREE_TEXT, text)


def fixed_field(*path: str | int) -> FieldFinder:
    """The same field whatever the pod."""
    return lambda pod, reasons, detail: path


# What FilterPlugin.explain returned for one node.
Figures = Mapping[str, Any]

# A change of the pod or of the cluster. Rooms hand changes on and never look into them.
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


class RejectedPod(Protocol[C_co]):
    """The pod, the node that rejects it, and the changes that can be made to both."""

    @property
    def pod(self) -> Pod: ...

    @property
    def node(self) -> Node: ...

    @property
    def cordoned(self) -> bool: ...

    def patch(self, text: str, kind: str, cost: float, *operations: Operation) -> C_co:
        """A change of the pod. Changes of one `kind` differ only by the node that they are for."""

    def uncordon(self) -> C_co: ...

    def untaint(self, taint: Taint) -> C_co | None:
        """None for a taint that no person takes off, as for the following changes."""

    def tolerate(self, taint: Taint) -> C_co | None: ...

    def label(self, key: str, value: str) -> C_co | None: ...

    def may_leave_out(self, key: str) -> bool:
        """Whether a pod can do without this label of nodes."""

    def remove(self, pods: set[str]) -> Sequence[C_co]:
        """One change that makes the only pod leave; none for several pods, which are no small change."""

    def make_room(self, short: Mapping[str, int]) -> Sequence[C_co]:
        """Changes each of which frees so much of each resource on the node."""


class RejectionGuide:
    """What `explain`, `check` and the search for fixes read about a rejection of one node. `easily_mended` is on where
    a small change may end the rejection, `cordons` and `closes_node` where the node takes no such pods for now, and
    `is_about_the_place` where labels such as that of the zone decide, and `ends_without_pods` where no empty node
    rejects the pod."""

    easily_mended = cordons = closes_node = ends_without_pods = is_about_the_place = False

    def describe(self, figures: Figures) -> str:
        """One line with the numbers; an empty string where the reasons themselves are best."""
        return ""

    def describe_briefly(self, figures: Figures) -> str:
        """The same for a sentence, and for several nodes."""
        return ""

    def describe_nodes(self, figures: Sequence[Figures]) -> str:
        """One line for several nodes with the same problems; an empty string where the problems themselves are best."""
        texts = set(map(self.describe_briefly, figures))
        return texts.pop() if len(texts) == 1 else ""

    def problems(self, reasons: Sequence[Reason], figures: Figures, *, cordoned: bool) -> Iterator[str]:
        """Predicates for a count of nodes: `lack cpu`."""
        return (reason.problem for reason in reasons)

    def shortage(self, figures: Figures) -> float:
        """How far the node is from taking the pod, beside other nodes with such a rejection."""
        return 1.0

    def is_other_kind_of_node(self, reasons: Sequence[Reason], *, unresolvable: bool) -> bool:
        """Whether the pod wants nodes of another kind."""
        return False

    def describe_limits(self, figures: Figures) -> str:
        """What the pod requests and the node does not have even if it is empty, as a sentence; empty without such."""
        return ""

    def ends_on_empty_node(self, figures: Figures) -> bool:
        """Whether a new empty node with the same labels and size would not reject the pod."""
        return self.ends_without_pods

    def let_in(self, pod: Pod) -> PodPatch | None:
        """The change with which PreEnqueue no longer holds the pod back."""
        return None

    def remedies(self, figures: Figures, place: RejectedPod[C]) -> Iterator[Sequence[C | None]]:
        """Changes that together may end the rejection, one way after the other, without those that have None."""
        return iter(())
