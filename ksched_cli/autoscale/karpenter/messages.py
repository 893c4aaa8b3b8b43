"""Why a pod has no place, in Karpenter's own words.

Mirrors the errors of scheduler.go, nodeclaim.go, topology.go and requirements.go, with `serrors.Wrap` (key=value
pairs, sorted) and `multierr.Combine` (joined by "; "). Karpenter writes some texts only when they are read, after the
last pod; the counts of a topology are those of that time, so errors keep the objects and `str` makes the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from ksched_cli.api.core import Taint
from ksched_cli.autoscale.karpenter.host_ports import HeldPort
from ksched_cli.autoscale.karpenter.requirements import LabelRequirement, LabelRequirements
from ksched_cli.autoscale.karpenter.resources import Amounts, json_text, merged

# pretty.Map shows so many domains.
_SHOWN_DOMAINS = 25
# A cpu request of a million is a mistake of m and M.
_MILLION_MILLI = 10**9
NO_NODE_POOLS = "no dynamic nodepools found"
NO_TYPES = "nodepool requirements filtered out all available instance types"
DYNAMIC_RESOURCES = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
NOT_ON_KARPENTER = (
    "configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist)"
)
_RESERVED_TAKEN = (
    "one or more instance types with compatible reserved offerings are available, but could not be reserved"
)
_RESERVED_LOST = "satisfying updated nodeclaim constraints would remove all compatible reserved offering options"


class SchedulingError:
    """Why one NodePool does not take a pod. `code` names the kind of reason; `key` the label that it is about."""

    code = ""
    key = ""

    def __str__(self) -> str:
        raise NotImplementedError


class TextError(SchedulingError):
    def __init__(self, code: str, text: str, key: str = "") -> None:
        self.code, self.key, self._text = code, key, text

    def __str__(self) -> str:
        return self._text


class ReservedError(TextError):
    """ReservedOfferingError: the pod waits for a later pass; nothing is relaxed and no lighter NodePool is tried."""

    def __init__(self, *, lost: bool = False) -> None:
        super().__init__("reserved", _RESERVED_LOST if lost else _RESERVED_TAKEN)


class Errors(SchedulingError):
    """The errors of several NodePools, by name of the pool."""

    code = "nodepools"

    def __init__(self, by_pool: Sequence[tuple[str, SchedulingError]]) -> None:
        self.by_pool = by_pool

    @property
    def is_reserved(self) -> bool:
        return any(isinstance(each, ReservedError) for _, each in self.by_pool)

    def __str__(self) -> str:
        return "; ".join(str(each) for _, each in self.by_pool)


def with_values(text: str, **values: object) -> str:
    """serrors.Wrap."""
    return f"{text} ({', '.join(f'{key}={values[key]}' for key in sorted(values))})"


def taint_error(taints: Iterable[Taint]) -> TextError:
    found = list(taints)
    texts = [with_values("did not tolerate taint", taint=each) for each in found]
    return TextError("taint", "; ".join(texts), str(found[0]))


def port_error(port: HeldPort, existing: HeldPort) -> TextError:
    values: dict[str, object] = {}
    for owner, each in (("pod", port), ("existing", existing)):
        values |= {
            f"{owner}-hostport-ip": each.ip,
            f"{owner}-hostport-port": each.port,
            f"{owner}-hostport-protocol": each.protocol,
        }
    text = with_values("pod hostport conflicts with existing hostport configuration", **values)
    return TextError("host-port", f"checking host port usage, {text}", str(port.port))


def incompatible(
    existing: LabelRequirements,
    incoming: LabelRequirements,
    known: frozenset[str],
    *,
    prefix: str = "incompatible requirements, ",
) -> TextError:
    """The error of Requirements.Compatible."""
    missing = existing.undefined(incoming, known)
    if missing is not None:
        text = f'label "{missing}" does not have known values{_label_hint(existing, missing, known)}'
        return TextError("label", prefix + text, missing)
    bad = sorted(existing.contradictions(incoming), key=lambda each: each.key)
    texts = [f"key {each.key}, {each} not in {existing[each.key]}" for each in bad]
    return TextError("requirement", prefix + "; ".join(texts), bad[0].key if bad else "")


def _label_hint(existing: Iterable[str], key: str, known: Iterable[str]) -> str:
    """A label that may be meant. Go takes any; the first by name is taken here."""
    suffix = key.partition("/")[2] if "/" in key else key
    for label in (*sorted(known), *sorted(existing)):
        if key in label or label.endswith(suffix):
            return f' (typo of "{label}"?)'
    return ""


class TopologyError(SchedulingError):
    """topologyError. `counts` returns the domains of the group with their pods."""

    code = "topology"

    def __init__(
        self,
        kind: str,
        key: str,
        counts: Callable[[], Mapping[str, int]],
        pod_domains: LabelRequirement,
        node_domains: LabelRequirement,
    ) -> None:
        self.kind, self.key = kind, key
        self._counts, self._pod_domains, self._node_domains = counts, pod_domains, node_domains

    def __str__(self) -> str:
        counts = self._counts()
        shown = ", ".join(f"{domain}: {counts[domain]}" for domain in sorted(counts)[:_SHOWN_DOMAINS])
        left = len(counts) - _SHOWN_DOMAINS
        shown += f" and {left} other(s)" if left > 0 else ""
        return (
            f"unsatisfiable topology constraint for {self.kind}, key={self.key} (counts = {shown}, "
            f"podDomains = {self._pod_domains}, nodeDomains = {self._node_domains}"
        )


class Criteria(Struct, frozen=True):
    """Which criteria some instance type met, alone and in pairs without the third (InstanceTypeFilterError)."""

    requirements: bool
    fits: bool
    offering: bool
    requirements_and_fits: bool
    requirements_and_offering: bool
    fits_and_offering: bool


class TypesError(SchedulingError):
    """InstanceTypeFilterError: no instance type is left."""

    def __init__(
        self,
        criteria: Criteria,
        requirements: LabelRequirements,
        daemons: Amounts,
        requests: Amounts,
        too_few: Mapping[str, int],
    ) -> None:
        self._criteria, self._requirements = criteria, requirements
        self._daemons, self._requests, self._too_few = daemons, requests, too_few

    @property
    def code(self) -> str:  # type: ignore[override]
        if self._too_few:
            return "min-values"
        met = self._criteria
        if not met.requirements:
            return "no-type"
        return "no-room" if not met.fits else "no-offering" if not met.offering else "no-combination"

    def __str__(self) -> str:
        text = min_values_text(self._too_few) if self._too_few else self._reason()
        resources = json_text(merged(self._daemons, self._requests))
        found = f"{text}, requirements={self._requirements}, resources={resources}"
        is_typo = text == _NO_ROOM and self._requests.get("cpu", (0,))[0] >= _MILLION_MILLI
        return found + (" (CPU request >= 1 Million, m vs M typo?)" if is_typo else "")

    def _reason(self) -> str:
        met = self._criteria
        missed = [
            text
            for is_met, text in zip((met.requirements, met.fits, met.offering), _CRITERIA, strict=True)
            if not is_met
        ]
        if len(missed) > 1:
            return f"no instance type {' or '.join(missed)}"
        if missed:
            return _SINGLE[missed[0]]
        if met.requirements_and_fits:
            return f"{_WHICH} {_CRITERIA[0]} and had enough resources, had a required offering"
        if met.fits_and_offering:
            return (
                "no instance type which had enough resources and the required offering met the scheduling requirements"
            )
        if met.requirements_and_offering:
            return f"{_WHICH} {_CRITERIA[0]} and the required offering had the required resources"
        return "no instance type met the requirements/resources/offering tuple"


_WHICH = "no instance type which"
_CRITERIA = ("met the scheduling requirements", "had enough resources", "had a required offering")
_NO_ROOM = "no instance type has enough resources"
_SINGLE = dict(
    zip(
        _CRITERIA,
        ("no instance type met all requirements", _NO_ROOM, "no instance type has the required offering"),
        strict=True,
    )
)


def min_values_text(too_few: Iterable[str]) -> str:
    return with_values(
        "minValues requirement is not met for label(s)", **{"label(s)": f"[{' '.join(sorted(too_few))}]"}
    )


def limit_error(pool: str, *, nodes: bool) -> TextError:
    text = (
        "node limits have been exhausted for nodepool"
        if nodes
        else "all available instance types exceed limits for nodepool"
    )
    return TextError("limit", with_values(text, NodePool=pool), pool)


def truncated_error(pool: str, too_few: Iterable[str]) -> TextError:
    """The claim lost types that its minValues need when its types were cut."""
    text = "pod didn’t schedule because NodePool couldn’t meet minValues requirements"  # noqa: RUF001  # as it is
    return TextError(
        "min-values", with_values(f"{text}, validating minValues, {min_values_text(too_few)}", NodePool=pool)
    )
