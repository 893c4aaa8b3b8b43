"""One file per controller of kube-controller-manager, each with one `reconcile`."""
