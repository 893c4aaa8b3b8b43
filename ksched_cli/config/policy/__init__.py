"""Policy and v1alpha1: how kube-scheduler was configured with predicates and priorities."""
