"""`check`: manifests rolled out over a cluster, and what is in the way."""
