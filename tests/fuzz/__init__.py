"""Mutated clusters, manifests, configurations and command lines against every command. `python -m tests.fuzz` runs many."""
