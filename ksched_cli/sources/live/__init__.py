"""A cluster read through its API server: only with get and list."""
