"""An older configuration, or a Policy, rewritten as a KubeSchedulerConfiguration of the newest version."""
