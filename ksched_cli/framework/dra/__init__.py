"""Dynamic resource allocation: device selectors, resource pools, and the search for devices."""
