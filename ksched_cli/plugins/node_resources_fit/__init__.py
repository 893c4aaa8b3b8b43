"""NodeResourcesFit: a pod's requests against the free resources of each node."""
