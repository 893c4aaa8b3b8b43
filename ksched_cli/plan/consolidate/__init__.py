"""Which nodes can be removed, or replaced by cheaper ones, in an order in which it can be done."""
