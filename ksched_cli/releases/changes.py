"""What changes between minors, declared next to the code that applies it.

A module declares its rules once:

    class FeatureRules(ReleaseRules, plugins="Feature"):
        names_node = Change("1.34", before=True, now=False, about="message", sentence="The reason ...; before, ...")
        counts_disks = NewRule("1.35", "filter", "Disks count; before, ...")

and reads `FeatureRules.of(release).names_node`. `ksched diff` and `ksched versions` render the same declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, Literal, Self, TypedDict, TypeVar, Unpack, overload

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.releases.fixes import UpstreamFix
from ksched_cli.releases.gate_history import GATE_HISTORY, minor_of
from ksched_cli.releases.minors import RELEASES, Release

T = TypeVar("T")

# The part of kube-scheduler that a rule is about. "search": which nodes are checked; "fields": which fields of a pod
# count; "message": only a text.
Aspect = Literal["filter", "score", "weight", "preemption", "queue", "search", "fields", "message", "configuration"]

# As the name of a plugin: kube-scheduler itself. `described_by` names it "kube-scheduler".
SCHEDULER = ""


class RuleChange(Struct, frozen=True):
    """A rule of these plugins that holds since a modelled minor; `text` describes it and the rule before. With a `gate`
    it holds if the gate is on, and `since` is the minor that switched the gate on by default, if any."""

    since: str
    plugins: tuple[str, ...]
    aspects: frozenset[Aspect]
    text: str
    gate: str = ""
    fix: UpstreamFix | None = None

    def holds_in(self, release: Release) -> bool:
        """Whether the release has the rule, gates aside."""
        return release.minor >= self.minor if self.fix is None else release.has(self.fix)

    @property
    def patches(self) -> tuple[str, ...]:
        """The patches of earlier minors that brought the rule."""
        return self.fix.patches if self.fix is not None else ()

    @property
    def minor(self) -> int:
        """The number after "1."; 0 where no minor has the rule by default."""
        return int(self.since.partition(".")[2] or 0)

    @property
    def of_fields(self) -> bool:
        """Whether it is about what is known of a pod, and nothing else."""
        return self.aspects == {"fields"}


class ChangeStep(Struct, Generic[T], frozen=True):
    """A value that a rule has since a minor. The sentence is its own, or that of the plugin `described_by`."""

    since: str
    now: T
    about: str = ""
    sentence: str = ""
    plugins: str = ""
    described_by: str = ""
    fix: UpstreamFix | None = None

    def holds_in(self, release: Release) -> bool:
        return release.at_least(self.since) if self.fix is None else release.has(self.fix)


class _Wording(TypedDict, total=False):
    """The sentence of a change, what it is about, and the plugins, as in ChangeStep."""

    about: str
    sentence: str
    plugins: str
    described_by: str


class Change(Generic[T]):
    """A rule with one value before a minor and another since; `then` adds a change of the same rule. `since` is a
    minor, or a fix that also reached patches of earlier minors. `plugins` replace those of the declaring class."""

    def __init__(self, since: str | UpstreamFix, *, before: T, now: T, **wording: Unpack[_Wording]) -> None:
        self.before = before
        self.steps: list[ChangeStep[T]] = []
        self.then(since, now=now, **wording)

    def then(self, since: str | UpstreamFix, *, now: T, **wording: Unpack[_Wording]) -> Change[T]:
        minor, fix = (since.since, since) if isinstance(since, UpstreamFix) else (since, None)
        self.steps.append(ChangeStep(minor, now, fix=fix, **wording))
        return self

    @property
    def since(self) -> str:
        """The first minor with another value."""
        return self.steps[0].since

    def value(self, release: Release) -> T:
        found = self.before
        for step in self.steps:
            if step.holds_in(release):
                found = step.now
        return found

    def rule_changes(self) -> Iterator[RuleChange]:
        return (
            _rule_change(step.since, step.plugins, step.about, step.sentence, fix=step.fix)
            for step in self.steps
            if step.sentence
        )

    @overload
    def __get__(self, rules: None, owner: type) -> Change[T]: ...
    @overload
    def __get__(self, rules: ReleaseRules, owner: type) -> T: ...
    def __get__(self, rules: ReleaseRules | None, owner: type) -> Change[T] | T:
        # `ReleaseRules.of` puts the values into the instance, where they are found first.
        assert rules is None
        return self


class NewRule(Change[bool]):
    """A rule that is off before a minor and on since."""

    def __init__(self, since: str | UpstreamFix, about: str, sentence: str, plugins: str = "") -> None:
        super().__init__(since, before=False, now=True, about=about, sentence=sentence, plugins=plugins)


class OldRule(Change[bool]):
    """A rule that is on before a minor and off since."""

    def __init__(self, since: str | UpstreamFix, about: str, sentence: str, plugins: str = "") -> None:
        super().__init__(since, before=True, now=False, about=about, sentence=sentence, plugins=plugins)


class Note(Struct, frozen=True):
    """A change that other data makes (a default plugin, an extension point, a fixed gate), described here."""

    since: str
    about: str
    sentence: str
    plugins: str = ""

    def rule_changes(self) -> Iterator[RuleChange]:
        yield _rule_change(self.since, self.plugins, self.about, self.sentence)


class GateNote(Struct, frozen=True):
    """What a feature gate switches."""

    gate: str
    about: str
    sentence: str
    plugins: str = ""

    def rule_changes(self) -> Iterator[RuleChange]:
        yield _rule_change(on_since(self.gate), self.plugins, self.about, self.sentence, self.gate)


def gate_notes(about: str, sentences: Mapping[str, str], plugins: str = "") -> Iterator[GateNote]:
    """Notes of gates that are about the same, by the name of the gate."""
    return (GateNote(gate, about, sentence, plugins) for gate, sentence in sentences.items())


class ReleaseRules:
    """Base of the rules of one module: class attributes are `Change`s, an instance has the values of one minor."""

    notes: ClassVar[tuple[Note | GateNote, ...]] = ()
    declared: ClassVar[list[type[ReleaseRules]]] = []
    _plugins: ClassVar[str] = ""
    _made: ClassVar[dict[tuple[int, int | None], Any]] = {}

    def __init_subclass__(cls, plugins: str = SCHEDULER) -> None:
        cls._plugins, cls._made = plugins, {}
        ReleaseRules.declared.append(cls)

    @classmethod
    def of(cls, release: Release) -> Self:
        key = release.minor, release.patch
        found: Self | None = cls._made.get(key)
        if found is None:
            found = cls._made[key] = cls()
            found.__dict__.update(cls.values(release))
        return found

    @classmethod
    def values(cls, release: Release) -> dict[str, Any]:
        return {name: change.value(release) for name, change in cls.changes()}

    @classmethod
    def plugins(cls) -> tuple[str, ...]:
        return tuple(cls._plugins.split()) or (SCHEDULER,)

    @classmethod
    def changes(cls) -> Iterator[tuple[str, Change[Any]]]:
        return ((name, each) for name, each in vars(cls).items() if isinstance(each, Change))

    @classmethod
    def rule_changes(cls) -> Iterator[RuleChange]:
        """Each change as it is reported, its plugins filled in."""
        for each in (*(change for _, change in cls.changes()), *cls.notes):
            for rule in each.rule_changes():
                plugins = rule.plugins or cls.plugins()
                yield replace(rule, plugins=plugins)


def _rule_change(
    since: str, plugins: str, about: str, sentence: str, gate: str = "", fix: UpstreamFix | None = None
) -> RuleChange:
    aspects: frozenset[Aspect] = frozenset(about.split())  # type: ignore[arg-type]  # a test holds each to be an Aspect
    return RuleChange(modelled(since) if since else "", tuple(plugins.split()), aspects, sentence, gate, fix)


def modelled(version: str) -> str:
    """The first modelled minor that is at least this one."""
    return next((each for each in RELEASES if minor_of(each) >= minor_of(version)), version)


def on_since(gate: str) -> str:
    """The first modelled minor that has the gate on by default, or an empty string."""
    on = (since for since, state in GATE_HISTORY[gate].items() if state is not None and state.default)
    return next((modelled(since) for since in on), "")
