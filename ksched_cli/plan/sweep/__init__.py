"""`ksched sweep`: many variants of one cluster, each by itself."""
