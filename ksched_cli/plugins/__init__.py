"""The plugins of kube-scheduler, one file each. They import the framework and never each other."""
