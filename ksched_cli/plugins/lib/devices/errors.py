"""How an allocation ends when it is not a matter of free devices."""

from __future__ import annotations


class AllocationError(Exception):
    """Something is wrong with a claim, a class or a slice; looking at other nodes would not help."""


class NodeAllocationFailed(Exception):
    """Nothing can be said about this node, and others may do (structured.ErrFailedAllocationOnNode)."""


class AllocationTimeout(Exception):
    """The search took longer than the plugin's filterTimeout."""
