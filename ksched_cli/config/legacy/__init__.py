"""The configuration of the minors before 1.23: Policy files, predicates, priorities and providers, and the first
versions of KubeSchedulerConfiguration."""
