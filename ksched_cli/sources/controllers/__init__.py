"""What kube-controller-manager makes of workloads: pods, and what has to be there for them."""
