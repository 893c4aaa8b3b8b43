"""An older configuration, or a Policy, said as a KubeSchedulerConfiguration of the newest version."""
