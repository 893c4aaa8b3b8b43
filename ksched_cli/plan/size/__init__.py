"""The cheapest nodes to add so that every pending pod has a node."""
