"""What changes between minors, declared next to the code that applies it.

A module declares its rules once:

    class FeatureRules(ReleaseRules, plugins="Feature"):
        counts_disks = Rule("1.35", "filter", "Disks count; before, ...")
        names_node = Rule.until("1.34", "message", "The reason ...; before, ...")
        notes = (Rule("FeatureGateOfDisks", "filter", "Disks count; without the gate, ..."),)

and reads `FeatureRules.of(release).names_node`. `ksched diff` and `ksched versions` render the same declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.releases.gates import GATE_HISTORY, minor_of
from ksched_cli.releases.minors import RELEASES, Release, UpstreamFix

T = TypeVar("T")

# The part of kube-scheduler that a rule is about. "search": which nodes are checked; "fields": which fields of a pod
# count; "message": only a text; "rollout": how controllers replace pods; "admission": what the API server refuses.
Aspect = Literal[
    "admission",
    "configuration",
    "fields",
    "filter",
    "message",
    "preemption",
    "queue",
    "rollout",
    "score",
    "search",
    "weight",
]

# As the name of a plugin: kube-scheduler itself. `described_by` names it "kube-scheduler".
SCHEDULER = ""
# The same for the controllers of workloads.
CONTROLLERS = "kube-controller-manager"
# The same for the API server.
API_SERVER = "kube-apiserver"


class RuleChange(Struct, frozen=True):
    """A rule of these plugins that holds since a modelled minor; `text` describes it and the rule before. With a `gate`
    it holds if the gate is on, and `since` is the minor that switched the gate on by default, if any."""

    since: str
    plugins: tuple[str, ...]
    aspects: frozenset[Aspect]
    text: str
    gate: str
    fix: UpstreamFix | None = None

    def holds_in(self, release: Release) -> bool:
        """Whether the release has the rule, gates aside."""
        if release.lacks and self.switch in release.lacks:
            return False
        return release.minor >= self.minor if self.fix is None else release.has(self.fix)

    @property
    def switch(self) -> str:
        """What switches the rule: its gate, or the rule itself, by its minor and its sentence."""
        return self.gate or f"{self.since} {self.text}"

    def came_with(self, release: Release) -> bool:
        """Whether the release's minor brought the rule, with its first release or with a patch."""
        return self.minor == release.minor or (self.fix is not None and bool(self.fix.first_patch_of(release)))

    @property
    def order(self) -> tuple[int, tuple[str, ...], str]:
        """The sort key: the oldest first."""
        return self.minor, self.plugins, self.text

    @property
    def minor(self) -> int:
        """The number after "1."; 0 where no minor has the rule by default."""
        return int(self.since.partition(".")[2] or 0)

    @property
    def of_fields(self) -> bool:
        """Whether it is about what is known of a pod, and nothing else."""
        return self.aspects == {"fields"}


class RuleStep(Struct, Generic[T], frozen=True):
    """The value that a rule has from one minor, fix or gate on. Without a sentence of its own it is part of the change
    that a sentence of the plugin `described_by` describes."""

    now: T
    change: RuleChange
    described_by: str


class Rule(Generic[T]):
    """A rule with one value before `since` and another from then on; `then` adds a further change of the same rule.

    `since` is a minor, a fix that also reached patches of earlier minors, or the name of a feature gate. A rule without
    values is a switch: off before, on since; `until` makes the opposite. In `notes` of a class are rules whose value no
    code reads, because other data makes the change: a default plugin, an extension point, or the gate itself. `plugins`
    replace those of the declaring class.
    """

    @overload
    def __init__(
        self: Rule[bool],
        since: str | UpstreamFix,
        about: str = "",
        sentence: str = "",
        plugins: str = "",
        *,
        described_by: str = "",
    ) -> None: ...
    @overload
    def __init__(
        self,
        since: str | UpstreamFix,
        about: str = "",
        sentence: str = "",
        plugins: str = "",
        *,
        before: T,
        now: T,
        described_by: str = "",
    ) -> None: ...
    def __init__(
        self,
        since: str | UpstreamFix,
        about: str = "",
        sentence: str = "",
        plugins: str = "",
        *,
        before: Any = False,
        now: Any = True,
        described_by: str = "",
    ) -> None:
        self.before: T = before
        self.steps: list[RuleStep[T]] = []
        self.then(since, about, sentence, plugins, now=now, described_by=described_by)

    @classmethod
    def until(
        cls, since: str | UpstreamFix, about: str = "", sentence: str = "", plugins: str = "", *, described_by: str = ""
    ) -> Rule[bool]:
        """A switch that is on before, and off since."""
        return Rule(since, about, sentence, plugins, before=True, now=False, described_by=described_by)

    def then(
        self,
        since: str | UpstreamFix,
        about: str = "",
        sentence: str = "",
        plugins: str = "",
        *,
        now: T,
        described_by: str = "",
    ) -> Rule[T]:
        gate = since if isinstance(since, str) and since in GATE_HISTORY else ""
        fix = since if isinstance(since, UpstreamFix) else None
        minor = since.since if isinstance(since, UpstreamFix) else on_since(gate) if gate else modelled(since)
        aspects: frozenset[Aspect] = frozenset(about.split())  # type: ignore[arg-type]  # a test holds each an Aspect
        change = RuleChange(minor, tuple(plugins.split()), aspects, sentence, gate, fix)
        self.steps.append(RuleStep(now, change, described_by))
        return self

    @property
    def since(self) -> str:
        """The first minor with another value."""
        return self.steps[0].change.since

    def value(self, release: Release) -> T:
        found = self.before
        for step in self.steps:
            if step.change.holds_in(release):
                found = step.now
        return found

    @overload
    def __get__(self, rules: None, owner: type) -> Rule[T]: ...
    @overload
    def __get__(self, rules: ReleaseRules, owner: type) -> T: ...
    def __get__(self, rules: ReleaseRules | None, owner: type) -> Rule[T] | T:
        # `ReleaseRules.of` puts the values into the instance, where they are found first.
        assert rules is None
        return self


class ReleaseRules:
    """Base of the rules of one module: class attributes are `Rule`s, an instance has the values of one minor."""

    notes: ClassVar[tuple[Rule[bool], ...]] = ()
    declared: ClassVar[list[type[ReleaseRules]]] = []
    _plugins: ClassVar[str] = ""
    _made: ClassVar[dict[tuple[int, int | None, frozenset[str]], Any]] = {}

    def __init_subclass__(cls, plugins: str = SCHEDULER) -> None:
        cls._plugins, cls._made = plugins, {}
        ReleaseRules.declared.append(cls)

    @classmethod
    def of(cls, release: Release) -> Self:
        key = release.minor, release.patch, release.lacks
        found: Self | None = cls._made.get(key)
        if found is None:
            found = cls._made[key] = cls()
            found.__dict__.update(cls.values(release))
        return found

    @classmethod
    def values(cls, release: Release) -> dict[str, Any]:
        return {name: rule.value(release) for name, rule in cls.rules()}

    @classmethod
    def plugins(cls) -> tuple[str, ...]:
        return tuple(cls._plugins.split()) or (SCHEDULER,)

    @classmethod
    def rules(cls) -> Iterator[tuple[str, Rule[Any]]]:
        """The rules that have values, by name."""
        return ((name, each) for name, each in vars(cls).items() if isinstance(each, Rule))

    @classmethod
    def rule_changes(cls) -> Iterator[RuleChange]:
        """Each change with a sentence, its plugins filled in."""
        for rule in (*(rule for _, rule in cls.rules()), *cls.notes):
            for change in (step.change for step in rule.steps if step.change.text):
                yield replace(change, plugins=change.plugins or cls.plugins())


def modelled(version: str) -> str:
    """The first modelled minor that is at least this one."""
    return next((each for each in RELEASES if minor_of(each) >= minor_of(version)), version)


def on_since(gate: str) -> str:
    """The first modelled minor that has the gate on by default, or an empty string."""
    on = (since for since, state in GATE_HISTORY[gate].items() if state is not None and state.default)
    return next((modelled(since) for since in on), "")
