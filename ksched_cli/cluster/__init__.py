"""The facts of a cluster as columns: what kube-scheduler keeps in its cache and snapshot."""
