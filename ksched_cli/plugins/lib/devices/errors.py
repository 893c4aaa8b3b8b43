"""How an allocation ends when it is not a matter of free devices."""

from __future__ import annotations


class AllocationError(Exception):
    """Something is wrong with a claim, a class or a slice; looking at other nodes would not help."""


class NodeAllocationFailed(Exception):
    """The allocation failed on this node only; other nodes may do (structured.ErrFailedAllocationOnNode)."""


class AllocationTimeout(Exception):
    """The search took longer than the plugin's filterTimeout."""
