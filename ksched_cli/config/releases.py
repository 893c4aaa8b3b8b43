"""What each Kubernetes minor brings along: default plugins, weights, feature gates, configuration versions.

A rule that differs from minor to minor is written where it is applied: it asks `release.at_least("1.34")`, or a gate.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from ksched_cli.config.default_plugins import BEFORE_PLUGINS, BY_POINT, MULTI_POINT, DefaultPlugin
from ksched_cli.config.gate_history import GATE_HISTORY, MODELLED_SINCE, NEVER, STAGE_GATES, Gate
from ksched_cli.config.model import EXTENSION_POINT_FIELDS, PluginRef, Plugins, PluginSet
from ksched_cli.errors import Problem, UsageError

GROUP = "kubescheduler.config.k8s.io"


@cache
def minor_of(version: str) -> int:
    """The number after "1."."""
    return int(version.partition(".")[2])


class FeatureGates:
    """The gates of a run: a minor's defaults and what the user sets."""

    def __init__(
        self, defaults: Mapping[str, bool], overrides: Mapping[str, bool], not_modelled: Container[str] = ()
    ) -> None:
        self._enabled = {**defaults, **overrides}
        changed = sorted(name for name, on in overrides.items() if on != defaults[name])
        self.changed = tuple(changed)
        # Gates that were set against their default and that decide something which is answered by the default.
        self.not_modelled = tuple(name for name in changed if name in not_modelled)

    def enabled(self, name: str) -> bool:
        """A gate that came later than the minor is off; one that was taken away stays as it was at its end."""
        return self._enabled.get(name, False)


@dataclass(frozen=True)
class Release:
    """One minor; `recorded` where answers are held against recordings of its kube-scheduler, else its rules were read
    from its source."""

    version: str
    recorded: bool = False

    @cached_property
    def minor(self) -> int:
        return minor_of(self.version)

    def at_least(self, version: str) -> bool:
        """Whether this is that minor or a later one."""
        return self.minor >= minor_of(version)

    def between(self, since: str, until: str) -> bool:
        """Whether it is one of these minors, both included; an empty string is no bound."""
        return (not since or self.minor >= minor_of(since)) and (not until or self.minor <= minor_of(until))

    @property
    def has_predicates(self) -> bool:
        """Whether the scheduler is made of predicates and priorities, which became plugins later."""
        return not self.at_least("1.17")

    @property
    def max_node_score(self) -> int:
        """The best score that a node can get; priorities gave up to 10."""
        return 10 if self.has_predicates else 100

    # Configuration

    @property
    def config_versions(self) -> tuple[str, ...]:
        """The apiVersions of configurations that it reads, the newest first."""
        return tuple(f"{GROUP}/{name}" for name, since, until in _CONFIG_VERSIONS if self.between(since, until))

    def knows_later(self, api_version: str) -> bool:
        """Whether this version of the configuration came after all that the minor reads."""
        group, _, name = api_version.rpartition("/")
        since = {each: minor for each, minor, _ in _CONFIG_VERSIONS}
        return group == GROUP and name in since and not self.between(since[name], "")

    def knows_no_more(self, api_version: str) -> bool:
        """Whether it was read by earlier minors."""
        group, _, name = api_version.rpartition("/")
        until = {each: minor for each, _, minor in _CONFIG_VERSIONS}
        return group == GROUP and bool(until.get(name)) and not self.between("", until[name])

    @property
    def newest_config_version(self) -> str:
        """Without the group."""
        return self.config_versions[0].rpartition("/")[2]

    def removed_plugins(self, config_version: str = "") -> frozenset[str]:
        """No plugin of these names may be enabled or configured any more (invalidPluginsByVersion)."""
        version = config_version or self.newest_config_version
        return frozenset(
            name for name, (first, since) in _REMOVED_PLUGINS.items() if version == first and self.at_least(since)
        )

    # Gates

    @cached_property
    def known_gates(self) -> Mapping[str, Gate]:
        """Those that can be set."""
        return {name: gate for name, gate in self._gate_states.items() if gate is not None}

    @cached_property
    def _gate_states(self) -> Mapping[str, Gate | None]:
        """None: there once was such a gate."""
        states = {name: self._steps(name) for name in GATE_HISTORY}
        return {name: steps[-1] for name, steps in states.items() if steps}

    def _steps(self, gate: str) -> list[Gate | None]:
        """What became of the gate up to this minor."""
        return [state for since, state in GATE_HISTORY[gate].items() if self.at_least(since)]

    def _gate_defaults(self) -> dict[str, bool]:
        steps = {name: self._steps(name) for name in self._gate_states}
        return {name: next(each.default for each in reversed(own) if each is not None) for name, own in steps.items()}

    def gates(self, overrides: str = "") -> FeatureGates:
        """`A=true,B=false` over the defaults; unknown and locked gates are refused, all at once."""
        wanted: dict[str, bool] = {}
        problems: list[Problem] = []
        for entry in filter(None, (part.strip() for part in overrides.split(","))):
            name, separator, value = entry.partition("=")
            problem = self._refusal(name, separator, value)
            if problem is None:
                wanted[name] = value.lower() == "true"
            else:
                problems.append(Problem(problem, path=f"--feature-gates {entry}"))
        wanted = {**self._stages(wanted), **wanted}
        not_modelled = {name for name in self._gate_states if not self.models(name)}
        gates = FeatureGates(self._gate_defaults(), wanted, not_modelled)
        problems += self._unmet(gates) if not problems else []
        if problems:
            raise UsageError(problems)
        return gates

    def models(self, gate: str) -> bool:
        """Whether both states of the gate are answered as the minor's kube-scheduler does."""
        since = MODELLED_SINCE.get(gate)
        return since is None or (since != NEVER and self.at_least(since))

    def _stages(self, wanted: Mapping[str, bool]) -> dict[str, bool]:
        """What AllAlpha and AllBeta say of the gates that are not set themselves."""
        return {
            name: wanted[every]
            for every, stage in STAGE_GATES.items()
            if every in wanted
            for name, gate in self.known_gates.items()
            if gate.stage == stage and name not in STAGE_GATES
        }

    def _unmet(self, gates: FeatureGates) -> list[Problem]:
        """Gates that are on while one that they build on is off; checked since 1.35."""
        if not self.at_least("1.35"):
            return []
        return [
            Problem(
                f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]",
                path="--feature-gates",
                hint=f"set {','.join(f'{each}=true' for each in missing)} or {name}=false",
            )
            for name, needed in _GATE_DEPENDENCIES.items()
            if gates.enabled(name) and (missing := [each for each in needed if not gates.enabled(each)])
        ]

    def _refusal(self, name: str, separator: str, value: str) -> str | None:
        if not separator or value.lower() not in ("true", "false"):
            return "write it as Name=true or Name=false"
        gate = self.known_gates.get(name)
        if gate is None:
            return f"Kubernetes {self.version} has no feature gate {name} that scheduling depends on{self._past(name)}"
        if gate.locked and (value.lower() == "true") != gate.default:
            return f"{name} is locked to {str(gate.default).lower()} in Kubernetes {self.version}"
        return None

    def _past(self, gate: str) -> str:
        """When a gate that this minor does not know was there."""
        history = GATE_HISTORY.get(gate)
        if history is None:
            return ""
        since = next(iter(history))
        if not self.at_least(since):
            return f"; it came with {since}"
        gone = next(version for version, state in history.items() if state is None)
        return f"; it was taken away in {gone} and what it switched is {_on_off(self._gate_defaults()[gate])} for good"

    # Default plugins

    def plugin_names(self) -> tuple[str, ...]:
        """Every default plugin of a version that is read, gated or not."""
        if self.has_predicates:
            return tuple(each.name for each in BEFORE_PLUGINS)
        read = {each.rpartition("/")[2] for each in self.config_versions}
        by_point = BY_POINT if not all(map(has_multi_point, read)) else {}
        listed = (*MULTI_POINT, *(plugin for own in by_point.values() for plugin in own))
        there = (
            each
            for each in listed
            if self.between(each.since, each.until) and (not each.config_version or each.config_version in read)
        )
        return tuple(dict.fromkeys(each.name for each in there if not each.gate or each.gate in self._gate_states))

    def default_plugins(self, gates: FeatureGates, config_version: str = "") -> Plugins:
        """getDefaultPlugins with applyFeatureGates, of a configuration version or of the newest that is read."""
        version = config_version or self.newest_config_version
        if self.has_predicates:
            return Plugins(multi_point=self._enabled(BEFORE_PLUGINS, gates, version))
        if has_multi_point(version):
            return Plugins(multi_point=self._enabled(MULTI_POINT, gates, version))
        by_field = {
            EXTENSION_POINT_FIELDS[point]: self._enabled(own, gates, version) for point, own in BY_POINT.items()
        }
        return Plugins(**by_field)

    def _enabled(self, listed: Iterable[DefaultPlugin], gates: FeatureGates, config_version: str) -> PluginSet:
        return PluginSet(
            tuple(
                PluginRef(each.name, each.weight)
                for each in listed
                if self.between(each.since, each.until)
                and (not each.gate or gates.enabled(each.gate))
                and not (each.unless and gates.enabled(each.unless))
                and each.config_version in ("", config_version)
            )
        )

    def default_weights(self, gates: FeatureGates) -> dict[str, int]:
        """Every default plugin with the weight that it scores with."""
        default = self.default_plugins(gates)
        sets = (default.score, default.multi_point, *(own for _, own in default.points()))
        weights: dict[str, int] = {}
        for plugin in (plugin for own in sets for plugin in own.enabled):
            weights.setdefault(plugin.name, plugin.weight)
        return weights


def _on_off(value: bool) -> str:
    return "on" if value else "off"


# A gate that is on needs these to be on too. Where a minor does not know one of them, the other is off as well.
_GATE_DEPENDENCIES: Mapping[str, tuple[str, ...]] = {
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    "GangScheduling": ("GenericWorkload",),
    "InPlacePodLevelResourcesVerticalScaling": ("PodLevelResources", "NodeDeclaredFeatures"),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "WorkloadAwarePreemption": ("GangScheduling",),
}

# The version of KubeSchedulerConfiguration, from and to which minor it is read; the newest first.
_CONFIG_VERSIONS = (
    ("v1", "1.25", ""),
    ("v1beta3", "1.23", "1.28"),
    ("v1beta2", "1.22", "1.27"),
    ("v1beta1", "1.19", "1.22"),
    ("v1alpha1", "", "1.18"),
)


def has_multi_point(config_version: str) -> bool:
    """Older versions list the plugins of each extension point."""
    return config_version not in ("v1beta1", "v1beta2")


# The configuration version that may not name these any more, and since which minor.
_REMOVED_PLUGINS = {
    "AzureDiskLimits": ("v1", "1.31"),
    "CinderLimits": ("v1", "1.31"),
    "EBSLimits": ("v1", "1.31"),
    "GCEPDLimits": ("v1", "1.31"),
    "NodeLabel": ("v1beta2", "1.22"),
    "NodePreferAvoidPods": ("v1beta2", "1.22"),
    "NodeResourcesLeastAllocated": ("v1beta2", "1.22"),
    "NodeResourcesMostAllocated": ("v1beta2", "1.22"),
    "RequestedToCapacityRatio": ("v1beta2", "1.22"),
    "SelectorSpread": ("v1", "1.25"),
    "ServiceAffinity": ("v1beta2", "1.22"),
}

# Minors that are modelled, and of which there are recordings.
_MODELLED = ("1.16", *(f"1.{minor}" for minor in range(19, 37)))
_RECORDED = frozenset({"1.16", "1.21", "1.28", "1.33", "1.34", "1.35", "1.36"})

RELEASES: Mapping[str, Release] = {version: Release(version, version in _RECORDED) for version in _MODELLED}
NEWEST = RELEASES["1.36"]

_VERSION = re.compile(r"v?1\.(\d{1,3})\+?(?:[.+-].*)?", re.ASCII)


def release(version: str) -> Release:
    """A minor that is modelled."""
    found = RELEASES.get(version)
    if found is None:
        raise UsageError(f"Kubernetes {version} is not modelled; there is {', '.join(RELEASES)}")
    return found


def minor_in(version: str) -> int | None:
    """The minor of a version as people and servers write it: 1.34, v1.34.2, 1.34+; None where it is no version."""
    match = _VERSION.fullmatch(version.strip())
    return int(match[1]) if match else None


def nearest(version: str) -> Release:
    """The modelled minor that is nearest to the version; of two that are as near the later one."""
    wanted = minor_in(version)
    if wanted is None:
        modelled = ", ".join(RELEASES)
        raise UsageError(f"--kube-version {version}: write it as 1.36, or auto; modelled are {modelled}")
    return min(RELEASES.values(), key=lambda each: (abs(each.minor - wanted), -each.minor))
