"""Other outcomes of what Kubernetes leaves to chance."""
