"""Custom resources that make pods, read as the workloads of Kubernetes that behave alike."""
