"""Why a pod is where it is or is nowhere, node by node and plugin by plugin, and what would change it."""
