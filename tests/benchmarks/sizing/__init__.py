"""Purchases of nodes: instances whose optimum is known, larger ones, and what two autoscalers would buy."""
