"""The plugins of kube-scheduler, a room (a file or a folder) each. They import the framework and never each other."""
