"""The controllers of kube-controller-manager, each with one `reconcile`. Those that belong together share a file."""
