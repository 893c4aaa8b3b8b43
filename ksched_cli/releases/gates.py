"""The feature gates of a minor: which there are, their defaults, and what a user may set."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from ksched_cli.errors import Problem, UsageError
from ksched_cli.releases.gate_history import GATE_HISTORY, MODELLED_SINCE, NEVER, STAGE_GATES, Gate, minor_of
from ksched_cli.releases.plugin_names import GANG_SCHEDULING, NODE_DECLARED_FEATURES

# A gate that is on needs these to be on too. Where a minor lacks one of them, the other is off as well.
_GATE_DEPENDENCIES: Mapping[str, tuple[str, ...]] = {
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    GANG_SCHEDULING: ("GenericWorkload",),
    "InPlacePodLevelResourcesVerticalScaling": ("PodLevelResources", NODE_DECLARED_FEATURES),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "WorkloadAwarePreemption": (GANG_SCHEDULING,),
}
# Since this minor kube-scheduler refuses gates whose dependencies are off.
_DEPENDENCIES_SINCE = "1.35"


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


def _steps(minor: int, gate: str) -> list[Gate | None]:
    """The states of the gate up to this minor; None where it was removed."""
    return [state for since, state in GATE_HISTORY[gate].items() if minor >= minor_of(since)]


@cache
def _states(minor: int) -> Mapping[str, Gate | None]:
    """The gates that the minor has, and with None those that were removed before it."""
    states = {name: _steps(minor, name) for name in GATE_HISTORY}
    return {name: steps[-1] for name, steps in states.items() if steps}


@cache
def gates_of(minor: int) -> Mapping[str, Gate]:
    """The gates that can be set in this minor."""
    return {name: gate for name, gate in _states(minor).items() if gate is not None}


def is_there(minor: int, gate: str) -> bool:
    """Whether the minor or an earlier one has the gate."""
    return gate in _states(minor)


def _defaults(minor: int) -> dict[str, bool]:
    steps = {name: _steps(minor, name) for name in _states(minor)}
    return {name: next(each.default for each in reversed(own) if each is not None) for name, own in steps.items()}


def is_modelled(minor: int, gate: str) -> bool:
    """Whether both states of the gate are answered as the minor's kube-scheduler does."""
    since = MODELLED_SINCE.get(gate)
    return since is None or (since != NEVER and minor >= minor_of(since))


def parse_gates(minor: int, overrides: str) -> FeatureGates:
    """`A=true,B=false` over the minor's defaults; unknown and locked gates are refused, all at once."""
    wanted: dict[str, bool] = {}
    problems: list[Problem] = []
    for entry in filter(None, (part.strip() for part in overrides.split(","))):
        name, separator, value = entry.partition("=")
        problem = _refusal(minor, name, separator, value)
        if problem is None:
            wanted[name] = value.lower() == "true"
        else:
            problems.append(Problem(problem, path=f"--feature-gates {entry}"))
    wanted = {**_stages(minor, wanted), **wanted}
    not_modelled = {name for name in _states(minor) if not is_modelled(minor, name)}
    gates = FeatureGates(_defaults(minor), wanted, not_modelled)
    problems += _unmet(minor, gates) if not problems else []
    if problems:
        raise UsageError(problems)
    return gates


def _stages(minor: int, wanted: Mapping[str, bool]) -> dict[str, bool]:
    """The values that AllAlpha and AllBeta give to gates that are not set themselves."""
    return {
        name: wanted[every]
        for every, stage in STAGE_GATES.items()
        if every in wanted
        for name, gate in gates_of(minor).items()
        if gate.stage == stage and name not in STAGE_GATES
    }


def _unmet(minor: int, gates: FeatureGates) -> list[Problem]:
    """Gates that are on while one that they build on is off."""
    if minor < minor_of(_DEPENDENCIES_SINCE):
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


def _refusal(minor: int, name: str, separator: str, value: str) -> str | None:
    if not separator or value.lower() not in ("true", "false"):
        return "write it as Name=true or Name=false"
    gate = gates_of(minor).get(name)
    if gate is None:
        return f"Kubernetes 1.{minor} has no feature gate {name} that scheduling depends on{_past(minor, name)}"
    if gate.locked and (value.lower() == "true") != gate.default:
        return f"{name} is locked to {str(gate.default).lower()} in Kubernetes 1.{minor}"
    return None


def _past(minor: int, gate: str) -> str:
    """Text with the minors of a gate that this minor does not have."""
    history = GATE_HISTORY.get(gate)
    if history is None:
        return ""
    since = next(iter(history))
    if minor < minor_of(since):
        return f"; it came with {since}"
    gone = next(version for version, state in history.items() if state is None)
    value = "on" if _defaults(minor)[gate] else "off"
    return f"; it was taken away in {gone} and what it switched is {value} for good"
