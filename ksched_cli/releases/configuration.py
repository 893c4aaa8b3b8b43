"""What of kube-scheduler's configuration changed between minors: fields, arguments and files that it reads.

It mirrors kube-scheduler/config and cmd/kube-scheduler/app/options. The last names are versions of Kubernetes that
removed something, as messages print them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ksched_cli.releases import plugin_names as names
from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.gates import GATE_HISTORY
from ksched_cli.releases.minors import RELEASES, Release

_CONFIGURATION = "configuration"


class ConfigurationRules(ReleaseRules):
    has_parallelism = Rule("1.20", _CONFIGURATION, "The field parallelism can be set; before, it was unknown.")
    every_plugin_takes_args = Rule(
        "1.20",
        _CONFIGURATION,
        f"{names.DEFAULT_PREEMPTION} and {names.NODE_AFFINITY} take arguments; before, they took none.",
        f"{names.DEFAULT_PREEMPTION} {names.NODE_AFFINITY}",
    )
    policy_preempts = Rule.until(
        "1.19",
        _CONFIGURATION,
        f"There is no preemption under a Policy, for {names.DEFAULT_PREEMPTION} is a plugin; before, there was.",
    ).then(
        "1.20",
        _CONFIGURATION,
        f"A Policy enables {names.DEFAULT_PREEMPTION} and the default spreading; before, it enabled neither.",
        now=True,
    )
    policy_merges_plugins = Rule("1.20", described_by="kube-scheduler")
    selector_spread_plugin = Rule(
        "1.19", before=names.DEFAULT_POD_TOPOLOGY_SPREAD, now=names.SELECTOR_SPREAD, described_by=names.SELECTOR_SPREAD
    )
    spread_priority_weight = Rule("1.19", before=1, now=2, described_by=names.POD_TOPOLOGY_SPREAD)
    has_profiles = Rule(
        "1.18", _CONFIGURATION, "A configuration may have several profiles; before, it was about one scheduler."
    )
    volume_binding_reserves = Rule(
        "1.19",
        _CONFIGURATION,
        f"{names.VOLUME_BINDING} takes part in PreFilter, Reserve and PreBind; before, it only filtered, and "
        "the scheduler reserved and bound volumes itself.",
        names.VOLUME_BINDING,
    )
    node_affinity_looks_ahead = Rule(
        "1.21",
        _CONFIGURATION,
        f"{names.NODE_AFFINITY} takes part in PreFilter and PreScore; before, it only filtered and scored.",
        names.NODE_AFFINITY,
    )
    bind_timeout_may_be_zero = Rule(
        "1.21", _CONFIGURATION, "bindTimeoutSeconds may be 0; before, it had to be positive.", names.VOLUME_BINDING
    )
    fit_has_strategies = Rule(
        "1.22",
        _CONFIGURATION,
        f"The strategies of scoring are arguments of {names.NODE_RESOURCES_FIT}; before, each was a plugin.",
        names.NODE_RESOURCES_FIT,
    )
    reads_policy = Rule.until(
        "1.23", _CONFIGURATION, "kube-scheduler reads no Policy; before, it read one from a file or a ConfigMap."
    )
    serves_http = Rule.until(
        "1.23",
        _CONFIGURATION,
        "There is no port without encryption, and its addresses must say so; before, there was one.",
    )
    has_plugins_of_v1beta1 = Rule.until(
        "1.23",
        _CONFIGURATION,
        "Plugins that v1beta1 alone could enable are gone with their arguments; before, they were there.",
    )
    locks_other_than_leases = Rule.until(
        "1.27", _CONFIGURATION, "The resource lock must be leases; before, endpoints and config maps were allowed, too."
    )


class Later(NamedTuple):
    """A field and the first minor that has it."""

    field: str
    since: str

    def is_in(self, release: Release) -> bool:
        return release.at_least(self.since)


DOCUMENT_FIELDS = (Later("parallelism", "1.20"), Later("delayCacheUntilActive", "1.28"))
PROFILE_FIELDS = (Later("percentageOfNodesToScore", "1.26"),)
PLUGINS_FIELDS = (
    Later("preEnqueue", "1.26"),
    Later("placementGenerate", "1.36"),
    Later("placementScore", "1.36"),
    Later("podGroupPostFilter", "1.37"),
)
ARGUMENTS: Mapping[str, tuple[Later, ...]] = {
    names.NODE_RESOURCES_FIT: (Later("scoringStrategy", "1.22"),),
    names.NODE_RESOURCES_BALANCED_ALLOCATION: (Later("resources", "1.22"),),
    names.POD_TOPOLOGY_SPREAD: (Later("defaultingType", "1.20"),),
    names.VOLUME_BINDING: (Later("shape", "1.22"),),
    names.INTER_POD_AFFINITY: (Later("ignorePreferredTermsOfExistingPods", "1.27"),),
    names.DYNAMIC_RESOURCES: (Later("filterTimeout", "1.34"), Later("bindingTimeout", "1.35")),
}


# The last minor that read a Policy.
LAST_WITH_POLICY = next(each for each in reversed([*RELEASES.values()]) if ConfigurationRules.of(each).reads_policy)

# Predicates about the conditions of nodes.
NODE_CONDITIONS = "Kubernetes 1.17"
# The priority for limits.
RESOURCE_LIMITS = "Kubernetes 1.20"
# Plugins that 1.17 and 1.18 had alone.
FIRST_PLUGINS = "Kubernetes 1.19"
# The limits of single clouds.
IN_TREE_LIMITS = "Kubernetes 1.31"
POLICY = ConfigurationRules.reads_policy.since
INSECURE_PORT = f"Kubernetes {ConfigurationRules.serves_http.since}"
OLD_PLUGINS = f"Kubernetes {ConfigurationRules.has_plugins_of_v1beta1.since}"
# The minor in which another gate took the place of VolumeCapacityPriority.
VOLUME_CAPACITY_GATE = next(iter(GATE_HISTORY["StorageCapacityScoring"]))
