"""With which Kubernetes something went away, as messages name it."""

from __future__ import annotations

from ksched_cli.releases.configuration import ConfigurationRules
from ksched_cli.releases.gate_history import GATE_HISTORY

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
