"""Admission of objects of all kinds: the namespace they go into (NamespaceLifecycle), default classes, claims within a
LimitRange, and nodes of Services. Quotas are in `resource_quota.py`, updates in `updates.py`.
"""

from __future__ import annotations

# They exist in every cluster, whether the input names them or not.
BUILT_IN_NAMESPACES = frozenset(("default", "kube-system", "kube-public", "kube-node-lease"))
