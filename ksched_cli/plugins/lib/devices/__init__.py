"""Dynamic resource allocation: pools, requests, the allocator and its results."""
