"""Two plugins: one asked node by node, one asked about all nodes at once."""
