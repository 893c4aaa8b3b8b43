"""What changed between minors about pods and nodes as the scheduler reads them: fields, sums, ports and zones."""

from __future__ import annotations

from ksched_cli.releases.changes import ReleaseRules, Rule
from ksched_cli.releases.fixes import INIT_CONTAINERS_COUNT, SIDECAR_PORTS_COUNT
from ksched_cli.releases.plugin_names import (
    INTER_POD_AFFINITY,
    NODE_PORTS,
    NODE_RESOURCES_BALANCED_ALLOCATION,
    NODE_RESOURCES_FIT,
    SELECTOR_SPREAD,
)


class FieldRules(ReleaseRules, plugins=f"{NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"):
    has_sidecars = Rule(
        "1.28",
        "fields",
        "restartPolicy of init containers is known, so that there are sidecars, which need the gate "
        "SidecarContainers; before, they counted as init containers that end.",
    )
    storage_gate_covers = Rule(
        "1.19",
        before=frozenset[str](),
        now=frozenset({"containers"}),
        about="fields",
        sentence=(
            "Ephemeral storage counts where the gate LocalStorageCapacityIsolation is on, that of init containers "
            "always; before, it counted whatever the gate was."
        ),
    ).then(
        "1.20",
        now=frozenset({"containers", "init_containers"}),
        about="fields",
        sentence=(
            "Ephemeral storage of init containers counts where the gate LocalStorageCapacityIsolation is on; before, "
            "it always counted."
        ),
    )
    reads_namespace_selectors = Rule(
        "1.21",
        "fields",
        "A term with a namespaceSelector, while the gate PodAffinityNamespaceSelector is off, is about the "
        "namespaces that it names and no other; before, the field was unknown and such a term was about the "
        "pod's own.",
        INTER_POD_AFFINITY,
    )


class PodInfoRules(ReleaseRules, plugins=f"{NODE_RESOURCES_FIT} {NODE_RESOURCES_BALANCED_ALLOCATION}"):
    sidecars_run_beside_containers = Rule(
        "1.32",
        "score",
        "Sidecars of pods that run count as beside their containers, with defaults for what each does not ask "
        "for; before, as init containers.",
    )
    init_containers_count = Rule(
        INIT_CONTAINERS_COUNT,
        "filter score",
        "The requests of init containers count in the sums of a node and in scores; before, only those of "
        "containers, and the pending pod alone counted with its init containers.",
    )
    sidecar_ports_count = Rule(
        SIDECAR_PORTS_COUNT, "filter", "Host ports of sidecars count; before, only those of containers.", NODE_PORTS
    )


class ZoneRules(ReleaseRules, plugins=SELECTOR_SPREAD):
    labels_without_beta = Rule("1.17", before=False, now=True, described_by=SELECTOR_SPREAD)
