"""The Kubernetes minors here, the fixes that patches of earlier minors have too, and how a version is read.

`Release` has every fact about a minor, also which versions of KubeSchedulerConfiguration it reads; `nearest_release`
finds it for the version of a cluster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.errors import UsageError
from ksched_cli.releases import DEFAULT_VERSION, NEWEST_VERSION
from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.gates import FeatureGates, Gate, gates_of, minor_of, parse_gates

GROUP = "kubescheduler.config.k8s.io"

# The version, and from and to which minor it is read; the newest first.
_CONFIG_VERSIONS = (
    ("v1", "1.25", ""),
    ("v1beta3", "1.23", "1.28"),
    ("v1beta2", "1.22", "1.27"),
    ("v1beta1", "1.19", "1.22"),
    ("v1alpha2", "1.18", "1.18"),
    ("v1alpha1", "", "1.18"),
)


def within(minor: int, since: str, until: str) -> bool:
    """Whether the minor is one of these, both included; an empty string is no bound."""
    return (not since or minor >= minor_of(since)) and (not until or minor <= minor_of(until))


def has_multi_point(config_version: str) -> bool:
    """Older versions list the plugins of each extension point."""
    return config_version not in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")


# The configuration version that may not name these any more, and since which minor.
_REMOVED_PLUGINS = {
    names.AZURE_DISK_LIMITS: ("v1", "1.31"),
    names.CINDER_LIMITS: ("v1", "1.31"),
    names.EBS_LIMITS: ("v1", "1.31"),
    names.GCEPD_LIMITS: ("v1", "1.31"),
    names.NODE_LABEL: ("v1beta2", "1.22"),
    names.NODE_PREFER_AVOID_PODS: ("v1beta2", "1.22"),
    names.NODE_RESOURCES_LEAST_ALLOCATED: ("v1beta2", "1.22"),
    names.NODE_RESOURCES_MOST_ALLOCATED: ("v1beta2", "1.22"),
    names.REQUESTED_TO_CAPACITY_RATIO: ("v1beta2", "1.22"),
    names.SELECTOR_SPREAD: ("v1", "1.25"),
    names.SERVICE_AFFINITY: ("v1beta2", "1.22"),
}


class ConfigVersions(Struct, frozen=True, dict=True):
    """The versions that one minor reads."""

    minor: int

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The apiVersions, the newest first."""
        return tuple(f"{GROUP}/{name}" for name, since, until in _CONFIG_VERSIONS if within(self.minor, since, until))

    @property
    def newest(self) -> str:
        """Without the group."""
        return self.read[0].rpartition("/")[2]

    def came_later(self, api_version: str) -> bool:
        """Whether this apiVersion came after all that the minor reads."""
        group, _, name = api_version.rpartition("/")
        since = {each: minor for each, minor, _ in _CONFIG_VERSIONS}
        return group == GROUP and name in since and not within(self.minor, since[name], "")

    def was_removed(self, api_version: str) -> bool:
        """Whether earlier minors read this apiVersion and this one does not."""
        group, _, name = api_version.rpartition("/")
        until = {each: minor for each, _, minor in _CONFIG_VERSIONS}
        return group == GROUP and not within(self.minor, "", until.get(name, ""))

    def removed_plugins(self, version: str) -> frozenset[str]:
        """Names of plugins that may not be enabled or configured any more (invalidPluginsByVersion)."""
        version = version or self.newest
        return frozenset(
            name
            for name, (first, since) in _REMOVED_PLUGINS.items()
            if version == first and within(self.minor, since, "")
        )


class UpstreamFix(Struct, frozen=True, dict=True):
    """One pull request of kubernetes/kubernetes: the first minor that has it from its first release on, and the first
    patch of each earlier minor that has it."""

    pull_request: int
    since: str
    patches: tuple[str, ...]

    @cached_property
    def patch_of(self) -> dict[int, int]:
        """The first patch with the fix, by minor."""
        numbers = (version.split(".") for version in self.patches)
        return {int(minor): int(patch) for _, minor, patch in numbers}

    def first_patch_of(self, release: Release) -> str:
        """The first patch of this minor that has the fix; empty if its first release has it, or no patch."""
        patch = self.patch_of.get(release.minor)
        return "" if patch is None else f"1.{release.minor}.{patch}"


# The first filter that rejects a node decides; 1.24 to 1.26.0 ran the others too.
FIRST_REJECTION_DECIDES = UpstreamFix(114518, "1.27", ("1.24.10", "1.25.6", "1.26.1"))
# The scheduler treats a rejection by PreFilter as the status of every node, so that preemption is not tried.
REJECTION_REACHES_NODES = UpstreamFix(119778, "1.29", ("1.26.9", "1.27.6", "1.28.2"))
# Nodes that PreFilter left out are beyond help; #119779 in the first minor.
LEFT_OUT_NODES_ARE_SKIPPED = UpstreamFix(124559, "1.30", ("1.27.14", "1.28.10", "1.29.5"))
# Nodes that PreFilter left out have no status of their own any more.
LEFT_OUT_NODES_HAVE_NO_STATUS = UpstreamFix(125197, "1.31", ("1.27.15", "1.28.11", "1.29.6", "1.30.2"))
# Preemption ranks a node by its most important victim.
MIXED_VICTIMS_ARE_SORTED = UpstreamFix(128307, "1.32", ("1.29.11", "1.30.7", "1.31.3"))
# The nodes of a pod with local volumes are all tried, whatever their names and host names are.
LOCAL_VOLUMES_KEEP_ALL_NODES = UpstreamFix(125398, "1.32", ("1.29.11", "1.30.7", "1.31.3"))
# Host ports of restartable init containers count.
SIDECAR_PORTS_COUNT = UpstreamFix(132040, "1.34", ("1.33.6",))
# The reason of an untolerated taint no longer names it.
TAINTS_ARE_NOT_NAMED = UpstreamFix(134740, "1.35", ("1.34.2",))
# MaxUnavailableStatefulSet, which 1.35 had on by default, is off.
SETS_REPLACE_ONE_POD = UpstreamFix(137904, "1.36", ("1.35.4",))
# Devices are scored for pods that have allocated claims beside new ones.
ALLOCATED_CLAIMS_ARE_SCORED = UpstreamFix(139017, "1.37", ("1.35.6", "1.36.2"))
# Shared devices that claims hold take their counters in later cycles, too.
HELD_SHARES_TAKE_COUNTERS = UpstreamFix(139040, "1.37", ("1.36.2",))
# A device that was refused, or given back in the search, takes no shared counters any more.
REFUSED_DEVICES_ARE_FORGOTTEN = UpstreamFix(140431, "1.37", ("1.36.3",))
# An extender that left out nodes is one of those that rejected the pod.
EXTENDERS_REJECT = UpstreamFix(122022, "1.30", ("1.27.9", "1.28.5", "1.29.2"))
# The requests of init containers count on nodes and in scores.
INIT_CONTAINERS_COUNT = UpstreamFix(89222, "1.19", ("1.16.10", "1.17.6", "1.18.3"))

FIXES = (
    FIRST_REJECTION_DECIDES,
    REJECTION_REACHES_NODES,
    LEFT_OUT_NODES_ARE_SKIPPED,
    LEFT_OUT_NODES_HAVE_NO_STATUS,
    MIXED_VICTIMS_ARE_SORTED,
    LOCAL_VOLUMES_KEEP_ALL_NODES,
    SIDECAR_PORTS_COUNT,
    TAINTS_ARE_NOT_NAMED,
    SETS_REPLACE_ONE_POD,
    ALLOCATED_CLAIMS_ARE_SCORED,
    HELD_SHARES_TAKE_COUNTERS,
    REFUSED_DEVICES_ARE_FORGOTTEN,
    EXTENDERS_REJECT,
    INIT_CONTAINERS_COUNT,
)


class Release(Struct, frozen=True, dict=True):
    """One minor, in its latest patch unless `patch` names one. `recorded`: recordings of its kube-scheduler verify
    ksched; else its rules come from its source. `lacks` are rules (`RuleChange.switch`) that hold as before they
    changed, in a release that only serves to compare two others rule by rule."""

    version: str
    recorded: bool = False
    patch: int | None = None
    lacks: frozenset[str] = frozenset()

    @cached_property
    def minor(self) -> int:
        return minor_of(self.version.rpartition(".")[0] if self.patch is not None else self.version)

    def has(self, fix: UpstreamFix) -> bool:
        """Whether the fix is in this minor, or in this patch of it."""
        first = fix.patch_of.get(self.minor)
        if first is None:
            return self.at_least(fix.since)
        return self.patch is None or self.patch >= first

    def at_least(self, version: str) -> bool:
        """Whether this is that minor or a later one."""
        return self.minor >= minor_of(version)

    def is_minor_of(self, version: str) -> bool:
        """Whether a version, as people and servers write it, is of this minor."""
        return minor_in(version) == self.minor

    def is_later_than(self, other: Release) -> bool:
        """Whether this is a later minor, or a later patch of the same minor."""
        return self.order > other.order

    @property
    def order(self) -> tuple[int, float]:
        """The sort key: the minor, and the patch. The latest patch comes last."""
        return self.minor, math.inf if self.patch is None else self.patch

    def within(self, since: str, until: str) -> bool:
        """Whether it is one of these minors, both included; an empty string is no bound."""
        return within(self.minor, since, until)

    @property
    def before_plugins(self) -> bool:
        """Whether the scheduler is made of predicates and priorities, which became plugins later."""
        return not self.at_least("1.17")

    @property
    def max_node_score(self) -> int:
        """The best score that a node can get; priorities gave up to 10."""
        return 10 if self.before_plugins else 100

    @cached_property
    def config(self) -> ConfigVersions:
        """The versions of KubeSchedulerConfiguration that it reads."""
        return ConfigVersions(self.minor)

    @property
    def known_gates(self) -> Mapping[str, Gate]:
        """The gates that can be set."""
        return gates_of(self.minor)

    def gates(self, overrides: str = "") -> FeatureGates:
        """`A=true,B=false` over the defaults; unknown and locked gates are refused, all at once."""
        return parse_gates(self.minor, overrides, self.patch)


# Minors whose kube-scheduler made the decisions in fixtures/conformance; a test compares this list with the files.
_RECORDED = frozenset(f"1.{minor}" for minor in (16, 17, 18, 21, *range(23, 37)))

RELEASES: Mapping[str, Release] = {
    version: Release(version, recorded=version in _RECORDED)
    for version in (f"1.{minor}" for minor in range(16, minor_of(NEWEST_VERSION) + 1))
}
NEWEST, DEFAULT = RELEASES[NEWEST_VERSION], RELEASES[DEFAULT_VERSION]

_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.(\d{1,4})(?![\w.]))?\+?(?:[.+-].*)?", re.ASCII)


def release(version: str) -> Release:
    """A minor that is modelled."""
    found = RELEASES.get(version)
    if found is None:
        raise UsageError(f"Kubernetes {version} is not modelled; there is {', '.join(RELEASES)}")
    return found


def releases_between(start: Release, end: Release) -> Iterator[Release]:
    """The minors that come after one release and before the other."""
    return (each for each in RELEASES.values() if start.minor < each.minor < end.minor)


def releases_from(first: Release, last: Release) -> Iterator[Release]:
    """The modelled minors from one to another, both included."""
    return (each for each in RELEASES.values() if first.minor <= each.minor <= last.minor)


def latest(releases: Iterable[Release]) -> Release:
    """The latest of the releases, or the one that answers by default if there is none."""
    return max(releases, key=lambda each: each.order, default=DEFAULT)


def newest_minor_in(versions: Iterable[str]) -> str:
    """The newest minor, such as 1.34, of versions as servers write them; empty if none is a version."""
    newest = max((minor for each in versions if (minor := minor_in(each)) is not None), default=None)
    return "" if newest is None else f"1.{newest}"


def minor_named(version: str) -> Release | None:
    """The minor of a version, modelled or not; None where it is no version."""
    minor = minor_in(version)
    return None if minor is None else Release(f"1.{minor}")


def minor_in(version: str) -> int | None:
    """The minor of a version as people and servers write it: 1.34, v1.34.2, 1.34+; None where it is no version."""
    match = _VERSION.fullmatch(version.strip())
    return int(match[1]) if match else None


def patch_in(version: str) -> int | None:
    """The patch of a version as people and servers write it: 1.34.2, v1.34.2-eks-1; None where it names none."""
    match = _VERSION.fullmatch(version.strip())
    return int(match[2]) if match and match[2] else None


def nearest_release(version: str) -> Release:
    """The modelled minor that is nearest to the version, or the later of two; in a patch if that patch lacks a fix."""
    wanted = minor_in(version)
    if wanted is None:
        modelled = ", ".join(RELEASES)
        raise UsageError(f"--kube-version {version}: write it as 1.36, or auto; modelled are {modelled}")
    found = min(RELEASES.values(), key=lambda each: (abs(each.minor - wanted), -each.minor))
    patch = patch_in(version)
    if found.minor != wanted or patch is None or all(fix.patch_of.get(wanted, 0) <= patch for fix in FIXES):
        return found
    return replace(found, version=f"{found.version}.{patch}", patch=patch)
