"""The plugins of kube-scheduler, one file each. They know the framework and never each other."""
