"""Preemption: who would have to leave which node, and which node is the best choice (framework/preemption)."""
