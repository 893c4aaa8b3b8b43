"""Nodes that come and go: autoscalers as controllers of the world, and the instance types that they choose from."""
